"""Partitions of a column's leaves 0..d-1, written as one group number for each leaf. Pure.

Groups are numbered in the order of their least leaves, so equal partitions are equal tuples.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

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
