"""Thousands of lattices on each engine: random tables, every k and limit on them, every algorithm, every metric.

One scan answers for all requirements on a table, so that a database can judge many lattices in little time. Truth is
the brute force of tests/kit/fake_evaluator.py, which shares no code with metrics or SQL.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings

from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.evaluation.rollups import NodeCounts
from sqlanon.hierarchies.lattice import Lattice, minimal_nodes
from sqlanon.metrics import METRICS
from sqlanon.search import algorithm_named
from sqlanon.search.base import Budget, Objective, SearchResult
from sqlanon.search.session import Preferences
from tests.kit.database import prepared
from tests.kit.fake_evaluator import Table, at_least, score
from tests.kit.papers import labels_of
from tests.pipeline.test_search_properties import VALUES, cases, spec_of

KS = (1, 2, 3, 5)
MANY = int(os.environ.get("SQLANON_LATTICE_TABLES", "60"))
"""Random tables for each engine under `make soak`. One table makes up to 24 lattices, each searched 21 times."""
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]

pytestmark = pytest.mark.no_cover


def profile(examples: int, *, derandomize: bool) -> settings:
    return settings(max_examples=examples, deadline=None, suppress_health_check=CHECKS, derandomize=derandomize)


tables = cases().map(lambda drawn: drawn[0]).filter(lambda case: all(None not in row for row in case.rows))


def check_table(url: str, case: Any) -> None:
    """Every requirement on one table."""
    definitions = [case.spec["columns"][name]["hierarchy"] for name in case.columns]
    hierarchies = tuple(dict(labels_of(definition, {*VALUES}, Path())) for definition in definitions)
    truth = Table(case.rows, hierarchies)  # type: ignore[arg-type]  # no value is None: the strategy filters them
    lattice = Lattice.of_heights(truth.heights)
    figures = {name: figure for metric in METRICS.values() for name, figure in metric.figures(len(hierarchies)).items()}
    with prepared(spec_of(case, case.rows, url, 1, 0)) as (run, frequency):
        counts = NodeCounts(run.engine, frequency, [requirement_of(run.binding, k) for k in KS], run.scratch)
        for index, k in enumerate(KS):
            evaluator = SqlEvaluator(counts, lattice=lattice, limit=0, figures=figures, requirement=index)
            evaluator.measure(list(lattice))
            for limit in sorted({0, 1, 2, 3, len(case.rows) // 2, len(case.rows)}):
                check_lattice(truth, k, evaluator.within(limit))


def check_lattice(truth: Table, k: int, evaluator: SqlEvaluator) -> None:
    """Every algorithm and metric under one requirement."""
    classes = {node: truth.classes(node, at_least(k)) for node in evaluator.lattice}
    suppressed = {node: sum(one.size for one in found if not one.kept) for node, found in classes.items()}
    assert {verdict.node: verdict.suppressed for verdict in evaluator.check(list(classes))} == suppressed
    acceptable = [node for node in sorted(classes) if suppressed[node] <= evaluator.limit]
    if not acceptable:
        return
    weights = [1.0] * len(truth.hierarchies)
    minimal = minimal_nodes(acceptable)
    assert list(solved("minimal", evaluator, "loss").minimal) == minimal
    assert sorted(solved("incognito", evaluator, "loss").acceptable or ()) == acceptable
    samarati = solved("samarati", evaluator, "loss").chosen.node
    assert samarati == min(node for node in minimal if sum(node) == min(map(sum, minimal)))
    for metric in METRICS:
        scores = {node: score(metric, truth, node, classes[node], weights) for node in acceptable}
        best = min(scores.values())
        for algorithm in ("optimal", "exhaustive"):
            found = solved(algorithm, evaluator, metric)
            assert found.score == pytest.approx(best, rel=1e-9, abs=1e-9), (metric, algorithm)
            assert scores[found.chosen.node] == pytest.approx(best, rel=1e-9, abs=1e-9)


def solved(algorithm: str, evaluator: SqlEvaluator, metric: str) -> SearchResult:
    objective = Objective.of(METRICS[metric], evaluator)
    return algorithm_named(algorithm)(evaluator, objective, Preferences(), Budget())


@given(case=tables)
@profile(4, derandomize=True)
def test_lattices_on_duckdb(case: Any) -> None:
    check_table("duckdb:///:memory:", case)


@pytest.mark.postgres
@given(case=tables)
@profile(2, derandomize=True)
def test_lattices_on_postgres(postgres_url: str, case: Any) -> None:
    check_table(postgres_url, case)


@pytest.mark.soak
@given(case=tables)
@profile(MANY, derandomize=False)
def test_many_lattices_on_duckdb(case: Any) -> None:
    check_table("duckdb:///:memory:", case)


@pytest.mark.soak
@pytest.mark.postgres
@given(case=tables)
@profile(MANY, derandomize=False)
def test_many_lattices_on_postgres(postgres_url: str, case: Any) -> None:
    check_table(postgres_url, case)
