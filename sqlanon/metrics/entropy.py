"""`entropy`: non-uniform entropy, plus the entropy that suppressed rows lose by becoming one value.

The first part is static and bounds the score from below; weights multiply each column's part of both.

`entropy*`: non-uniform entropy without the term of the suppressed rows: the monotone form.

Known without any query. Weights multiply each column's entropy.
"""

from __future__ import annotations

from math import log, log2

from sqlglot import exp

from sqlanon.metrics.base import Context, Metric, Verdict, suppressed_logarithms


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


def _figure(column: int) -> str:
    return f"suppressed_logarithms_{column}"


class Entropy(EntropyStar):
    """`entropy*` plus, with S suppressed rows, minus the sum over their generalized values of c * log2(c / S)."""

    name = "entropy"
    static = False

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        return {_figure(column): suppressed_logarithms(column) for column in range(columns)}

    def needs_figures(self, verdict: Verdict) -> bool:
        return verdict.suppressed > 0 and not verdict.figures

    def score(self, verdict: Verdict, context: Context) -> float:
        released = self.bound(verdict.node, context)
        if verdict.suppressed == 0:
            return released
        all_in_one = verdict.suppressed * log2(verdict.suppressed)
        return released + sum(
            weight * max(0.0, all_in_one - verdict.figures[_figure(column)] / log(2))
            for column, weight in enumerate(context.weights)
        )
