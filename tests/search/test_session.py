"""Budgets, progress, messages, constraints: what all algorithms share."""

from __future__ import annotations

import pytest

from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics import metric_named
from sqlanon.search import ALGORITHMS, algorithm_named
from sqlanon.search.base import Budget, BudgetSpent, Meter, Objective
from sqlanon.search.session import Preferences
from tests.kit.fake_evaluator import FakeEvaluator, Table, at_least, k_anonymous, run
from tests.kit.search_tables import C1, S1, S3

GUARANTEED = ["exhaustive", "incognito", "minimal", "optimal", "samarati"]


def test_an_unknown_algorithm_is_named() -> None:
    with pytest.raises(UsageError, match=r"no algorithm 'optimum'.*optimal"):
        algorithm_named("optimum")


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_infeasible_says_the_least_suppression(algorithm: str) -> None:
    with pytest.raises(InfeasibleError, match="least suppression seen is 12 of 12 rows, the limit is 3") as raised:
        run(algorithm, k_anonymous(S1, 13, limit=3))
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize("algorithm", GUARANTEED)
def test_constraints_that_leave_nothing(algorithm: str) -> None:
    every_level = tuple(((0, level),) for level in (0, 1))
    with pytest.raises(InfeasibleError, match="constraints"):
        run(algorithm, k_anonymous(S1, 2), preferences=Preferences(forbidden=every_level))


@pytest.mark.parametrize("algorithm", GUARANTEED)
def test_one_node_of_budget_finds_the_top(algorithm: str) -> None:
    evaluator = k_anonymous(S3, 2)
    result = run(algorithm, evaluator, metric="height", budget=Budget(nodes=1))
    assert result.chosen.node == evaluator.lattice.top
    assert not result.proven
    assert result.undecided > 0
    assert result.checks == 1


def test_a_budget_too_small_for_datafly() -> None:
    with pytest.raises(InfeasibleError, match="budget"):
        run("datafly", k_anonymous(S3, 2), budget=Budget(nodes=1))


def test_a_greedy_path_that_ends_says_no_more_than_it_knows() -> None:
    """[1,0] is acceptable and may be chosen, but the greedy path goes by [0,1]."""
    forbidden = (((0, 0), (1, 2)), ((0, 1), (1, 1)), ((0, 1), (1, 2)))
    constraints = Preferences(forbidden=forbidden)
    assert run("optimal", k_anonymous(S1, 3), preferences=constraints).chosen.node == (1, 0)
    with pytest.raises(InfeasibleError, match="one path ended"):
        run("datafly", k_anonymous(S1, 3), preferences=constraints)


@pytest.mark.parametrize("algorithm", ["exhaustive", "incognito"])
def test_a_budget_cut_short_lists_no_acceptable_nodes_as_if_they_were_all(algorithm: str) -> None:
    assert run(algorithm, k_anonymous(S3, 2), metric="height", budget=Budget(nodes=5)).acceptable is None


def test_every_node_of_a_lattice_is_never_held_at_once() -> None:
    """A budget of a few nodes is spent at once on a lattice of millions."""
    values = {f"v{value}": tuple(f"{value >> level}" for level in range(6)) for value in range(32)}
    table = Table((("v0",) * 9, ("v0",) * 9), (values,) * 9)
    result = run("exhaustive", k_anonymous(table, 2), metric="height", budget=Budget(nodes=3))
    assert result.lattice == 6**9
    assert result.checks == 3
    assert result.undecided == 6**9 - 3


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_no_time_at_all(algorithm: str) -> None:
    with pytest.raises(InfeasibleError, match="budget"):
        run(algorithm, k_anonymous(S3, 2), budget=Budget(seconds=0))


def test_seconds_run_out() -> None:
    now = [0.0]
    meter = Meter(Budget(seconds=5), k_anonymous(S1, 2), clock=lambda: now[0])
    assert meter.room() is None
    now[0] = 5.0
    with pytest.raises(BudgetSpent):
        meter.room()


def test_known_verdicts_cost_no_budget() -> None:
    evaluator = k_anonymous(S3, 2)
    evaluator.check(list(evaluator.lattice))
    result = run("exhaustive", evaluator, metric="height", budget=Budget(nodes=1))
    assert result.proven
    assert result.checks == 0


@pytest.mark.parametrize("algorithm", sorted(ALGORITHMS))
def test_progress_is_told(algorithm: str) -> None:
    told: list[tuple[int, int]] = []
    evaluator = k_anonymous(S3, 2)
    objective = Objective.of(metric_named("loss"), evaluator)
    ALGORITHMS[algorithm](
        evaluator, objective, Preferences(), Budget(), lambda checks, left: told.append((checks, left))
    )
    assert told
    assert [checks for checks, _ in told] == sorted(checks for checks, _ in told)


@pytest.mark.parametrize("algorithm", GUARANTEED)
def test_generalize_one_before_the_other(algorithm: str) -> None:
    """Marital status only once the ZIP code is at its top."""
    result = run(algorithm, k_anonymous(C1, 3, 2), metric="height", preferences=Preferences(before=((0, 1),)))
    assert result.chosen.node == (2, 1, 0)


@pytest.mark.parametrize("algorithm", GUARANTEED)
def test_forbidden_combinations_are_evaluated_but_not_chosen(algorithm: str) -> None:
    forbidden = (((0, 1), (1, 1), (2, 0)),)
    result = run(algorithm, k_anonymous(C1, 3, 2), metric="height", preferences=Preferences(forbidden=forbidden))
    assert result.chosen.node == (0, 2, 1)
    if result.minimal_complete:
        assert result.minimal == ((0, 2, 1), (1, 1, 1), (1, 2, 0), (2, 1, 0))


@pytest.mark.parametrize("algorithm", GUARANTEED)
def test_levels_may_be_bounded(algorithm: str) -> None:
    evaluator = FakeEvaluator(C1, at_least(3), 2, lattice=Lattice((0, 0, 1), (1, 1, 1)))
    result = run(algorithm, evaluator, metric="height")
    assert result.chosen.node == (1, 1, 1)
    assert result.lattice == 4


def test_an_unknown_preference_is_named() -> None:
    with pytest.raises(UsageError, match="no preference 'least'"):
        Preferences(("least",))


@pytest.mark.parametrize(
    ("policy", "expected"),
    [
        ("highest_absolute_peak", (0, 2, 1)),
        ("lowest_absolute_peak", (1, 1, 0)),
        ("highest_relative_peak", (0, 2, 1)),
        ("lowest_relative_peak", (1, 1, 0)),
        ("minimum_relative_distance", (1, 1, 0)),
        ("minimum_weighted_distance", (0, 2, 1)),
    ],
)
def test_policies_on_the_chapters_table(policy: str, expected: Node) -> None:
    """The minimal vectors are [0,2,1] and [1,1,0]."""
    result = run("minimal", k_anonymous(C1, 3, 2), preferences=Preferences((policy,)), weights=[9.0, 1.0, 1.0])
    assert result.chosen.node == expected


def test_policies_compose_in_order() -> None:
    both = Preferences(("fewest_generalized", "highest_absolute_peak"))
    result = run("minimal", k_anonymous(C1, 3, 2), preferences=both)
    assert result.ties == ((0, 2, 1),)
    tied = run("minimal", k_anonymous(C1, 3, 2), preferences=Preferences(("most_generalized",)))
    assert tied.ties == ((0, 2, 1), (1, 1, 0))
    assert tied.chosen.node == (0, 2, 1)


def test_reported_nodes_come_with_their_verdicts() -> None:
    result = run("minimal", k_anonymous(C1, 3, 2))
    assert {node: verdict.suppressed for node, verdict in result.verdicts.items()} == {(0, 2, 1): 1, (1, 1, 0): 1}


def test_a_search_batches_its_questions() -> None:
    evaluator = k_anonymous(S3, 2)
    run("exhaustive", evaluator, metric="height")
    assert len(evaluator.batches) < evaluator.checks / 10


def test_one_column_of_one_value() -> None:
    table = Table((("a",), ("a",)), ({"a": ("a",)},))
    for algorithm in ALGORITHMS:
        assert run(algorithm, k_anonymous(table, 2)).chosen.node == (0,)
