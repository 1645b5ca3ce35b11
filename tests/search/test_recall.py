"""Verdicts known from before: the answers stay those of brute force, and less is asked."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlanon.errors import InfeasibleError
from sqlanon.hierarchies.lattice import minimal_nodes
from sqlanon.search import ALGORITHMS
from tests.kit.examples import share
from tests.kit.fake_evaluator import run
from tests.kit.search_problems import Problem, problems

CLOSE = 1e-9

pytestmark = pytest.mark.no_cover


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=share(40))
@given(problem=problems(), data=st.data())
def test_answers_do_not_depend_on_what_was_known(algorithm: str, problem: Problem, data: st.DataObject) -> None:
    fresh, told = problem.evaluator(), problem.evaluator()
    before = data.draw(st.lists(st.sampled_from(list(problem.lattice)), unique=True))
    told.check(before)
    told.measure(data.draw(st.lists(st.sampled_from(before), unique=True)) if before else [])
    try:
        alone = run(algorithm, fresh, problem.metric, problem.preferences, None, problem.weights)
    except InfeasibleError:
        with pytest.raises(InfeasibleError):
            run(algorithm, told, problem.metric, problem.preferences, None, problem.weights)
        return
    result = run(algorithm, told, problem.metric, problem.preferences, None, problem.weights)
    assert result.chosen.suppressed == alone.chosen.suppressed
    assert result.chosen.node == alone.chosen.node
    assert result.score == pytest.approx(alone.score, rel=CLOSE, abs=CLOSE)
    assert result.checks == told.checks - len(before)
    if alone.minimal_complete:
        assert list(result.minimal) == list(alone.minimal) == minimal_nodes(problem.acceptable())


@settings(deadline=None, max_examples=share(60))
@given(problem=problems(monotone=True))
def test_nothing_is_asked_when_everything_is_known(problem: Problem) -> None:
    told = problem.evaluator()
    told.measure(list(problem.lattice))
    for algorithm in ("optimal", "samarati", "minimal"):
        try:
            result = run(algorithm, told, problem.metric, problem.preferences, None, problem.weights)
        except InfeasibleError:
            continue
        assert result.checks == 0
