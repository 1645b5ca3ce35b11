"""Sums of per-column costs over a whole lattice: the total of any node, and all nodes up to a total as one set.

Pure. Columns are split in two halves, so that a threshold over half a million nodes costs a few hundred look-ups.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import product

from sqlanon.search.coding import Coding


class Totals:
    """The total cost of every node: the sum over columns of the cost of its level."""

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
