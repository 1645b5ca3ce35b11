"""Samarati's second way to `satisfies` (2001, section 5): distance vectors between tuples instead of GROUP BY counts.

The matrix lives in a scratch table. Its verdicts on acceptable nodes are held against the counts: two independent
computations must agree, or nothing is released.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import RequirementError, UsageError
from sqlanon.evaluation import matrix_statements as matrix_sql
from sqlanon.evaluation.counts import BATCH
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table

MOST_ENTRIES = 20_000_000
"""Pairs of an outlier tuple and a tuple beyond which the matrix is refused: it grows with their product."""


@dataclass(frozen=True)
class Bounds:
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
        query = matrix_sql.required_suppression(self._table, list(enumerate(nodes)), self._k)
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
        [(outliers, tuples)] = self._engine.query(
            Statement("size of matrix", matrix_sql.size(frequency.table, self._k))
        )
        if outliers * tuples > MOST_ENTRIES:
            raise UsageError(
                f"search.satisfies: the distance-vector matrix would have {outliers} x {tuples} entries, "
                f"more than {MOST_ENTRIES}; use counts"
            )
        query = matrix_sql.matrix(frequency.table, frequency.shape.layout, self._k)
        return scratch.create("distance-vector matrix", "matrix", query)

    def _measure_bounds(self) -> Bounds:
        columns = len(self._counts.heights)
        upper = Statement("least upper bound", matrix_sql.least_upper_bound(self._table, columns))
        lowest = Statement("lowest height", matrix_sql.lowest_height(self._table, columns, self._counts.limit))
        [distances] = self._engine.query(upper)
        [(height,)] = self._engine.query(lowest)
        return Bounds(tuple(int(distance or 0) for distance in distances), int(height))

    def _bounded(self, lattice: Lattice) -> Lattice:
        """Above the least upper bound every verdict repeats, so a minimal solution lies below it."""
        pairs = zip(self.bounds.least_upper_bound, lattice.bottom, lattice.top, strict=True)
        return Lattice(lattice.bottom, tuple(min(max(bound, low), high) for bound, low, high in pairs))
