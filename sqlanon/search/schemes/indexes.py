"""k-Optimize's way to write ordered partitions of all columns: a set of indexes (Bayardo and Agrawal). Pure.

Leaves of all columns are numbered through from 1; an index in the set opens a new range, the least leaf of a column
always does.
"""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate

from sqlanon.search.schemes.domain import Partition


def from_indexes(indexes: AbstractSet[int], sizes: Sequence[int]) -> tuple[Partition, ...]:
    """The ranges that a set of indexes stands for.

    >>> from_indexes({3}, (4,))
    ((0, 0, 1, 1),)
    """
    found = []
    for size, before in zip(sizes, accumulate(sizes, initial=0), strict=False):
        opens = (leaf > 0 and before + leaf + 1 in indexes for leaf in range(size))
        found.append(tuple(accumulate(map(int, opens))))
    return tuple(found)


def indexes_of(partitions: Sequence[Partition]) -> set[int]:
    """The set of indexes that stands for these ranges."""
    found: set[int] = set()
    before = 0
    for partition in partitions:
        opens = (leaf for leaf in range(1, len(partition)) if partition[leaf] != partition[leaf - 1])
        found.update(before + leaf + 1 for leaf in opens)
        before += len(partition)
    return found
