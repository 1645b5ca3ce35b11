"""`height`: the sum of the levels (Samarati 2001, section 5): the number of generalization steps.

Known without any query. Weights multiply each column's steps.
"""

from __future__ import annotations

from sqlanon.metrics.base import Context, Metric, Verdict


class Height(Metric):
    """Sum over columns of weight * level."""

    name = "height"
    static = True

    def score(self, verdict: Verdict, context: Context) -> float:
        return self.bound(verdict.node, context)

    def level_costs(self, context: Context, suppressed: int) -> list[list[float]]:
        return [
            [weight * level for level in range(height + 1)]
            for weight, height in zip(context.weights, context.heights, strict=True)
        ]
