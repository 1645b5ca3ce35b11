"""The lattice of distance vectors (Samarati 2001, section 3): nodes, order, heights, antichains.

Pure: no spec, no SQL, no input or output.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from math import prod
from operator import ge

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
