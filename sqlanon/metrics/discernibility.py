"""Discernibility `dm` (Bayardo and Agrawal) and its monotone form `dm*`, a lower bound of it.

Sums of squared class sizes, bounded by the entropies of the columns. Measures rows, not columns: weights play no part.
Pure arithmetic on level figures and verdicts.
"""

from __future__ import annotations

from math import exp as exponential
from math import inf, log

from sqlglot import exp

from sqlanon.metrics.base import Context, Metric, Verdict, squares, squares_of_kept, squares_of_whole

SQUARES = "squares"


class Discernible(Metric):
    """Sums of n * n: at least N * N / 2 ** H, with H the entropy of the classes in bits (Jensen).

    H is at most the sum of what the columns' levels still tell (entropy is subadditive), and that is static.
    """

    learns = True

    def needs_figures(self, verdict: Verdict) -> bool:
        return not verdict.figures

    def level_costs(self, context: Context, suppressed: int) -> list[list[float]]:
        return [
            [(figures.entropy - levels[-1].entropy) * log(2) / context.rows for figures in levels]
            for levels in context.levels
        ]

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        return max(float(context.rows), context.rows * context.rows * exponential(total))

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        return log(score / context.rows / context.rows) if score > 0 else -inf

    def learned_bound(self, verdict: Verdict, context: Context) -> float:
        """Classes only merge when a node is generalized, and a suppressed row costs N, more than any class.

        Where a class may be kept in part (`Context.least_class` is 0) let s of its rows be suppressed. If a node above
        keeps a of them, they cost a * a + (s - a) * N at least there. That is s * s or more, unless s exceeds N / 2:
        then it may be less by (s - N / 2) squared. One class at most is so large, and s is at most the suppressed rows.
        """
        if context.least_class:
            return verdict.figures[SQUARES]
        return verdict.figures[SQUARES] - max(0.0, verdict.suppressed - context.rows / 2) ** 2


SQUARES_OF_KEPT = "squares_of_kept"
SQUARES_OF_WHOLE = "squares_of_whole"


class Discernibility(Discernible):
    """Sum of n * n over kept classes, plus N * S.

    Each kept row costs the size of its class, each suppressed row N.
    """

    name = "dm"
    cedes = True

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        return {SQUARES: squares(), SQUARES_OF_KEPT: squares_of_kept()}

    def score(self, verdict: Verdict, context: Context) -> float:
        return verdict.figures[SQUARES_OF_KEPT] + float(context.rows * verdict.suppressed)

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        """A suppressed class of n <= S rows costs n * N instead of n * n, which is n * (N - S) more at least.

        S * (N - S) rises only up to S = N / 2; beyond that N * S alone is more than N * N / 2.
        """
        extra, most = self._extra(context, suppressed)
        return min(most, super().bound_of(total, context) + extra)

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        extra, most = self._extra(context, suppressed)
        return inf if score >= most else super().ceiling(score - extra, context)

    def surcharge(self, verdict: Verdict, context: Context) -> float:
        """A node below suppresses the same rows and more, at N each instead of the size of their class.

        Bounds without the surcharge count for each row the size of its class at that node or at one further below. For
        the rows suppressed here these sizes are at most those of their classes here: so N * S, less the sum of n * n
        over the classes that fail here, comes on top. Where a class may be kept in part this says nothing.
        """
        if not context.least_class:
            return 0.0
        failing = verdict.figures[SQUARES] - verdict.figures[SQUARES_OF_KEPT]
        return max(0.0, float(context.rows * verdict.suppressed) - failing)

    @staticmethod
    def _extra(context: Context, suppressed: int) -> tuple[float, float]:
        """What so many suppressed rows add, and where the bound ends."""
        if suppressed == 0:
            return 0.0, inf
        if 2 * suppressed > context.rows:
            return float(context.rows * suppressed), float(context.rows * suppressed)
        return float(suppressed * (context.rows - suppressed)), context.rows * context.rows / 2


class DiscernibilityStar(Discernible):
    """Discernibility without suppression: the sum of n * n over all classes."""

    name = "dm*"

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        return {SQUARES_OF_WHOLE: squares_of_whole()}

    def score(self, verdict: Verdict, context: Context) -> float:
        return verdict.figures[SQUARES_OF_WHOLE]

    def learned_bound(self, verdict: Verdict, context: Context) -> float:
        """Classes only merge when a node is generalized, whatever is suppressed."""
        return verdict.figures[SQUARES_OF_WHOLE]
