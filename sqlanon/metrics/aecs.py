"""`aecs`: average equivalence class size, the suppressed rows counted as one more class.

Measures rows, not columns: weights play no part.
"""

from __future__ import annotations

from math import exp as exponential
from math import inf, log

from sqlglot import exp

from sqlanon.metrics.base import Context, Metric, Verdict, all_classes

ALL_CLASSES = "all_classes"


class AverageClassSize(Metric):
    """N / (kept classes, plus one when rows are suppressed)."""

    name = "aecs"
    learns = True

    def figures(self, columns: int) -> dict[str, exp.Expression]:
        return {ALL_CLASSES: all_classes()}

    def score(self, verdict: Verdict, context: Context) -> float:
        return context.rows / (verdict.classes + (1 if verdict.suppressed else 0))

    def level_costs(self, context: Context, suppressed: int) -> list[list[float]]:
        """There are at most as many classes as combinations of values."""
        return [[-log(max(1, figures.values)) for figures in levels] for levels in context.levels]

    def bound_of(self, total: float, context: Context, suppressed: int = 0) -> float:
        return max(1.0, context.rows * exponential(total))

    def ceiling(self, score: float, context: Context, suppressed: int = 0) -> float:
        return log(score / context.rows) if score > 0 else -inf

    def learned_bound(self, verdict: Verdict, context: Context) -> float:
        """Classes only merge: each class of a node above has a kept class of this one in it, or failing ones alone.

        Of failing ones it takes two, since one alone fails there too, and as many rows as a kept class has at least.
        What is left of them counts as one class of suppressed rows: so there are at most half as many as failing
        classes, and as many as their rows have room for, rounded up. Where the least class is not known
        (`Context.least_class` is 0), a failing class may be kept above as it is.
        """
        failing = int(verdict.figures[ALL_CLASSES]) - verdict.classes
        if not context.least_class:
            return context.rows / (verdict.classes + failing + (1 if failing else 0))
        return context.rows / (verdict.classes + min(-(-failing // 2), -(-verdict.suppressed // context.least_class)))
