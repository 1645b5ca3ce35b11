"""The evaluator that asks a database: batches of nodes in, verdicts out, every answer kept.

The SQL side of the search, for one requirement and limit. Nodes are evaluated on the frequency set or on a roll-up of
it; never on the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from math import isfinite

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.evaluation import statements as node_sql
from sqlanon.evaluation.rollups import NodeCounts, question_of
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.privacy.base import Requirement
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.scratch import Scratch


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
    def lowest_height(self) -> int:
        """Counts say nothing of nodes before they are asked for."""
        return 0

    @property
    def least_class(self) -> int:
        return self._requirement.least_class

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

    @property
    def readings(self) -> list[tuple[Node, int]]:
        """What asking for a node reads: sets that stand, each with its node and rows."""
        return self._counts.readings

    def _measure(self, nodes: Sequence[Node]) -> None:
        tables = self._counts.tables(nodes)
        requests = [(index, node, tables[node]) for index, node in enumerate(nodes)]
        counts = self._counts
        if counts.in_rounds:
            answers = counts.rounds.measures(requests, self._requirement, self._figures)
        else:
            asked = [self._requirement, *([] if self._relaxed is None else [counts.requirements[self._relaxed]])]
            small = counts.small_tables()
            query = node_sql.measure(requests, counts.shape, question_of(asked), self._figures, small)
            answers = counts.engine.query(Statement("measure nodes", query, fresh=True))
        for index, size, suppressed, classes, least, *values in answers:
            node, counted = nodes[index], (int(suppressed), int(classes))
            counts.learn_size(node, int(size))
            figures = {name: float(value) for name, value in zip(self._figures, values, strict=True)}
            self._measured[node] = Verdict(node, *counted, figures, int(least))
            counts.record(node, *([counted] if self._relaxed is None else [counted, (int(least), 0)]))
