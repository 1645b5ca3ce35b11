"""Sets of nodes as integers: node number i of the lattice, in vector order, is bit i.

Pure. Up-sets and down-sets of half a million nodes become a dozen machine-speed ANDs.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate

from sqlanon.errors import UsageError
from sqlanon.hierarchies.lattice import Lattice, Node

MOST_NODES = 1 << 26
"""Beyond this a set of nodes takes more than 8 MB, and no search over all of them ends in useful time."""


def members(bits: int) -> Iterator[int]:
    """The numbers in a set, ascending.

    >>> list(members(0b10110))
    [1, 2, 4]
    """
    digits = bin(bits)[:1:-1]
    position = digits.find("1")
    while position >= 0:
        yield position
        position = digits.find("1", position + 1)


def repeated(pattern: int, width: int, times: int) -> int:
    """A pattern of `width` bits, side by side so many times.

    >>> bin(repeated(0b01, 2, 3))
    '0b10101'
    """
    result, filled = 0, 0
    while times:
        if times & 1:
            result |= pattern << filled
            filled += width
        pattern |= pattern << width
        width *= 2
        times >>= 1
    return result


class Coding:
    """Numbers the nodes of a lattice in vector order, and knows the sets of nodes above and below each."""

    def __init__(self, lattice: Lattice) -> None:
        if lattice.size > MOST_NODES:
            raise UsageError(
                f"the lattice has {lattice.size} nodes, more than {MOST_NODES}: "
                "narrow the levels of some columns, or use the algorithm datafly"
            )
        self.lattice = lattice
        self.radices = tuple(high - low + 1 for low, high in zip(lattice.bottom, lattice.top, strict=True))
        sizes = list(accumulate(reversed(self.radices), lambda left, right: left * right, initial=1))
        self.strides = tuple(reversed(sizes[:-1]))
        self.size = lattice.size

    @cached_property
    def everything(self) -> int:
        return (1 << self.size) - 1

    @cached_property
    def _at_least(self) -> list[list[int]]:
        """For each column, for each level from its bottom: the nodes at that level or above."""
        return [
            [self._nodes_from(step, stride, radix) for step in range(radix)]
            for stride, radix in zip(self.strides, self.radices, strict=True)
        ]

    @cached_property
    def _at_most(self) -> list[list[int]]:
        return [[self.everything & ~bits for bits in column[1:]] + [self.everything] for column in self._at_least]

    def _nodes_from(self, step: int, stride: int, radix: int) -> int:
        width = stride * radix
        pattern = ((1 << (stride * (radix - step))) - 1) << (stride * step)
        return repeated(pattern, width, self.size // width)

    def number(self, node: Node) -> int:
        return sum(
            (level - low) * stride for level, low, stride in zip(node, self.lattice.bottom, self.strides, strict=True)
        )

    def node(self, number: int) -> Node:
        levels = []
        for low, stride in zip(self.lattice.bottom, self.strides, strict=True):
            step, number = divmod(number, stride)
            levels.append(low + step)
        return tuple(levels)

    def nodes(self, bits: int) -> list[Node]:
        """The nodes of a set, in vector order."""
        return [self.node(number) for number in members(bits)]

    def upset(self, node: Node) -> int:
        """The lattice's nodes that generalize `node`, itself included; the node may lie outside the lattice."""
        bits = self.everything
        for level, low, high, column in zip(node, self.lattice.bottom, self.lattice.top, self._at_least, strict=True):
            if level > high:
                return 0
            if level > low:
                bits &= column[level - low]
        return bits

    def downset(self, node: Node) -> int:
        """The lattice's nodes that `node` generalizes, itself included; the node may lie outside the lattice."""
        bits = self.everything
        for level, low, high, column in zip(node, self.lattice.bottom, self.lattice.top, self._at_most, strict=True):
            if level < low:
                return 0
            if level < high:
                bits &= column[level - low]
        return bits

    def at_level(self, column: int, level: int) -> int:
        """The nodes with this column at exactly this level; none when the lattice has no such level."""
        step = level - self.lattice.bottom[column]
        if not 0 <= step < self.radices[column]:
            return 0
        return self._at_least[column][step] & self._at_most[column][step]

    def minimal(self, bits: int) -> list[Node]:
        """The members that no other member lies below, in vector order."""
        found: list[Node] = []
        while bits:
            # Vector order extends the order of the lattice: nothing left can lie below the first that is left.
            node = self.node((bits & -bits).bit_length() - 1)
            found.append(node)
            bits &= ~self.upset(node)
        return found
