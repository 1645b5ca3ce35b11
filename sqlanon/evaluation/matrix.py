"""The matrix of distance vectors (Samarati 2001, section 5): the second way to `satisfies`, and what it bounds.

The matrix VT is a self-join of the distinct combinations, kept in a scratch table: rows are outliers (combinations of
fewer than k rows), columns all combinations, and of each row is kept how many rows of the source lie at each distance
vector. Its verdicts on acceptable nodes are held against the counts: two independent computations must agree, or
nothing is released. Reads the frequency set; values of the source only where an explanation shows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import RequirementError, UsageError
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.rollups import BATCH
from sqlanon.hierarchies.lattice import Lattice, Node, minimal_nodes
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.frequency_statements import HierarchyTable, Layout, masked, path
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import all_of, count, equal, named, query, subquery, total, total_where, union_all, with_queries
from sqlanon.sql.relations import Table, column, literal, table_expression


def size(frequency: Table, k: int) -> exp.Select:
    """Outliers and combinations: the matrix has their product as entries."""
    is_outlier = exp.LT(this=column("n"), expression=literal(k))
    return exp.select(total_where(is_outlier, literal(1)), count()).from_(table_expression(frequency))


def numbered(frequency: Table, layout: Layout) -> exp.Select:
    """The combinations with a number `x` each, the same whenever they are numbered."""
    order = [exp.Ordered(this=column(f"p_{word}")) for word in range(layout.words)]
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
    return exp.select(named(number, "x"), exp.Star()).from_(table_expression(frequency))


def pairs(frequency: Table, layout: Layout, rows: exp.Expression, columns: exp.Expression | None = None) -> exp.Select:
    """Pairs of combinations `a` and `b` with their distance vector `d_0`...; `rows` chooses the first, `columns` the
    second."""
    distances = [
        named(_distance(position, len(fields), layout), f"d_{position}")
        for position, fields in enumerate(layout.fields)
    ]
    numbers = [
        named(column("x", "a"), "x"),
        named(column("n", "a"), "occurrences"),
        named(column("x", "b"), "y"),
        named(column("n", "b"), "n"),
    ]
    found = (
        exp.select(*numbers, *distances)
        .from_(exp.to_table("combinations", alias="a"))
        .join(exp.to_table("combinations", alias="b"), join_type="cross")
        .where(*([rows] if columns is None else [rows, columns]))
    )
    return with_queries(found, {"combinations": numbered(frequency, layout)})


def matrix(frequency: Table, layout: Layout, k: int) -> exp.Select:
    """Outlier `x` with its `occurrences`, distance vector `d_0`..., and how many rows `n` lie at that distance."""
    keys = [column("x"), column("occurrences"), *_distances(len(layout.fields))]
    outlier = exp.LT(this=column("n", "a"), expression=literal(k))
    select = exp.select(*keys, named(exp.Sum(this=column("n")), "n"))
    entries = subquery(pairs(frequency, layout, outlier), "entries")
    return select.from_(entries).group_by(*(key.copy() for key in keys))


def required_suppression(table: Table, nodes: Sequence[tuple[int, Node]], k: int) -> exp.Query:
    """For each node, Samarati's req_sup: occurrences of the outliers whose cluster at that vector stays below k."""
    queries: list[exp.Query] = []
    for index, node in nodes:
        within = all_of(
            exp.LTE(this=column(f"d_{position}"), expression=literal(level)) for position, level in enumerate(node)
        )
        clusters = (
            exp.select(column("x"), column("occurrences"), named(total_where(within, column("n")), "cluster"))
            .from_(table_expression(table))
            .group_by(column("x"), column("occurrences"))
        )
        small = exp.LT(this=column("cluster"), expression=literal(k))
        queries.append(
            exp.select(named(literal(index), "node"), named(total(column("occurrences")), "suppressed"))
            .from_(subquery(clusters, "clusters"))
            .where(small)
        )
    return union_all(queries)


def least_upper_bound(table: Table, columns: int) -> exp.Select:
    """The largest distance of each column: no minimal solution lies above it."""
    return exp.select(*(exp.Max(this=column(f"d_{i}")) for i in range(columns))).from_(table_expression(table))


def reaches(table: Table, bottom: Node, k: int) -> exp.Select:
    """For each outlier the least height at which k rows lie within reach: below it, every node suppresses it.

    A node that puts `b` into the class of `a` dominates their distance vector and the bottom of the lattice, so its
    height is at least the sum of the greater of both, column by column.
    """
    near = exp.Window(
        this=exp.Sum(this=column("n")),
        partition_by=[column("x")],
        order=exp.Order(expressions=[exp.Ordered(this=column("height"))]),
    )
    summed = exp.select(
        column("x"), column("occurrences"), named(_height(bottom), "height"), named(column("n"), "n")
    ).from_(table_expression(table))
    return query(
        """
        select x, occurrences, min(height) as reach
        from (
            select x, occurrences, height, :near as near
            from (select x, occurrences, height, sum(n) as n from distances group by x, occurrences, height) as heights
        ) as growing
        where near >= :k
        group by x, occurrences
        """,
        {"distances": summed},
        near=near,
        k=k,
    )


def reached(table: Table, bottom: Node, k: int) -> exp.Select:
    """How many rows are outliers up to which height."""
    outliers = {"outliers": reaches(table, bottom, k)}
    return query("select reach, sum(occurrences) as n from outliers group by reach order by reach", outliers)


def farthest(table: Table, bottom: Node, k: int, most: int) -> exp.Select:
    """The outliers that stay alone longest."""
    outliers = {"outliers": reaches(table, bottom, k)}
    select = query("select x, occurrences, reach from outliers order by reach desc, x", outliers)
    return select.limit(most, copy=False)


def nearest(table: Table, columns: int, outliers: Sequence[int], most: int) -> exp.Select:
    """Of each of these outliers the distance vectors of least height, but that to itself."""
    height = _height((0,) * columns)
    order = exp.Order(expressions=[exp.Ordered(this=key) for key in (height, *_distances(columns))])
    place = exp.Window(this=exp.RowNumber(), partition_by=[column("x")], order=order)
    ranked = exp.select(column("x"), *_distances(columns), named(place, "place")).from_(table_expression(table))
    ranked = ranked.where(_among(column("x"), outliers), exp.GT(this=height.copy(), expression=literal(0)))
    select = exp.select(column("x"), *_distances(columns)).from_(subquery(ranked, "ranked"))
    return select.where(exp.LTE(this=column("place"), expression=literal(most)))


def closest(frequency: Table, layout: Layout, outliers: Sequence[int], most: int) -> exp.Select:
    """The combinations that lie closest to any of these outliers, themselves first."""
    near = subquery(pairs(frequency, layout, _among(column("x", "a"), outliers)), "near")
    height = exp.Min(this=_height((0,) * len(layout.fields)))
    select = (
        exp.select(column("y"), column("n"), named(height, "height")).from_(near).group_by(column("y"), column("n"))
    )
    ordered = select.order_by(column("height"), exp.Ordered(this=column("n"), desc=True), column("y"))
    return ordered.limit(most, copy=False)


def entries(frequency: Table, layout: Layout, rows: Sequence[int], columns: Sequence[int]) -> exp.Select:
    """The distance vectors between these combinations."""
    found = pairs(frequency, layout, _among(column("x", "a"), rows), _among(column("x", "b"), columns))
    select = exp.select(column("x"), column("y"), *_distances(len(layout.fields)))
    return select.from_(subquery(found, "found"))


def texts(
    frequency: Table, layout: Layout, position: int, hierarchy: HierarchyTable, numbers: Sequence[int]
) -> exp.Select:
    """The value of one column in these combinations, as text."""
    masks = layout.column_masks(position, 0)
    alike = [
        equal(masked(column(f"p_{word}", "c"), mask), path(layout.fields[position], word, "h"))
        for word, mask in masks.items()
    ]
    select = exp.select(column("x", "c"), exp.Min(this=column("label_0", "h")))
    combinations = exp.Subquery(this=numbered(frequency, layout), alias=exp.TableAlias(this=exp.to_identifier("c")))
    return (
        select.from_(combinations)
        .join(table_expression(hierarchy.table, "h"), on=all_of(alike), join_type="left")
        .where(_among(column("x", "c"), numbers))
        .group_by(column("x", "c"))
    )


def _distances(columns: int) -> list[exp.Expression]:
    return [column(f"d_{position}") for position in range(columns)]


def _height(bottom: Node) -> exp.Expression:
    """The least height of a node at or above a distance vector and the bottom."""
    parts: list[exp.Expression] = []
    for position, low in enumerate(bottom):
        distance = column(f"d_{position}")
        below = exp.LT(this=distance.copy(), expression=literal(low))
        parts.append(exp.Case().when(below, literal(low)).else_(distance) if low else distance)
    return reduce(lambda left, right: exp.Add(this=left, expression=right), parts)


def _among(value: exp.Expression, numbers: Iterable[int]) -> exp.Expression:
    return exp.In(this=value, expressions=[literal(number) for number in numbers])


def _distance(position: int, height: int, layout: Layout) -> exp.Expression:
    """The lowest level at which two tuples have one value in this column."""
    case = exp.Case()
    for level in range(height):
        alike = [
            equal(masked(column(f"p_{word}", "a"), mask), masked(column(f"p_{word}", "b"), mask))
            for word, mask in layout.column_masks(position, level).items()
        ]
        case = case.when(all_of(alike), literal(level))
    return case.else_(literal(height)) if height else literal(0)


MOST_ENTRIES = 20_000_000
"""Pairs of an outlier and a combination beyond which the matrix is refused: it grows with their product."""

SHOWN = 12
"""Outliers that are listed one by one, and combinations beside them."""

NEAREST = 200
"""Distance vectors of an outlier that are looked at for those with none below them."""


@dataclass(frozen=True)
class MatrixBounds:
    """What the matrix says before any node is tried."""

    least_upper_bound: Node
    """No minimal solution lies above this vector."""
    lowest_height: int
    """No solution lies below this height: more rows than the limit are outliers at all nodes there."""
    floors: tuple[tuple[int, int], ...] = ()
    """From which height on at least so many rows are suppressed, whatever node of that height is chosen."""


@dataclass(frozen=True)
class Combination:
    """A distinct combination of the quasi-identifier's values, by its number."""

    number: int
    rows: int
    values: tuple[str | None, ...] | None = None
    """Where they may be shown."""

    def to_dict(self, columns: Sequence[str]) -> dict[str, Any]:
        shown = {} if self.values is None else {"values": dict(zip(columns, self.values, strict=True))}
        return {"combination": self.number, "rows": self.rows, **shown}


@dataclass(frozen=True)
class OutlierRow:
    """A row of the matrix: a combination of fewer than k rows, and how far it is from others."""

    combination: Combination
    alone_below: int
    """Below this height it is suppressed at every node."""
    nearest: tuple[Node, ...]
    """Its least distance vectors: a node that keeps it dominates one of them."""
    distances: tuple[Node, ...]

    def to_dict(self, columns: Sequence[str]) -> dict[str, Any]:
        return {
            **self.combination.to_dict(columns),
            "nearest": [list(node) for node in self.nearest],
            "alone_below": self.alone_below,
            "distances": [list(node) for node in self.distances],
        }


@dataclass(frozen=True)
class MatrixView:
    """The part of the matrix that is shown: the outliers that stay alone longest, the combinations closest to them."""

    outliers: int
    """All there are."""
    combinations: int
    rows: tuple[OutlierRow, ...]
    columns: tuple[Combination, ...]

    @property
    def left_out(self) -> tuple[int, int]:
        """Outliers and combinations that are not shown."""
        return self.outliers - len(self.rows), self.combinations - len(self.columns)

    def to_dict(self, columns: Sequence[str]) -> dict[str, Any]:
        outliers, combinations = self.left_out
        return {
            "outliers": self.outliers,
            "combinations": self.combinations,
            "left_out": {"outliers": outliers, "combinations": combinations},
            "columns": [item.to_dict(columns) for item in self.columns],
            "rows": [row.to_dict(columns) for row in self.rows],
        }


def entries_of(engine: Engine, frequency: FrequencySet, k: int) -> tuple[int, int]:
    """How many outliers and combinations the matrix of a frequency set has."""
    [(outliers, combinations)] = engine.query(Statement("size of matrix", size(frequency.table, k)))
    return int(outliers), int(combinations)


class DistanceMatrix:
    """The matrix of a frequency set, in a scratch table."""

    def __init__(self, engine: Engine, frequency: FrequencySet, k: int, scratch: Scratch) -> None:
        self._engine = engine
        self._frequency = frequency
        self._k = k
        self._layout = frequency.shape.layout
        self._columns = len(self._layout.fields)
        made = matrix(frequency.table, self._layout, k)
        self.table = scratch.create("distance-vector matrix", "matrix", made)

    def required_suppression(self, nodes: Sequence[Node]) -> dict[Node, int]:
        """Samarati's req_sup for each node."""
        statement = Statement("satisfies by matrix", required_suppression(self.table, list(enumerate(nodes)), self._k))
        return {nodes[index]: int(suppressed) for index, suppressed in self._engine.query(statement)}

    def bounds(self, lattice: Lattice, limit: int) -> MatrixBounds:
        """Where acceptable nodes of this lattice can lie."""
        upper = Statement("least upper bound", least_upper_bound(self.table, self._columns))
        lower = Statement("lower bounds", reached(self.table, lattice.bottom, self._k))
        [distances] = self._engine.query(upper)
        floors = floors_of([(int(reach), int(rows)) for reach, rows in self._engine.query(lower)], lattice.lowest)
        lowest = next(height for height, rows in floors if rows <= limit)
        return MatrixBounds(tuple(int(distance or 0) for distance in distances), lowest, floors)

    def view(self, lattice: Lattice, *, values: bool) -> MatrixView:
        """The part that is shown, with values only where they may be."""
        ask = self._engine.query
        frequency, layout = self._frequency.table, self._layout
        outliers, combinations = entries_of(self._engine, self._frequency, self._k)
        chosen = ask(Statement("outliers", farthest(self.table, lattice.bottom, self._k, SHOWN)))
        rows = sorted((int(number), int(n), int(reach)) for number, n, reach in chosen)
        if not rows:
            return MatrixView(outliers, combinations, (), ())
        numbers = [number for number, _, _ in rows]
        close = ask(Statement("combinations near outliers", closest(frequency, layout, numbers, SHOWN)))
        columns = sorted((int(number), int(n)) for number, n, _ in close)
        beside = [number for number, _ in columns]
        found = ask(Statement("distance vectors", entries(frequency, layout, numbers, beside)))
        vectors = {(int(x), int(y)): tuple(map(int, vector)) for x, y, *vector in found}
        near = self._nearest(numbers)
        shown = self._texts({*numbers, *beside}) if values else {}
        return MatrixView(
            outliers,
            combinations,
            tuple(
                OutlierRow(
                    Combination(number, n, shown.get(number)),
                    reach,
                    near[number],
                    tuple(vectors[number, other] for other in beside),
                )
                for number, n, reach in rows
            ),
            tuple(Combination(number, n, shown.get(number)) for number, n in columns),
        )

    def _nearest(self, numbers: Sequence[int]) -> dict[int, tuple[Node, ...]]:
        statement = Statement("nearest vectors", nearest(self.table, self._columns, numbers, NEAREST))
        vectors: dict[int, list[Node]] = {number: [] for number in numbers}
        for number, *vector in self._engine.query(statement):
            vectors[int(number)].append(tuple(map(int, vector)))
        return {number: tuple(minimal_nodes(found)) for number, found in vectors.items()}

    def _texts(self, numbers: Iterable[int]) -> dict[int, tuple[str | None, ...]]:
        """The values of combinations, column by column."""
        asked = sorted(numbers)
        found: dict[int, list[str | None]] = {number: [] for number in asked}
        for position, hierarchy in enumerate(self._frequency.hierarchy_tables):
            select = texts(self._frequency.table, self._layout, position, hierarchy, asked)
            shown: dict[Any, Any] = dict(self._engine.query(Statement("show values", select)))
            for number, values in found.items():
                value = shown[number]
                values.append(None if value is None else str(value))
        return {number: tuple(values) for number, values in found.items()}


def floors_of(reached: Sequence[tuple[int, int]], lowest: int) -> tuple[tuple[int, int], ...]:
    """From which height on at least so many rows are suppressed, of the rows that are kept from each height on.

    >>> floors_of([(1, 10), (6, 1)], 0)
    ((0, 11), (1, 1), (6, 0))
    """
    heights = sorted({lowest, *(height for height, _ in reached if height > lowest)})
    return tuple((here, sum(rows for height, rows in reached if height > here)) for here in heights)


class MatrixEvaluator:
    """Answers from the distance-vector matrix. Implements `search.base.Evaluator`."""

    def __init__(
        self,
        engine: Engine,
        frequency: FrequencySet,
        counts: SqlEvaluator,
        k: int,
        scratch: Scratch,
        *,
        bounded: bool = True,
    ) -> None:
        """Bounded, the lattice ends at the least upper bound: enough where only minimal vectors are wanted, and any
        vector may be chosen.
        """
        outliers, combinations = entries_of(engine, frequency, k)
        if outliers * combinations > MOST_ENTRIES:
            raise UsageError(
                f"search.satisfies: the distance-vector matrix would have {outliers} x {combinations} entries, "
                f"more than {MOST_ENTRIES}; use counts"
            )
        self._counts = counts
        self._verdicts: dict[Node, Verdict] = {}
        self.matrix = DistanceMatrix(engine, frequency, k, scratch)
        self.bounds = self.matrix.bounds(counts.lattice, counts.limit)
        self.lattice = self._bounded(counts.lattice) if bounded else counts.lattice
        self.lowest_height = self.bounds.lowest_height
        self.heights = counts.heights
        self.leaves = counts.leaves
        self.rows = counts.rows
        self.limit = counts.limit
        self.least_class = counts.least_class
        self.monotone = True
        self.relaxed = False

    @property
    def checks(self) -> int:
        return len(self._verdicts)

    def known(self) -> list[Verdict]:
        return [self._verdicts[node] for node in sorted(self._verdicts)]

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        missing = [node for node in dict.fromkeys(nodes) if node not in self._verdicts]
        for start in range(0, len(missing), BATCH):
            self._ask(missing[start : start + BATCH])
        return [self._verdicts[node] for node in nodes]

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        self.check(nodes)
        for verdict in self._counts.measure(nodes):
            self._agree(verdict)
            self._verdicts[verdict.node] = verdict
        return [self._verdicts[node] for node in nodes]

    def level_figures(self) -> Sequence[Sequence[LevelFigures]]:
        return self._counts.level_figures()

    def _ask(self, nodes: Sequence[Node]) -> None:
        for node, suppressed in self.matrix.required_suppression(nodes).items():
            self._verdicts[node] = Verdict(node, suppressed, 0)
        acceptable = [node for node in nodes if self._verdicts[node].suppressed <= self.limit]
        for verdict in self._counts.check(acceptable):
            self._agree(verdict)
            self._verdicts[verdict.node] = verdict

    def _agree(self, counted: Verdict) -> None:
        if counted.suppressed != self._verdicts[counted.node].suppressed:
            raise RequirementError(
                f"the distance-vector matrix and the counts disagree on {list(counted.node)}: nothing was released"
            )

    def _bounded(self, lattice: Lattice) -> Lattice:
        """Above the least upper bound every verdict repeats, so a minimal solution lies below it."""
        pairs = zip(self.bounds.least_upper_bound, lattice.bottom, lattice.top, strict=True)
        return Lattice(lattice.bottom, tuple(min(max(bound, low), high) for bound, low, high in pairs))
