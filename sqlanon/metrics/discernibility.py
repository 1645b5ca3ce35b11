"""What both forms of discernibility share: squares of class sizes, and the bound that column entropies give them.

Pure arithmetic on level figures and verdicts.
"""

from __future__ import annotations

from math import exp as exponential
from math import inf, log

from sqlanon.metrics.base import Context, Metric, Verdict

SQUARES = "squares"


class Discernible(Metric):
    """Sums of n * n: at least N * N / 2 ** H, with H the entropy of the classes in bits (Jensen).

    H is at most the sum of what the columns' levels still tell (entropy is subadditive), and that is static.
    """

    learns = True

    def needs_figures(self, verdict: Verdict) -> bool:
        return not verdict.figures

    def level_costs(self, context: Context, suppressed: int) -> list[list[float]]:
        return [
            [(figures.entropy - levels[-1].entropy) * log(2) / context.rows for figures in levels]
            for levels in context.levels
        ]

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        return max(float(context.rows), context.rows * context.rows * exponential(total))

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        return log(score / context.rows / context.rows) if score > 0 else -inf

    def learned_bound(self, verdict: Verdict, context: Context) -> float:
        """Classes only merge when a node is generalized, and a suppressed row costs N, more than any class."""
        return verdict.figures[SQUARES]
