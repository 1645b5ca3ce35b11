"""`dm*`: discernibility without suppression: the monotone form, a lower bound of `dm`.

Measures rows, not columns: weights play no part.
"""

from __future__ import annotations

from sqlglot import exp

from sqlanon.metrics.base import Context, Verdict
from sqlanon.metrics.discernibility import SQUARES, Discernible
from sqlanon.metrics.figures import squares


class DiscernibilityStar(Discernible):
    """Sum of n * n over all classes."""

    name = "dm*"

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        return {SQUARES: squares()}

    def score(self, verdict: Verdict, context: Context) -> float:
        return verdict.figures[SQUARES]
