"""The six schemes of Li and Li 2007 (section 2) and the enumeration trees of a column's generalizations (section 3).

Pure. A scheme says which groups of leaves a generalization may have. But for the basic scheme, validity is a matter of
each group by itself, so a scheme is its valid groups.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise
from math import comb, prod
from typing import ClassVar

from sqlanon.search.schemes.domain import (
    Block,
    LeafDomain,
    Partition,
    blocks,
    canonical,
    identity,
    is_range,
    merged,
    of_blocks,
    refines,
    whole,
)

_Combined = Callable[[Sequence[int]], int]


class Scheme(ABC):
    """The valid generalizations of one column."""

    name: ClassVar[str]
    of_ranges: ClassVar[bool] = False
    """Groups are ranges of leaves wherever the nodes of the hierarchy are."""

    def valid(self, domain: LeafDomain, block: Block) -> bool:
        """Whether these leaves may be one group."""
        if domain.apart and domain.size - 1 in block:
            return len(block) in (1, domain.size)
        return not domain.covers_values(block) and self._valid(domain, block)

    def starting(self, domain: LeafDomain, within: Sequence[int]) -> Iterator[Block]:
        """The valid groups inside these ascending leaves that have the first of them."""
        if not domain.apart:
            return self._starting(domain, within)
        values = [leaf for leaf in within if leaf < domain.size - 1]
        return (block for block in self._starting_apart(domain, within, values) if not domain.covers_values(block))

    def _starting_apart(self, domain: LeafDomain, within: Sequence[int], values: Sequence[int]) -> Iterator[Block]:
        yield from self._starting(domain, values) if values else iter([tuple(within)])
        if len(within) == domain.size:
            yield tuple(within)

    def closure(self, domain: LeafDomain, leaves: Sequence[int]) -> Block:
        """The smallest valid group that has all these leaves."""
        if domain.apart and len(leaves) > 1 and domain.size - 1 in leaves:
            return tuple(range(domain.size))
        found = self._closure(domain, leaves)
        return tuple(range(domain.size)) if domain.covers_values(found) else found

    def count(self, domain: LeafDomain) -> int:
        """How many generalizations are valid; NULL joins all values when they are one group."""
        return self._count(domain.values)

    @abstractmethod
    def _valid(self, domain: LeafDomain, block: Block) -> bool: ...

    @abstractmethod
    def _starting(self, domain: LeafDomain, within: Sequence[int]) -> Iterator[Block]: ...

    @abstractmethod
    def _closure(self, domain: LeafDomain, leaves: Sequence[int]) -> Block: ...

    @abstractmethod
    def _count(self, domain: LeafDomain) -> int: ...

    def parts(self, domain: LeafDomain, block: Block) -> list[Block]:
        """What the last step to this group merged, beside single leaves: all its pieces but the last, if several."""
        if domain.apart and len(block) == domain.size:
            return []
        *first, _ = self._pieces(domain, block)
        return [tuple(sorted(leaf for piece in first for leaf in piece))] if len(first) > 1 else []

    def _pieces(self, domain: LeafDomain, block: Block) -> list[Block]:
        return [(leaf,) for leaf in block]

    def allows(self, domain: LeafDomain, partition: Partition) -> bool:
        """Whether the partition is a valid generalization."""
        return all(self.valid(domain, block) for block in blocks(partition))

    def generalizations(self, domain: LeafDomain) -> Iterator[Partition]:
        """Every valid generalization, once."""
        return self._completed(domain, (), tuple(range(domain.size)))

    def _completed(self, domain: LeafDomain, done: tuple[Block, ...], left: Block) -> Iterator[Partition]:
        if not left:
            yield of_blocks(done, domain.size)
            return
        for block in self.starting(domain, left):
            rest = tuple(leaf for leaf in left if leaf not in block)
            yield from self._completed(domain, (*done, block), rest)

    def problem(self, domain: LeafDomain) -> str | None:
        """Why the scheme makes no sense on a domain; None where it does."""
        return None


class SetPartitioning(Scheme):
    """Any partition of the leaves (section 2.3.1)."""

    name = "sps"

    def _valid(self, domain: LeafDomain, block: Block) -> bool:
        return True

    def _starting(self, domain: LeafDomain, within: Sequence[int]) -> Iterator[Block]:
        first, *others = within
        for size in range(len(within)):
            for chosen in combinations(others, size):
                yield (first, *chosen)

    def _closure(self, domain: LeafDomain, leaves: Sequence[int]) -> Block:
        return tuple(sorted(leaves))

    def _count(self, domain: LeafDomain) -> int:
        return bell(domain.size)


class OrderedPartitioning(Scheme):
    """Ranges of the ordered leaves (Bayardo and Agrawal; section 2.2.3)."""

    name = "ops"
    of_ranges = True

    def _valid(self, domain: LeafDomain, block: Block) -> bool:
        return is_range(block)

    def _starting(self, domain: LeafDomain, within: Sequence[int]) -> Iterator[Block]:
        for size in range(1, len(within) + 1):
            if not is_range(within[:size]):
                return
            if self._valid(domain, block := tuple(within[:size])):
                yield block

    def _closure(self, domain: LeafDomain, leaves: Sequence[int]) -> Block:
        return tuple(range(min(leaves), max(leaves) + 1))

    def _count(self, domain: LeafDomain) -> int:
        return int(2 ** (domain.size - 1))


class GuidedSetPartitioning(Scheme):
    """Groups whose leaves meet at one node take whole children of it (section 2.3.2)."""

    name = "gsps"

    def _valid(self, domain: LeafDomain, block: Block) -> bool:
        return self._closure(domain, block) == block

    def _starting(self, domain: LeafDomain, within: Sequence[int]) -> Iterator[Block]:
        first, inside = within[0], set(within)
        yield (first,)
        for level in range(1, len(domain.levels)):
            own = domain.group(level - 1, first)
            others = [unit for unit in _children(domain, level, first) if unit != own and inside.issuperset(unit)]
            if not inside.issuperset(own):
                return
            for size in range(1, len(others) + 1):
                for chosen in combinations(others, size):
                    yield tuple(sorted((*own, *(leaf for unit in chosen for leaf in unit))))

    def _closure(self, domain: LeafDomain, leaves: Sequence[int]) -> Block:
        return tuple(sorted(leaf for unit in domain.units(leaves) for leaf in unit))

    def _pieces(self, domain: LeafDomain, block: Block) -> list[Block]:
        return domain.units(block)

    def _count(self, domain: LeafDomain) -> int:
        return _count(domain, len(domain.levels) - 1, 0, _set_partitions)


class GuidedOrderedPartitioning(OrderedPartitioning):
    """Ranges that are valid in the guided set partitioning too (section 2.3.3)."""

    name = "gops"

    def _valid(self, domain: LeafDomain, block: Block) -> bool:
        return is_range(block) and self._closure(domain, block) == block

    def _closure(self, domain: LeafDomain, leaves: Sequence[int]) -> Block:
        units = domain.units(leaves)
        return tuple(range(min(unit[0] for unit in units), max(unit[-1] for unit in units) + 1))

    def _pieces(self, domain: LeafDomain, block: Block) -> list[Block]:
        return domain.units(block)

    def _count(self, domain: LeafDomain) -> int:
        return _count(domain, len(domain.levels) - 1, 0, _compositions)

    def problem(self, domain: LeafDomain) -> str | None:
        if domain.contiguous:
            return None
        return "gops needs a hierarchy whose groups are ranges of the ordered values; choose gsps or ops"


class GroupHierarchical(Scheme):
    """Cuts across the hierarchy (Iyengar; section 2.2.2)."""

    name = "ghs"
    of_ranges = True

    def _valid(self, domain: LeafDomain, block: Block) -> bool:
        return block == self._closure(domain, block)

    def _starting(self, domain: LeafDomain, within: Sequence[int]) -> Iterator[Block]:
        inside, last = set(within), None
        for level in range(len(domain.levels)):
            group = domain.group(level, within[0])
            if not inside.issuperset(group):
                return
            if group != last:
                yield group
            last = group

    def _closure(self, domain: LeafDomain, leaves: Sequence[int]) -> Block:
        return domain.group(domain.meeting_level(leaves), leaves[0])

    def parts(self, domain: LeafDomain, block: Block) -> list[Block]:
        return []

    def _count(self, domain: LeafDomain) -> int:
        """Cuts: a node with one child makes the same groups as that child, under another label."""
        return _count(domain, len(domain.levels) - 1, 0, lambda options: 1 + prod(options))


class BasicHierarchical(GroupHierarchical):
    """All leaves at one level (Samarati and Sweeney; section 2.2.1)."""

    name = "bhs"

    def allows(self, domain: LeafDomain, partition: Partition) -> bool:
        return partition in domain.levels

    def generalizations(self, domain: LeafDomain) -> Iterator[Partition]:
        return iter(domain.levels)

    def _count(self, domain: LeafDomain) -> int:
        return len(domain.levels)


SCHEMES: dict[str, Scheme] = {
    scheme.name: scheme
    for scheme in (
        BasicHierarchical(),
        GroupHierarchical(),
        GuidedOrderedPartitioning(),
        GuidedSetPartitioning(),
        OrderedPartitioning(),
        SetPartitioning(),
    )
}


def bell(size: int) -> int:
    """How many partitions a set has.

    >>> [bell(size) for size in range(6)]
    [1, 1, 2, 5, 15, 52]
    """
    found = [1]
    for number in range(size):
        found.append(sum(comb(number, part) * found[part] for part in range(number + 1)))
    return found[size]


def _children(domain: LeafDomain, level: int, leaf: int) -> list[Block]:
    """The groups one level below the group that this leaf has at a level."""
    codes = canonical([domain.levels[level - 1][other] for other in domain.group(level, leaf)])
    members = domain.group(level, leaf)
    return [tuple(members[place] for place in block) for block in blocks(codes)]


def _count(domain: LeafDomain, level: int, leaf: int, combined: _Combined) -> int:
    if level == 0:
        return 1
    children = _children(domain, level, leaf)
    options = [_count(domain, level - 1, child[0], combined) for child in children]
    return combined(options)


def _compositions(options: Sequence[int]) -> int:
    """Ways to join neighbours; a child that stays alone has so many generalizations of its own."""
    found = [1]
    for place, own in enumerate(options):
        found.append(found[place] * own + sum(found[:place]))
    return found[-1]


def _set_partitions(options: Sequence[int]) -> int:
    """As `_compositions`, for any sets of children: choose those that stay alone, join all others."""
    alone = [1] + [0] * len(options)
    for own in options:
        for size in range(len(options), 0, -1):
            alone[size] += alone[size - 1] * own
    return sum(ways * _without_single(len(options) - size) for size, ways in enumerate(alone))


def _without_single(size: int) -> int:
    """Partitions in which no element stands alone."""
    return sum((-1) ** gone * comb(size, gone) * bell(size - gone) for gone in range(size + 1))


@dataclass(frozen=True)
class EnumerationTree:
    """The generalizations that one column may have under its scheme.

    Enumerated from either end (k-Optimize). A subtree lies between two partitions: `ceiling` above a node on the way
    up, `floor` below it on the way down. What a search proves of that interval holds for the whole subtree.
    """

    scheme: Scheme
    domain: LeafDomain

    def __post_init__(self) -> None:
        # One cache for each tree: nodes of a search share the partitions of a column many times over.
        object.__setattr__(self, "ceiling", cache(self.ceiling))
        object.__setattr__(self, "_known", {})

    def following(
        self, partition: Partition, *, upwards: bool, pause: Callable[[], None] = lambda: None
    ) -> tuple[Partition, ...]:
        """The children of a partition, on the way up or down; `pause` is called before each that is made."""
        known: dict[tuple[Partition, bool], tuple[Partition, ...]] = object.__getattribute__(self, "_known")
        if (partition, upwards) not in known:
            made = []
            for child in self._merges(partition) if upwards else self._splits(partition):
                pause()
                made.append(child)
            known[partition, upwards] = tuple(made)
        return known[partition, upwards]

    # -- bottom-up -----------------------------------------------------------------------------------------------

    def merges(self, partition: Partition) -> tuple[Partition, ...]:
        """The children of a partition on the way up: those whose parent it is. Figure 6, for every scheme."""
        return self.following(partition, upwards=True)

    def _merges(self, partition: Partition) -> Iterator[Partition]:
        if isinstance(self.scheme, BasicHierarchical):
            yield from self._neighbour(partition, 1)
            return
        groups = blocks(partition)
        last = max((index for index, group in enumerate(groups) if len(group) > 1), default=0)
        children: set[Partition] = set()
        for group, other in self.pairs(groups[last:]):
            child = merged(partition, self.scheme.closure(self.domain, sorted((*group, *other))))
            if child not in children and self.parent(child) == partition:
                children.add(child)
                yield child

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
        return self.following(partition, upwards=False)

    def _splits(self, partition: Partition) -> Iterator[Partition]:
        if isinstance(self.scheme, BasicHierarchical):
            yield from self._neighbour(partition, -1)
            return
        *done, last = blocks(partition)
        for group in self.scheme.starting(self.domain, last):
            if len(group) < len(last):
                rest = tuple(leaf for leaf in last if leaf not in group)
                yield of_blocks([*done, group, rest], self.domain.size)

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
