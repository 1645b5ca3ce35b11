"""Every algorithm against brute force, on random problems, with batches and samples small enough to matter."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from sqlanon.errors import InfeasibleError
from sqlanon.hierarchies.lattice import minimal_nodes
from sqlanon.search import ALGORITHMS, optimal, samarati, session
from sqlanon.search import questions as classify
from sqlanon.search import questions as sample
from sqlanon.search.base import Budget, SearchResult
from sqlanon.search.session import DEFAULT_POLICIES
from tests.kit.examples import share
from tests.kit.fake_evaluator import run
from tests.kit.search_problems import CLOSE, Problem, problems, ranked, solve

EXAMPLES = int(os.environ.get("SQLANON_SEARCH_EXAMPLES", "40"))
"""Random problems for each algorithm; raise it to hunt for rare ones."""
relaxed = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=share(EXAMPLES),
)


@pytest.fixture(autouse=True, scope="module", params=[pytest.param("usual", marks=pytest.mark.no_cover), "tiny"])
def batches(request: pytest.FixtureRequest) -> Iterator[None]:
    """Tiny batches and samples, and a first answer on any lattice: small ones take as many rounds as large ones do."""
    with ExitStack() as stack:
        if request.param == "tiny":
            for module in (session, optimal, classify, samarati):
                stack.enter_context(patch.object(module, "BATCH", 4))
            stack.enter_context(patch.object(optimal, "FIRST_BATCH", 2))
            stack.enter_context(patch.object(optimal, "SMALL_LATTICE", 4))
            stack.enter_context(patch.object(sample, "MOST", 7))
        yield


@pytest.mark.parametrize("algorithm", ["optimal", "exhaustive"])
@relaxed
@given(problem=problems())
def test_the_best_node_under_the_metric(algorithm: str, problem: Problem) -> None:
    acceptable = problem.acceptable()
    result = solve(problem, algorithm)
    if not acceptable:
        assert result is None
        return
    assert result is not None
    scores = problem.scores(acceptable)
    best = min(scores.values())
    assert result.score == pytest.approx(best, rel=CLOSE, abs=CLOSE)
    tied = [node for node, score in scores.items() if score <= best + CLOSE * max(1.0, abs(best))]
    assert list(result.ties) == ranked(problem, tied, problem.preferences.policies)
    assert result.chosen.node == result.ties[0]
    assert result.chosen.suppressed == problem.evaluator().verdict(result.chosen.node).suppressed
    assert result.proven
    assert result.undecided == 0


@pytest.mark.parametrize("algorithm", ["minimal", "incognito"])
@relaxed
@given(problem=problems())
def test_all_minimal_nodes(algorithm: str, problem: Problem) -> None:
    acceptable = problem.acceptable()
    result = solve(problem, algorithm)
    if not acceptable:
        assert result is None
        return
    assert result is not None
    minimal = minimal_nodes(acceptable)
    assert list(result.minimal) == minimal
    assert result.minimal_complete
    assert list(result.ties) == ranked(problem, minimal, problem.preferences.policies or DEFAULT_POLICIES)
    if algorithm == "incognito":
        assert list(result.acceptable or ()) == acceptable


@pytest.mark.parametrize("algorithm", ["samarati", "minimal", "incognito", "optimal", "exhaustive"])
@relaxed
@given(problem=problems(), below=st.integers(0, 2))
def test_a_lower_bound_changes_no_answer(algorithm: str, problem: Problem, below: int) -> None:
    """Any height with no acceptable node below it, the greatest there is or less."""
    plain, bounded = problem.evaluator(), problem.evaluator()
    lowest = min(map(sum, plain.acceptable()), default=plain.lattice.highest + 1)
    bounded.lowest_height = max(0, lowest - below)
    answers: list[SearchResult | None] = []
    for evaluator in (plain, bounded):
        try:
            answers.append(run(algorithm, evaluator, problem.metric, problem.preferences, None, problem.weights))
        except InfeasibleError:
            answers.append(None)
    first, second = answers
    if first is None or second is None:
        assert first is second
        return
    assert (first.chosen, first.ties) == (second.chosen, second.ties)
    # samarati lists those minimal vectors that it met: with a bound it meets fewer.
    minimal = minimal_nodes(problem.acceptable())
    assert second.minimal == first.minimal if algorithm != "samarati" else set(second.minimal) <= set(minimal)
    assert (second.proven, second.undecided) == (first.proven, first.undecided)
    if algorithm == "samarati":
        assert all(int(str(step["try"])) >= bounded.lowest_height for step in second.trace)


@relaxed
@given(problem=problems())
def test_exhaustive_lists_everything(problem: Problem) -> None:
    acceptable = problem.acceptable()
    assume(acceptable)
    result = solve(problem, "exhaustive")
    assert result is not None
    assert list(result.acceptable or ()) == acceptable
    assert list(result.minimal) == minimal_nodes(acceptable)


@relaxed
@given(problem=problems())
def test_find_vector_takes_the_preferred_vector_of_the_least_height(problem: Problem) -> None:
    acceptable = problem.acceptable()
    result = solve(problem, "samarati")
    if not acceptable:
        assert result is None
        return
    assert result is not None
    least = min(map(sum, acceptable))
    lowest = [node for node in acceptable if sum(node) == least]
    expected = ranked(problem, lowest, problem.preferences.policies)
    assert result.chosen.node == expected[0]
    if problem.preferences.policies:
        assert list(result.ties) == expected
    assert set(result.minimal) <= set(minimal_nodes(acceptable))
    assert result.proven


@relaxed
@given(problem=problems())
def test_datafly_ends_at_an_acceptable_node(problem: Problem) -> None:
    result = solve(problem, "datafly")
    acceptable = problem.acceptable()
    if result is not None:
        assert result.chosen.node in acceptable
        assert not result.proven
    elif problem.monotone and problem.lattice.top in acceptable:
        pytest.fail("every path ends at the top")


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
@relaxed
@given(problem=problems(), nodes=st.integers(1, 20))
def test_a_budget_ends_in_an_acceptable_node_or_none(algorithm: str, problem: Problem, nodes: int) -> None:
    evaluator = problem.evaluator()
    acceptable = problem.acceptable()
    try:
        result = run(algorithm, evaluator, problem.metric, problem.preferences, Budget(nodes=nodes), problem.weights)
    except InfeasibleError:
        assert evaluator.checks <= nodes
        return
    assert result.chosen.node in acceptable
    if result.proven and algorithm in {"optimal", "exhaustive"}:
        assert result.score == pytest.approx(min(problem.scores(acceptable).values()), rel=CLOSE, abs=CLOSE)
    if not result.proven:
        assert result.undecided > 0 or algorithm == "datafly"
    assert evaluator.checks <= nodes + 1, "the chosen node's own verdict is all that may come on top"


@relaxed
@given(problem=problems(monotone=True))
def test_inheritance_never_asks_for_more_than_everything(problem: Problem) -> None:
    evaluator = problem.evaluator()
    with suppress(InfeasibleError):
        run("optimal", evaluator, problem.metric, problem.preferences, None, problem.weights)
    assert evaluator.checks <= problem.lattice.size
