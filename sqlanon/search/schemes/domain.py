"""The ordered leaves of a column and how its hierarchy groups them: all that a scheme knows of the column. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlanon.search.schemes.partitions import Block, Partition, blocks, identity, refines, whole


@dataclass(frozen=True)
class Domain:
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
    def of(cls, size: int, between: Iterable[Partition] = (), *, apart: bool = False) -> Domain:
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
    def values(self) -> Domain:
        """The domain without the leaf that stands apart."""
        return Domain.of(self.size - 1, [level[:-1] for level in self.levels[1:-1]]) if self.apart else self

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
