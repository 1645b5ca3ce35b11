"""Privacy models in whole numbers and fractions: whether a set of rows may be a class, as the docs define it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from tests.fuzz.case import Case, Cell
from tests.fuzz.ladders import Ladder, build, population_values

Labels = tuple[Cell, ...]


class Requirement:
    """What the spec of a case asks of every class. Rows are known by their place in the source."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.privacy: dict[str, Any] = case.spec["privacy"]
        self.rows = len(case.table.rows)
        self.columns = case.columns_of("quasi_identifier")
        self.values = {name: case.table.values(name) for name in case.table.names}
        respondent = case.spec.get("respondent")
        self.persons: list[Any] | None = None if respondent is None else self.values[respondent]
        self.known_others = self.privacy.get("other_sensitive") == "known"
        self.references: dict[str, Counter[Cell]] = {}
        self.distances: dict[str, Ladder] = {}

    @property
    def limit(self) -> int:
        """The most rows that may be suppressed."""
        limit = self.privacy.get("suppression", {}).get("limit", 0)
        if isinstance(limit, str) and limit.endswith("%"):
            return math.floor(Fraction(Decimal(limit[:-1])) * self.rows / 100)
        return int(limit)

    def groups(self) -> list[tuple[list[str], int | None]]:
        """The quasi-identifiers, each with its k."""
        several = self.privacy.get("quasi_identifiers")
        if any("anonymity" in self.case.spec["columns"][name] for name in self.columns):
            return self.profiled()
        if not several:
            return [(self.columns, self.privacy.get("k"))]
        return [(list(group["columns"]), group.get("k", self.privacy.get("k"))) for group in several.values()]

    def profiled(self) -> list[tuple[list[str], int | None]]:
        """What levels of anonymity ask for, weighed by what the recipient knows."""
        profile = self.privacy.get("profile", dict.fromkeys(self.columns, 1))
        everybody = self.rows if self.persons is None else len(set(self.persons))
        asked = {
            name: math.ceil(exact(self.case.spec["columns"][name]["anonymity"]) * exact(profile[name]) * everybody)
            for name in self.columns
        }
        known = [name for name in self.columns if profile[name] == 1 and asked[name]]
        joint = max(self.privacy.get("k", 1), min(asked[name] for name in known)) if known else 0
        alone = [([name], k) for name, k in asked.items() if k > (joint if name in known else 0)]
        return [*([(known, joint)] if known else []), *alone]

    def failing(self, released: Mapping[int, Mapping[str, Cell]], people: Population | None = None) -> set[int]:
        """Rows whose class fails in some grouping, among released rows with their labels."""
        failed: set[int] = set()
        sensitive = self.case.columns_of("sensitive")
        for columns, k in self.groups():
            for labels, members in classes_of(released, columns).items():
                counted = None if people is None else people.count(columns, labels)
                models = [] if self.known_others else sensitive
                if not self.passes(members, k, models, counted):
                    failed.update(members)
            if not self.known_others:
                continue
            for name in sensitive:
                others = [other for other in sensitive if other != name]
                seen = {
                    row: {**labels, **{f"\0{other}": self.values[other][row] for other in others}}
                    for row, labels in released.items()
                }
                for members in classes_of(seen, [*columns, *(f"\0{other}" for other in others)]).values():
                    if not self.passes(members, None, [name], None):
                        failed.update(members)
        return failed

    def passes(self, members: Sequence[int], k: int | None, sensitive: Iterable[str], people: int | None) -> bool:
        """Whether rows may be a class: k persons, every model of the columns, the population's count."""
        count = self.people(members)
        if not members or (k is not None and count < k):
            return False
        if people is not None and not self.population_allows(count, people):
            return False
        return all(self.column_passes(members, name) for name in sensitive)

    def population_allows(self, count: int, people: int) -> bool:
        if (least := self.privacy.get("k_map")) is not None and people < least:
            return False
        presence = self.privacy.get("delta_presence")
        if presence is None:
            return True
        low, high = exact(presence.get("min", 0)), exact(presence.get("max", 1))
        return bool(people) and low <= Fraction(count, people) <= high

    def people(self, members: Sequence[int]) -> int:
        return len(members) if self.persons is None else len({self.persons[row] for row in members})

    def column_passes(self, members: Sequence[int], name: str) -> bool:
        checks = (
            ("l_diversity", self.diverse),
            ("p_sensitive", lambda members, entry: self.distinct(members, entry["column"]) >= entry["p"]),
            ("t_closeness", self.close),
            ("alpha", self.alpha),
            ("beta_likeness", self.alike),
            ("delta_disclosure", self.disclosed),
        )
        return all(
            check(members, entry)
            for key, check in checks
            for entry in self.privacy.get(key, [])
            if entry["column"] == name
        )

    def held(self, members: Sequence[int], name: str) -> Counter[Cell]:
        """Persons (or rows) that hold each value."""
        values = self.values[name]
        if self.persons is None:
            return Counter(values[row] for row in members)
        return Counter(value for _, value in {(self.persons[row], values[row]) for row in members})

    def gathered(self, members: Sequence[int], name: str) -> Counter[Cell]:
        """Each person once, for the value of theirs that most persons of the class hold; ties: first in order."""
        held = self.held(members, name)
        if self.persons is None:
            return held
        owned: dict[Any, set[Cell]] = {}
        for row in members:
            owned.setdefault(self.persons[row], set()).add(self.values[name][row])
        kind = self.case.table.kind(name)
        return Counter(min(own, key=lambda value: (-held[value], order(value, kind))) for own in owned.values())

    def reference(self, name: str, how: str) -> Counter[Cell]:
        key = f"{how} {name}"
        if key not in self.references:
            self.references[key] = getattr(self, how)(range(self.rows), name)
        return self.references[key]

    def distinct(self, members: Sequence[int], name: str) -> int:
        held = self.held(members, name)
        if self.persons is None:
            return len(held)
        alone = {self.persons[row] for row in members if held[self.values[name][row]] == 1}
        return min(self.people(members), sum(1 for count in held.values() if count > 1) + len(alone))

    def diverse(self, members: Sequence[int], entry: Mapping[str, Any]) -> bool:
        least, kind = entry["l"], entry.get("kind", "distinct")
        if kind == "distinct":
            return bool(self.distinct(members, entry["column"]) >= least)
        counts = sorted(self.gathered(members, entry["column"]).values(), reverse=True)
        if kind == "recursive":
            return bool(len(counts) >= least and counts[0] < exact(entry["c"]) * sum(counts[least - 1 :]))
        total = sum(counts)
        return bool(total**total >= least**total * math.prod(count**count for count in counts))

    def close(self, members: Sequence[int], entry: Mapping[str, Any]) -> bool:
        name, distance = entry["column"], entry.get("distance", "equal")
        here, whole = self.gathered(members, name), self.reference(name, "gathered")
        return self.distance(here, whole, entry, distance) <= exact(entry["t"])

    def distance(self, here: Counter[Cell], whole: Counter[Cell], entry: Mapping[str, Any], distance: str) -> Fraction:
        name = entry["column"]
        count, total = sum(here.values()), sum(whole.values())
        if distance == "equal":
            return half_difference(here, whole)
        if distance == "hierarchical":
            ladder = self.sensitive_ladder(name)
            parts = [
                half_difference(lifted(here, ladder, level), lifted(whole, ladder, level))
                for level in range(ladder.height)
            ]
            return sum(parts, Fraction(0)) / ladder.height if parts else Fraction(0)
        kind = self.case.table.kind(name)
        listed = entry.get("order")
        domain = sorted(set(self.values[name]), key=lambda value: order(value, kind))
        if listed:
            domain = sorted(domain, key=lambda value: -1 if value is None else listed.index(value))
        if len(domain) < 2:
            return Fraction(0)
        running, moved = Fraction(0), Fraction(0)
        for value in domain:
            running += Fraction(here[value], count) - Fraction(whole[value], total)
            moved += abs(running)
        return moved / (len(domain) - 1)

    def sensitive_ladder(self, name: str) -> Ladder:
        if name not in self.distances:
            definition = self.case.spec["columns"][name]["hierarchy"]
            kind = self.case.table.kind(name)
            self.distances[name] = build(definition, name, kind, self.values[name], self.case)
        return self.distances[name]

    def alpha(self, members: Sequence[int], entry: Mapping[str, Any]) -> bool:
        held = self.held(members, entry["column"])
        return Fraction(held[str(entry["value"])], self.people(members)) <= exact(entry["alpha"])

    def alike(self, members: Sequence[int], entry: Mapping[str, Any]) -> bool:
        name, count = entry["column"], self.people(members)
        whole, total = self.reference(name, "held"), self.people(range(self.rows))
        for value, holders in self.held(members, name).items():
            share = Fraction(whole[value], total)
            gain = (Fraction(holders, count) - share) / share
            if gain > exact(entry["beta"]):
                return False
            if entry.get("kind", "basic") == "enhanced" and gain > 0 and float(gain) > -math.log(share):
                return False
        return True

    def disclosed(self, members: Sequence[int], entry: Mapping[str, Any]) -> bool:
        name, count = entry["column"], self.people(members)
        whole, total = self.reference(name, "held"), self.people(range(self.rows))
        here = self.held(members, name)
        if entry.get("kind", "occurring") == "all" and len(here) < len(whole):
            return False
        ratios = (Fraction(holders * total, count * whole[value]) for value, holders in here.items())
        return all(ratio == 1 or abs(math.log(ratio)) <= float(exact(entry["delta"])) for ratio in ratios)


class Population:
    """Counts of the population by the labels of a node."""

    def __init__(
        self, case: Case, ladders: Mapping[str, Ladder], levels: Mapping[str, int], *, released: bool = False
    ) -> None:
        assert case.population is not None
        # Anybody could be behind a row that was blanked: all its labels are `*`, or NULL where a column takes no text.
        self.blanks = released and case.spec["privacy"].get("suppression", {}).get("mode") == "blank"
        self.labels = {
            name: [ladders[name].label(value, levels[name]) for value in population_values(case, name)]
            for name in ladders
        }
        self.counts: dict[tuple[str, ...], Counter[Labels]] = {}

    def count(self, columns: Sequence[str], labels: Labels) -> int:
        counts = self.of(columns)
        if self.blanks and all(label in (None, "*") for label in labels):
            return sum(counts.values())
        return counts[labels]

    def of(self, columns: Sequence[str]) -> Counter[Labels]:
        key = tuple(columns)
        if key not in self.counts:
            self.counts[key] = Counter(zip(*(self.labels[name] for name in columns), strict=True))
        return self.counts[key]


def classes_of(released: Mapping[int, Mapping[str, Cell]], columns: Sequence[str]) -> dict[Labels, list[int]]:
    found: dict[Labels, list[int]] = {}
    for row, labels in released.items():
        found.setdefault(tuple(labels[name] for name in columns), []).append(row)
    return found


def exact(threshold: Any) -> Fraction:
    return Fraction(Decimal(str(threshold)))


def half_difference(here: Counter[Cell], whole: Counter[Cell]) -> Fraction:
    count, total = sum(here.values()), sum(whole.values())
    values = set(here) | set(whole)
    return sum((abs(Fraction(here[one], count) - Fraction(whole[one], total)) for one in values), Fraction(0)) / 2


def lifted(counts: Counter[Cell], ladder: Ladder, level: int) -> Counter[Cell]:
    found: Counter[Cell] = Counter()
    for value, count in counts.items():
        found[ladder.label(value, level)] += count
    return found


def order(value: Cell, kind: str) -> tuple[int, Any]:
    """Values in their own order, NULL first."""
    if value is None:
        return (0, 0)
    if kind in ("integer", "bigint", "hugeint", "decimal", "double"):
        return (1, Decimal(value))
    return (1, value.encode("utf-8"))
