"""`tds`: top-down specialization (Fung, Wang and Yu 2005). Greedy: from the top, always the most rewarding node.

The reward is what the specialization saves of the cost for each row that it makes outliers of. Pure.
"""

from __future__ import annotations

from sqlanon.search.base import Progress
from sqlanon.search.budget import Budget, BudgetSpent
from sqlanon.search.schemes.clock import Clock
from sqlanon.search.schemes.costs import Evaluator, Measured
from sqlanon.search.schemes.cuts import Best, specializations
from sqlanon.search.schemes.problem import Solution, Space


def specialize(
    space: Space, evaluator: Evaluator, budget: Budget, seed: int = 0, progress: Progress | None = None
) -> Solution:
    """Specialize as long as that lowers the cost within the limit. Nothing is random: any seed does the same."""
    best = Best(evaluator, Clock(budget, evaluator))
    try:
        cut, [here] = space.top, best.ask([space.top])
        while below := list(specializations(space, cut)):
            answers = best.ask(below)
            if progress is not None:
                progress(evaluator.checks, len(below))
            better = [
                index
                for index, found in enumerate(answers)
                if found.suppressed <= evaluator.limit and found.cost < here.cost
            ]
            if not better:
                break
            chosen = max(better, key=lambda index: (_reward(here, answers[index]), below[index]))
            cut, here = below[chosen], answers[chosen]
    except BudgetSpent:
        pass
    return best.solution()


def _reward(before: Measured, after: Measured) -> float:
    """Information gained over anonymity lost."""
    return (before.cost - after.cost) / (1 + max(0, after.suppressed - before.suppressed))
