"""Mondrian by brute force over the rows of a small table: what the database's partition is compared with.

Shares no code with sqlanon. Rows are dictionaries; a column has its values in order and, where a hierarchy guides, for
each level between 0 and the top the branch of every value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

Row = Mapping[str, Any]
Box = tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Column:
    """A quasi-identifier: its values in order, and the branches that cuts go between first."""

    name: str
    values: Sequence[Any]
    branches: Sequence[Mapping[Any, str]] = ()
    weight: float = 1.0

    def at(self, row: Row) -> int:
        return self.values.index(row[self.name])

    def level(self, left: int, right: int) -> int:
        """The highest level at which two values lie in different branches."""
        ends = self.values[left], self.values[right]
        differing = [level for level, names in enumerate(self.branches, 1) if names[ends[0]] != names[ends[1]]]
        return max(differing, default=0)


@dataclass(frozen=True)
class Region:
    box: Box
    rows: Sequence[Row]


@dataclass(frozen=True)
class Mondrian:
    """A strict partitioning; `passes` judges the rows of a class, `least` is how many rows any class needs."""

    columns: Sequence[Column]
    passes: Callable[[Sequence[Row]], bool]
    least: int = 1
    regions: list[Region] = field(default_factory=list)

    def partition(self, rows: Sequence[Row]) -> list[Region]:
        whole = tuple((0, len(column.values) - 1) for column in self.columns)
        self._divide(Region(whole, rows))
        return self.regions

    def _divide(self, region: Region) -> None:
        for position, last in self._in_order(region):
            left, right = self.sides(region, position, last)
            if self.passes(left.rows) and self.passes(right.rows):
                self._divide(left)
                self._divide(right)
                return
        self.regions.append(region)

    def _in_order(self, region: Region) -> Iterator[tuple[int, int]]:
        """The first choice of every column, the widest first; then all other cuts, column by column."""
        if len(region.rows) < 2 * self.least:
            return
        by_column = [(position, self._cuts(region, position)) for position in self._widest_first(region)]
        for position, cuts in by_column:
            yield from ((position, cut) for cut in cuts[:1])
        for position, cuts in by_column:
            yield from ((position, cut) for cut in cuts[1:])

    def _widest_first(self, region: Region) -> list[int]:
        def width(position: int) -> float:
            column = self.columns[position]
            ordinals = [column.at(row) for row in region.rows]
            return (max(ordinals) - min(ordinals)) / max(len(column.values) - 1, 1) * column.weight

        few_first = sorted(range(len(self.columns)), key=lambda position: len(self.columns[position].values))
        return sorted(few_first, key=width, reverse=True)

    def _cuts(self, region: Region, position: int) -> list[int]:
        column = self.columns[position]
        ordinals = sorted(column.at(row) for row in region.rows)
        present = sorted(set(ordinals))
        ranked = []
        for last, following in pairwise(present):
            below = sum(ordinal <= last for ordinal in ordinals)
            if min(below, len(ordinals) - below) >= self.least:
                ranked.append((-column.level(last, following), abs(2 * below - len(ordinals)), last))
        return [last for _, _, last in sorted(ranked)]

    def sides(self, region: Region, position: int, last: int) -> tuple[Region, Region]:
        low, high = region.box[position]
        column = self.columns[position]
        return tuple(
            Region(
                (*region.box[:position], bounds, *region.box[position + 1 :]),
                [row for row in region.rows if (column.at(row) <= last) == (side == 0)],
            )
            for side, bounds in enumerate([(low, last), (last + 1, high)])
        )  # type: ignore[return-value]  # of two

    def allowable_cuts(self, region: Region) -> list[tuple[int, int]]:
        """Every cut between two values that leaves two classes which pass: none, in a minimal partition."""
        found = []
        for position, column in enumerate(self.columns):
            present = sorted({column.at(row) for row in region.rows})
            for last in present[:-1]:
                sides = self.sides(region, position, last)
                if all(self.passes(side.rows) for side in sides):
                    found.append((position, last))
        return found


def overlapping(regions: Sequence[Region]) -> list[tuple[Region, Region]]:
    """Regions that share a point."""
    return [
        (one, other)
        for index, one in enumerate(regions)
        for other in regions[index + 1 :]
        if all(a[0] <= b[1] and b[0] <= a[1] for a, b in zip(one.box, other.box, strict=True))
    ]
