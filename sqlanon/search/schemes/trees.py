"""Enumeration trees of one column's generalizations, from either end (Li and Li 2007, section 3; k-Optimize). Pure.

A subtree lies between two partitions: `ceiling` above a node on the way up, `floor` below it on the way down. What a
search proves of that interval holds for the whole subtree.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise

from sqlanon.search.schemes.domain import Domain
from sqlanon.search.schemes.families import BasicHierarchical, Scheme
from sqlanon.search.schemes.partitions import (
    Block,
    Partition,
    blocks,
    canonical,
    identity,
    merged,
    of_blocks,
    refines,
    whole,
)


@dataclass(frozen=True)
class Tree:
    """The generalizations that one column may have under its scheme."""

    scheme: Scheme
    domain: Domain

    def __post_init__(self) -> None:
        # One cache for each tree: nodes of a search share the partitions of a column many times over.
        for name in ("merges", "ceiling", "splits"):
            object.__setattr__(self, name, cache(getattr(self, name)))

    # -- bottom-up -----------------------------------------------------------------------------------------------

    def merges(self, partition: Partition) -> tuple[Partition, ...]:
        """The children of a partition on the way up: those whose parent it is. Figure 6, for every scheme."""
        if isinstance(self.scheme, BasicHierarchical):
            return self._neighbour(partition, 1)
        groups = blocks(partition)
        last = max((index for index, group in enumerate(groups) if len(group) > 1), default=0)
        children: dict[Partition, None] = {}
        for group, other in self.pairs(groups[last:]):
            child = merged(partition, self.scheme.closure(self.domain, sorted((*group, *other))))
            if child not in children and self.parent(child) == partition:
                children[child] = None
        return tuple(children)

    def pairs(self, groups: Sequence[Block]) -> Iterator[tuple[Block, Block]]:
        """The pairs of groups that need to be merged to reach every coarser partition: neighbours, where ranges rule.

        NULL, where it stands apart, is the neighbour of all.
        """
        if not (self.scheme.of_ranges and self.domain.contiguous):
            yield from combinations(groups, 2)
            return
        yield from pairwise(groups)
        if self.domain.apart and len(groups) > 2:
            yield groups[0], groups[-1]

    def parent(self, partition: Partition) -> Partition:
        """Where a partition comes from: its last group of several leaves loses the part that was merged last."""
        groups = list(blocks(partition))
        last = max(index for index, group in enumerate(groups) if len(group) > 1)
        parts = self.scheme.parts(self.domain, groups[last])
        return of_blocks([*groups[:last], *parts, *groups[last + 1 :]], self.domain.size)

    def ceiling(self, partition: Partition) -> Partition:
        """The least partition known to be above everything that is reached from this one by merging."""
        if isinstance(self.scheme, BasicHierarchical) or max(partition, default=0) == len(partition) - 1:
            return whole(self.domain.size)
        groups = blocks(partition)
        last = max(index for index, group in enumerate(groups) if len(group) > 1)
        codes = {leaf: place for place, group in enumerate(groups[:last]) for leaf in group}
        return canonical([codes.get(leaf, -1) for leaf in range(self.domain.size)])

    # -- top-down ------------------------------------------------------------------------------------------------

    def splits(self, partition: Partition) -> tuple[Partition, ...]:
        """The children of a partition on the way down: its last group falls into a valid group and the rest.

        For ordered leaves this is k-Optimize's set enumeration: one more index, after all those there are.
        """
        if isinstance(self.scheme, BasicHierarchical):
            return self._neighbour(partition, -1)
        *done, last = blocks(partition)
        found = [group for group in self.scheme.starting(self.domain, last) if len(group) < len(last)]
        rests = [tuple(leaf for leaf in last if leaf not in group) for group in found]
        return tuple(
            of_blocks([*done, group, rest], self.domain.size) for group, rest in zip(found, rests, strict=True)
        )

    def floor(self, partition: Partition) -> Partition:
        """The greatest partition known to be below everything that is reached from this one by splitting."""
        if isinstance(self.scheme, BasicHierarchical):
            return identity(self.domain.size)
        return of_blocks(blocks(partition)[:-1], self.domain.size)

    def allows(self, partition: Partition) -> bool:
        """Whether a partition is a valid generalization; on the way down, the rest of a split need not be one."""
        return self.scheme.allows(self.domain, partition)

    def _neighbour(self, partition: Partition, step: int) -> tuple[Partition, ...]:
        index = self.domain.levels.index(partition) + step
        return self.domain.levels[index : index + 1] if index >= 0 else ()


def within(partition: Partition, lower: Partition, upper: Partition) -> bool:
    """Whether a partition lies between two others."""
    return refines(lower, partition) and refines(partition, upper)
