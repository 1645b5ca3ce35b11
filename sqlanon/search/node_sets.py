"""Sets of nodes as integers: node number i of the lattice, in vector order, is bit i.

Pure. Up-sets and down-sets of half a million nodes become a dozen machine-speed ANDs. Beside the coding stand what is
known of every node (`Marking`), sums of per-column costs over a whole lattice (`Totals`), and sets of nodes by the
highest or the lowest of them (`Antichain`), for lattices of any size.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cached_property
from itertools import accumulate, product

from sqlanon.errors import UsageError
from sqlanon.hierarchies.lattice import Lattice, Node, NodeIndex
from sqlanon.metrics.base import Verdict

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
                "narrow the levels of some columns, or use the algorithm optimal or datafly"
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
        width, left, right = self._halves
        return left[number // width] + right[number % width]

    @cached_property
    def _halves(self) -> tuple[int, list[Node], list[Node]]:
        """The levels of the first columns and of the others, in vector order, and how many the others have.

        Together they are about as many as the square root of the lattice: a node is read from them, not divided out.
        """
        levels = [range(low, high + 1) for low, high in zip(self.lattice.bottom, self.lattice.top, strict=True)]
        cut = min(range(len(levels)), key=lambda place: abs(self.strides[place] ** 2 - self.size), default=0) + 1
        left, right = list(product(*levels[:cut])), list(product(*levels[cut:]))
        return len(right), left, right

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


class Marking:
    """Two growing sets of nodes: known to be acceptable, known to be unacceptable.

    A node is marked by its own verdict or by another's: acceptable nodes make all their generalizations acceptable,
    unacceptable ones all their specializations unacceptable (Samarati 2001, corollary 5.1), but only where the
    requirement is monotone. Where it is not, a monotone part of it may still say how many rows the specializations
    suppress at least.
    """

    def __init__(self, coding: Coding, limit: int, monotone: bool) -> None:
        self._coding = coding
        self._limit = limit
        self._monotone = monotone
        self.acceptable = 0
        self.unacceptable = 0
        self.asked = 0
        """The nodes that have a verdict of their own."""

    def record(self, verdict: Verdict) -> bool:
        """Mark what follows from a verdict; whether its node is acceptable. The node may lie outside the lattice."""
        accepted = verdict.suppressed <= self._limit
        self.asked |= self._alone(verdict.node)
        if not self._monotone:
            self._mark(accepted, self._alone(verdict.node))
            if verdict.least > self._limit:
                self._mark(False, self._coding.downset(verdict.node))
        elif accepted:
            self._mark(True, self._coding.upset(verdict.node))
        else:
            self._mark(False, self._coding.downset(verdict.node))
        return accepted

    def rule_out(self, bits: int) -> None:
        """Mark nodes that are known to be unacceptable without a verdict."""
        self._mark(False, bits)

    @property
    def undecided(self) -> int:
        """The nodes of which nothing is known."""
        return self._coding.everything & ~(self.acceptable | self.unacceptable)

    def _alone(self, node: Node) -> int:
        return 1 << self._coding.number(node) if node in self._coding.lattice else 0

    def _mark(self, accepted: bool, bits: int) -> None:
        if accepted:
            self.acceptable |= bits
        else:
            self.unacceptable |= bits


class Totals:
    """The total cost of every node: the sum over columns of the cost of its level.

    Also all nodes up to a total as one set. Columns are split in two halves, so that a threshold over half a million
    nodes costs a few hundred look-ups.
    """

    def __init__(self, coding: Coding, costs: Sequence[Sequence[float]]) -> None:
        bottom, top = coding.lattice.bottom, coding.lattice.top
        steps = [tuple(column[low : high + 1]) for column, low, high in zip(costs, bottom, top, strict=True)]
        split = next(column for column in range(len(steps) + 1) if coding.size // _size(steps[:column]) <= 1024)
        self._outer = [sum(choice) for choice in product(*steps[:split])]
        self._inner = [sum(choice) for choice in product(*steps[split:])]
        self._width = len(self._inner)

    def of(self, number: int) -> float:
        """The total of the node of this number."""
        outer, inner = divmod(number, self._width)
        return self._outer[outer] + self._inner[inner]

    def up_to(self, ceiling: float) -> int:
        """The nodes whose total does not exceed the ceiling."""
        totals, sets = self._inner_sets
        blocks = [sets[bisect_right(totals, ceiling - outer)] for outer in reversed(self._outer)]
        return int("".join(blocks), 2)

    @cached_property
    def _inner_sets(self) -> tuple[list[float], list[str]]:
        """The inner totals ascending, and before and after each: the digits of the set of all up to there."""
        order = sorted(range(self._width), key=self._inner.__getitem__)
        digits = bytearray(b"0" * self._width)
        sets = [digits.decode()]
        for number in order:
            digits[self._width - 1 - number] = ord("1")
            sets.append(digits.decode())
        return [self._inner[number] for number in order], sets


def _size(steps: Sequence[Sequence[float]]) -> int:
    size = 1
    for column in steps:
        size *= len(column)
    return size


class Antichain:
    """Nodes none of which generalizes another: the highest, or the lowest, of all that were added."""

    def __init__(self, heights: Node, *, highest: bool) -> None:
        self._highest = highest
        self._heights = heights
        self._clear()

    def _clear(self) -> None:
        self.nodes: list[Node] = []
        self._index = NodeIndex(self._heights)
        """The places in `nodes`, without those that a later node made superfluous."""

    def __len__(self) -> int:
        return self._index.present.bit_count()

    def add(self, node: Node) -> None:
        """Take a node in, unless what is there says as much."""
        above, below = self.above(node), self.below(node)
        if above if self._highest else below:
            return
        self._index.remove(below if self._highest else above)
        self._index.put(len(self.nodes), node)
        self.nodes.append(node)
        if len(self.nodes) > 64 and len(self) * 2 < len(self.nodes):
            kept = list(self.members(self._index.present))
            self._clear()
            for each in kept:
                self.add(each)

    def above(self, node: Node) -> int:
        """The places of the nodes that generalize this one."""
        return self._index.above(node)

    def below(self, node: Node) -> int:
        """The places of the nodes that this one generalizes."""
        return self._index.below(node)

    def members(self, places: int) -> Iterator[Node]:
        """The nodes at these places, those added last first."""
        while places:
            last = places.bit_length() - 1
            yield self.nodes[last]
            places ^= 1 << last
