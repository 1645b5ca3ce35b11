"""The evaluators that ask a database: batches of nodes in, verdicts out, every answer kept.

The SQL side of the search, for one requirement and limit. Nodes are evaluated on the frequency set or on a roll-up of
it; never on the source.

Samarati's distance vectors (2001, section 5) are the second way to `satisfies` beside GROUP BY counts. The matrix VT is
a self-join of the distinct tuples, kept in a scratch table: rows are outlier tuples (fewer than k occurrences), columns
all distinct tuples, and of each row is kept how many occurrences lie at each distance vector. Its verdicts on
acceptable nodes are held against the counts: two independent computations must agree, or nothing is released.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass
from math import isfinite

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import RequirementError, UsageError
from sqlanon.evaluation import statements as node_sql
from sqlanon.evaluation.rollups import BATCH, NodeCounts, question_of
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.privacy.base import Requirement
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.frequency_statements import Layout, masked
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import all_of, count, equal, named, subquery, total, total_where, with_queries
from sqlanon.sql.relations import Table, column, literal, table_expression


class SqlEvaluator:
    """Evaluates nodes by GROUP BY on a frequency set. Implements `search.base.Evaluator`."""

    def __init__(
        self,
        counts: NodeCounts,
        *,
        lattice: Lattice,
        limit: int,
        figures: Mapping[str, exp.Expression],
        requirement: int = 0,
        relaxed: int | None = None,
    ) -> None:
        """`relaxed` is the number of the monotone part, among those counted, of a requirement that is not monotone."""
        self._counts = counts
        self._index = requirement
        self._relaxed = relaxed
        self._requirement = counts.requirements[requirement]
        self._figures = figures
        self._measured: dict[Node, Verdict] = {}
        self.lattice = lattice
        self.limit = self._some_row_kept(limit)

    @classmethod
    def of(
        cls,
        engine: Engine,
        frequency: FrequencySet,
        requirement: Requirement,
        *,
        lattice: Lattice,
        limit: int,
        figures: Mapping[str, exp.Expression],
        scratch: Scratch,
    ) -> SqlEvaluator:
        """An evaluator of one requirement, with counts of its own."""
        part = None if requirement.monotone(limit) else requirement.relaxed()
        counts = NodeCounts(engine, frequency, [requirement, *([] if part is None else [part])], scratch)
        return cls(counts, lattice=lattice, limit=limit, figures=figures, relaxed=None if part is None else 1)

    def within(self, limit: int) -> SqlEvaluator:
        """The same evaluator under another limit; what was counted and measured serves both."""
        other = copy(self)
        other.limit = self._some_row_kept(limit)
        return other

    def _some_row_kept(self, limit: int) -> int:
        """The limit, below the rows there are: a node that keeps none of them is no release, whatever may be lost."""
        return max(0, min(limit, self.rows - 1))

    @property
    def heights(self) -> Node:
        return self._counts.shape.heights()

    @property
    def leaves(self) -> tuple[int, ...]:
        return tuple(hierarchy.leaves for hierarchy in self._counts.shape.hierarchies)

    @property
    def rows(self) -> int:
        return self._counts.frequency.rows

    @property
    def monotone(self) -> bool:
        return self._requirement.monotone(self.limit)

    @property
    def relaxed(self) -> bool:
        return self._relaxed is not None and not self.monotone

    @property
    def checks(self) -> int:
        return self._counts.asked

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        least = [0] * len(nodes)
        if self._relaxed is not None:
            least = [suppressed for suppressed, _ in self._counts.of(nodes, self._relaxed)]
        answers = zip(nodes, self._counts.of(nodes, self._index), least, strict=True)
        return [
            self._measured.get(node) or Verdict(node, suppressed, classes, least=known)
            for node, (suppressed, classes), known in answers
        ]

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        missing = [node for node in dict.fromkeys(nodes) if node not in self._measured]
        batch = self._counts.batch
        for start in range(0, len(missing), batch):
            self._measure(missing[start : start + batch])
        return [self._measured[node] for node in nodes]

    def put(self, verdicts: Iterable[Verdict]) -> None:
        """Take over what the database said in an earlier run on the same frequency set, if it can have said it."""
        for verdict in filter(self._is_possible, verdicts):
            counted = (verdict.suppressed, verdict.classes)
            self._counts.put(verdict.node, (counted,) if self._relaxed is None else (counted, (verdict.least, 0)))
            if self._figures and verdict.figures.keys() == self._figures.keys():
                self._measured[verdict.node] = verdict

    def _is_possible(self, verdict: Verdict) -> bool:
        return (
            verdict.node in Lattice.of_heights(self.heights)
            and 0 <= verdict.least <= verdict.suppressed <= self.rows
            and 0 <= verdict.classes <= self.rows - verdict.suppressed
            and (verdict.classes > 0) == (verdict.suppressed < self.rows)
            and all(isfinite(value) for value in verdict.figures.values())
        )

    def known(self) -> list[Verdict]:
        """Everything the database has said, in vector order."""
        return self.check(sorted(self._counts.known()))

    def level_figures(self) -> Sequence[Sequence[LevelFigures]]:
        return self._counts.level_figures

    def _measure(self, nodes: Sequence[Node]) -> None:
        tables = self._counts.tables(nodes)
        requests = [(index, node, tables[node]) for index, node in enumerate(nodes)]
        counts = self._counts
        if counts.in_rounds:
            answers = counts.rounds.measures(requests, self._requirement, self._figures)
        else:
            asked = [self._requirement, *([] if self._relaxed is None else [counts.requirements[self._relaxed]])]
            query = node_sql.measure(requests, counts.shape, question_of(asked), self._figures)
            answers = counts.engine.query(Statement("measure nodes", query, fresh=True))
        for index, size, suppressed, classes, least, *values in answers:
            node, counted = nodes[index], (int(suppressed), int(classes))
            counts.learn_size(node, int(size))
            figures = {name: float(value) for name, value in zip(self._figures, values, strict=True)}
            self._measured[node] = Verdict(node, *counted, figures, int(least))
            counts.record(node, *([counted] if self._relaxed is None else [counted, (int(least), 0)]))


def size(frequency: Table, k: int) -> exp.Select:
    """Outlier tuples and distinct tuples: the matrix has their product as entries."""
    is_outlier = exp.LT(this=column("n"), expression=literal(k))
    return exp.select(total_where(is_outlier, literal(1)), count()).from_(table_expression(frequency))


def matrix(frequency: Table, layout: Layout, k: int) -> exp.Select:
    """Outlier `x` with its `occurrences`, distance vector `d_0`..., and how many rows `n` lie at that distance."""
    order = [exp.Ordered(this=column(f"p_{word}")) for word in range(layout.words)]
    number = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=order))
    heights = [len(fields) for fields in layout.fields]
    tuples = exp.select(named(number, "x"), exp.Star()).from_(table_expression(frequency))
    distances = [named(_distance(position, height, layout), f"d_{position}") for position, height in enumerate(heights)]
    outlier = exp.LT(this=column("n", "a"), expression=literal(k))
    entries = (
        exp.select(named(column("x", "a"), "x"), named(column("n", "a"), "occurrences"), *distances)
        .select(named(column("n", "b"), "n"))
        .from_(exp.to_table("tuples", alias="a"))
        .join(exp.to_table("tuples", alias="b"), join_type="cross")
        .where(outlier)
    )
    keys = [column("x"), column("occurrences"), *(column(f"d_{position}") for position in range(len(heights)))]
    select = exp.select(*keys, named(exp.Sum(this=column("n")), "n")).from_(subquery(entries, "entries"))
    return with_queries(select.group_by(*(key.copy() for key in keys)), {"tuples": tuples})


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
    result = queries[0]
    for query in queries[1:]:
        result = exp.union(result, query, distinct=False, copy=False)
    return result


def least_upper_bound(table: Table, columns: int) -> exp.Select:
    """The largest distance of each column: no minimal solution lies above it."""
    return exp.select(*(exp.Max(this=column(f"d_{i}")) for i in range(columns))).from_(table_expression(table))


def lowest_height(table: Table, columns: int, limit: int) -> exp.Select:
    """The least height at which every outlier that may not be suppressed has met another tuple."""
    total_distance: exp.Expression = literal(0)
    for position in range(columns):
        total_distance = exp.Add(this=total_distance, expression=column(f"d_{position}"))
    moved = exp.GT(this=total_distance, expression=literal(0))
    nearest = (
        exp.select(named(exp.Min(this=total_distance.copy()), "nearest"))
        .from_(table_expression(table))
        .where(moved, exp.GT(this=column("occurrences"), expression=literal(limit)))
        .group_by(column("x"))
    )
    return exp.select(exp.Coalesce(this=exp.Max(this=column("nearest")), expressions=[literal(0)])).from_(
        subquery(nearest, "outliers")
    )


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
"""Pairs of an outlier tuple and a tuple beyond which the matrix is refused: it grows with their product."""


@dataclass(frozen=True)
class MatrixBounds:
    """What the matrix says before any node is tried."""

    least_upper_bound: Node
    """No minimal solution lies above this vector."""
    lowest_height: int
    """No solution lies below this height: some tuple that may not be suppressed has met no other there."""


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
        self._engine = engine
        self._counts = counts
        self._k = k
        self._verdicts: dict[Node, Verdict] = {}
        self._table = self._build(frequency, scratch)
        self.bounds = self._measure_bounds()
        self.lattice = self._bounded(counts.lattice) if bounded else counts.lattice
        self.heights = counts.heights
        self.leaves = counts.leaves
        self.rows = counts.rows
        self.limit = counts.limit
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
        query = required_suppression(self._table, list(enumerate(nodes)), self._k)
        for index, suppressed in self._engine.query(Statement("satisfies by matrix", query)):
            self._verdicts[nodes[index]] = Verdict(nodes[index], int(suppressed), 0)
        acceptable = [node for node in nodes if self._verdicts[node].suppressed <= self.limit]
        for verdict in self._counts.check(acceptable):
            self._agree(verdict)
            self._verdicts[verdict.node] = verdict

    def _agree(self, counted: Verdict) -> None:
        if counted.suppressed != self._verdicts[counted.node].suppressed:
            raise RequirementError(
                f"the distance-vector matrix and the counts disagree on {list(counted.node)}: nothing was released"
            )

    def _build(self, frequency: FrequencySet, scratch: Scratch) -> Table:
        [(outliers, tuples)] = self._engine.query(Statement("size of matrix", size(frequency.table, self._k)))
        if outliers * tuples > MOST_ENTRIES:
            raise UsageError(
                f"search.satisfies: the distance-vector matrix would have {outliers} x {tuples} entries, "
                f"more than {MOST_ENTRIES}; use counts"
            )
        query = matrix(frequency.table, frequency.shape.layout, self._k)
        return scratch.create("distance-vector matrix", "matrix", query)

    def _measure_bounds(self) -> MatrixBounds:
        columns = len(self._counts.heights)
        upper = Statement("least upper bound", least_upper_bound(self._table, columns))
        lowest = Statement("lowest height", lowest_height(self._table, columns, self._counts.limit))
        [distances] = self._engine.query(upper)
        [(height,)] = self._engine.query(lowest)
        return MatrixBounds(tuple(int(distance or 0) for distance in distances), int(height))

    def _bounded(self, lattice: Lattice) -> Lattice:
        """Above the least upper bound every verdict repeats, so a minimal solution lies below it."""
        pairs = zip(self.bounds.least_upper_bound, lattice.bottom, lattice.top, strict=True)
        return Lattice(lattice.bottom, tuple(min(max(bound, low), high) for bound, low, high in pairs))
