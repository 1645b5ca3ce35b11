"""What both forms of discernibility share: the bound from the number of classes that are possible at all.

Pure arithmetic on level figures and squares of class sizes.
"""

from __future__ import annotations

from math import exp as exponential
from math import inf, log

from sqlanon.metrics.base import Context, Metric, Verdict

SQUARES = "squares"


class ByClasses(Metric):
    """A metric whose bound follows from the most classes a node can have: the product of its columns' values."""

    learns = True

    def level_costs(self, context: Context, suppressed: int) -> list[list[float]]:
        return [[-log(max(1, figures.values)) for figures in levels] for levels in context.levels]


class Discernible(ByClasses):
    """Squares of class sizes. With at most C classes the sum of n * n is at least N * N / C."""

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        return max(float(context.rows), context.rows * context.rows * exponential(total))

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        return log(score / context.rows / context.rows) if score > 0 else -inf

    def learned_bound(self, verdict: Verdict, context: Context) -> float:
        """Classes only merge when a node is generalized, and a suppressed row costs N, more than any class."""
        return verdict.figures[SQUARES]
