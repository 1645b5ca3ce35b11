"""Labels of hierarchies and shares of sensitive values in a report, those with too few rows left out.

A label or value with fewer than k rows behind it never leaves the database: it is counted, not named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from sqlglot import exp

from sqlanon.draft.drafting import round_number
from sqlanon.draft.profile import NUMBERS, Profile, is_ordinary
from sqlanon.draft.values import ValueQuestions
from sqlanon.engines.base import Engine, Statement
from sqlanon.hierarchies.base import Family
from sqlanon.source.frequency import Base
from sqlanon.source.frequency_statements import HierarchyTable
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.sql.build import count, equal, named, subquery, total, total_where, union_all, with_queries
from sqlanon.sql.relations import Table, cast, column, literal, table_expression


def some_columns(relation: exp.Expression, alias: str, names: Sequence[str]) -> exp.Select:
    """The named columns of a relation, row by row."""
    return exp.select(*(column(name, alias) for name in names)).from_(relation, copy=False)


def value_counts(base: Table, domain: Table, position: int, *, persons: bool) -> exp.Select:
    """The values of a column with their rows `n`; where persons are counted once for each of them, in `who`."""
    if not persons:
        return exp.select(column("value"), column("n")).from_(table_expression(domain))
    key = column(f"q_{position}")
    items = [named(key, "value"), named(exp.Sum(this=column("n")), "n"), column("who")]
    return exp.select(*items).from_(table_expression(base)).group_by(key.copy(), column("who"))


def tree_rows(values: exp.Query, hierarchy: HierarchyTable, k: int, most: int, *, persons: bool) -> exp.Query:
    """For each level its most frequent labels, only those with k rows or more: `kind` 0, level, label, the label above,
    rows. And for each label above level 0 `kind` 1, the level of its children, the label as the one above, how many
    children it has, how many of them are rare; of labels that are rare themselves nothing is told."""
    parts: list[exp.Query] = []
    for level in range(hierarchy.height + 1):
        parts.append(_labels_of(_grouped(level, hierarchy.height, persons), level, k, most))
    for level in range(hierarchy.height):
        parts.append(_totals_of(_grouped(level, hierarchy.height, persons), level, k, most, persons))
    return union_all(parts).with_("labelled", as_=_labelled(values, hierarchy, persons), copy=False)


def _labelled(values: exp.Query, hierarchy: HierarchyTable, persons: bool) -> exp.Select:
    """Each value that the source has with its labels as texts; NULL has none below the top."""
    labels = [
        named(cast(column(f"label_{level}", "h"), "text"), f"label_{level}") for level in range(hierarchy.height + 1)
    ]
    on = equal(column("value", "v"), column("value", "h"))
    return (
        exp.select(*labels, column("n", "v"), *([column("who", "v")] if persons else []))
        .from_(subquery(values, "v"))
        .join(table_expression(hierarchy.table, "h"), on=on, join_type="left")
    )


def _grouped(level: int, height: int, persons: bool) -> exp.Select:
    """The labels of a level with the label above them, their rows, and `m`, what is held against k: rows, or persons.

    One label has one above it.
    """
    label = column(f"label_{level}")
    keys = [label] if level == height else [label, column(f"label_{level + 1}")]
    items = [named(label.copy(), "label"), named(keys[-1].copy(), "parent")]
    if level == height:
        keys, items = [], [named(exp.Max(this=label.copy()), "label"), named(exp.Max(this=label.copy()), "parent")]
    select = exp.select(*items, named(exp.Sum(this=column("n")), "n"), named(_held(persons), "m"))
    return select.from_(exp.to_table("labelled")).group_by(*(key.copy() for key in keys))


def _labels_of(labels: exp.Select, level: int, k: int, most: int) -> exp.Query:
    order = exp.Order(expressions=[_descending("n"), exp.Ordered(this=column("label"))])
    place = named(exp.Window(this=exp.RowNumber(), order=order), "place")
    enough = exp.GTE(this=column("m"), expression=literal(k))
    ranked = exp.select(column("label"), column("parent"), column("n"), place)
    ranked = ranked.from_(subquery(labels, "labels")).where(enough)
    items = [_number(0, "kind"), _number(level, "level"), column("label"), column("parent"), column("n")]
    first = exp.LTE(this=column("place"), expression=literal(most))
    return exp.select(*items, _number(0, "rare")).from_(subquery(ranked, "ranked")).where(first)


def _totals_of(labels: exp.Select, level: int, k: int, most: int, persons: bool) -> exp.Query:
    rare = total_where(exp.LT(this=column("m"), expression=literal(k)), literal(1))
    order = exp.Order(expressions=[exp.Ordered(this=exp.Sum(this=column("n")), desc=True)])
    place = exp.Window(this=exp.RowNumber(), order=order)
    found = exp.select(
        named(column("parent"), "parent"), named(count(), "labels"), named(rare, "rare"), named(place, "place")
    )
    found = found.from_(subquery(labels, "labels")).group_by(column("parent"))
    above = column(f"label_{level + 1}")
    known = exp.select(named(above, "above"), named(_held(persons), "m")).from_(exp.to_table("labelled"))
    known = known.group_by(above.copy())
    same = exp.NullSafeEQ(this=column("parent", "totals"), expression=column("above", "known"))
    enough = exp.GTE(this=column("m", "known"), expression=literal(k))
    items = [_number(1, "kind"), _number(level, "level"), named(cast(exp.Null(), "text"), "label"), column("parent")]
    items += [named(column("labels"), "n"), column("rare")]
    first = exp.LTE(this=column("place"), expression=literal(most))
    told = exp.select(*items).from_(subquery(found, "totals"))
    return told.join(subquery(known, "known"), on=same).where(enough, first)


def _held(persons: bool) -> exp.Expression:
    return exp.Count(this=exp.Distinct(expressions=[column("who")])) if persons else exp.Sum(this=column("n"))


def shares(
    relation: exp.Expression, text: exp.Expression, person: exp.Expression | None, k: int, most: int
) -> exp.Select:
    """The most frequent values of a sensitive column that have k rows or more: the value's text and its rows."""
    several = count() if person is None else exp.Count(this=exp.Distinct(expressions=[person]))
    values = exp.select(named(text, "value"), named(count(), "n"), named(several, "m")).from_(relation)
    values = values.group_by(text.copy())
    enough = exp.GTE(this=column("m"), expression=literal(k))
    select = exp.select(column("value"), column("n")).from_(subquery(values, "shares")).where(enough)
    return select.order_by(_descending("n"), exp.Ordered(this=column("value"))).limit(most)


def share_totals(relation: exp.Expression, text: exp.Expression, person: exp.Expression | None, k: int) -> exp.Select:
    """One row: how many values there are, how many of them are rare, and all rows."""
    several = count() if person is None else exp.Count(this=exp.Distinct(expressions=[person]))
    values = exp.select(named(count(), "n"), named(several, "m")).from_(relation).group_by(text)
    rare = total_where(exp.LT(this=column("m"), expression=literal(k)), literal(1))
    return exp.select(count(), rare, total(column("n"))).from_(subquery(values, "shares"))


def worst_classes(
    relation: exp.Expression,
    keys: Sequence[exp.Expression],
    text: exp.Expression,
    person: exp.Expression | None,
    k: int,
    most: int,
) -> exp.Select:
    """The classes in which one value has the largest share: place, the value, its rows and those of the class.

    Values with fewer than k rows (persons, where these are counted) in a class are summed up under NULL with `named` 0.
    """
    several = count() if person is None else exp.Count(this=exp.Distinct(expressions=[person]))
    names = [f"k_{position}" for position in range(len(keys))]
    items = [named(key, name) for name, key in zip(names, keys, strict=True)]
    cells = exp.select(*items, named(text, "value"), named(count(), "n"), named(several, "m")).from_(relation)
    cells = cells.group_by(*(key.copy() for key in keys), text.copy())
    order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in names])
    numbered = exp.select(
        column("value"), column("n"), column("m"), named(exp.Window(this=exp.DenseRank(), order=order), "class")
    ).from_("cells")
    sizes = exp.select(
        column("class"), named(exp.Sum(this=column("n")), "size"), named(exp.Max(this=column("n")), "most")
    )
    sizes = sizes.from_("numbered").group_by(column("class"))
    share = exp.Div(this=cast(column("most"), "double"), expression=column("size"))
    worst_first = [exp.Ordered(this=share, desc=True), _descending("size"), exp.Ordered(this=column("class"))]
    place = named(exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=worst_first)), "place")
    placed = exp.select(column("class"), column("size"), place).from_("sizes")
    enough = exp.GTE(this=column("m", "numbered"), expression=literal(k))
    shown = exp.Case().when(enough, column("value", "numbered"))
    is_named = exp.Case().when(enough.copy(), literal(1)).else_(literal(0))
    select = exp.select(
        column("place", "placed"),
        named(shown, "value"),
        named(is_named, "named"),
        named(exp.Sum(this=column("n", "numbered")), "n"),
        column("size", "placed"),
    )
    on = equal(column("class", "placed"), column("class", "numbered"))
    select = select.from_(exp.to_table("placed")).join(exp.to_table("numbered"), on=on)
    select = select.where(exp.LTE(this=column("place", "placed"), expression=literal(most)))
    select = select.group_by(column("place", "placed"), shown.copy(), is_named.copy(), column("size", "placed"))
    return with_queries(select, {"cells": cells, "numbered": numbered, "sizes": sizes, "placed": placed})


def _number(value: int, name: str) -> exp.Expression:
    return named(literal(value), name)


def _descending(name: str) -> exp.Ordered:
    return exp.Ordered(this=column(name), desc=True)


MOST_VALUES = 12
WORST = 5
"""Classes that are shown beside the whole."""

NULL = "NULL"


@dataclass(frozen=True)
class Distribution:
    """The shares of values in one set of rows; what they lack to 1 belongs to values that are not named."""

    name: str
    shares: tuple[tuple[str, float], ...]

    @property
    def rest(self) -> float:
        return max(0.0, 1 - sum(share for _, share in self.shares))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "shares": {value: round(share, 4) for value, share in self.shares}}


@dataclass(frozen=True)
class SensitiveShares:
    """A sensitive column of the release."""

    column: str
    values: int
    rare: int
    """Values with fewer than k rows in the whole release; they are not named."""
    overall: Distribution
    worst: tuple[Distribution, ...]
    width: Decimal | None = None
    """Of numbers the width of the intervals that are told instead of values; the shares are then in their order."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "values": self.values,
            "rare": self.rare,
            "width": None if self.width is None else str(self.width),
            "overall": self.overall.to_dict(),
            "worst_classes": [item.to_dict() for item in self.worst],
        }


def sensitive_shares(
    engine: Engine, table: Table, names: Sequence[str], sensitive: Sequence[str], respondent: str | None, k: int
) -> tuple[SensitiveShares, ...]:
    """The distributions of sensitive columns of a release that lies in a scratch table.

    Overall, and in the classes where one value weighs most. A value with fewer than k rows, in all or in a class, is
    summed up with the others like it.
    """
    families = {info.name: info.family for info in engine.columns(table)}
    traits, relation = engine.traits, table_expression(table)
    keys = [traits.key(column(name), families[name]) for name in names]
    person = traits.key(column(respondent), families[respondent]) if respondent in families and respondent else None
    found = []
    for name in sensitive:
        text, step = traits.text(column(name), families[name]), f"shares of {name}"
        totals = share_totals(relation.copy(), text.copy(), person, k)
        [(values, rare, rows)] = engine.query(Statement(step, totals))
        if not rows:
            continue
        width = None
        if families[name] in NUMBERS and int(values) > MOST_VALUES:
            width = _width(engine, table, name, families[name])
        most = MOST_VALUES
        if width is not None:
            text, most = _interval_number(column(name), width), MOST_INTERVALS
            [(values, rare, rows)] = engine.query(
                Statement(step, share_totals(relation.copy(), text.copy(), person, k))
            )
        query = shares(relation.copy(), text.copy(), person, k, most)
        overall = [(_shown(value), int(number) / int(rows)) for value, number in engine.query(Statement(step, query))]
        classes = [key.copy() for key in keys]
        query = worst_classes(relation.copy(), classes, text.copy(), person, k, WORST)
        worst = _worst(engine.query(Statement(step, query)), {value for value, _ in overall})
        whole = Distribution("overall", tuple(overall))
        if width is not None:
            whole, worst = _in_order(whole, width), tuple(_in_order(item, width) for item in worst)
        found.append(SensitiveShares(name, int(values), int(rare), whole, worst, width))
    return tuple(found)


MOST_INTERVALS = 40
"""Intervals of numbers that are told of the whole, the fullest ones."""


def _width(engine: Engine, table: Table, name: str, family: Family) -> Decimal | None:
    """A round width of intervals, of which twelve hold the middle three quarters; None where these hardly differ.

    Rounded to one digit, so that nobody's number shows.
    """
    asked = Profile(name, family, 0, 0, 0)
    ends = ValueQuestions(engine, table, []).quantiles(asked)
    eighth = len(ends) // 8
    extent = ends[-1 - eighth] - ends[eighth] if len(ends) > 8 else Decimal(0)
    return round_number(extent / 12) if extent > 0 else None


def _interval_number(number: exp.Column, width: Decimal) -> exp.Expression:
    """The number of the interval in which an ordinary number lies, as text."""
    quotient = exp.Div(this=cast(number.copy(), "double"), expression=exp.Literal.number(f"{width:f}"))
    whole = cast(exp.Floor(this=quotient), "bigint")
    return cast(exp.Case().when(is_ordinary(number), whole), "text")


def _in_order(found: Distribution, width: Decimal) -> Distribution:
    """Numbered intervals by their ends, in order.

    >>> _in_order(Distribution("overall", (("10", 0.6), ("-1", 0.2), ("NULL", 0.2))), Decimal("0.5")).shares
    (('-0.5 to 0', 0.2), ('5 to 5.5', 0.6), ('no number', 0.2))
    """
    numbered = sorted((int(place), share) for place, share in found.shares if place != NULL)
    told = [(f"{_plain(place * width)} to {_plain((place + 1) * width)}", share) for place, share in numbered]
    return Distribution(found.name, (*told, *(("no number", share) for place, share in found.shares if place == NULL)))


def _plain(number: Decimal) -> str:
    return f"{number.normalize():f}" if number else "0"


def _shown(value: Any) -> str:
    return NULL if value is None else str(value)


def _worst(rows: Sequence[Sequence[Any]], known: set[str]) -> tuple[Distribution, ...]:
    """The worst classes in their order; only values that are shown of the whole are shown of a class."""
    classes: dict[int, list[tuple[str, float]]] = {}
    for place, value, is_named, number, size in rows:
        shares = classes.setdefault(int(place), [])
        if is_named and _shown(value) in known:
            shares.append((_shown(value), int(number) / int(size)))
    return tuple(
        Distribution(f"worst class {place}", tuple(sorted(shares, key=lambda item: -item[1])))
        for place, shares in sorted(classes.items())
    )


MOST_LABELS = 80
"""Labels of one level that a report may hold."""

MOST_CHILDREN = 10
"""Labels shown under one label."""

Key = tuple[int, str | None]
"""A label: its level and its text; NULL has none."""


@dataclass(frozen=True)
class Branch:
    """A label with what lies below it."""

    level: int
    label: str | None
    """None: NULL, a value of its own below the top."""
    share: float
    children: tuple[Branch, ...] = ()
    others: int = 0
    """Labels below it that are frequent enough, and left out for brevity."""
    rare: int = 0
    """Labels below it with fewer than k rows behind them."""

    def labels(self) -> Iterator[str]:
        """Every label of the tree."""
        if self.label is not None:
            yield self.label
        for child in self.children:
            yield from child.labels()

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "label": self.label,
            "share": round(self.share, 4),
            "children": [child.to_dict() for child in self.children],
            "others": self.others,
            "rare": self.rare,
        }


@dataclass
class _Labels:
    """What the database said of a hierarchy."""

    rows: int
    shares: dict[Key, float] = field(default_factory=dict)
    below: dict[Key, list[Key]] = field(default_factory=dict)
    totals: dict[Key, tuple[int, int]] = field(default_factory=dict)


def trees(
    engine: Engine, base: Base, hierarchies: Sequence[StoredHierarchy], k: int, *, persons: bool
) -> dict[str, Branch | None]:
    """The tree of each column; None where not even the top has k rows behind it."""
    found: dict[str, Branch | None] = {}
    for position, hierarchy in enumerate(hierarchies):
        values = value_counts(base.table, base.domains[position], position, persons=persons)
        step, table = f"labels of {hierarchy.column}", hierarchy.table
        query = tree_rows(values, table, k, MOST_LABELS, persons=persons)
        rows = engine.query(Statement(step, query, fresh=True))
        found[hierarchy.column] = tree_of(
            [(level, label, parent, number) for kind, level, label, parent, number, _ in rows if not kind],
            [(level, parent, number, rare) for kind, level, _, parent, number, rare in rows if kind],
            hierarchy.height,
            hierarchy.top,
            base.rows,
        )
    return found


def tree_of(
    labels: Sequence[Sequence[Any]], totals: Sequence[Sequence[Any]], height: int, top: str, rows: int
) -> Branch | None:
    """The tree from rows of level, label, label above, rows; and of level, label above, labels, rare ones."""
    found = _Labels(rows)
    for level, label, parent, number in labels:
        key = (int(level), top if int(level) == height else label)
        found.shares[key] = int(number) / rows
        if key[0] < height:
            above = (key[0] + 1, top if key[0] + 1 == height else parent)
            found.below.setdefault(above, []).append(key)
    for level, parent, number, rare in totals:
        above = (int(level) + 1, top if int(level) + 1 == height else parent)
        # Under the top NULL comes apart from the other labels: both are its children.
        known = found.totals.get(above, (0, 0))
        found.totals[above] = (known[0] + int(number), known[1] + int(rare))
    return _branch(found, (height, top)) if (height, top) in found.shares else None


def _branch(found: _Labels, key: Key) -> Branch:
    children = sorted(found.below.get(key, []), key=lambda child: (-found.shares[child], child[1] or ""))
    shown = [_branch(found, child) for child in children[:MOST_CHILDREN]]
    labels, rare = found.totals.get(key, (len(children), 0))
    return Branch(key[0], key[1], found.shares[key], tuple(shown), labels - rare - len(shown), rare)


def harmless_labels(found: Mapping[str, Branch | None]) -> set[str]:
    """The labels of all trees: each has k rows or more behind it."""
    return {label for branch in found.values() if branch is not None for label in branch.labels()}
