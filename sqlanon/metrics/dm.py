"""`dm`: discernibility (Bayardo and Agrawal): each kept row costs the size of its class, each suppressed row N.

Measures rows, not columns: weights play no part.
"""

from __future__ import annotations

from math import exp as exponential
from math import inf, log

from sqlglot import exp

from sqlanon.metrics.base import Context, Verdict
from sqlanon.metrics.discernibility import SQUARES, Discernible
from sqlanon.metrics.figures import squares, squares_of_kept

SQUARES_OF_KEPT = "squares_of_kept"
ONE_OF_TWO = -log(2)
"""N * S + (N - S) ** 2 / C rises with S for every C from 2 on: one class is counted as two."""


class Discernibility(Discernible):
    """Sum of n * n over kept classes, plus N * S."""

    name = "dm"

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        return {SQUARES: squares(), SQUARES_OF_KEPT: squares_of_kept()}

    def score(self, verdict: Verdict, context: Context) -> float:
        return verdict.figures[SQUARES_OF_KEPT] + float(context.rows * verdict.suppressed)

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        """The kept rows cost at least (N - S) ** 2 / classes. With one class this stays below the truth by half."""
        kept = context.rows - suppressed
        if suppressed == 0:
            return super().bound_of(total, context)
        return context.rows * suppressed + kept * kept * exponential(min(total, ONE_OF_TWO))

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        left = score - context.rows * suppressed
        kept = context.rows - suppressed
        if suppressed == 0:
            return super().ceiling(score, context)
        if left <= 0 or kept == 0:
            return -inf if left < 0 else inf
        total = log(left / kept / kept)
        return inf if total >= ONE_OF_TWO else total
