"""An evaluator without a database: tables and hierarchies as Python lists, every figure computed from its definition.

Shares no code with the metrics or the SQL; what the search is held against. Algorithms are run on it by their names.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log, log2

from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics import metric_named
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.search import algorithm_named
from sqlanon.search.base import Budget, Objective, SearchResult
from sqlanon.search.session import Preferences

Row = tuple[str, ...]
Hierarchy = dict[str, tuple[str, ...]]
"""For each value: its labels from level 0 to the top."""
Requirement = Callable[[Sequence[Row]], bool]
"""Whether a class, given its original rows, satisfies the requirement."""


@dataclass(frozen=True)
class Class:
    """The rows that share their generalized values at a node."""

    values: Row
    rows: tuple[Row, ...]
    kept: bool

    @property
    def size(self) -> int:
        return len(self.rows)


@dataclass(frozen=True)
class Table:
    """Rows, and a hierarchy for each of the first columns; further columns are sensitive."""

    rows: tuple[Row, ...]
    hierarchies: tuple[Hierarchy, ...]

    @cached_property
    def heights(self) -> Node:
        return tuple(len(next(iter(hierarchy.values()))) - 1 for hierarchy in self.hierarchies)

    def label(self, column: int, value: str, level: int) -> str:
        return self.hierarchies[column][value][level]

    def leaves_under(self, column: int, label: str, level: int) -> int:
        return sum(labels[level] == label for labels in self.hierarchies[column].values())

    def classes(self, node: Node, requirement: Requirement) -> list[Class]:
        groups: dict[Row, list[Row]] = defaultdict(list)
        for row in self.rows:
            groups[tuple(self.label(i, row[i], level) for i, level in enumerate(node))].append(row)
        return [Class(values, tuple(rows), requirement(rows)) for values, rows in sorted(groups.items())]


@dataclass(frozen=True)
class GroupedTable(Table):
    """A table that is asked by several groupings of columns, each with its own k: rows are suppressed until every
    grouping is content with those left. A class may be kept in part: its kept and its suppressed rows are two classes.
    """

    groupings: tuple[tuple[tuple[int, ...], int], ...] = ()

    def classes(self, node: Node, requirement: Requirement) -> list[Class]:
        rows = [(row, tuple(self.label(i, row[i], level) for i, level in enumerate(node))) for row in self.rows]
        kept = list(range(len(rows)))
        while True:
            left = kept
            for columns, k in self.groupings:
                keys = {place: tuple(rows[place][1][column] for column in columns) for place in kept}
                sizes = Counter(keys.values())
                left = [place for place in left if sizes[keys[place]] >= k]
            if len(left) == len(kept):
                break
            kept = left
        parts: dict[tuple[Row, bool], list[Row]] = defaultdict(list)
        for place, (row, values) in enumerate(rows):
            parts[values, place in set(kept)].append(row)
        return [Class(values, tuple(members), stays) for (values, stays), members in sorted(parts.items())]


def at_least(k: int) -> Requirement:
    """k-anonymity."""
    return lambda rows: len(rows) >= k


def at_least_and_mixed(k: int, share: float) -> Requirement:
    """(alpha, k): no sensitive value beyond a share of its class. Merging a good class with a bad one can fail."""
    return lambda rows: len(rows) >= k and max(Counter(row[-1] for row in rows).values()) <= share * len(rows)


class FakeEvaluator:
    """Implements `search.base.Evaluator`, and counts what a database would have been asked."""

    def __init__(
        self,
        table: Table,
        requirement: Requirement,
        limit: int,
        *,
        monotone: bool = True,
        lattice: Lattice | None = None,
        relaxed: Requirement | None = None,
        lowest_height: int = 0,
        least_class: int = 1,
    ) -> None:
        """`relaxed` is a monotone part of a requirement that is not monotone itself."""
        self.lowest_height = lowest_height
        self.least_class = least_class
        self.table = table
        self.requirement = requirement
        # A node that keeps no row is no release.
        self.limit = max(0, min(limit, len(table.rows) - 1))
        self.monotone = monotone
        self._relaxed = relaxed
        self.relaxed = relaxed is not None
        self.lattice = lattice or Lattice.of_heights(table.heights)
        self.asked: dict[Node, Verdict] = {}
        self.measured: set[Node] = set()
        self.batches: list[int] = []

    @property
    def heights(self) -> Node:
        return self.table.heights

    @property
    def leaves(self) -> tuple[int, ...]:
        return tuple(len(hierarchy) for hierarchy in self.table.hierarchies)

    @property
    def rows(self) -> int:
        return len(self.table.rows)

    @property
    def checks(self) -> int:
        return len(self.asked)

    def known(self) -> list[Verdict]:
        return list(self.asked.values())

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        self.batches.append(len(nodes))
        for node in nodes:
            self.asked.setdefault(node, self.verdict(node))
        return [self.asked[node] for node in nodes]

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        self.batches.append(len(nodes))
        for node in nodes:
            self.asked[node] = self.verdict(node, measured=True)
            self.measured.add(node)
        return [self.asked[node] for node in nodes]

    def level_figures(self) -> list[list[LevelFigures]]:
        return [
            [level_figures(self.table, column, level) for level in range(height + 1)]
            for column, height in enumerate(self.heights)
        ]

    def verdict(self, node: Node, *, measured: bool = False) -> Verdict:
        """The true verdict, without counting as a question."""
        classes = self.table.classes(node, self.requirement)
        suppressed = sum(item.size for item in classes if not item.kept)
        kept = sum(item.kept for item in classes)
        least = 0
        if self._relaxed is not None:
            least = sum(item.size for item in self.table.classes(node, self._relaxed) if not item.kept)
        return Verdict(node, suppressed, kept, dict(figures(self.table, node, classes)) if measured else {}, least)

    def acceptable(self) -> list[Node]:
        """By brute force, in vector order."""
        return sorted(node for node in self.lattice if self.verdict(node).suppressed <= self.limit)


def figures(table: Table, node: Node, classes: Sequence[Class]) -> Iterator[tuple[str, float]]:
    """Every figure that any metric asks for."""
    yield "squares", float(sum(item.size**2 for item in classes))
    yield "squares_of_whole", float(sum(item.size**2 for item in classes))
    yield "squares_of_kept", float(sum(item.size**2 for item in classes if item.kept))
    yield "all_classes", float(len(classes))
    suppressed = [row for item in classes if not item.kept for row in item.rows]
    for column, level in enumerate(node):
        labels = Counter(table.label(column, row[column], level) for row in suppressed)
        leaves = sum(count * table.leaves_under(column, label, level) for label, count in labels.items())
        yield f"suppressed_leaves_{column}", float(leaves)
        yield f"suppressed_logarithms_{column}", sum(count * log(count) for count in labels.values())


def level_figures(table: Table, column: int, level: int) -> LevelFigures:
    """The figures of a level, from their definitions."""
    rows = len(table.rows)
    leaves = len(table.hierarchies[column])
    values = Counter(row[column] for row in table.rows)
    labels = Counter(table.label(column, row[column], level) for row in table.rows)
    of = {value: table.label(column, value, level) for value in values}
    shares = {label: table.leaves_under(column, label, level) / leaves for label in labels}
    return LevelFigures(
        share=sum(count * shares[label] for label, count in labels.items()),
        entropy=-sum(count * log2(count / labels[of[value]]) for value, count in values.items()),
        hdm=sum(
            count * (labels[of[value]] - count) / (rows - count) for value, count in values.items() if count < rows
        ),
        values=len(labels),
        largest_share=max(shares.values()),
    )


def score(name: str, table: Table, node: Node, classes: Sequence[Class], weights: Sequence[float]) -> float:
    """The score of a node under a metric, from the written definition."""
    return SCORES[name](table, node, classes, weights)


def _suppressed(classes: Sequence[Class]) -> int:
    return sum(item.size for item in classes if not item.kept)


def _loss(table: Table, node: Node, classes: Sequence[Class], weights: Sequence[float]) -> float:
    rows, result = len(table.rows), 1.0
    for column, level in enumerate(node):
        leaves = len(table.hierarchies[column])
        total = float(_suppressed(classes))
        for item in classes:
            if item.kept:
                total += item.size * table.leaves_under(column, item.values[column], level) / leaves
        lost = max(0.0, (total - rows / leaves) / (rows - rows / leaves)) if leaves > 1 else 0.0
        result *= (1 + lost) ** (weights[column] / sum(weights))
    return result - 1


def _entropy_star(table: Table, node: Node, classes: Sequence[Class], weights: Sequence[float]) -> float:
    return sum(weights[i] * level_figures(table, i, level).entropy for i, level in enumerate(node))


def _entropy(table: Table, node: Node, classes: Sequence[Class], weights: Sequence[float]) -> float:
    total = _entropy_star(table, node, classes, weights)
    suppressed = _suppressed(classes)
    for column in range(len(node)):
        counts: Counter[str] = Counter()
        for item in classes:
            if not item.kept:
                counts[item.values[column]] += item.size
        total -= weights[column] * sum(count * log2(count / suppressed) for count in counts.values())
    return total


def _precision(table: Table, node: Node, classes: Sequence[Class], weights: Sequence[float]) -> float:
    rows, suppressed = len(table.rows), _suppressed(classes)
    parts = [
        weight * ((rows - suppressed) * (level / height if height else 0.0) + suppressed) / rows
        for weight, level, height in zip(weights, node, table.heights, strict=True)
    ]
    return sum(parts) / sum(weights)


def _hdm(table: Table, node: Node, classes: Sequence[Class], weights: Sequence[float]) -> float:
    total = sum(weights[i] * level_figures(table, i, level).hdm for i, level in enumerate(node))
    return total / sum(weights)


def _dm(table: Table, node: Node, classes: Sequence[Class], weights: Sequence[float]) -> float:
    kept = sum(item.size**2 for item in classes if item.kept)
    return float(kept + len(table.rows) * _suppressed(classes))


def _aecs(table: Table, node: Node, classes: Sequence[Class], weights: Sequence[float]) -> float:
    return len(table.rows) / (sum(item.kept for item in classes) + (1 if _suppressed(classes) else 0))


SCORES: dict[str, Callable[[Table, Node, Sequence[Class], Sequence[float]], float]] = {
    "height": lambda table, node, classes, weights: sum(w * level for w, level in zip(weights, node, strict=True)),
    "loss": _loss,
    "entropy": _entropy,
    "entropy*": _entropy_star,
    "dm": _dm,
    "dm*": lambda table, node, classes, weights: float(sum(item.size**2 for item in classes)),
    "aecs": _aecs,
    "precision": _precision,
    "hdm": _hdm,
}


def run(
    algorithm: str,
    evaluator: FakeEvaluator,
    metric: str = "loss",
    preferences: Preferences | None = None,
    budget: Budget | None = None,
    weights: Sequence[float] | None = None,
) -> SearchResult:
    objective = Objective.of(metric_named(metric), evaluator, weights)
    return algorithm_named(algorithm)(evaluator, objective, preferences or Preferences(), budget or Budget())


def k_anonymous(table: Table, k: int, limit: int = 0) -> FakeEvaluator:
    return FakeEvaluator(table, at_least(k), limit)
