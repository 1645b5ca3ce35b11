"""The seam between searches over schemes and the database: costs of generalizations, bounds of intervals, a budget.

Searches see only `CostEvaluator`. An interval is a pair of generalizations, one below the other, with all between.
Pure.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple, Protocol

from sqlanon.search.base import Budget, BudgetSpent
from sqlanon.search.schemes.domain import Block, Partition

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
