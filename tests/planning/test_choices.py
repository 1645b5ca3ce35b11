"""Everything a spec may choose in `search` works from the spec to the plan, and every node reported has its figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any, get_args

import duckdb
import pytest

from sqlanon import pipeline
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.problem import Problem, problem_of, solve
from sqlanon.metrics import METRICS
from sqlanon.metrics.base import accuracy, completeness
from sqlanon.recoding.registry import RECODERS
from sqlanon.release.results import PlanResult
from sqlanon.search import ALGORITHMS
from sqlanon.search.base import SearchResult
from sqlanon.search.session import POLICIES, Preferences
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.run import Options, Run
from sqlanon.source.scratch import Scratch
from sqlanon.spec.search import Algorithm, Metric, Preference
from tests.kit.database import Database, case_spec, create_case, prepared, solved
from tests.kit.fake_evaluator import k_anonymous, run
from tests.kit.papers import load_case
from tests.kit.search_tables import C1

CASE = load_case("c1")
WEIGHTS = {"zip": 9, "marital": 1, "sex": 1}


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("choices") / "test.duckdb"
    with duckdb.connect(path):
        create_case(Database(f"duckdb:///{path}"), CASE)
        yield f"duckdb:///{path}"


class Scanned:
    """The table scanned once; every spec is then answered as the pipeline answers it after a scan of its own.

    Counts of a requirement are shared by all who ask for them, as in a what-if grid; matrices are made anew.
    """

    def __init__(self, run: Run, frequency: FrequencySet) -> None:
        self._run = run
        self._frequency = frequency
        self._problems: dict[object, tuple[Problem, SqlEvaluator]] = {}

    def solve(self, k: int = 3, limit: int = 2, **search: Any) -> SearchResult:
        spec = case_spec(CASE, "duckdb:///:memory:", k, limit, **search)
        if spec.search.satisfies == "matrix":
            return solved(self._run, self._frequency, spec)
        run = replace(self._run, binding=replace(self._run.binding, spec=spec))
        asked = (k, limit, spec.search.metric)
        if asked not in self._problems:
            problem = problem_of(run, self._frequency)
            self._problems[asked] = problem, problem.evaluator()
        problem, evaluator = self._problems[asked]
        with Scratch(run.engine, run.binding.scratch) as scratch:
            return solve(replace(problem, run=replace(run, scratch=scratch)), evaluator)


@pytest.fixture(scope="module")
def scanned(url: str) -> Iterator[Scanned]:
    with prepared(case_spec(CASE, url, 2, 0)) as (run, frequency):
        yield Scanned(run, frequency)


def plan(url: str, *, all_minimal: bool = False, **search: Any) -> PlanResult:
    return pipeline.plan(case_spec(CASE, url, 3, 2, **search), Options(all_minimal=all_minimal))


def test_a_spec_may_name_exactly_what_there_is() -> None:
    assert set(get_args(Algorithm)) == {*ALGORITHMS, *RECODERS}
    assert set(get_args(Metric)) == set(METRICS)
    assert set(get_args(Preference)) == set(POLICIES)


@pytest.mark.parametrize("policy", sorted(POLICIES))
def test_every_preference(scanned: Scanned, policy: str) -> None:
    expected = run("minimal", k_anonymous(C1, 3, 2), preferences=Preferences((policy,)), weights=[9.0, 1.0, 1.0])
    assert scanned.solve(algorithm="minimal", prefer=[policy], weights=WEIGHTS).ties == expected.ties


@pytest.mark.parametrize("metric", sorted(METRICS))
def test_every_metric(scanned: Scanned, metric: str) -> None:
    expected = run("exhaustive", k_anonymous(C1, 3, 2), metric, weights=[9.0, 1.0, 1.0])
    for algorithm in ("optimal", "exhaustive"):
        found = scanned.solve(algorithm=algorithm, metric=metric, weights=WEIGHTS)
        assert found.ties == expected.ties
        assert found.score == pytest.approx(expected.score)


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_every_reported_node_has_its_figures(url: str, algorithm: str) -> None:
    content = plan(url, algorithm=algorithm).to_dict()
    reported = {tuple(node["levels"]): node for node in content["nodes"]}
    wanted = {tuple(content["levels"].values()), *map(tuple, content["ties"]), *map(tuple, content["minimal"])}
    assert set(reported) == wanted
    for vector, node in reported.items():
        assert node["suppressed"] == CASE.outliers(3, vector)
        assert node["classes"] == sum(size >= 3 for size in CASE.classes(vector).values())
        assert node["accuracy"] == accuracy(vector, CASE.heights)
        assert node["completeness"] == completeness(CASE.outliers(3, vector), len(CASE.rows))


def test_incognito_lists_the_acceptable_nodes(url: str) -> None:
    content = plan(url, algorithm="incognito").to_dict()
    assert list(map(tuple, content["acceptable_nodes"])) == CASE.acceptable(3, 2)
    assert content["acceptable"] == len(CASE.acceptable(3, 2))


@pytest.mark.parametrize("algorithm", ["samarati", "minimal", "incognito", "exhaustive", "optimal"])
@pytest.mark.parametrize(
    "constraints",
    [{}, {"before": [["zip", "marital"]]}, {"forbidden": [{"zip": 1}, {"zip": 0}]}, {"forbidden": [{"sex": 0}]}],
)
def test_the_matrix_answers_as_the_counts_under_constraints(
    scanned: Scanned, algorithm: str, constraints: dict[str, Any]
) -> None:
    """A least upper bound holds for minimal vectors among all, not among those that may be chosen."""
    for k, limit in ((2, 4), (3, 2)):
        found = [
            scanned.solve(k, limit, algorithm=algorithm, satisfies=satisfies, constraints=constraints)
            for satisfies in ("counts", "matrix")
        ]
        assert found[0].chosen == found[1].chosen
        assert found[0].minimal == found[1].minimal
        assert found[0].acceptable == found[1].acceptable


@pytest.mark.parametrize("nodes", [1, 2, 5, 9])
def test_listing_all_minimal_nodes_keeps_to_the_budget(url: str, nodes: int) -> None:
    result = plan(url, all_minimal=True, algorithm="optimal", metric="height", budget={"nodes": nodes})
    assert result.search.checks <= nodes + 2, "the figures of the two chosen nodes are all that may come on top"
    assert {*result.search.minimal} >= {*CASE.minimal(3, 2)} if result.search.minimal_complete else True


def test_all_minimal_nodes_are_listed_when_the_budget_allows(url: str) -> None:
    assert plan(url, all_minimal=True, algorithm="optimal").search.minimal == tuple(CASE.minimal(3, 2))


def test_an_answer_stands_when_no_budget_is_left_to_list_minimal_nodes(url: str) -> None:
    budget = {"nodes": 2}
    levels = {"zip": 2, "marital": 2, "sex": 1}
    forbidden = {"forbidden": [levels]}
    alone = plan(url, algorithm="optimal", metric="height", budget=budget, constraints=forbidden)
    listed = plan(url, all_minimal=True, algorithm="optimal", metric="height", budget=budget, constraints=forbidden)
    assert listed.chosen.node == alone.chosen.node
    assert not listed.search.minimal_complete
