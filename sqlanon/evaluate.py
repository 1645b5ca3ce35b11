"""The evaluator that asks a database: batches of nodes in, verdicts out, every answer kept.

The SQL side of the search. Nodes are evaluated on the frequency set or on a roll-up of it; never on the source.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.frequency import FrequencySet
from sqlanon.lattice import Lattice, Node
from sqlanon.metrics.base import LevelFigures, Verdict
from sqlanon.privacy.base import Requirement
from sqlanon.sqlgen import frequency as frequency_sql
from sqlanon.sqlgen import nodes as node_sql

BATCH = 48
"""Nodes per statement: enough to spread planning and a round trip over many, few enough to plan fast."""


class SqlEvaluator:
    """Evaluates nodes by GROUP BY on a frequency set. Implements `search.base.Evaluator`."""

    def __init__(
        self,
        engine: Engine,
        frequency: FrequencySet,
        requirement: Requirement,
        *,
        lattice: Lattice,
        limit: int,
        figures: Mapping[str, exp.Expression],
    ) -> None:
        self._engine = engine
        self._frequency = frequency
        self._requirement = requirement
        self._figures = figures
        self._shape = node_sql.Shape(frequency.hierarchy_tables, requirement.aggregates())
        self._verdicts: dict[Node, Verdict] = {}
        self._measured: set[Node] = set()
        self.lattice = lattice
        self.limit = limit

    @property
    def heights(self) -> Node:
        return self._shape.heights()

    @property
    def leaves(self) -> tuple[int, ...]:
        return tuple(hierarchy.leaves for hierarchy in self._shape.hierarchies)

    @property
    def rows(self) -> int:
        return self._frequency.rows

    @property
    def monotone(self) -> bool:
        return self._requirement.monotone

    @property
    def checks(self) -> int:
        return len(self._verdicts)

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        missing = [node for node in dict.fromkeys(nodes) if node not in self._verdicts]
        for start in range(0, len(missing), BATCH):
            self._ask(missing[start : start + BATCH])
        return [self._verdicts[node] for node in nodes]

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        for node in nodes:
            if node not in self._measured:
                self._verdicts[node] = self._measure(node)
                self._measured.add(node)
        return [self._verdicts[node] for node in nodes]

    def level_figures(self) -> Sequence[Sequence[LevelFigures]]:
        return self._level_figures

    @cached_property
    def _level_figures(self) -> list[list[LevelFigures]]:
        return [self._figures_of_column(position) for position in range(len(self._shape.hierarchies))]

    def _figures_of_column(self, position: int) -> list[LevelFigures]:
        hierarchy = self._shape.hierarchies[position]
        query = frequency_sql.level_figures(self._frequency.table, position, hierarchy)
        rows = sorted(self._engine.query(Statement("level figures", query)))
        return [
            LevelFigures(float(leaves) / hierarchy.leaves, float(entropy), float(hdm), int(values))
            for _, leaves, entropy, hdm, values in rows
        ]

    def _ask(self, nodes: Sequence[Node]) -> None:
        requests = [(index, node, self._frequency.table) for index, node in enumerate(nodes)]
        query = node_sql.check(requests, self._shape, self._requirement.satisfied())
        for index, suppressed, classes in self._engine.query(Statement("evaluate nodes", query)):
            self._verdicts[nodes[index]] = Verdict(nodes[index], int(suppressed), int(classes))

    def _measure(self, node: Node) -> Verdict:
        satisfied = self._requirement.satisfied()
        query = node_sql.measure(self._frequency.table, node, self._shape, satisfied, self._figures)
        [(suppressed, classes, *values)] = self._engine.query(Statement("measure node", query))
        figures = {name: float(value) for name, value in zip(self._figures, values, strict=True)}
        return Verdict(node, int(suppressed), int(classes), figures)
