"""`hdm`: hierarchical discernibility of a generalization (Li and Li 2007, section 4.1).

Known without any query: the paper defines it on one generalization, not on one table. The mean over columns is
weighted.
"""

from __future__ import annotations

from sqlanon.metrics.base import Context, Metric, Verdict


class HierarchicalDiscernibility(Metric):
    """Sum over rows of the weighted mean over columns of (f(generalized) - f(value)) / (N - f(value))."""

    name = "hdm"
    static = True

    def score(self, verdict: Verdict, context: Context) -> float:
        return self.bound(verdict.node, context)

    def level_costs(self, context: Context, suppressed: int) -> list[list[float]]:
        return [
            [share * figures.hdm for figures in levels]
            for share, levels in zip(context.weight_shares, context.levels, strict=True)
        ]
