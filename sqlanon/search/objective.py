"""What a search minimizes: a metric with everything static it needs, bound to one evaluator.

Pure beyond reading the evaluator's static figures once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.metrics.base import Context, Metric, Verdict
from sqlanon.search.base import Evaluator

RELATIVE_TOLERANCE = 1e-11
"""Scores closer than this are one score: engines add floating-point numbers in different orders."""


@dataclass(frozen=True)
class Objective:
    """A metric and its context."""

    metric: Metric
    context: Context

    @classmethod
    def of(cls, metric: Metric, evaluator: Evaluator, weights: Sequence[float] | None = None) -> Objective:
        """The metric over what the evaluator knows; weights default to 1 for every column."""
        return cls(
            metric,
            Context(
                rows=evaluator.rows,
                heights=evaluator.heights,
                leaves=tuple(evaluator.leaves),
                levels=tuple(tuple(levels) for levels in evaluator.level_figures()),
                weights=tuple(weights) if weights is not None else (1.0,) * len(evaluator.heights),
            ),
        )

    def score(self, verdict: Verdict) -> float:
        return self.metric.score(verdict, self.context)

    def needs_figures(self, verdict: Verdict) -> bool:
        """Whether the node must be measured before it can be scored."""
        return not self.metric.static and self.metric.needs_figures(verdict)


def not_better_than(score: float) -> float:
    """Scores up to here tie with `score`; scores beyond are worse."""
    return score + RELATIVE_TOLERANCE * max(1.0, abs(score))
