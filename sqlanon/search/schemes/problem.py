"""A search over schemes: costs of generalizations, the trees of all columns, moves, options and the answer. Pure.

Searches see the database only as `CostEvaluator`: costs of generalizations and bounds of intervals, each a pair of
generalizations, one below the other, with all between.

Seeding (Li and Li 2007, section 4.4.1): good generalizations before the search proper, so that it prunes early. Random
generalizations first, then steepest descent by merging from the least general one and from the best so far.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from math import prod
from random import Random
from typing import Literal, NamedTuple, Protocol

from sqlanon.search.base import Budget, BudgetSpent
from sqlanon.search.schemes.domain import Block, Partition, blocks, canonical, identity, merged, whole
from sqlanon.search.schemes.families import BasicHierarchical, EnumerationTree

Generalization = tuple[Partition, ...]
"""A partition for each column."""


class CostSide(Enum):
    """Which end of an interval is the generalization asked about."""

    LOWER = "lower"
    UPPER = "upper"


@dataclass(frozen=True)
class CostInterval:
    """All generalizations from `lower` up to `upper`."""

    lower: Generalization
    upper: Generalization

    @classmethod
    def point(cls, generalization: Generalization) -> CostInterval:
        return cls(generalization, generalization)

    def end(self, side: CostSide) -> Generalization:
        return self.lower if side is CostSide.LOWER else self.upper


@dataclass(frozen=True)
class Measured:
    """What the database said of an interval."""

    cost: float
    """Of the generalization at the end that was asked about."""
    suppressed: int
    """Rows it suppresses."""
    bound: float
    """No generalization of the interval costs less (Li and Li 2007, section 4.3)."""
    dead: int
    """Rows that every generalization of the interval suppresses."""
    static: float
    """The part of the bound that is no matter of suppression: it only grows as groups are merged."""


class BlockCost(NamedTuple):
    """One group of the pivot's leaves, the other columns being given: its rows' part of the whole cost."""

    block: int
    cost: float
    suppressed: int
    bound: float


class CostEvaluator(Protocol):
    """Answers for many intervals at once."""

    @property
    def rows(self) -> int:
        """Rows of the source."""

    @property
    def limit(self) -> int:
        """The most rows that may be suppressed."""

    @property
    def checks(self) -> int:
        """Generalizations and groups that the database has evaluated so far."""

    pause: Callable[[], None]
    """Called between statements; may end the search by BudgetSpent, and with it what was asked."""
    left: Callable[[], float | None]
    """The seconds that a statement may still take before BudgetSpent ends it; None: any number."""

    @property
    def separable(self) -> bool:
        """Whether `block_costs` can be asked."""

    def measure(self, intervals: Sequence[CostInterval], own: CostSide) -> list[Measured]:
        """The costs of some generalizations, in the order of `intervals`."""

    def block_costs(
        self,
        intervals: Sequence[CostInterval],
        own: CostSide,
        pivot: int,
        blocks: Sequence[Block],
        slacks: Sequence[float],
    ) -> list[list[BlockCost]]:
        """For each interval: the groups of the pivot's leaves that its slack admits, whatever the pivot's ends are.

        A slack admits groups that add no more than it to the static cost of the pivot's single leaves.
        """


class Clock:
    """A budget in use: its seconds run from the moment the clock is made.

    Evaluated generalizations and seconds are looked at between batches; statements end when the seconds do.
    """

    def __init__(self, budget: Budget, evaluator: CostEvaluator, now: Callable[[], float] = time.monotonic) -> None:
        self._budget = budget
        self._evaluator = evaluator
        self._now = now
        self._started = now()
        self._before = evaluator.checks

    @property
    def checks(self) -> int:
        return self._evaluator.checks - self._before

    def check(self) -> None:
        """Raise BudgetSpent when seconds or nodes are used up."""
        self.check_seconds()
        nodes = self._budget.nodes
        if nodes is not None and self.checks >= nodes:
            raise BudgetSpent

    def check_seconds(self) -> None:
        """Raise BudgetSpent when seconds are used up, whatever the nodes are: asked for within a batch."""
        left = self.left()
        if left is not None and left <= 0:
            raise BudgetSpent

    def left(self) -> float | None:
        """The seconds that are left, below 0 beyond the budget; None: any number."""
        seconds = self._budget.seconds
        return None if seconds is None else seconds - (self._now() - self._started)

    def watch(self, evaluator: CostEvaluator) -> None:
        """Let the evaluator look at this clock."""
        evaluator.pause, evaluator.left = self.check_seconds, self.left


Direction = Literal["bottom_up", "top_down"]


@dataclass(frozen=True)
class Space:
    """All generalizations that may be chosen: one tree for each column."""

    trees: tuple[EnumerationTree, ...]

    @property
    def columns(self) -> range:
        return range(len(self.trees))

    @property
    def bottom(self) -> Generalization:
        return tuple(identity(tree.domain.size) for tree in self.trees)

    @property
    def top(self) -> Generalization:
        return tuple(whole(tree.domain.size) for tree in self.trees)

    @property
    def size(self) -> int:
        """How many generalizations there are."""
        return prod(tree.scheme.count(tree.domain) for tree in self.trees)

    def allows(self, generalization: Generalization) -> bool:
        return all(tree.allows(part) for tree, part in zip(self.trees, generalization, strict=True))

    def coarser(self, generalization: Generalization) -> Iterator[Generalization]:
        """Neighbours with fewer groups: two groups of one column merged, and what its scheme merges with them."""
        for column in self.columns:
            seen: set[Partition] = set()
            for partition in joins(self.trees[column], generalization[column]):
                if partition not in seen:
                    seen.add(partition)
                    yield replaced(generalization, column, partition)

    def random(self, source: Random) -> Generalization:
        """A generalization by random merges, each column as far as chance has it."""
        return tuple(_random(tree, source) for tree in self.trees)


def replaced(generalization: Generalization, column: int, partition: Partition) -> Generalization:
    return (*generalization[:column], partition, *generalization[column + 1 :])


def joins(tree: EnumerationTree, partition: Partition) -> Iterator[Partition]:
    """The partitions that merging two groups leads to, made valid by merging what the scheme wants with them."""
    if isinstance(tree.scheme, BasicHierarchical):
        yield from tree.merges(partition)
        return
    for first, second in tree.pairs(blocks(partition)):
        yield joined(tree, partition, (*first, *second))


def joined(tree: EnumerationTree, partition: Partition, leaves: Sequence[int]) -> Partition:
    """The least valid partition above this one that has these leaves in one group."""
    found = set(leaves)
    while True:
        codes = {partition[leaf] for leaf in tree.scheme.closure(tree.domain, sorted(found))}
        wider = {leaf for leaf, code in enumerate(partition) if code in codes}
        if wider == found:
            return merged(partition, wider)
        found = wider


def _random(tree: EnumerationTree, source: Random) -> Partition:
    partition = identity(tree.domain.size)
    if isinstance(tree.scheme, BasicHierarchical):
        return source.choice(tree.domain.levels)
    for _ in range(source.randrange(tree.domain.size)):
        groups = blocks(partition)
        if len(groups) > 1:
            first, second = source.sample(range(len(groups)), 2)
            partition = joined(tree, partition, (*groups[first], *groups[second]))
    return canonical(partition)


@dataclass(frozen=True)
class Techniques:
    """Li and Li 2007, section 4.4, each on or off; the last one is ours (docs/algorithms/schemes.md)."""

    seeding: bool = True
    reconsider: bool = True
    """Modified breadth-first search: a node waits, and is looked at again before it is expanded."""
    order_nodes: bool = True
    """Least bound first."""
    order_applicators: bool = True
    """Columns whose merges merge few classes first."""
    pivot: bool = True
    """The largest column is solved by dynamic programming once the others are given."""


@dataclass(frozen=True)
class Solution:
    """The best generalization that a search found, and what it proved."""

    generalization: Generalization
    cost: float
    suppressed: int
    bound: float
    """No valid generalization costs less."""
    proven: bool
    """Whether the search ended, so that the cost is the least one. Heuristics prove nothing."""
    checks: int
    expanded: int = 0
    direction: Direction | None = None
    pruned: int = 0

    @property
    def gap(self) -> float:
        """How far the cost may lie above the least one, as a share of it."""
        return 0.0 if self.proven or self.cost <= 0 else max(0.0, 1 - max(0.0, self.bound) / self.cost)


RANDOM = 48
"""Random generalizations; the paper does not say how many it takes."""
NEIGHBOURS = 800
"""Merges that a step of the descent looks at, drawn by chance where there are more."""

Take = Callable[[Sequence[Generalization], Sequence[Measured]], None]
"""Told of every generalization that was measured; may end the search by BudgetSpent."""


def measured(evaluator: CostEvaluator, generalizations: Sequence[Generalization]) -> list[Measured]:
    """What single generalizations cost."""
    return evaluator.measure([CostInterval.point(item) for item in generalizations], CostSide.LOWER)


def rank(found: Measured, limit: int) -> tuple[int, float]:
    """Rows above the limit, then cost: what a search without proof goes by."""
    return max(0, found.suppressed - limit), found.cost


def sow(space: Space, evaluator: CostEvaluator, seed: int, take: Take) -> None:
    """Measure seeds; `take` keeps what it likes."""
    source = Random(seed)
    drawn = list(dict.fromkeys([space.bottom, space.top, *_paused(evaluator, _draws(space, source))]))
    answers = measured(evaluator, drawn)
    take(drawn, answers)
    ranked = sorted(zip(answers, drawn, strict=True), key=lambda pair: (rank(pair[0], evaluator.limit), pair[1]))
    _descend(space, evaluator, space.bottom, source, take)
    _descend(space, evaluator, ranked[0][1], source, take)


def _draws(space: Space, source: Random) -> Iterator[Generalization]:
    return (space.random(source) for _ in range(RANDOM))


def _paused(evaluator: CostEvaluator, made: Iterator[Generalization]) -> Iterator[Generalization]:
    """The same, with a look at the clock before each: of large columns one takes a while to make."""
    for generalization in made:
        evaluator.pause()
        yield generalization


def _descend(space: Space, evaluator: CostEvaluator, start: Generalization, source: Random, take: Take) -> None:
    """Merge the two groups that lower the cost most, as long as any do."""
    here, [current] = start, measured(evaluator, [start])
    while neighbours := list(_paused(evaluator, space.coarser(here))):
        if len(neighbours) > NEIGHBOURS:
            neighbours = source.sample(neighbours, NEIGHBOURS)
        answers = measured(evaluator, neighbours)
        take(neighbours, answers)
        best = min(range(len(answers)), key=lambda index: (rank(answers[index], evaluator.limit), neighbours[index]))
        if rank(answers[best], evaluator.limit) >= rank(current, evaluator.limit):
            break
        here, current = neighbours[best], answers[best]
