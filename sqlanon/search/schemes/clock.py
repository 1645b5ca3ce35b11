"""A budget in use by a search over schemes: evaluated generalizations and seconds, looked at between batches. Pure."""

from __future__ import annotations

import time
from collections.abc import Callable

from sqlanon.search.budget import Budget, BudgetSpent
from sqlanon.search.schemes.costs import Evaluator


class Clock:
    """Started when it is made."""

    def __init__(self, budget: Budget, evaluator: Evaluator, now: Callable[[], float] = time.monotonic) -> None:
        self._budget = budget
        self._evaluator = evaluator
        self._now = now
        self._started = now()
        self._before = evaluator.checks

    @property
    def checks(self) -> int:
        return self._evaluator.checks - self._before

    def check(self) -> None:
        """Raise BudgetSpent when it is."""
        seconds, nodes = self._budget.seconds, self._budget.nodes
        if (seconds is not None and self._now() - self._started >= seconds) or (
            nodes is not None and self.checks >= nodes
        ):
            raise BudgetSpent
