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

    def after(self, nodes: int, seconds: float) -> Budget:
        """What is left of it when so much has been spent.

        >>> Budget(nodes=10).after(4, 2.5)
        Budget(nodes=6, seconds=None)
        """
        return Budget(
            None if self.nodes is None else max(0, self.nodes - nodes),
            None if self.seconds is None else max(0.0, self.seconds - seconds),
        )


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
