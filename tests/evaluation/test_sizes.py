"""Estimates of the cost model: exact where known, within what is known elsewhere, never a reason to be wrong."""

from __future__ import annotations

from math import log2

from hypothesis import given
from hypothesis import strategies as st

from sqlanon.evaluation.rollups import PRIOR, ClassForecast
from sqlanon.hierarchies.lattice import Lattice, Node, dominates
from sqlanon.metrics.base import LevelFigures

ROWS = 1000
HEIGHTS = (2, 3)
LATTICE = Lattice.of_heights(HEIGHTS)


def prepared(known: dict[Node, int], combinations: int = 400) -> ClassForecast:
    sizes = ClassForecast(combinations)
    figures = [[LevelFigures(0.0, ROWS * level * 1.5, 0.0, 1) for level in range(height + 1)] for height in HEIGHTS]
    sizes.prepare(figures, ROWS)
    for node, classes in known.items():
        sizes.learn(node, classes)
    return sizes


def test_before_anything_is_known_lost_entropy_counts_half() -> None:
    assert prepared({}).estimate((1, 0)) == 400 * 2 ** -(PRIOR * 1.5)


def test_what_was_learned_before_the_entropies_counts_too() -> None:
    late = ClassForecast(400)
    late.learn((1, 0), 100)
    figures = [[LevelFigures(0.0, ROWS * level * 1.5, 0.0, 1) for level in range(height + 1)] for height in HEIGHTS]
    late.prepare(figures, ROWS)
    exponent = log2(4) / 1.5
    assert late.estimate((0, 1)) == 400 * 2 ** -(exponent * 1.5)


@given(st.dictionaries(st.sampled_from(list(LATTICE)), st.integers(1, 400), max_size=6))
def test_estimates_lie_between_what_is_known_above_and_below(known: dict[Node, int]) -> None:
    # Class counts fall on the way up: what a node has, its generalizations cannot exceed.
    counts = {node: min(size for other, size in known.items() if dominates(node, other)) for node in known}
    sizes = prepared(counts)
    for node in LATTICE:
        estimate = sizes.estimate(node)
        assert all(estimate <= size for other, size in counts.items() if dominates(node, other))
        assert all(estimate >= size for other, size in counts.items() if dominates(other, node))
        if node in counts:
            assert estimate == counts[node]
