"""Non-uniform entropy: `entropy`, and its monotone form `entropy*` without the term of the suppressed rows.

`entropy*` is known without any query and bounds `entropy` from below. Weights multiply each column's part of both.
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
    """`entropy*` plus, with S suppressed rows, minus the sum over their generalized values of c * log2(c / S).

    The second term is the entropy that suppressed rows lose by becoming one value.
    """

    name = "entropy"
    static = False
    cedes = True

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        return {_figure(column): suppressed_logarithms(column) for column in range(columns)}

    def needs_figures(self, verdict: Verdict) -> bool:
        return verdict.suppressed > 0 and not verdict.figures

    def score(self, verdict: Verdict, context: Context) -> float:
        return self.bound(verdict.node, context) + self.surcharge(verdict, context)

    def surcharge(self, verdict: Verdict, context: Context) -> float:
        """The second term never falls when a node is specialized.

        Its nodes below suppress the same rows and more: S * log2(S) - sum of c * log2(c) grows with every count c (the
        derivative by c is log2(S / c)). Their values are finer: splitting a count lowers the sum of c * log2(c).
        """
        if verdict.suppressed == 0:
            return 0.0
        all_in_one = verdict.suppressed * log2(verdict.suppressed)
        return sum(
            weight * max(0.0, all_in_one - verdict.figures[_figure(column)] / log(2))
            for column, weight in enumerate(context.weights)
        )
