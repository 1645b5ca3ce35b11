"""`entropy`: non-uniform entropy, plus the entropy that suppressed rows lose by becoming one value.

The first part is static and bounds the score from below; weights multiply each column's part of both.
"""

from __future__ import annotations

from math import log, log2

from sqlglot import exp

from sqlanon.metrics.base import Context, Verdict
from sqlanon.metrics.entropy_star import EntropyStar
from sqlanon.metrics.figures import suppressed_logarithms


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
