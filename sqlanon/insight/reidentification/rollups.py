"""Which roll-ups to make so that every subset of columns is counted on few rows: pure planning.

A roll-up is worth making when the product of its columns' values is well below the rows it comes from; what it really
has is known once it is made, and subsets are counted on the smallest that has their columns.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod
from typing import Generic, TypeVar

Handle = TypeVar("Handle")
Columns = frozenset[int]

SMALL = 20_000
"""Combinations that are counted so fast that no roll-up pays."""

MORE = 3
"""Columns that a roll-up has beyond the subset it is made for."""


@dataclass(frozen=True)
class Stand(Generic[Handle]):
    """A frequency set that stands: its columns, its combinations."""

    columns: Columns
    combinations: int
    table: Handle


def subsets(columns: int, size: int) -> list[Columns]:
    """All subsets of one up to `size` columns, the largest first."""
    return [frozenset(chosen) for number in range(size, 0, -1) for chosen in combinations(range(columns), number)]


def blocks(values: Sequence[int], size: int) -> list[Columns]:
    """Sets of columns, one of which has each subset of up to `size`: unions of `size` out of `size` + 2 groups.

    Groups pair columns of many values with columns of few. None where the columns are too few to leave some out.

    >>> [sorted(block) for block in blocks([9, 2, 8, 3], 1)]
    [[0], [2], [1, 3]]
    """
    groups = size + 2
    if len(values) <= groups:
        return []
    order = sorted(range(len(values)), key=lambda position: -values[position])
    dealt: list[set[int]] = [set() for _ in range(groups)]
    for turn, position in enumerate(order):
        round_, place = divmod(turn, groups)
        dealt[place if round_ % 2 == 0 else groups - 1 - place].add(position)
    return [frozenset().union(*chosen) for chosen in combinations(dealt, size)]


def counted_on(
    values: Sequence[int],
    whole: Stand[Handle],
    wanted: Sequence[Columns],
    size: int,
    roll_up: Callable[[Columns, Stand[Handle]], Stand[Handle]],
) -> list[tuple[Columns, Stand[Handle]]]:
    """Each subset with the frequency set to count it on, roll-ups made on the way."""
    standing = [whole]

    def smallest(columns: Columns) -> Stand[Handle]:
        return min((item for item in standing if columns <= item.columns), key=lambda item: item.combinations)

    if whole.combinations > SMALL:
        for block in blocks(values, size):
            standing.append(roll_up(block, smallest(block)))
    placed = []
    for columns in sorted(wanted, key=lambda item: (-len(item), -_most(values, item), sorted(item))):
        parent = smallest(columns)
        larger = _grown(values, columns, parent)
        if parent.combinations > SMALL and larger is not None:
            parent = roll_up(larger, parent)
            standing.append(parent)
        placed.append((columns, parent))
    return placed


def _grown(values: Sequence[int], columns: Columns, parent: Stand[Handle]) -> Columns | None:
    """The subset with further columns of few values, while a roll-up of them is surely smaller; None: it never is."""
    grown = set(columns)
    for position in sorted(parent.columns - columns, key=lambda position: values[position]):
        if len(grown) < len(columns) + MORE and _most(values, grown) * values[position] <= parent.combinations:
            grown.add(position)
    return frozenset(grown) if _most(values, grown) <= parent.combinations and grown != parent.columns else None


def _most(values: Sequence[int], columns: Columns | set[int]) -> int:
    return prod(values[position] for position in columns)
