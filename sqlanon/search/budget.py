"""How much a search may cost: evaluated nodes and seconds. Every algorithm stops when its budget is spent.

A `Meter` is a budget in use; algorithms never read a clock themselves.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from sqlanon.search.base import Evaluator


@dataclass(frozen=True)
class Budget:
    """None: no such limit. Seconds are looked at between batches of nodes."""

    nodes: int | None = None
    seconds: float | None = None


class BudgetSpent(Exception):
    """Raised inside a search, never out of it: what was found so far is the answer."""


class Meter:
    """A budget that started running."""

    def __init__(self, budget: Budget, evaluator: Evaluator, clock: Callable[[], float] = time.monotonic) -> None:
        self._budget = budget
        self._evaluator = evaluator
        self._clock = clock
        self._started = clock()
        self._checks_before = evaluator.checks

    @property
    def checks(self) -> int:
        """Nodes the database evaluated for this search."""
        return self._evaluator.checks - self._checks_before

    def room(self) -> int | None:
        """How many more nodes may be evaluated; None: any number. BudgetSpent when none."""
        if self._budget.seconds is not None and self._clock() - self._started >= self._budget.seconds:
            raise BudgetSpent
        if self._budget.nodes is None:
            return None
        if self.checks >= self._budget.nodes:
            raise BudgetSpent
        return self._budget.nodes - self.checks
