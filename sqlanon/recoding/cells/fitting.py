"""Labels for single rows, until k rows fit each (models CG_, _CS, AG_CS): global (1,k) of Gionis, Mazza and Tassa 2008.

Every row keeps an original row that its label fits, its own; two rows can change places in an assignment of all rows
where a circle of fitting labels leads through both. Each original row must have k released rows that it can have in
this way, and each released row k originals, which implies (1,k), (k,1) and (k,k) too. Of equal rows, some may keep
their value while others are widened for somebody else.

The database widens labels until k rows fit each other in pairs. Up to MOST_ROWS rows, Python, which holds the codes of
combinations and never a value, makes labels cheaper one by one, then looks through all labels.
"""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from operator import or_

from sqlanon.engines.base import Statement
from sqlanon.errors import UsageError
from sqlanon.recoding.base import Recoded
from sqlanon.recoding.cells import fitting_statements as fitting_sql
from sqlanon.recoding.cells import recoder as cells_recoder
from sqlanon.recoding.cells import statements as cells_sql
from sqlanon.recoding.cells.exact import GroupingLimits, Vertex, loaded
from sqlanon.recoding.cells.recoder import Cells, Divided, GroupedVertices, by_forest, classic, settled, widened
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.sql.relations import Table

MOST_ROWS = 64
"""Rows of a table whose labels Python looks at."""
MOST_LABELS = 500
"""Labels of one combination that are looked at; where there are more, nothing is proven."""
MOST_STEPS = 5_000
"""Labels that the search gives to rows, unless search.budget.nodes says otherwise."""
MORE_ROWS = 2
"""How many times k rows of a combination can have labels of their own."""

Steps = tuple[int, ...]
"""A label: the step that it reaches in each column."""


def recode(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Recode cells by labels of single rows, or by groups of equal rows where these cost no more."""
    if run.binding.spec.privacy.anonymity == "classic":
        raise UsageError(
            f"search.algorithm: {run.binding.spec.search.algorithm} makes rows that fit, not equal ones; "
            f"write privacy.anonymity: global (1,k), or take forest"
        )
    return cells_recoder.recode(run, base, stored, by_forest, by_rows)


def by_rows(cells: Cells, divided: Divided) -> GroupedVertices:
    """The cheapest labels: of single rows, of whole combinations, or of groups."""
    [least] = cells.ask(cells_sql.lower_bound(cells.vertices, divided.near.table)) if divided.near.exact else [0]
    ways = [_rows_widened(cells, divided)]
    whole = widened(divided.forest, divided.near.table, "global (1,k)")
    if whole is not None:
        ways.append(_of_groups(cells, cells.create("alone", cells_sql.each_vertex(cells.vertices)), whole))
    groups = classic(cells, divided.groups)
    ways.append(_of_groups(cells, groups.groups, groups.reached))
    found = [_labelled(cells, way) for way in ways]
    cheapest = min(range(len(ways)), key=lambda number: found[number].cost)
    _, _, rows = cells.ask(cells_sql.sizes(cells.vertices, divided.forest.k))
    best = found[cheapest] if rows > MOST_ROWS else _by_search(cells, divided, ways)
    return replace(best, least=max(least, best.least))


def _rows_widened(cells: Cells, divided: Divided) -> Table:
    """Labels of single rows, as the database widens them: `v`, its rows `a` to `b`, the steps `t_i`."""
    forest, width, k = divided.forest, len(cells.steps), divided.forest.k
    most = MORE_ROWS * k
    near = cells.create("r_near", fitting_sql.pairs(cells.vertices, divided.near.table, cells.steps))
    state = cells.create("r_state", fitting_sql.pieces(cells.vertices, width, most))
    pairs = cells.create("r_pairs", fitting_sql.pairs_of_pieces(near, state, width, most, k))
    state = settled(forest, state, pairs, "mutual", "held", ("w", "held", "a", "b"))
    labels = cells.create("r_labels", fitting_sql.of_pieces(state, width))
    cells.run.scratch.drop(near, pairs, state)
    return labels


def _of_groups(cells: Cells, groups: Table, reached: Table) -> Table:
    return cells.create("r_labels", fitting_sql.of_groups(groups, reached, len(cells.steps)))


def _labelled(cells: Cells, labelled: Table) -> GroupedVertices:
    """Rows with labels, those of one label in one class."""
    classed = cells.create("r_classes", fitting_sql.by_label(labelled, cells.vertices, cells.steps))
    groups = cells.create("r_groups", fitting_sql.groups_by_label(classed))
    reached = cells.create("r_reached", fitting_sql.reached_by_label(classed, len(cells.steps)))
    cells.run.scratch.drop(classed)
    return GroupedVertices(groups, reached, *cells.ask(cells_sql.cost(groups, reached, cells.steps)))


def _by_search(cells: Cells, divided: Divided, ways: Sequence[Table]) -> GroupedVertices:
    """The cheapest labels that the search finds, from those of the database on."""
    engine, width = cells.run.engine, len(cells.steps)
    starts: list[dict[int, list[Steps]]] = []
    for way in ways:
        given: dict[int, list[Steps]] = {}
        for vertex, first, last, *steps in engine.query(Statement("fitting", fitting_sql.in_order(way, width))):
            label = tuple(int(step) for step in steps)
            given.setdefault(int(vertex), []).extend([label] * (int(last) - int(first) + 1))
        starts.append(given)
    budget = cells.run.binding.spec.search.budget
    seconds, started = budget.most_seconds, time.monotonic()
    limits = GroupingLimits(
        MOST_STEPS if budget.nodes is None else budget.nodes,
        lambda: seconds is None or time.monotonic() - started < seconds,
    )
    found = best_labels(loaded(cells), [item.costs for item in cells.steps], divided.forest.k, starts, limits)
    divided.forest.rounds += found.steps
    names = ["v", "a", "b", *(f"t_{i}" for i in range(width))]
    texts = cells.run.scratch.create_text("fitting", "c_labels_found", names)
    rows = [[str(number), str(a), str(b), *map(str, label)] for number, a, b, label in found.ranges()]
    engine.load("fitting", texts, names, rows)
    chosen = _labelled(cells, cells.create("found", cells_sql.numbers(texts, names)))
    return replace(chosen, least=found.least)


@dataclass(frozen=True)
class BestLabels:
    """The cheapest labels that were found; `least` is what any labels cost, `cost` itself where they are proven."""

    cost: int
    least: int
    steps: int
    """Labels that the search gave to rows."""
    labels: dict[int, list[Steps]]
    """Of each combination, by its number: the labels of its rows."""

    def ranges(self) -> Iterator[tuple[int, int, int, Steps]]:
        """Of each combination the rows that have one label, from the first to the last."""
        for number, labels in self.labels.items():
            first = 1
            for label in sorted(set(labels)):
                last = first + labels.count(label) - 1
                yield number, first, last, label
                first = last + 1


def best_labels(
    vertices: Sequence[Vertex],
    costs: Sequence[Sequence[int]],
    k: int,
    starts: Sequence[dict[int, list[Steps]]],
    limits: GroupingLimits,
) -> BestLabels:
    """Labels that cost least, or the best ones that are found within limits; no more than any of `starts`.

    `costs` has, for each column, what a row pays for each step above the first; the last is the top's. There are k rows
    or more.

    >>> rows = [Vertex(1, 2, ((1, 1),)), Vertex(2, 1, ((2, 1),))]
    >>> best_labels(rows, [(1, 2)], 2, [{1: [(1,), (1,)], 2: [(1,)]}], GroupingLimits()).labels
    {1: [(0,), (1,)], 2: [(1,)]}
    """
    search = _Fitting(vertices, costs, k, limits)
    for start in starts:
        search.begin(start)
    search.run()
    labels: dict[int, list[Steps]] = {}
    for row, choice in enumerate(search.best):
        labels.setdefault(vertices[search.vertex_of[row]].number, []).append(choice.label)
    least = search.cost if search.ended else search.least
    return BestLabels(search.cost, min(least, search.cost), search.steps, {v: sorted(labels[v]) for v in labels})


@dataclass(frozen=True, order=True)
class _Choice:
    """A label of a row: what it costs, and the rows that it fits, as bits."""

    price: int
    label: Steps
    fits: int


class _Fitting:
    """Labels of rows, by the bits of the rows that they fit."""

    def __init__(
        self, vertices: Sequence[Vertex], costs: Sequence[Sequence[int]], k: int, limits: GroupingLimits
    ) -> None:
        self._codes, self._costs, self._k, self._limits = [vertex.codes for vertex in vertices], costs, k, limits
        self.vertex_of = [index for index, vertex in enumerate(vertices) for _ in range(vertex.rows)]
        self._rows_of = [0] * len(vertices)
        for row, index in enumerate(self.vertex_of):
            self._rows_of[index] |= 1 << row
        self.ended = True
        self.steps = 0
        self._choices = [self._choices_of(index) for index in range(len(vertices))]
        bounds = [choices[0].price for choices in self._choices] if self.ended else [0] * len(vertices)
        # The dearest first; rows of one combination side by side.
        self._order = sorted(
            range(len(self.vertex_of)), key=lambda row: (-bounds[self.vertex_of[row]], self.vertex_of[row])
        )
        self._bounds = [bounds[self.vertex_of[row]] for row in self._order]
        self.least = sum(self._bounds)
        self.best: list[_Choice] = []
        self.cost = 0

    def _choices_of(self, index: int) -> list[_Choice]:
        """The labels of a combination that fit k rows, from the cheapest; each is the lowest that fits these rows."""
        own = tuple(0 for _ in self._costs)
        apart = [self._meeting(index, other) for other in range(len(self._codes)) if other != index]
        found, waiting = {own}, [own]
        while waiting and len(found) <= MOST_LABELS:
            label = waiting.pop(0)
            for other in apart:
                wider = tuple(map(max, label, other))
                if wider not in found:
                    found.add(wider)
                    waiting.append(wider)
        self.ended = self.ended and not waiting
        made = [self._choice(index, label) for label in found]
        return sorted(choice for choice in made if choice.fits.bit_count() >= self._k)

    def _meeting(self, index: int, other: int) -> Steps:
        """The lowest label of a combination that fits another one."""
        return tuple(
            next((step for step, code in enumerate(codes) if code == there[step]), len(codes))
            for codes, there in zip(self._codes[index], self._codes[other], strict=True)
        )

    def _choice(self, index: int, label: Steps) -> _Choice:
        price = sum(costs[step - 1] for costs, step in zip(self._costs, label, strict=True) if step)
        fits = 0
        for other, rows in enumerate(self._rows_of):
            if all(step >= meeting for step, meeting in zip(label, self._meeting(index, other), strict=True)):
                fits |= rows
        return _Choice(price, label, fits)

    def begin(self, start: dict[int, list[Steps]]) -> None:
        """Labels that are enough, made cheaper one by one, are the best so far if they cost less."""
        left = {index: list(labels) for index, labels in enumerate(start[v] for v in sorted(start))}
        chosen = [self._choice(index, left[index].pop(0)) for index in self.vertex_of]
        chosen = self._cheaper(chosen)
        cost = sum(choice.price for choice in chosen)
        if not self.best or cost < self.cost:
            self.best, self.cost = chosen, cost

    def _cheaper(self, chosen: list[_Choice]) -> list[_Choice]:
        """Labels of which none can be exchanged for a cheaper one."""
        changed = True
        while changed:
            changed = False
            tried: set[tuple[int, Steps]] = set()
            for row in sorted(range(len(chosen)), key=lambda row: (-chosen[row].price, row)):
                key = self.vertex_of[row], chosen[row].label
                cheaper = None if key in tried else self._exchanged(chosen, row)
                tried.add(key)
                if cheaper is not None:
                    chosen[row], changed = cheaper, True
        return chosen

    def _exchanged(self, chosen: Sequence[_Choice], row: int) -> _Choice | None:
        """The cheapest label of a row that leaves all labels enough; None where that is the one it has."""
        fits = [choice.fits for choice in chosen]
        held = [sum(rows >> original & 1 for rows in fits) for original in range(len(fits))]
        needed = sum(1 << original for original, number in enumerate(held) if number <= self._k)
        for choice in self._choices[self.vertex_of[row]]:
            if choice.price >= chosen[row].price or not self._limits.in_time():
                return None
            # An original that k labels fit can spare none of them.
            if not chosen[row].fits & ~choice.fits & needed:
                fits[row] = choice.fits
                if enough(fits, self._k):
                    return choice
        return None

    def run(self) -> None:
        """Look through all labels that may cost less than the best."""
        if self.ended:
            # For each combination and each of its labels, the rows that it or a cheaper one fits.
            self._prices = [[choice.price for choice in choices] for choices in self._choices]
            self._reach = []
            for choices in self._choices:
                reach, rows = [0], 0
                for choice in choices:
                    rows = or_(rows, choice.fits)
                    reach.append(rows)
                self._reach.append(reach)
            self._go_on([], 0, self.least)

    def _go_on(self, given: list[int], paid: int, least: int) -> None:
        """Give a label to the next row: `given` are the places of the labels before, which cost `paid`."""
        depth = len(given)
        if depth == len(self._order):
            chosen = [choice for _, choice in sorted(zip(self._order, self._taken(given), strict=True))]
            self.best, self.cost = chosen, paid
            return
        vertex, least = self.vertex_of[self._order[depth]], least - self._bounds[depth]
        equal_before = depth > 0 and self.vertex_of[self._order[depth - 1]] == vertex
        for place in range(given[-1] if equal_before else 0, len(self._choices[vertex])):
            price = self._choices[vertex][place].price
            if paid + price + least >= self.cost:
                break
            self.steps += 1
            if (self._limits.nodes is not None and self.steps > self._limits.nodes) or not self._limits.in_time():
                self.ended = False
                return
            given.append(place)
            if self._may_be_enough(given, self.cost - paid - price - least):
                self._go_on(given, paid + price, least)
            given.pop()
            if not self.ended:
                return

    def _taken(self, given: Sequence[int]) -> list[_Choice]:
        rows = self._order[: len(given)]
        return [self._choices[self.vertex_of[row]][place] for row, place in zip(rows, given, strict=True)]

    def _may_be_enough(self, given: Sequence[int], slack: int) -> bool:
        """Whether labels are enough if every row without one had all that are cheaper than its bound and the slack."""
        fits = [0] * len(self._order)
        for row, choice in zip(self._order, self._taken(given), strict=False):
            fits[row] = choice.fits
        for depth in range(len(given), len(self._order)):
            vertex = self.vertex_of[self._order[depth]]
            affordable = bisect_right(self._prices[vertex], self._bounds[depth] + slack - 1)
            fits[self._order[depth]] = self._reach[vertex][affordable]
        return enough(fits, self._k)


def enough(fits: Sequence[int], k: int) -> bool:
    """Whether each row has k rows that it can be in an assignment of all, and each is what k rows can be.

    `fits` has, for each released row, the originals that it fits, as bits, its own among them. A pair is part of some
    assignment where it lies on a circle. More of what fits never makes it less.

    >>> enough([0b011, 0b111, 0b110], 2), enough([0b011, 0b010, 0b110], 2)
    (True, False)
    """
    fitting = [0] * len(fits)
    for released, originals in enumerate(fits):
        if originals.bit_count() < k:
            return False
        for original in _bits(originals):
            fitting[original] |= 1 << released
    left = (1 << len(fits)) - 1
    while left:
        row = (left & -left).bit_length() - 1
        circle = _reached(row, fits) & _reached(row, fitting)
        for member in _bits(circle):
            if (fits[member] & circle).bit_count() < k or (fitting[member] & circle).bit_count() < k:
                return False
        left &= ~circle
    return True


def _reached(row: int, following: Sequence[int]) -> int:
    """The rows that lie on a way from one, which is among them."""
    found = waiting = 1 << row
    while waiting:
        beyond = 0
        for member in _bits(waiting):
            beyond |= following[member]
        waiting = beyond & ~found
        found |= beyond
    return found


def _bits(rows: int) -> Iterator[int]:
    while rows:
        lowest = rows & -rows
        yield lowest.bit_length() - 1
        rows ^= lowest
