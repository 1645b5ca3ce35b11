"""The truth about small tables by brute force: verdicts and figures of every class, suppression, the best node.

Shares no code with sqlanon and knows no SQL. Tests compare with it what engines, searches and audits say. A `Table`
answers for one release, a `Problem` for every node of a lattice; the models are those of `tests.kit.oracle_models`.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from tests.kit.oracle_models import (
    Alpha,
    BetaLikeness,
    Block,
    DeltaDisclosure,
    DeltaPresence,
    DistinctL,
    EntropyL,
    Figure,
    Holdings,
    K,
    KMap,
    Labels,
    LargestShare,
    Model,
    Number,
    PSensitive,
    RecursiveL,
    TCloseness,
    TEqual,
    THierarchical,
    TOrdered,
    Value,
    Values,
)

__all__ = [
    "Alpha",
    "Asked",
    "BetaLikeness",
    "Block",
    "DeltaDisclosure",
    "DeltaPresence",
    "DistinctL",
    "EntropyL",
    "Figure",
    "Holdings",
    "K",
    "KMap",
    "Key",
    "Labels",
    "LargestShare",
    "Model",
    "Node",
    "Number",
    "PSensitive",
    "Problem",
    "RecursiveL",
    "Row",
    "TCloseness",
    "TEqual",
    "THierarchical",
    "TOrdered",
    "Table",
    "Value",
    "Values",
    "average_class_size",
    "below",
    "discernibility",
    "grouped",
    "height",
    "key_of",
    "suppression",
]

Row = Mapping[str, Value]
Key = tuple[Value, ...]
"""The values that the rows of a class share."""
Node = tuple[int, ...]

# -- tables ------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """A model asked of the classes of some columns: a quasi-identifier, joined or not with other sensitive columns."""

    model: Model
    columns: tuple[str, ...]
    sensitive: str | None = None


@dataclass(frozen=True)
class Table:
    """Rows, the source they come from where that is more, who stands behind a row, and the population's rows."""

    rows: Sequence[Row]
    respondent: str | None = None
    population: Sequence[Row] = ()
    source: Sequence[Row] | None = None

    def holdings(self, rows: Sequence[Row], sensitive: str | None) -> Holdings:
        people = range(len(rows)) if self.respondent is None else (row[self.respondent] for row in rows)
        values = (None if sensitive is None else row[sensitive] for row in rows)
        return Holdings(tuple(zip(people, values, strict=True)))

    def blocks(self, asked: Asked) -> dict[Key, Block]:
        """The classes that a model is asked of."""
        classes = grouped(self.rows, asked.columns)
        population = grouped(self.population, asked.columns)
        keys = classes | population if asked.model.of_population else classes
        source = self.holdings(self.rows if self.source is None else self.source, asked.sensitive)
        return {
            key: Block(self.holdings(classes.get(key, []), asked.sensitive), source, len(population.get(key, [])))
            for key in keys
        }

    def verdicts(self, asked: Asked) -> dict[Key, bool]:
        return {key: asked.model.passes(block) for key, block in self.blocks(asked).items()}

    def figures(self, asked: Asked) -> dict[Key, Figure]:
        return {key: asked.model.figure(block) for key, block in self.blocks(asked).items()}

    def figure(self, asked: Asked) -> Figure:
        """The worst figure of all classes; None when a class has none, or when there is no class."""
        figures = list(self.figures(asked).values())
        return None if None in figures or not figures else asked.model.worst(figures)

    def failing(self, asked: Asked) -> tuple[int, int]:
        """How many classes fail, and how many rows of the table they hold."""
        failing = {key for key, passes in self.verdicts(asked).items() if not passes}
        return len(failing), sum(key_of(row, asked.columns) in failing for row in self.rows)

    def satisfied(self, requirement: Sequence[Asked]) -> bool:
        return all(all(self.verdicts(asked).values()) for asked in requirement)

    def kept(self, requirement: Sequence[Asked]) -> Table:
        """Without the rows of failing classes, of all groupings at once, again and again until nothing changes."""
        verdicts = [(asked.columns, self.verdicts(asked)) for asked in requirement]
        left = [row for row in self.rows if all(found[key_of(row, columns)] for columns, found in verdicts)]
        source = self.rows if self.source is None else self.source
        remaining = replace(self, rows=left, source=source)
        return remaining if len(left) == len(self.rows) else remaining.kept(requirement)


def key_of(row: Row, columns: Sequence[str]) -> Key:
    return tuple(row[column] for column in columns)


def grouped(rows: Sequence[Row], columns: Sequence[str]) -> dict[Key, list[Row]]:
    classes: dict[Key, list[Row]] = {}
    for row in rows:
        classes.setdefault(key_of(row, columns), []).append(row)
    return classes


# -- nodes -------------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Problem:
    """A table, a hierarchy for each column that is generalized, what is asked, and how many rows may be suppressed."""

    table: Table
    hierarchies: Mapping[str, Labels]
    requirement: tuple[Asked, ...]
    limit: int = 0

    def nodes(self) -> Iterator[Node]:
        """Every node of the lattice, in vector order; levels in the order of `hierarchies`."""
        heights = (len(next(iter(labels.values()))) for labels in self.hierarchies.values())
        return itertools.product(*(range(height) for height in heights))

    def generalized(self, node: Node) -> Table:
        """The table and the population at a node, nothing suppressed yet."""
        rows, population = self._labelled(self.table.rows, node), self._labelled(self.table.population, node)
        return replace(self.table, rows=rows, population=population)

    def _labelled(self, rows: Sequence[Row], node: Node) -> list[Row]:
        levels = dict(zip(self.hierarchies, node, strict=True))
        return [
            {**row, **{column: self.hierarchies[column][row[column]][level] for column, level in levels.items()}}
            for row in rows
        ]

    def kept(self, node: Node) -> Table:
        return self.generalized(node).kept(self.requirement)

    def suppressed(self, node: Node) -> int:
        return len(self.table.rows) - len(self.kept(node).rows)

    def kept_classes(self, node: Node) -> Counter[Key]:
        """The classes of all generalized columns that remain, with their rows."""
        return Counter(key_of(row, tuple(self.hierarchies)) for row in self.kept(node).rows)

    def acceptable(self, node: Node) -> bool:
        kept = self.kept(node)
        return self.suppressed(node) <= self.limit and bool(kept.rows) and kept.satisfied(self.requirement)

    def minimal(self) -> list[Node]:
        """The acceptable nodes that have no acceptable node below them, in vector order."""
        found = [node for node in self.nodes() if self.acceptable(node)]
        return [node for node in found if not any(below(other, node) for other in found if other != node)]

    def best(self, score: Callable[[Problem, Node], Number]) -> list[Node]:
        """The acceptable nodes of least score, in vector order; none when nothing is acceptable."""
        scores = {node: score(self, node) for node in self.nodes() if self.acceptable(node)}
        return [node for node, found in scores.items() if found == min(scores.values())]


def below(lower: Node, upper: Node) -> bool:
    return all(low <= high for low, high in zip(lower, upper, strict=True))


def height(problem: Problem, node: Node) -> int:
    return sum(node)


def suppression(problem: Problem, node: Node) -> int:
    return problem.suppressed(node)


def discernibility(problem: Problem, node: Node) -> int:
    kept = sum(size**2 for size in problem.kept_classes(node).values())
    return kept + len(problem.table.rows) * problem.suppressed(node)


def average_class_size(problem: Problem, node: Node) -> Fraction:
    classes = len(problem.kept_classes(node)) + (problem.suppressed(node) > 0)
    return Fraction(len(problem.table.rows), classes)
