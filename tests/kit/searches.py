"""Short ways to run an algorithm on a table in tests."""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.metrics.registry import metric_named
from sqlanon.search.budget import Budget
from sqlanon.search.objective import Objective
from sqlanon.search.preferences import Preferences
from sqlanon.search.registry import algorithm_named
from sqlanon.search.result import SearchResult
from tests.kit.fake_evaluator import FakeEvaluator, Table, at_least


def run(
    algorithm: str,
    evaluator: FakeEvaluator,
    metric: str = "loss",
    preferences: Preferences | None = None,
    budget: Budget | None = None,
    weights: Sequence[float] | None = None,
) -> SearchResult:
    objective = Objective.of(metric_named(metric), evaluator, weights)
    return algorithm_named(algorithm)(evaluator, objective, preferences or Preferences(), budget or Budget())


def k_anonymous(table: Table, k: int, limit: int = 0) -> FakeEvaluator:
    return FakeEvaluator(table, at_least(k), limit)
