"""The best groups of a small table (models CG_, _CS and AG_CS): every partition, most of them never looked at.

The problem is NP-hard (chapter, Theorem 3.1): this is for tables of some thirty rows. A group of 2k rows or more can be
parted without a cost, so groups have k to 2k - 1 rows. The next row to find a group is always the one that is dearest
at best; its groups are tried from the cheapest, and left when what the other rows cost at least says that nothing
better follows. Python holds the codes of combinations, never a value.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import comb

from sqlanon.engines.base import Statement
from sqlanon.errors import UsageError
from sqlanon.recoding.base import Recoded
from sqlanon.recoding.cells import recoder as cells_recoder
from sqlanon.recoding.cells import statements as cells_sql
from sqlanon.recoding.cells.recoder import Cells, Divided, by_forest, classic, improved
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.sql.relations import Table

MOST_ROWS = 64
"""Rows of a table that is looked through."""

MOST_SUBSETS = 200_000
"""Sets of k rows that are looked at for the least that a row costs; beyond, nothing is known of it."""

MOST_STATES = 1_000_000
"""Sets of rows that were left, remembered with what was paid before them."""

MOST_GROUPS = 300_000
"""Groups of one row that are listed at a time: more of them are not looked through."""
LOOKS_A_TIME = 2_000
"""Groups between two looks at the time."""

Members = tuple[int, ...]
"""The rows of a group, each as the place of its combination."""
Codes = tuple[tuple[int, ...], ...]
"""Of one combination: the codes of each column, from its first step up to the one below the top."""


def recode(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Recode cells by the best groups, or the best ones that the budget lets be found."""
    return cells_recoder.recode(run, base, stored, by_exact)


def by_exact(cells: Cells) -> Divided:
    """The groups that cost least, from those of the forest on."""
    engine, k = cells.run.engine, cells.run.binding.k
    [(_, _, rows)] = engine.query(Statement("exact", cells_sql.sizes(cells.vertices, k)))
    if int(rows) > MOST_ROWS:
        raise UsageError(
            f"search.algorithm: exact looks through at most {MOST_ROWS} rows, and there are {rows}; take forest"
        )
    divided = improved(cells, by_forest(cells))
    budget = cells.run.binding.spec.search.budget
    nodes, seconds, started = budget.nodes, budget.most_seconds, time.monotonic()
    limits = GroupingLimits(nodes, lambda: seconds is None or time.monotonic() - started < seconds)
    costs = [item.costs for item in cells.steps]
    found = best_groups(loaded(cells), costs, k, classic(cells, divided.groups).cost, limits)
    divided = replace(divided, least=found.least, factor=None if found.least < found.cost else 1.0)
    return replace(divided, groups=stored(cells, found.pieces)) if found.pieces else divided


def loaded(cells: Cells) -> list[Vertex]:
    rows = cells.run.engine.query(Statement("exact", cells_sql.codes_of(cells.vertices, cells.steps)))
    found = []
    for number, rows_of_vertex, *codes in rows:
        places = iter(int(code) for code in codes)
        by_column = tuple(tuple(next(places) for _ in range(item.codes)) for item in cells.steps)
        found.append(Vertex(int(number), int(rows_of_vertex), by_column))
    return found


def stored(cells: Cells, pieces: Iterable[Piece]) -> Table:
    """The groups as a table: of each combination, the rows go to its groups one after the other."""
    given: dict[int, int] = {}
    rows: list[tuple[str, ...]] = []
    for piece in pieces:
        first = given.get(piece.number, 0) + 1
        given[piece.number] = first + piece.rows - 1
        rows.append(tuple(str(number) for number in (piece.number, first, given[piece.number], piece.group)))
    names = ["v", "a", "b", "g"]
    texts = cells.run.scratch.create_text("cells", "c_parts_found", names)
    cells.run.engine.load("cells", texts, names, rows)
    return cells.create("found", cells_sql.numbers(texts, names))


@dataclass(frozen=True)
class GroupingLimits:
    """When a search ends before its end: after so many rows were given groups, or when its time is over."""

    nodes: int | None = None
    in_time: Callable[[], bool] = lambda: True


@dataclass(frozen=True)
class Vertex:
    """A combination with its number, its rows, and its codes."""

    number: int
    rows: int
    codes: Codes


@dataclass(frozen=True)
class Piece:
    """Rows of one combination in a group."""

    number: int
    group: int
    rows: int


@dataclass(frozen=True)
class BestGroups:
    """The best groups that were found; `least` is what any groups cost, `cost` itself where they are proven."""

    cost: int
    least: int
    pieces: tuple[Piece, ...]
    """Nothing where no groups cost less than what was known before."""


def best_groups(
    vertices: Sequence[Vertex], costs: Sequence[Sequence[int]], k: int, known: int, limits: GroupingLimits
) -> BestGroups:
    """Groups that cost less than `known`, the least of all, or the best that are found within limits.

    `costs` has, for each column, what a row pays for each step above the first; the last is the top's. There are k rows
    or more.

    >>> rows = [Vertex(number, 1, ((a,), (b,))) for number, (a, b) in enumerate([(1, 1), (1, 2), (2, 1), (2, 2)], 1)]
    >>> best_groups(rows, [(1,), (1,)], 2, 9, GroupingLimits()).cost
    4
    """
    search = _Grouping(vertices, costs, k, known, limits)
    search.run()
    groups = search.best or []
    least = search.cost if search.ended else min(search.least, search.cost)
    return BestGroups(search.cost, least, pieces_of(vertices, groups))


def pieces_of(vertices: Sequence[Vertex], groups: Iterable[Sequence[int]]) -> tuple[Piece, ...]:
    """Groups of rows, each the place of its combination, as pieces of combinations."""
    return tuple(
        Piece(vertices[index].number, group, number)
        for group, members in enumerate(groups, 1)
        for index, number in Counter(members).items()
    )


def price_of(members: Sequence[Codes], costs: Sequence[Sequence[int]]) -> int:
    """What each row of a group pays: in each column, the first step at which all codes are the same."""
    price = 0
    for column, paid in enumerate(costs):
        first = members[0][column]
        for step, code in enumerate(first):
            if all(other[column][step] == code for other in members[1:]):
                price += paid[step - 1] if step else 0
                break
        else:
            price += paid[-1]
    return price


class _Grouping:
    """Depth first; `left` counts the rows of each combination that have no group yet."""

    best: list[Members] | None

    def __init__(
        self, vertices: Sequence[Vertex], costs: Sequence[Sequence[int]], k: int, known: int, limits: GroupingLimits
    ) -> None:
        self._codes = [vertex.codes for vertex in vertices]
        self._left = [vertex.rows for vertex in vertices]
        self._costs, self._k, self._limits = costs, k, limits
        self._steps = self._looks = 0
        self.cost, self.best, self.ended = known, None, True
        self._chosen: list[Members] = []
        self._paid: dict[Members, int] = {}
        """The least that was paid, by the rows that were left."""
        self._smallest = self._groups_of_k()
        self.least = sum(bound * number for bound, number in zip(self._bounds(), self._left, strict=True))

    def run(self) -> None:
        if self.ended:
            self._go_on(0, sum(self._left))

    def _price(self, members: Members) -> int:
        return price_of([self._codes[index] for index in members], self._costs)

    def _groups_of_k(self) -> list[list[tuple[int, Members]]]:
        """The groups of k rows that have a row of each combination, from the cheapest; none where they are too many."""
        found: list[list[tuple[int, Members]]] = [[] for _ in self._left]
        rows = [index for index, number in enumerate(self._left) for _ in range(min(number, self._k))]
        if comb(len(rows), self._k) <= MOST_SUBSETS:
            for members in dict.fromkeys(combinations(rows, self._k)):
                self._looks += 1
                if self._looks % LOOKS_A_TIME == 0 and not self._limits.in_time():
                    self.ended = False
                    return [[] for _ in self._left]
                priced = (self._price(members), members)
                for index in dict.fromkeys(members):
                    found[index].append(priced)
        for groups in found:
            groups.sort()
        return found

    def _bounds(self) -> list[int]:
        """What a row of each combination pays at least, in any group of rows that are left; 0 where none is left."""
        return [self._bound(index) if number else 0 for index, number in enumerate(self._left)]

    def _bound(self, index: int) -> int:
        for price, members in self._smallest[index]:
            if all(members.count(other) <= self._left[other] for other in members):
                return price
        return 0

    def _go_on(self, paid: int, rows: int) -> None:
        """Give a group to the row that is dearest at best."""
        if not rows:
            self.cost, self.best = paid, list(self._chosen)
            return
        state = tuple(self._left)
        if self._paid.get(state, paid + 1) <= paid:
            return
        bounds = self._bounds()
        least = sum(bound * number for bound, number in zip(bounds, self._left, strict=True))
        if paid + least >= self.cost:
            return
        self._steps += 1
        if self._limits.nodes is not None and self._steps > self._limits.nodes:
            self.ended = False
            return
        if len(self._paid) < MOST_STATES:
            self._paid[state] = paid
        dearest = max((index for index, number in enumerate(self._left) if number), key=lambda index: bounds[index])
        # A row may cost more than its bound by what is left between all bounds and the best groups so far.
        slack = self.cost - paid - least
        for price, members in sorted(self._groups(dearest, rows, bounds, slack)):
            if paid + price * len(members) + least - sum(bounds[index] for index in members) >= self.cost:
                continue
            for index in members:
                self._left[index] -= 1
            self._chosen.append(members)
            self._go_on(paid + price * len(members), rows - len(members))
            self._chosen.pop()
            for index in members:
                self._left[index] += 1
            if not self.ended:
                return

    def _groups(self, dearest: int, rows: int, bounds: Sequence[int], slack: int) -> Iterator[tuple[int, Members]]:
        """The groups of a row that leave nobody or k rows at least, and whose rows cost less than `slack` too much."""
        others = [
            index for index, number in enumerate(self._left) for _ in range(number - (1 if index == dearest else 0))
        ]
        most = min(2 * self._k - 1, rows)

        def grown(members: Members, start: int) -> Iterator[tuple[int, Members]]:
            self._looks += 1
            if self._looks % LOOKS_A_TIME == 0 and not self._limits.in_time():
                self.ended = False
            if not self.ended:
                return
            price = self._price(members)
            # A group that grows never becomes cheaper.
            if sum(max(0, price - bounds[index]) for index in members) >= slack:
                return
            if len(members) >= self._k and (rows == len(members) or rows - len(members) >= self._k):
                yield price, members
            if len(members) == most:
                return
            for place in range(start, len(others)):
                # Of equal rows, the first that is not in the group yet comes first.
                if place == start or others[place] != others[place - 1]:
                    yield from grown((*members, others[place]), place + 1)

        for number, found in enumerate(grown((dearest,), 0)):
            if number == MOST_GROUPS:
                self.ended = False
                return
            yield found
