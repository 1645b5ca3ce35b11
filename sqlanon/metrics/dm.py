"""`dm`: discernibility (Bayardo and Agrawal): each kept row costs the size of its class, each suppressed row N.

Measures rows, not columns: weights play no part.
"""

from __future__ import annotations

from math import inf

from sqlglot import exp

from sqlanon.metrics.base import Context, Verdict
from sqlanon.metrics.discernibility import SQUARES, Discernible
from sqlanon.metrics.figures import squares, squares_of_kept

SQUARES_OF_KEPT = "squares_of_kept"


class Discernibility(Discernible):
    """Sum of n * n over kept classes, plus N * S."""

    name = "dm"

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        return {SQUARES: squares(), SQUARES_OF_KEPT: squares_of_kept()}

    def score(self, verdict: Verdict, context: Context) -> float:
        return verdict.figures[SQUARES_OF_KEPT] + float(context.rows * verdict.suppressed)

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        """A suppressed class of n <= S rows costs n * N instead of n * n, which is n * (N - S) more at least.

        S * (N - S) rises only up to S = N / 2; beyond that N * S alone is more than N * N / 2.
        """
        extra, most = self._extra(context, suppressed)
        return min(most, super().bound_of(total, context) + extra)

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        extra, most = self._extra(context, suppressed)
        return inf if score >= most else super().ceiling(score - extra, context)

    @staticmethod
    def _extra(context: Context, suppressed: int) -> tuple[float, float]:
        """What so many suppressed rows add, and where the bound ends."""
        if suppressed == 0:
            return 0.0, inf
        if 2 * suppressed > context.rows:
            return float(context.rows * suppressed), float(context.rows * suppressed)
        return float(suppressed * (context.rows - suppressed)), context.rows * context.rows / 2
