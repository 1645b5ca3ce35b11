"""What metrics say of nodes that nobody asked for, against the score of every node by brute force."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlanon.hierarchies.lattice import Node, dominates
from sqlanon.metrics import METRICS, metric_named
from sqlanon.metrics.base import Verdict
from sqlanon.search.base import Objective
from tests.kit.examples import share
from tests.kit.fake_evaluator import FakeEvaluator, GroupedTable, Hierarchy, Table, at_least, run, score
from tests.kit.search_problems import hierarchies, problems

CLOSE = 1e-9
many = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=share(60))
LEARNING = sorted(name for name in METRICS if METRICS[name].learns or METRICS[name].cedes)


@st.composite
def grouped(draw: st.DrawFn) -> FakeEvaluator:
    """Several groupings of the columns, each with its own k: classes are kept in part."""
    made = tuple(draw(st.lists(hierarchies(), min_size=2, max_size=3)))
    row = st.tuples(*(st.sampled_from(sorted(hierarchy)) for hierarchy in made))
    columns = st.lists(st.integers(0, len(made) - 1), min_size=1, max_size=len(made), unique=True).map(tuple)
    groupings = draw(st.lists(st.tuples(columns, st.integers(1, 6)), min_size=1, max_size=3))
    table = GroupedTable(tuple(draw(st.lists(row, min_size=1, max_size=20))), made, tuple(groupings))
    return FakeEvaluator(table, at_least(1), draw(st.integers(0, len(table.rows))), least_class=0)


def violations(evaluator: FakeEvaluator, name: str, weights: Sequence[float]) -> Iterator[tuple[Node, str]]:
    """Nodes whose true score lies below what a measured node says of them."""
    metric = metric_named(name)
    objective = Objective.of(metric, evaluator, weights)
    context = objective.context
    verdicts: dict[Node, Verdict] = {node: evaluator.verdict(node, measured=True) for node in sorted(evaluator.lattice)}
    for node in verdicts:
        true = score(name, evaluator.table, node, evaluator.table.classes(node, evaluator.requirement), weights)
        reached = true + CLOSE * max(1.0, true)
        learned = [metric.learned_bound(item, context) for lower, item in verdicts.items() if dominates(node, lower)]
        surcharges = [0.0]
        if evaluator.monotone:
            surcharges = [metric.surcharge(item, context) for upper, item in verdicts.items() if dominates(upper, node)]
        if max(learned) > reached:
            yield node, "learned from below"
        if max(learned) + max(surcharges) > reached:
            yield node, "learned from below and from above"
        if metric.bound(node, context) + max(surcharges) > reached:
            yield node, "static, and learned from above"


@pytest.mark.parametrize("name", LEARNING)
@many
@given(data=st.data())
def test_no_score_lies_below_what_other_nodes_say(name: str, data: st.DataObject) -> None:
    problem = data.draw(problems(columns=3))
    assert not list(violations(problem.evaluator(), name, problem.weights))


@pytest.mark.parametrize("name", LEARNING)
@many
@given(evaluator=grouped())
def test_nor_where_classes_are_kept_in_part(name: str, evaluator: FakeEvaluator) -> None:
    assert not list(violations(evaluator, name, [1.0] * len(evaluator.heights)))


@pytest.mark.parametrize("name", sorted(METRICS))
@many
@given(evaluator=grouped())
def test_the_best_node_where_classes_are_kept_in_part(name: str, evaluator: FakeEvaluator) -> None:
    acceptable = evaluator.acceptable()
    if not acceptable:
        return
    ones = [1.0] * len(evaluator.heights)
    scores = [
        score(name, evaluator.table, node, evaluator.table.classes(node, evaluator.requirement), ones)
        for node in acceptable
    ]
    assert run("optimal", evaluator, name).score == pytest.approx(min(scores), rel=CLOSE, abs=CLOSE)


def test_what_is_told_of_classes_matters() -> None:
    """With a least class that is not true, a bound is false: these tests would notice."""
    values: Hierarchy = {name: (name, name.lower(), "*") for name in "aAbBcCdD"}
    table = Table(tuple((name,) for name in "aAbBcCdD" * 2), (values,))
    assert list(violations(FakeEvaluator(table, at_least(4), 16, least_class=9), "aecs", [1.0]))
    assert not list(violations(FakeEvaluator(table, at_least(4), 16, least_class=4), "aecs", [1.0]))


def test_a_failing_class_may_be_kept_as_it_is_where_another_grouping_decided() -> None:
    """Two rows that differ in the last columns, suppressed for the second column: two kept classes above."""
    hierarchy: Hierarchy = {"a": ("a", "*"), "b": ("b", "*")}
    table = GroupedTable((("a", "a", "a"), ("a", "b", "b")), (hierarchy,) * 3, (((0, 1), 2),))
    assert table.classes((0, 1, 0), at_least(1))[0].kept
    assert not list(violations(FakeEvaluator(table, at_least(1), 1, least_class=0), "aecs", [1.0] * 3))
    assert list(violations(FakeEvaluator(table, at_least(1), 1, least_class=1), "aecs", [1.0] * 3))
