"""`loss`: how much of each hierarchy a value could stand for, averaged geometrically over the columns.

A suppressed row could stand for the whole hierarchy. Only suppressed classes are summed: the share of all rows at a
level is static. A column's weight is its exponent's share of all weights (1/m when the weights are equal).
"""

from __future__ import annotations

from math import expm1, log1p

from sqlglot import exp

from sqlanon.metrics.base import Context, Metric, Verdict, suppressed_leaves


def _figure(column: int) -> str:
    return f"suppressed_leaves_{column}"


class Loss(Metric):
    """Product over columns of (1 + c) ** (weight share), minus 1; c is the column's loss between 0 and 1."""

    name = "loss"

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        return {_figure(column): suppressed_leaves(column) for column in range(columns)}

    def needs_figures(self, verdict: Verdict) -> bool:
        return verdict.suppressed > 0 and not verdict.figures

    def score(self, verdict: Verdict, context: Context) -> float:
        return expm1(
            sum(
                share * log1p(self._column_loss(column, self._shares(column, verdict, context), context))
                for column, share in enumerate(context.weight_shares)
            )
        )

    def level_costs(self, context: Context, suppressed: int) -> list[list[float]]:
        """A suppressed row adds at least what is missing from the largest share of its level."""
        return [
            [
                share * log1p(self._column_loss(column, level.share + suppressed * (1 - level.largest_share), context))
                for level in context.levels[column]
            ]
            for column, share in enumerate(context.weight_shares)
        ]

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        return expm1(total)

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        return log1p(score)

    @staticmethod
    def _shares(column: int, verdict: Verdict, context: Context) -> float:
        """A: the shares of the kept rows, plus one for each suppressed row."""
        everything = context.level(column, verdict.node).share
        if verdict.suppressed == 0:
            return everything
        return everything - verdict.figures[_figure(column)] / context.leaves[column] + verdict.suppressed

    @staticmethod
    def _column_loss(column: int, shares: float, context: Context) -> float:
        least = context.rows / context.leaves[column]
        return max(0.0, (shares - least) / (context.rows - least)) if context.leaves[column] > 1 else 0.0
