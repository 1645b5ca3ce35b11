"""Sets of nodes as integers, totals over lattices, and samples: against the plain way to compute them."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlanon.errors import UsageError
from sqlanon.hierarchies.lattice import Lattice, Node, dominates, minimal_nodes
from sqlanon.metrics.base import Verdict
from sqlanon.search.node_sets import MOST_NODES, Coding, Marking, Totals, members
from sqlanon.search.questions import Forecast, Sample
from tests.kit.examples import share

level_bounds = st.tuples(st.integers(0, 2), st.integers(0, 3)).map(lambda pair: (pair[0], pair[0] + pair[1]))
lattices = st.lists(level_bounds, min_size=1, max_size=4).map(
    lambda bounds: Lattice(tuple(low for low, _ in bounds), tuple(high for _, high in bounds))
)
relaxed = settings(deadline=None, max_examples=share(60))


def set_of(coding: Coding, nodes: Iterable[Node]) -> int:
    return sum(1 << coding.number(node) for node in nodes)


@relaxed
@given(lattices)
def test_numbers_follow_vector_order(lattice: Lattice) -> None:
    coding = Coding(lattice)
    nodes = sorted(lattice)
    assert [coding.number(node) for node in nodes] == list(range(lattice.size))
    assert coding.nodes(coding.everything) == nodes


@relaxed
@given(lattices, st.data())
def test_upsets_and_downsets(lattice: Lattice, data: st.DataObject) -> None:
    coding = Coding(lattice)
    outside = tuple(data.draw(st.integers(0, high + 1)) for high in lattice.top)
    for node in (outside, data.draw(st.sampled_from(sorted(lattice)))):
        assert coding.nodes(coding.upset(node)) == [other for other in sorted(lattice) if dominates(other, node)]
        assert coding.nodes(coding.downset(node)) == [other for other in sorted(lattice) if dominates(node, other)]
    column = data.draw(st.integers(0, len(lattice.top) - 1))
    level = data.draw(st.integers(0, lattice.top[column] + 1))
    assert coding.nodes(coding.at_level(column, level)) == [n for n in sorted(lattice) if n[column] == level]


@relaxed
@given(lattices, st.data())
def test_minimal_of_any_set(lattice: Lattice, data: st.DataObject) -> None:
    coding = Coding(lattice)
    nodes = data.draw(st.lists(st.sampled_from(sorted(lattice)), unique=True))
    assert coding.minimal(set_of(coding, nodes)) == minimal_nodes(nodes)


@relaxed
@given(lattices, st.data())
def test_totals(lattice: Lattice, data: st.DataObject) -> None:
    coding = Coding(lattice)
    costs = [[data.draw(st.integers(-5, 5)) / 2 for _ in range(high + 1)] for high in lattice.top]
    totals = Totals(coding, costs)
    plain = {node: sum(costs[i][level] for i, level in enumerate(node)) for node in sorted(lattice)}
    assert {node: totals.of(coding.number(node)) for node in plain} == plain
    ceiling = data.draw(st.integers(-15, 15)) / 2
    assert coding.nodes(totals.up_to(ceiling)) == [node for node, total in plain.items() if total <= ceiling]


def test_totals_of_a_large_lattice_split_their_columns() -> None:
    coding = Coding(Lattice.of_heights([3] * 7))
    totals = Totals(coding, [[0, 1, 2, 3]] * 7)
    assert totals.up_to(4.5).bit_count() == sum(sum(node) <= 4 for node in coding.lattice)


def test_a_lattice_beyond_all_bounds_is_refused() -> None:
    with pytest.raises(UsageError, match=f"more than {MOST_NODES}"):
        Coding(Lattice.of_heights([9] * 12))


@pytest.mark.parametrize("monotone", [True, False])
def test_marking(monotone: bool) -> None:
    coding = Coding(Lattice.of_heights([2, 2]))
    marking = Marking(coding, limit=3, monotone=monotone)
    assert marking.record(Verdict((1, 1), 3, 1))
    assert not marking.record(Verdict((0, 2), 4, 1))
    assert coding.nodes(marking.acceptable) == ([(1, 1), (1, 2), (2, 1), (2, 2)] if monotone else [(1, 1)])
    assert coding.nodes(marking.unacceptable) == ([(0, 0), (0, 1), (0, 2)] if monotone else [(0, 2)])
    assert coding.nodes(marking.asked) == [(0, 2), (1, 1)]
    assert marking.undecided.bit_count() == (2 if monotone else 7)
    marking.record(Verdict((9, 0), 9, 0))
    assert coding.nodes(marking.unacceptable & coding.at_level(1, 0)) == ([(0, 0), (1, 0), (2, 0)] if monotone else [])


def test_samples_count_what_a_question_settles() -> None:
    coding = Coding(Lattice.of_heights([2, 2]))
    sample = Sample.of(coding, coding.everything)
    assert sample.below((1, 1)).bit_count() == 4
    assert sample.above((1, 1)).bit_count() == 4
    assert [sample.nodes[i] for i in members(sample.within(coding.upset((2, 1))))] == [(2, 1), (2, 2)]
    steps = [[2.0, 1.0, 0.0], [2.0, 1.0, 0.0]]
    assert sum(sample.climb((0, 0), steps, 2.5, sample.left, {})) == 2
    assert sum(sample.descend((2, 2), steps, 2.5, sample.left, {})) == 2
    assert sample.climb((0, 0), steps, 9.0, sample.left, {(2, 2)}) != (2, 2)


def test_forecasts_learn_a_linear_rule() -> None:
    bits = ((4.0, 2.0, 0.0), (3.0, 1.0, 0.0))
    forecast = Forecast(bits, slope=1.0, top=0.0)
    for _ in range(60):
        for first in range(3):
            for second in range(3):
                value = 0.5 * bits[0][first] + 0.1 * bits[1][second] - 1
                forecast.learn((first, second), value)
    assert forecast.guess((0, 0)) == pytest.approx(1.3, abs=0.05)
    assert forecast.guess((2, 1)) == pytest.approx(-0.9, abs=0.05)
    assert forecast.error < 0.1
