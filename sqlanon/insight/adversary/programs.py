"""Downcoding by integer programs: what all classes of a release tell together of the finer cells of their rows.

The counting bound of `auditor.downcoding` looks at one class at a time. All of them tell more: a cell that was not
released holds fewer than k rows of all later classes at once. HiGHS solves that, by scipy (extra `lp`), where the bound
leaves it open and the release is small. Python holds counts of classes and codes of labels, so many at most.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import product
from math import prod

from sqlglot import exp

from sqlanon.auditor.downcoding import Downcoding, KnownRule
from sqlanon.engines.base import Engine, Statement
from sqlanon.hierarchies.lattice import Node
from sqlanon.sql.build import row_count
from sqlanon.sql.relations import Table, column, table_expression

MOST_CLASSES = 5_000
MOST_LABELS = 50_000
"""Classes of the release, and pairs of a label with one above it, that are read; of more the bound alone is told."""
MOST_CELLS = 2_000
"""Cells of all classes together that are solved for; classes that do not fit are left out, which loosens the rest."""
SECONDS = 20.0
"""How long programs are solved; classes that are still open then stay so."""

Codes = tuple[int, ...]
Place = tuple[int, Node, Codes]
"""Rows of a class in one cell: the class, the levels of the cell, its codes."""


@dataclass(frozen=True)
class ReleasedClass:
    """A class by levels and codes, as `auditor.downcoding` has it."""

    id: int
    rows: int
    node: Node
    codes: Codes
    sure: bool
    everybody: bool


@dataclass(frozen=True)
class Paths:
    """The labels of each column: the codes of one level under a code of another, and above it."""

    under: Sequence[Mapping[tuple[int, int, int], Sequence[int]]]
    """By the upper level, its code, the lower level."""
    over: Sequence[Mapping[tuple[int, int, int], int]]
    """By the lower level, its code, the upper level."""

    def cells(self, node: Node, codes: Codes, lower: Node) -> list[Codes]:
        """The cells of a lower vector under a cell."""
        parts = zip(self.under, node, codes, lower, strict=True)
        return list(product(*(under.get((level, code, low), ()) for under, level, code, low in parts)))

    def number(self, node: Node, codes: Codes, lower: Node) -> int:
        """How many they are."""
        parts = zip(self.under, node, codes, lower, strict=True)
        return prod(len(under.get((level, code, low), ())) for under, level, code, low in parts)

    def above(self, lower: Node, cell: Codes, node: Node) -> Codes:
        """The cell of a vector that a cell of a lower one lies in."""
        parts = zip(self.over, lower, cell, node, strict=True)
        return tuple(over[low, code, level] for over, low, code, level in parts)


@dataclass(frozen=True)
class PinnedTogether:
    """What all classes tell: those that are pinned beyond the counting bound, and what was left out."""

    pinned: frozenset[int] = frozenset()
    reason: str | None = None
    left_out: int = 0


def strictly_below(low: Node, high: Node) -> bool:
    """
    >>> strictly_below((0, 1), (1, 1)), strictly_below((0, 2), (1, 1)), strictly_below((1,), (1,))
    (True, False, False)
    """
    return low != high and all(one <= other for one, other in zip(low, high, strict=True))


def together(found: Downcoding, rule: KnownRule, engine: Engine) -> PinnedTogether:
    """Whom the classes of a release pin together, of those that the bound does not."""
    if rule.cap is None:
        # Cells may fail with any number of rows: what one class rules out is all there is.
        return PinnedTogether()
    if find_spec("scipy") is None:
        return PinnedTogether(reason="scipy is not installed (pip install 'sqlanon[lp]')")
    tables = [found.classes, *found.ups]
    most = [MOST_CLASSES, *[MOST_LABELS] * len(found.ups)]
    words = ["classes", *["pairs of labels"] * len(found.ups)]
    for table, limit, word in zip(tables, most, words, strict=True):
        [(rows,)] = engine.query(Statement("size of the programs", row_count(table_expression(table))))
        if int(rows) > limit:
            return PinnedTogether(reason=f"the release has {rows} {word}; programs are solved for up to {limit}")
    pinned = engine.query(Statement("pinned classes", found.without(0)))
    known = frozenset(int(number) for (number,) in pinned)
    return solved(_classes(engine, found), _paths(engine, found.ups), rule, known)


def _classes(engine: Engine, found: Downcoding) -> list[ReleasedClass]:
    places = range(len(found.ups))
    names = ["id", "n", "sure", "everybody", *(f"g_{p}" for p in places), *(f"k_{p}" for p in places)]
    select = exp.select(*map(column, names)).from_(table_expression(found.classes))
    select = select.where(exp.Not(this=exp.Is(this=column("node"), expression=exp.Null())))
    read = []
    for number, rows, sure, everybody, *rest in engine.query(Statement("classes by levels", select)):
        numbers = tuple(map(int, rest))
        node, codes = numbers[: len(places)], numbers[len(places) :]
        read.append(ReleasedClass(int(number), int(rows), node, codes, bool(sure), bool(everybody)))
    return sorted(read, key=lambda item: item.id)


def _paths(engine: Engine, ups: Sequence[Table]) -> Paths:
    under: list[dict[tuple[int, int, int], list[int]]] = []
    over: list[dict[tuple[int, int, int], int]] = []
    for table in ups:
        down: dict[tuple[int, int, int], list[int]] = defaultdict(list)
        up: dict[tuple[int, int, int], int] = {}
        select = exp.select(*map(column, ("a", "ca", "b", "cb"))).from_(table_expression(table))
        for low, code, high, above in engine.query(Statement("labels above labels", select)):
            down[int(high), int(above), int(low)].append(int(code))
            up[int(low), int(code), int(high)] = int(above)
        under.append({key: sorted(codes) for key, codes in down.items()})
        over.append(up)
    return Paths(under, over)


@dataclass
class Program:
    """Rows of classes in cells: how many there are of each class, and at most of some classes in some cells."""

    places: list[Place] = field(default_factory=list)
    of_class: dict[int, list[int]] = field(default_factory=dict)
    exactly: list[tuple[list[int], int]] = field(default_factory=list)
    at_most: list[tuple[list[int], int]] = field(default_factory=list)


def solved(classes: Sequence[ReleasedClass], paths: Paths, rule: KnownRule, known: frozenset[int]) -> PinnedTogether:
    """The classes that are pinned, by one program for each cell that might have more rows or fewer."""
    nodes = {item.node for item in classes}
    sure = {item.node for item in classes if item.sure}
    first = {node for node in nodes if all(node == other or strictly_below(node, other) for other in nodes)}
    lower = {node: [low for low in sure if strictly_below(low, node)] for node in nodes}
    later = [item for item in classes if lower[item.node]]
    bases = {node: tuple(map(min, zip(*lows, strict=True))) for node, lows in lower.items() if lows}
    sizes = {item.id: paths.number(item.node, item.codes, bases[item.node]) for item in later}
    chosen, cells = [], 0
    for item in sorted(later, key=lambda item: (sizes[item.id], item.id)):
        if cells + sizes[item.id] <= MOST_CELLS:
            chosen.append(item)
            cells += sizes[item.id]
    open_classes = [item for item in chosen if item.id not in known]
    left_out = len(later) - len(chosen)
    if not open_classes:
        return PinnedTogether(left_out=left_out)
    released = {(item.node, item.codes) for item in classes if item.sure}
    program = Program()
    in_cell: dict[tuple[Node, Codes], list[int]] = defaultdict(list)
    for item in chosen:
        base = bases[item.node]
        own = program.of_class[item.id] = []
        for cell in paths.cells(item.node, item.codes, base):
            above = {low: paths.above(base, cell, low) for low in lower[item.node]}
            if any(place in released for place in above.items()):
                continue
            number = len(program.places)
            program.places.append((item.id, base, cell))
            own.append(number)
            for low, codes in above.items():
                # Classes that were refused lie in the class of everybody, which no cell of later rounds limits.
                if not (rule.pooled and item.everybody and low not in first):
                    in_cell[low, codes].append(number)
        program.exactly.append((own, item.rows))
    program.at_most = [(numbers, rule.cap or 0) for numbers in in_cell.values()]
    solver = _Solver(program)
    if not solver.possible:
        why = "the time for programs was spent" if solver.spent else "no table gives this release by this spec"
        return PinnedTogether(reason=why, left_out=left_out)
    pinned = frozenset(item.id for item in open_classes if _is_pinned(item, lower[item.node], paths, solver))
    return PinnedTogether(pinned, "the time for programs was spent" if solver.spent else None, left_out)


def _is_pinned(item: ReleasedClass, lows: Sequence[Node], paths: Paths, solver: _Solver) -> bool:
    """Whether for some vector below it is known how many rows of a class each cell has."""
    for low in lows:
        if paths.number(item.node, item.codes, low) < 2:
            continue
        groups: dict[Codes, list[int]] = defaultdict(list)
        for number in solver.program.of_class[item.id]:
            _, base, cell = solver.program.places[number]
            groups[paths.above(base, cell, low)].append(number)
        # All counts together are the rows of the class: where none can be greater, none can be smaller.
        if all(solver.is_greatest(numbers) for numbers in groups.values()):
            return True
    return False


class _Solver:
    """One solution of a program, and whether others have more rows in some places."""

    def __init__(self, program: Program) -> None:
        import numpy
        from scipy.optimize import Bounds, LinearConstraint
        from scipy.sparse import csr_matrix

        self.program = program
        self.spent = False
        self._until = time.monotonic() + SECONDS
        self._numpy = numpy
        rows = [*program.exactly, *program.at_most]
        entries = [(row, number) for row, (numbers, _) in enumerate(rows) for number in numbers]
        shape = (len(rows), len(program.places))
        places = ([row for row, _ in entries], [number for _, number in entries])
        matrix = csr_matrix(([1.0] * len(entries), places), shape=shape)
        least = [float(number) for _, number in program.exactly] + [0.0] * len(program.at_most)
        self._constraints = LinearConstraint(matrix, least, [float(number) for _, number in rows])
        self._bounds = Bounds(0, numpy.inf)
        enough = all(numbers or not rows for numbers, rows in program.exactly)
        self._one = self._solve([]) if enough and program.places else None

    @property
    def possible(self) -> bool:
        """Whether there is a solution at all."""
        return self._one is not None

    def is_greatest(self, numbers: Sequence[int]) -> bool:
        """Whether no solution has more rows in these places than the one that is known; False where that is open."""
        if self._one is None or self.spent:
            return False
        other = self._solve(numbers)
        if other is None:
            return False
        return sum(other[number] for number in numbers) <= sum(self._one[number] for number in numbers)

    def _solve(self, numbers: Sequence[int]) -> list[int] | None:
        """A solution with the most rows in these places."""
        from scipy.optimize import milp

        left = self._until - time.monotonic()
        if left <= 0:
            self.spent = True
            return None
        costs = self._numpy.zeros(len(self.program.places))
        costs[list(numbers)] = -1.0
        whole = self._numpy.ones(len(self.program.places), dtype=int)
        found = milp(
            costs, integrality=whole, bounds=self._bounds, constraints=self._constraints, options={"time_limit": left}
        )
        # 1: the time was spent; then what was found need not be the most.
        self.spent = self.spent or found.status == 1
        return None if found.status != 0 else [round(value) for value in found.x]


def told(found: PinnedTogether) -> Iterator[str]:
    """What to say of programs that were not solved."""
    if found.reason is not None:
        yield f"downcoding counts each class for itself: {found.reason}"
    elif found.left_out:
        classes = "1 class" if found.left_out == 1 else f"{found.left_out} classes"
        yield f"downcoding counts {classes} of many cells for itself: programs are solved for {MOST_CELLS} cells"
