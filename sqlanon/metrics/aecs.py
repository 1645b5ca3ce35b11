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
        """Classes only merge, and a kept class made of failing ones takes at least two of them."""
        failing = int(verdict.figures[ALL_CLASSES]) - verdict.classes
        return context.rows / (verdict.classes + (failing + 1) // 2)
