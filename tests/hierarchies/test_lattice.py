"""Nodes looked up by their levels, against a look at each."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from sqlanon.hierarchies.lattice import Distances, Lattice, Node, NodeIndex, dominates, places


@given(st.lists(st.tuples(st.integers(0, 5), st.tuples(st.integers(0, 2), st.integers(0, 3))), max_size=12))
def test_nodes_looked_up_by_their_levels(puts: list[tuple[int, Node]]) -> None:
    """Places are taken anew, and every second one is forgotten at the end."""
    heights = (2, 3)
    index, distances = NodeIndex(heights), Distances(heights)
    held: dict[int, Node] = {}
    for place, node in puts:
        if place <= len(held):
            distances.put(place, node, held.get(place))
            index.put(place, node)
            held[place] = node
    for node in Lattice.of_heights(heights):
        far = [
            sum(abs(level - other) for level, other in zip(node, held[place], strict=True))
            for place in range(len(held))
        ]
        assert list(distances.of(node, len(held))) == far
    index.remove(0b010101)
    left = {place: node for place, node in held.items() if place % 2}
    for node in Lattice.of_heights(heights):
        assert list(places(index.above(node))) == sorted(p for p, other in left.items() if dominates(other, node))
        assert list(places(index.below(node))) == sorted(p for p, other in left.items() if dominates(node, other))
