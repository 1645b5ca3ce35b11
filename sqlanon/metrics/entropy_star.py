"""`entropy*`: non-uniform entropy without the term of the suppressed rows: the monotone form.

Known without any query. Weights multiply each column's entropy.
"""

from __future__ import annotations

from sqlanon.metrics.base import Context, Metric, Verdict


class EntropyStar(Metric):
    """Sum over columns of weight * (minus the sum over rows of log2(f(value) / f(generalized value)))."""

    name = "entropy*"
    static = True

    def score(self, verdict: Verdict, context: Context) -> float:
        return self.bound(verdict.node, context)

    def level_costs(self, context: Context, suppressed: int) -> list[list[float]]:
        return [
            [weight * figures.entropy for figures in levels]
            for weight, levels in zip(context.weights, context.levels, strict=True)
        ]
