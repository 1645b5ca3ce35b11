"""`precision`: the mean relative level over columns, a suppressed row standing at the top (Sweeney's Prec, as a loss).

Needs the number of suppressed rows and no other figure. The mean over columns is weighted.
"""

from __future__ import annotations

from math import inf

from sqlanon.metrics.base import Context, Metric, Verdict, relative_level


class Precision(Metric):
    """Weighted mean over columns of ((N - S) * level / height + S) / N."""

    name = "precision"

    def score(self, verdict: Verdict, context: Context) -> float:
        return self.bound(verdict.node, context, verdict.suppressed)

    def level_costs(self, context: Context, suppressed: int) -> list[list[float]]:
        return [
            [share * relative_level(level, height) for level in range(height + 1)]
            for share, height in zip(context.weight_shares, context.heights, strict=True)
        ]

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        lost = suppressed / context.rows
        return total * (1 - lost) + lost

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        lost = suppressed / context.rows
        return (score - lost) / (1 - lost) if lost < 1 else inf
