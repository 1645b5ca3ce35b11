"""Searches of lattices too large for a bit per node, bounds and gaps: against brute force on small ones."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import product
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlanon.errors import InfeasibleError
from sqlanon.hierarchies.lattice import Lattice, Node, dominates, minimal_nodes
from sqlanon.metrics import metric_named
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.search import bounds, boxes, descent, optimal, session
from sqlanon.search import questions as sample
from sqlanon.search.base import Budget, Objective, SearchResult
from sqlanon.search.node_sets import MOST_NODES, Antichain
from sqlanon.search.session import Preferences, SearchSession
from tests.kit.examples import share
from tests.kit.search_problems import CLOSE, Problem, problems, ranked, solve

relaxed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=share(60))

WAYS = {
    "boxes": {"MOST_CODED": 0, "SMALL_LATTICE": 0},
    "a bit per node": {"MOST_CODED": MOST_NODES, "SMALL_LATTICE": 0},
    "no first answer": {"MOST_CODED": MOST_NODES, "SMALL_LATTICE": MOST_NODES},
    "by halves": {"MOST_CODED": MOST_NODES, "SMALL_LATTICE": MOST_NODES},
}


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> Iterator[str]:
    """How sets of nodes are held; batches and samples are tiny, so that small lattices take many rounds."""
    with ExitStack() as stack:
        for name, value in WAYS[request.param].items():
            stack.enter_context(patch.object(optimal, name, value))
        for module in (session, optimal):
            stack.enter_context(patch.object(module, "BATCH", 4))
        stack.enter_context(patch.object(optimal, "FIRST_BATCH", 2))
        stack.enter_context(patch.object(bounds, "FEW", 0 if request.param == "by halves" else bounds.FEW))
        stack.enter_context(patch.object(bounds, "SMALL_LATTICE", 5 if request.param == "by halves" else 1 << 20))
        stack.enter_context(patch.object(sample, "MOST", 7))
        stack.enter_context(patch.object(boxes, "MOST", 5))
        stack.enter_context(patch.object(descent, "MOST_IN_BLOCK", 4))
        stack.enter_context(patch.object(descent, "PART", 1))
        yield request.param


@pytest.fixture(params=["by bounds", "the dearest first"])
def order(request: pytest.FixtureRequest) -> Iterator[None]:
    """With room for a handful of boxes the dearest are taken up first."""
    with patch.object(boxes, "MOST_BOXES", 3 if request.param == "the dearest first" else boxes.MOST_BOXES):
        yield


@pytest.mark.parametrize("way", ["boxes"], indirect=True)
@pytest.mark.usefixtures("way", "order")
@settings(relaxed, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(problem=problems())
def test_boxes_find_the_best_node_and_all_that_tie(problem: Problem) -> None:
    acceptable = problem.acceptable()
    result = solve(problem, "optimal")
    if not acceptable:
        assert result is None
        return
    assert result is not None
    scores = problem.scores(acceptable)
    best = min(scores.values())
    assert result.score == pytest.approx(best, rel=CLOSE, abs=CLOSE)
    tied = [node for node, score in scores.items() if score <= best + CLOSE * max(1.0, abs(best))]
    assert list(result.ties) == ranked(problem, tied, problem.preferences.policies)
    assert (result.proven, result.undecided, result.gap) == (True, 0, 0.0)


@settings(relaxed, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture])
@given(problem=problems(), nodes=st.integers(1, 20))
def test_a_gap_is_never_too_small(way: str, problem: Problem, nodes: int) -> None:
    """Whenever a budget ends the search: no acceptable node scores less than the bound."""
    acceptable = problem.acceptable()
    result = solve(problem, "optimal", Budget(nodes=nodes))
    if result is None:
        return
    best = min(problem.scores(acceptable).values())
    assert result.chosen.node in acceptable
    bound, gap = result.bound, result.gap
    assert bound is not None
    assert gap is not None
    assert bound <= best + CLOSE * max(1.0, best)
    assert best >= result.score * (1 - gap) - CLOSE * max(1.0, best)
    assert 0 <= gap <= 1
    assert gap == pytest.approx(0, abs=CLOSE) or not result.proven


@pytest.mark.parametrize("most", [1, 4, 9])
@relaxed
@given(problem=problems(monotone=True))
def test_no_acceptable_node_costs_less_than_its_blocks_of_columns(most: int, problem: Problem) -> None:
    """Each block alone by brute force, the other columns at their tops; and every node against the sum."""
    evaluator, lattice = problem.evaluator(), problem.lattice
    acceptable = evaluator.acceptable()
    if not acceptable:
        return
    metric = metric_named(problem.metric)
    objective = Objective.of(metric, evaluator, problem.weights)
    costs = metric.costs(objective.context)
    run = SearchSession(evaluator, objective, Preferences(), Budget(), None)
    with patch.object(descent, "MOST_IN_BLOCK", most):
        blocks = descent.Blocks(run, costs, lambda part, aim, left: optimal.search(part, aim, Preferences(), left))
        found, columns = blocks.least(), blocks.columns()
    assert sorted(column for block in columns for column in block) == [
        column for column, (low, high) in enumerate(zip(lattice.bottom, lattice.top, strict=True)) if low < high
    ]
    if len(columns) < 2:
        assert found == float("-inf")
        return
    fixed = set(range(len(lattice.top))) - {column for block in columns for column in block}
    total = sum(costs[column][lattice.top[column]] for column in fixed)
    for block in columns:
        alone = [
            node for node in acceptable if all(node[i] == top for i, top in enumerate(lattice.top) if i not in block)
        ]
        total += min(sum(costs[column][node[column]] for column in block) for node in alone)
    assert found == pytest.approx(metric.bound_of(total, objective.context), rel=1e-7, abs=1e-7)
    scores = problem.scores(acceptable)
    assert all(found <= score + CLOSE * max(1.0, score) for score in scores.values())


def test_a_gap_is_relative_to_the_score() -> None:
    result = SearchResult("optimal", "loss", Verdict((0,), 0, 1), 0.5, 1, 2, False, 1, ((0,),), bound=0.4)
    assert result.gap == pytest.approx(0.2)


@relaxed
@given(
    heights=st.lists(st.integers(0, 3), min_size=1, max_size=4).map(tuple),
    data=st.data(),
    highest=st.booleans(),
)
def test_antichains(heights: Node, data: st.DataObject, highest: bool) -> None:
    nodes = st.tuples(*(st.integers(0, height) for height in heights))
    added = data.draw(st.lists(nodes, max_size=120))
    chain = Antichain(heights, highest=highest)
    for node in added:
        chain.add(node)
    extreme = [
        node
        for node in set(added)
        if not any(other != node and (dominates(other, node) if highest else dominates(node, other)) for other in added)
    ]
    everything = (1 << len(chain.nodes)) - 1
    assert len(chain) == len(extreme)
    for node in product(*(range(height + 1) for height in heights)):
        above = [other for other in extreme if dominates(other, node)]
        below = [other for other in extreme if dominates(node, other)]
        assert sorted(chain.members(chain.above(node))) == sorted(above)
        assert sorted(chain.members(chain.below(node))) == sorted(below)
        assert chain.above(node) | everything == everything


# -- beyond a bit per node ---------------------------------------------------------------------------------------------


class Weighed:
    """An evaluator of any number of columns: a node suppresses what a weighed sum of its missing levels says."""

    relaxed = False
    monotone = True
    lowest_height = 0
    least_class = 0

    def __init__(self, heights: Node, weights: Sequence[int], limit: int, lost: int = 0) -> None:
        """`lost` more rows are suppressed at every node."""
        self._lost = lost
        self.heights, self._weights, self.limit = heights, weights, limit
        self.lattice = Lattice.of_heights(heights)
        self.leaves = tuple(2 for _ in heights)
        self.rows = 1 + sum(weight * height for weight, height in zip(weights, heights, strict=True))
        self.asked: dict[Node, Verdict] = {}

    @property
    def checks(self) -> int:
        return len(self.asked)

    def known(self) -> list[Verdict]:
        return []

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        for node in nodes:
            missing = (high - level for high, level in zip(self.heights, node, strict=True))
            suppressed = sum(weight * levels for weight, levels in zip(self._weights, missing, strict=True))
            self.asked[node] = Verdict(node, suppressed + self._lost, 1)
        return [self.asked[node] for node in nodes]

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        return self.check(nodes)

    def level_figures(self) -> list[list[LevelFigures]]:
        return [
            [LevelFigures(1.0, float(level), float(level), 1 + height - level) for level in range(height + 1)]
            for height in self.heights
        ]

    def least(self, costs: Sequence[int]) -> int:
        """The least weighed height of an acceptable node, by dynamic programming."""
        needed = self.rows - 1 - self.limit
        best = [0.0] + [float("inf")] * needed
        for weight, height, cost in zip(self._weights, self.heights, costs, strict=True):
            best = [
                min(best[max(0, need - weight * level)] + cost * level for level in range(height + 1))
                for need in range(needed + 1)
            ]
        return int(best[needed])


def weighed(columns: int, budget: Budget | None) -> tuple[SearchResult, int]:
    """A search of a lattice of 3 to the power of `columns` nodes, and the score of the best one."""
    weights = [3 + (7 * column) % 11 for column in range(columns)]
    costs = [2 + (5 * column) % 7 for column in range(columns)]
    evaluator = Weighed((2,) * columns, weights, sum(weights) // 2)
    objective = Objective.of(metric_named("height"), evaluator, [float(cost) for cost in costs])
    return optimal.search(evaluator, objective, Preferences(), budget or Budget()), evaluator.least(costs)


def test_thirty_columns_have_an_answer_and_a_gap() -> None:
    """Some 200 million million nodes: a good answer within 300 questions, and never a bound that is too high."""
    result, best = weighed(30, Budget(nodes=300))
    assert result.lattice == 3**30 > MOST_NODES
    assert best <= result.score <= best * 1.1
    assert result.bound is not None
    assert result.bound <= best
    assert not result.proven
    assert result.checks <= 301


def test_boxes_prove_what_a_bit_per_node_proves() -> None:
    with patch.object(optimal, "MOST_CODED", 0), patch.object(optimal, "SMALL_LATTICE", 0):
        result, best = weighed(8, None)
    assert result.proven
    assert result.score == best


def test_a_top_that_fails_ends_the_search_at_once() -> None:
    evaluator = Weighed((2,) * 30, [1] * 30, 5, lost=6)
    objective = Objective.of(metric_named("height"), evaluator)
    with pytest.raises(InfeasibleError, match="no generalization within the allowed levels"):
        optimal.search(evaluator, objective, Preferences(), Budget())
    assert evaluator.checks == 1


def test_constraints_beyond_a_bit_per_node() -> None:
    """The second column rises only after the first, and the cheapest way is forbidden."""
    evaluator = Weighed((2,) * 30, [1] * 30, 58)
    objective = Objective.of(metric_named("height"), evaluator)
    preferences = Preferences(before=((0, 1),), forbidden=(((2, 1),), ((2, 2),)))
    result = optimal.search(evaluator, objective, preferences, Budget(nodes=200))
    assert result.score == 2
    assert preferences.allows(result.chosen.node, evaluator.lattice)
    assert minimal_nodes([result.chosen.node]) == [result.chosen.node]
