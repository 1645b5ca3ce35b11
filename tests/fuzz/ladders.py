"""Hierarchies as ladders of labels, read from the definitions of a spec by the rules of its reference alone."""

from __future__ import annotations

import csv
import datetime
import io
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from math import floor
from typing import Any

from tests.fuzz.case import Case, Cell, Table

TOP = "*"
WHOLE = ("integer", "bigint")
"""Kinds whose every value between two others can be listed."""


class Uncovered(Exception):
    """A value of the column that its hierarchy does not cover: the release must be refused."""


@dataclass
class Ladder:
    """Labels of one column: level 0 is the value, the last level one label for all."""

    column: str
    kind: str
    builder: str
    height: int
    rule: Callable[[str, int], str]
    top: str
    leaves: list[Cell]
    known: dict[tuple[Cell, int], Cell] = field(default_factory=dict)
    domain: list[Cell] = field(default_factory=list)
    """The values that losses are measured against."""

    def label(self, value: Cell, level: int) -> Cell:
        if level >= self.height:
            return self.top
        if value is None or level == 0:
            return value
        key = (value, level)
        if key not in self.known:
            self.known[key] = self.rule(value, level)
        return self.known[key]

    def levels_of(self, value: Cell, label: Cell) -> list[int]:
        """Levels at which the value has this label."""
        return [level for level in range(self.height + 1) if self.label(value, level) == label]

    def under(self, label: Cell, level: int) -> int:
        """Values of the domain below a label of a level."""
        return sum(1 for leaf in self.domain if self.label(leaf, level) == label)


def ladders_of(case: Case) -> dict[str, Ladder]:
    """The ladder of each quasi-identifier; raises Uncovered where a value has no label."""
    flat = case.spec.get("search", {}).get("model") in ("_TS", "_AS", "_CS")
    built = {}
    for name in case.columns_of("quasi_identifier"):
        definition = "suppression" if flat else case.spec["columns"][name].get("hierarchy", "suppression")
        values = case.table.values(name)
        if case.population is not None:
            values = values + population_values(case, name)
        built[name] = build(definition, name, case.table.kind(name), values, case)
        built[name].domain = domain_of(built[name], case.spec["columns"][name].get("domain"), values)
    return built


def domain_of(ladder: Ladder, asked: Any, values: Iterable[Cell]) -> list[Cell]:
    """What a column could hold: what occurs, what is listed, or every whole number or day of a range."""
    values = list(dict.fromkeys(values))
    if asked == "occurring":
        return values
    if ladder.builder not in ("interval", "date", "suppression") or ladder.kind not in (*WHOLE, "date"):
        return ladder.leaves
    present = [value for value in values if value is not None]
    bounds = [asked["min"], asked["max"]] if asked else present
    found: list[Cell] = []
    if ladder.kind == "date" and present:
        days = [datetime.date.fromisoformat(str(bound)).toordinal() for bound in bounds]
        found = [datetime.date.fromordinal(day).isoformat() for day in range(min(days), max(days) + 1)]
    elif present:
        numbers = [int(bound) for bound in bounds]
        found = [str(number) for number in range(min(numbers), max(numbers) + 1)]
    return [*found, *([None] if None in values else [])]


def population_values(case: Case, name: str) -> list[Cell]:
    assert case.population is not None
    return case.population.values(case.spec["privacy"]["population"].get("columns", {}).get(name, name))


def build(definition: Any, column: str, kind: str, values: Iterable[Cell], case: Case) -> Ladder:
    """One ladder from its definition."""
    (name, settings) = (definition, {}) if isinstance(definition, str) else next(iter(definition.items()))
    values = list(dict.fromkeys(values))
    found = BUILDERS[name](settings, kind, [value for value in values if value is not None], case)
    ladder = Ladder(column, kind, name, found.height, found.rule, found.top, [])
    leaves: list[Cell] = list(values if found.leaves is None else found.leaves)
    if None in values and None not in leaves:
        leaves.append(None)
    ladder.leaves = leaves
    for value in values:
        ladder.label(value, max(0, ladder.height - 1))
    return ladder


@dataclass
class Built:
    height: int
    rule: Callable[[str, int], str]
    top: str = TOP
    leaves: list[str] | None = None


def mask(settings: Mapping[str, Any], kind: str, values: list[str], case: Case) -> Built:
    length = int(settings.get("length", max(map(len, values), default=0)))
    steps = settings.get("steps") or list(range(1, length + 1))
    character, side = str(settings.get("character", "*")), settings.get("side", "right")
    if any(len(value) > length for value in values):
        raise Uncovered("a value is longer than the mask")

    def rule(value: str, level: int) -> str:
        hidden = int(steps[level - 1])
        kept = max(0, length - hidden)
        if side == "right":
            return value[:kept] + character * hidden
        return character * hidden + value[max(0, len(value) - kept) :] if kept else character * hidden

    last = {rule(value, len(steps)) for value in values}
    if settings.get("top") is None and "length" in settings and steps[-1] >= length:
        last = {character * steps[-1]}
    if settings.get("top") is False and len(last) > 1:
        raise Uncovered("values differ at the last step of a mask that has no top")
    if settings.get("top") or len(last) != 1:
        return Built(len(steps) + 1, rule)
    return Built(len(steps), rule, next(iter(last)))


def interval(settings: Mapping[str, Any], kind: str, values: list[str], case: Case) -> Built:
    decimals = max((places(part) for part in flat_numbers(settings)), default=0)
    if "widths" in settings:
        widths = [Decimal(str(width)) for width in settings["widths"]]
        low = None if settings.get("min") is None else Decimal(str(settings["min"]))
        high = None if settings.get("max") is None else Decimal(str(settings["max"]))

        def by_width(value: str, level: int) -> str:
            if value == "NaN":
                return value
            exact, width, start = Decimal(value), widths[level - 1], low or Decimal(0)
            if low is not None and exact < low:
                return f"<{low:.{decimals}f}"
            if high is not None and exact >= high:
                return f">={high:.{decimals}f}"
            begin = start + floor((exact - start) / width) * width
            end = begin + width if high is None else min(begin + width, high)
            return f"[{begin:.{decimals}f}, {end:.{decimals}f})"

        return Built(len(widths) + 1, by_width)
    cuts = settings["cuts"]
    nested = [cuts] if not isinstance(cuts[0], list) else cuts

    def by_cut(value: str, level: int) -> str:
        if value == "NaN":
            return value
        exact, points = Decimal(value), [Decimal(str(point)) for point in nested[level - 1]]
        if exact < points[0]:
            return f"<{points[0]:.{decimals}f}"
        if exact >= points[-1]:
            return f">={points[-1]:.{decimals}f}"
        place = max(place for place, point in enumerate(points) if point <= exact)
        return f"[{points[place]:.{decimals}f}, {points[place + 1]:.{decimals}f})"

    return Built(len(nested) + 1, by_cut)


def flat_numbers(settings: Mapping[str, Any]) -> list[str]:
    found: list[str] = []
    for key in ("widths", "cuts", "min", "max"):
        value = settings.get(key)
        for part in value if isinstance(value, list) else [value]:
            found += [str(one) for one in (part if isinstance(part, list) else [part]) if one is not None]
    return found


def places(text: str) -> int:
    return len(text.partition(".")[2])


def date(settings: Any, kind: str, values: list[str], case: Case) -> Built:
    words = [word for word in settings if word != "any"]
    if kind == "date" and words and words[0] == "day":
        words = words[1:]
    return Built(len(words) + 1, lambda value, level: dated(value, words[level - 1]))


def dated(value: str, word: str) -> str:
    """A date or timestamp by a unit."""
    day = datetime.date.fromisoformat(value[:10])
    if word == "hour":
        return value[:13]
    if word == "day":
        return value[:10]
    if word == "week":
        year, week, _ = day.isocalendar()
        return f"{year:04d}-W{week:02d}"
    if word == "month":
        return value[:7]
    if word == "quarter":
        return f"{day.year:04d}-Q{(day.month + 2) // 3}"
    if word == "year":
        return f"{day.year:04d}"
    many = int(word.split()[0])
    begin = day.year // many * many
    return f"[{begin:04d}-{begin + many - 1:04d}]"


def tree(settings: Any, kind: str, values: list[str], case: Case) -> Built:
    chains: dict[str, list[str]] = {}

    def walk(node: Any, above: list[str]) -> None:
        if isinstance(node, Mapping):
            for label, below in node.items():
                walk(below, [label, *above])
        else:
            for leaf in node:
                chains[str(leaf)] = above

    walk(settings, [])
    depth = max(map(len, chains.values()))
    rows = {leaf: [leaf] * (depth - len(chain)) + chain for leaf, chain in chains.items()}
    return listed(rows, values)


def listed(rows: Mapping[str, list[str]], values: list[str]) -> Built:
    """Labels that a table gives for each value."""
    if any(value not in rows for value in values):
        raise Uncovered("a value is not listed")
    depth = len(next(iter(rows.values())))
    tops = {labels[-1] for labels in rows.values()} if depth else set()
    whole = len(tops) == 1
    return Built(
        depth + (0 if whole else 1),
        lambda value, level: rows[value][level - 1],
        next(iter(tops)) if whole else TOP,
        list(rows),
    )


def from_csv(settings: Any, kind: str, values: list[str], case: Case) -> Built:
    settings = {"path": settings} if isinstance(settings, str) else settings
    text = case.files[settings["path"]]
    delimiter = settings.get("delimiter") or (";" if ";" in text.splitlines()[0] else ",")
    rows = list(csv.reader(io.StringIO(text), delimiter=delimiter))[1 if settings.get("header") else 0 :]
    return listed({row[0]: row[1:] for row in rows}, values)


def from_table(settings: Any, kind: str, values: list[str], case: Case) -> Built:
    table: Table = case.references[settings["name"]]
    columns = [table.values(name) for name in settings["levels"]]
    rows = {str(row[0]): [str(label) for label in row[1:]] for row in zip(*columns, strict=True)}
    return listed(rows, values)


def from_sql(settings: Any, kind: str, values: list[str], case: Case) -> Built:
    """Two shapes of expressions are generated: a prefix of a text, and a whole number without its last digits."""
    numbers = [int(found[1]) for part in settings[1:] if (found := re.search(r"(?:, |% )(\d+)\)?$", part))]

    def rule(value: str, level: int) -> str:
        if kind == "text":
            return value[: numbers[level - 1]]
        exact = int(value)
        return str(exact - exact % numbers[level - 1])

    # Where the column has no value but NULL, the last expression gives no label, and `*` comes above it.
    return Built(len(settings) - (1 if values else 0), rule)


def suppression(settings: Any, kind: str, values: list[str], case: Case) -> Built:
    return Built(1, lambda value, level: value, (settings or {}).get("label", TOP))


BUILDERS: dict[str, Callable[[Any, str, list[str], Case], Built]] = {
    "mask": mask,
    "interval": interval,
    "date": date,
    "tree": tree,
    "csv": from_csv,
    "table": from_table,
    "sql": from_sql,
    "suppression": suppression,
}
