"""Metrics against their written definitions, and every bound against every node it speaks of."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings

from sqlanon.errors import UsageError
from sqlanon.hierarchies.lattice import Node, dominates
from sqlanon.metrics import METRICS, metric_named
from sqlanon.metrics.base import Context, LevelFigures, Verdict, accuracy, completeness
from sqlanon.search.base import Objective, not_better_than
from tests.kit.examples import share
from tests.kit.fake_evaluator import FakeEvaluator, Hierarchy, Table, at_least, level_figures, score
from tests.kit.search_problems import Problem, problems

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=share(20))


@pytest.mark.no_cover
@pytest.mark.parametrize("name", sorted(METRICS))
@relaxed
@given(problem=problems(columns=3))
def test_score_is_the_definition(name: str, problem: Problem) -> None:
    evaluator = problem.evaluator()
    objective = Objective.of(METRICS[name], evaluator, problem.weights)
    for node in evaluator.lattice:
        classes = problem.table.classes(node, evaluator.requirement)
        expected = score(name, problem.table, node, classes, problem.weights)
        measured = evaluator.verdict(node, measured=True)
        assert objective.score(measured) == pytest.approx(expected, rel=1e-9, abs=1e-9)
        checked = evaluator.verdict(node)
        if not objective.needs_figures(checked):
            assert objective.score(checked) == pytest.approx(expected, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("name", sorted(METRICS))
@relaxed
@given(problem=problems(columns=3))
def test_bounds_hold_for_the_node_and_all_its_generalizations(name: str, problem: Problem) -> None:
    evaluator = problem.evaluator()
    objective = Objective.of(METRICS[name], evaluator, problem.weights)
    metric, context = objective.metric, objective.context
    verdicts = {node: evaluator.verdict(node, measured=True) for node in evaluator.lattice}
    scores = {node: objective.score(verdict) for node, verdict in verdicts.items()}
    for node, verdict in verdicts.items():
        bound = metric.bound(node, context)
        learned = metric.learned_bound(verdict, context)
        for upper, reached in scores.items():
            if dominates(upper, node):
                assert bound <= not_better_than(reached)
                assert learned <= not_better_than(reached)
                at_least_suppressed = verdicts[upper].suppressed
                assert metric.bound(node, context, at_least_suppressed) <= not_better_than(reached)
                assert metric.bound(node, context, at_least_suppressed // 2) <= not_better_than(reached)


@pytest.mark.no_cover
@pytest.mark.parametrize("name", sorted(METRICS))
@relaxed
@given(problem=problems(columns=3))
def test_the_ceiling_inverts_the_bound(name: str, problem: Problem) -> None:
    evaluator = problem.evaluator()
    metric = METRICS[name]
    context = Objective.of(metric, evaluator, problem.weights).context
    for suppressed in (0, 1, evaluator.rows // 2, evaluator.rows):
        costs = metric.costs(context, suppressed)
        for node in evaluator.lattice:
            total = sum(costs[column][level] for column, level in enumerate(node))
            reached = metric.bound(node, context, suppressed)
            assert total <= metric.ceiling(not_better_than(reached), context, suppressed) + 1e-9


@pytest.mark.parametrize("name", sorted(name for name, metric in METRICS.items() if metric.static))
@relaxed
@given(problem=problems(columns=3))
def test_static_scores_are_their_bounds(name: str, problem: Problem) -> None:
    evaluator = problem.evaluator()
    objective = Objective.of(METRICS[name], evaluator, problem.weights)
    assert not objective.metric.figures(len(evaluator.heights))
    for node in evaluator.lattice:
        assert objective.score(Verdict(node, 0, 0)) == objective.metric.bound(node, objective.context)


def test_hdm_of_merged_values() -> None:
    """CASES L4: 1000 rows, 50 Inc and 200 Not-inc merged."""
    hierarchy: Hierarchy = {
        "Inc": ("Inc", "Self-employed", "*"),
        "Not-inc": ("Not-inc", "Self-employed", "*"),
        "Private": ("Private", "Private", "*"),
    }
    rows = (("Inc",),) * 50 + (("Not-inc",),) * 200 + (("Private",),) * 750
    figures = level_figures(Table(rows, (hierarchy,)), 0, 1)
    assert figures.hdm == pytest.approx(50 * 4 / 19 + 200 * 1 / 16)
    evaluator = FakeEvaluator(Table(rows, (hierarchy,)), at_least(2), 0)
    objective = Objective.of(METRICS["hdm"], evaluator)
    assert objective.score(evaluator.verdict((1,))) == pytest.approx(figures.hdm)


def test_accuracy_and_completeness() -> None:
    assert accuracy((0, 0), (1, 2)) == 1
    assert accuracy((1, 2), (1, 2)) == 0
    assert accuracy((), ()) == 1
    assert completeness(1, 8) == 7 / 8
    assert completeness(0, 0) == 1


def test_an_unknown_metric_is_named() -> None:
    with pytest.raises(UsageError, match=r"no metric 'los'.*loss"):
        metric_named("los")


@pytest.mark.parametrize("weights", [(0.0, 0.0), (1.0, -1.0)])
def test_weights_must_make_sense(weights: tuple[float, ...]) -> None:
    level = LevelFigures(1.0, 0.0, 0.0, 1)
    heights: Node = (0, 0)
    with pytest.raises(UsageError, match="weights"):
        Context(1, heights, (1, 1), ((level,), (level,)), weights)
