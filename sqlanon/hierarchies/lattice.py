"""The lattice of distance vectors (Samarati 2001, section 3): nodes, order, heights, and nodes looked up by levels.

Pure: no spec, no SQL, no input or output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from math import prod
from operator import and_, ge, getitem

Node = tuple[int, ...]
"""A distance vector: the level of each quasi-identifier column, in the order of the spec."""


def dominates(upper: Node, lower: Node) -> bool:
    """Whether `upper` generalizes `lower` in every column (reflexive).

    >>> dominates((1, 2), (1, 0)), dominates((1, 0), (0, 1))
    (True, False)
    """
    return all(map(ge, upper, lower))


def minimal_nodes(nodes: Iterable[Node]) -> list[Node]:
    """The nodes that dominate no other given node, in vector order.

    >>> minimal_nodes([(1, 1), (0, 2), (1, 2), (1, 1)])
    [(0, 2), (1, 1)]
    """
    kept: list[Node] = []
    for node in sorted(set(nodes), key=lambda candidate: (sum(candidate), candidate)):
        if not any(dominates(node, lower) for lower in kept):
            kept.append(node)
    return sorted(kept)


@dataclass(frozen=True)
class Lattice:
    """All vectors between `bottom` and `top`. Heights are absolute: the sum of a vector's levels."""

    bottom: Node
    top: Node

    def __post_init__(self) -> None:
        if not dominates(self.top, self.bottom):
            raise ValueError("the bottom of a lattice lies below its top")

    @classmethod
    def of_heights(cls, heights: Iterable[int]) -> Lattice:
        """The whole lattice of hierarchies with these heights.

        >>> Lattice.of_heights([1, 2]).size
        6
        """
        top = tuple(heights)
        return cls(tuple(0 for _ in top), top)

    @cached_property
    def size(self) -> int:
        """The number of nodes."""
        return prod(high - low + 1 for low, high in zip(self.bottom, self.top, strict=True))

    @property
    def lowest(self) -> int:
        """The height of the bottom."""
        return sum(self.bottom)

    @property
    def highest(self) -> int:
        """The height of the top."""
        return sum(self.top)

    def __contains__(self, node: object) -> bool:
        return (
            isinstance(node, tuple)
            and len(node) == len(self.top)
            and dominates(self.top, node)
            and dominates(node, self.bottom)
        )

    def at_height(self, height: int) -> Iterator[Node]:
        """The nodes whose levels sum to `height`, in vector order.

        >>> list(Lattice.of_heights([1, 2]).at_height(2))
        [(0, 2), (1, 1)]
        """
        yield from self._compositions(0, height)

    def __iter__(self) -> Iterator[Node]:
        for height in range(self.lowest, self.highest + 1):
            yield from self.at_height(height)

    def _compositions(self, position: int, remaining: int) -> Iterator[Node]:
        if position == len(self.top):
            if remaining == 0:
                yield ()
            return
        rest_low, rest_high = self._rest_bounds[position + 1]
        least = max(self.bottom[position], remaining - rest_high)
        most = min(self.top[position], remaining - rest_low)
        for level in range(least, most + 1):
            for rest in self._compositions(position + 1, remaining - level):
                yield (level, *rest)

    @cached_property
    def _rest_bounds(self) -> list[tuple[int, int]]:
        return [(sum(self.bottom[i:]), sum(self.top[i:])) for i in range(len(self.top) + 1)]


DIGITS = 16
"""Bits for one distance among many in one number: more than the height of any lattice."""


def places(bits: int) -> Iterator[int]:
    """The places of a set, ascending.

    >>> list(places(0b10110))
    [1, 2, 4]
    """
    while bits:
        least = bits & -bits
        yield least.bit_length() - 1
        bits ^= least


class NodeIndex:
    """Numbered nodes, and which of them lie above or below a node: an AND for each column, not a look at each node."""

    def __init__(self, heights: Node, nodes: Iterable[Node] = ()) -> None:
        self.present = 0
        """The places that have a node."""
        self._at_least = [[0] * (height + 2) for height in heights]
        """For each column, for each level: the places of the nodes at that level or above."""
        for place, node in enumerate(nodes):
            self.put(place, node)

    def put(self, place: int, node: Node) -> None:
        """The node of a place from now on."""
        bit = 1 << place
        self.present |= bit
        for column, level in zip(self._at_least, node, strict=True):
            for here, bits in enumerate(column):
                column[here] = bits | bit if here <= level else bits & ~bit

    def remove(self, bits: int) -> None:
        """Forget the nodes of these places."""
        self.present &= ~bits

    def above(self, node: Node) -> int:
        """The places of the nodes that generalize this one."""
        return reduce(and_, map(getitem, self._at_least, node), self.present)

    def below(self, node: Node) -> int:
        """The places of the nodes that this one generalizes."""
        bits = self.present
        for column, level in zip(self._at_least, node, strict=True):
            bits &= ~column[level + 1]
        return bits


class Distances:
    """Numbered nodes, and how far a node is from each: the sum of a number for each column."""

    def __init__(self, heights: Node) -> None:
        self._columns = [[0] * (height + 1) for height in heights]
        """For each column, for each level: how far it is from the level of each place, side by side in one number."""

    def put(self, place: int, node: Node, before: Node | None) -> None:
        """The node of a place, and the one that was there before."""
        for position, column in enumerate(self._columns):
            new, old = node[position], None if before is None else before[position]
            for level, packed in enumerate(column):
                change = abs(level - new) - (0 if old is None else abs(level - old))
                column[level] = packed + (change << DIGITS * place)

    def of(self, node: Node, count: int) -> Sequence[int]:
        """How far a node is from the first so many places."""
        total = sum(map(getitem, self._columns, node))
        return memoryview(total.to_bytes(count * DIGITS // 8, "little")).cast("H")
