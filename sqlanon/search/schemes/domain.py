"""Partitions of a column's ordered leaves, and how its hierarchy groups them: all that a scheme knows of a column.

Pure. A partition of the leaves 0..d-1 is one group number for each leaf; groups are numbered in the order of their
least leaves, so equal partitions are equal tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

Partition = tuple[int, ...]
Block = tuple[int, ...]
"""The leaves of one group, ascending."""


def identity(size: int) -> Partition:
    """Every leaf a group of its own: nothing is generalized.

    >>> identity(3)
    (0, 1, 2)
    """
    return tuple(range(size))


def whole(size: int) -> Partition:
    """All leaves one group: everything is suppressed in this column."""
    return (0,) * size


def canonical(codes: Sequence[object]) -> Partition:
    """Number groups, however they are called, in the order of their least leaves.

    >>> canonical("bba")
    (0, 0, 1)
    """
    numbers: dict[object, int] = {}
    return tuple(numbers.setdefault(code, len(numbers)) for code in codes)


def blocks(partition: Partition) -> tuple[Block, ...]:
    """The groups, ordered by their least leaves.

    >>> blocks((0, 1, 0))
    ((0, 2), (1,))
    """
    found: list[list[int]] = []
    for leaf, code in enumerate(partition):
        if code == len(found):
            found.append([])
        found[code].append(leaf)
    return tuple(tuple(block) for block in found)


def of_blocks(groups: Iterable[Iterable[int]], size: int) -> Partition:
    """The partition with these groups; leaves that none of them has stand alone.

    >>> of_blocks([(1, 2)], 4)
    (0, 1, 1, 2)
    """
    codes = list(range(size))
    for group in groups:
        leaves = sorted(group)
        for leaf in leaves:
            codes[leaf] = leaves[0]
    return canonical(codes)


def merged(partition: Partition, leaves: Iterable[int]) -> Partition:
    """The partition in which all groups that have one of these leaves are one.

    >>> merged((0, 0, 1, 2), [1, 3])
    (0, 0, 1, 0)
    """
    codes = {partition[leaf] for leaf in leaves}
    return canonical([-1 if code in codes else code for code in partition])


def refines(finer: Partition, coarser: Partition) -> bool:
    """Whether each group of the one lies within a group of the other.

    >>> refines((0, 1, 2), (0, 0, 1))
    True
    """
    over: dict[int, int] = {}
    return all(over.setdefault(here, there) == there for here, there in zip(finer, coarser, strict=True))


@dataclass(frozen=True)
class LeafDomain:
    """Nested partitions of the leaves, one for each level; the first is the identity, the last has one group."""

    levels: tuple[Partition, ...]
    apart: bool = False
    """The last leaf is NULL: it stays apart until all leaves are one group, and they are not without it."""

    def __post_init__(self) -> None:
        if not self.levels or self.levels[0] != identity(self.size) or self.levels[-1] != whole(self.size):
            raise ValueError("levels run from single leaves to one group")
        if not all(refines(lower, upper) for lower, upper in zip(self.levels, self.levels[1:], strict=False)):
            raise ValueError("each level groups the groups of the level below")
        if self.apart and (self.size < 3 or any(self.covers_values(group) for level in self.groups for group in level)):
            raise ValueError("NULL joins when all values are one group")

    @classmethod
    def of(cls, size: int, between: Iterable[Partition] = (), *, apart: bool = False) -> LeafDomain:
        """A domain with these levels between the leaves and the top; equal levels count once."""
        found = [identity(size)]
        for level in (*between, whole(size)):
            joined = apart and max(level) == 1 and level.count(0) == size - 1
            if level != found[-1] and not joined:
                found.append(level)
        return cls(tuple(found), apart)

    def covers_values(self, block: Sequence[int]) -> bool:
        """Whether these leaves are all but the one that stands apart."""
        return self.apart and len(block) == self.size - 1 and self.size - 1 not in block

    @cached_property
    def values(self) -> LeafDomain:
        """The domain without the leaf that stands apart."""
        return LeafDomain.of(self.size - 1, [level[:-1] for level in self.levels[1:-1]]) if self.apart else self

    @property
    def size(self) -> int:
        return len(self.levels[0])

    @cached_property
    def groups(self) -> tuple[tuple[Block, ...], ...]:
        """The groups of each level."""
        return tuple(blocks(level) for level in self.levels)

    @cached_property
    def contiguous(self) -> bool:
        """Whether every group of the hierarchy is a range of leaves: the order respects the hierarchy."""
        return all(is_range(group) for level in self.values.groups for group in level)

    def meeting_level(self, leaves: Sequence[int]) -> int:
        """The lowest level that has all these leaves in one group."""
        for number, level in enumerate(self.levels):
            if len({level[leaf] for leaf in leaves}) == 1:
                return number
        raise ValueError("no leaves")

    def group(self, level: int, leaf: int) -> Block:
        return self.groups[level][self.levels[level][leaf]]

    def units(self, leaves: Sequence[int]) -> list[Block]:
        """The groups just below the level where these leaves meet that have one of them; one leaf is its own unit."""
        level = max(0, self.meeting_level(leaves) - 1)
        codes = sorted({self.levels[level][leaf] for leaf in leaves})
        return [self.groups[level][code] for code in codes]


def is_range(block: Sequence[int]) -> bool:
    """Whether ascending leaves follow each other without a gap.

    >>> is_range((2, 3, 4)), is_range((2, 4))
    (True, False)
    """
    return block[-1] - block[0] + 1 == len(block)
