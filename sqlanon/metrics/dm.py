"""`dm`: discernibility (Bayardo and Agrawal): each kept row costs the size of its class, each suppressed row N.

Measures rows, not columns: weights play no part.
"""

from __future__ import annotations

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
