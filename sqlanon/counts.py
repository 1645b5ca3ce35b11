"""What the database counted of each node, shared by every requirement that is asked of one frequency set.

One statement counts many nodes for all requirements at once; a node is never counted twice. Answers of an earlier run
on the same frequency set can be put in beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlanon.engines.base import Engine, Statement
from sqlanon.frequency import FrequencySet
from sqlanon.lattice import Node
from sqlanon.metrics.base import LevelFigures
from sqlanon.privacy.base import Requirement
from sqlanon.rollup import FrequencySetOf, RollUps
from sqlanon.scratch import Scratch
from sqlanon.sqlgen import frequency as frequency_sql
from sqlanon.sqlgen import nodes as node_sql
from sqlanon.sqlgen.frequency import HierarchyTable
from sqlanon.sqlgen.relations import Table

BATCH = 48
"""Nodes per statement: enough to spread planning and a round trip over many, few enough to plan fast."""

Counted = tuple[int, int]
"""Suppressed rows and satisfying classes of a node, under one requirement."""


class NodeCounts:
    """Counts of nodes under several requirements, in the order these were given."""

    def __init__(
        self, engine: Engine, frequency: FrequencySet, requirements: Sequence[Requirement], scratch: Scratch
    ) -> None:
        self.engine = engine
        self.frequency = frequency
        self.requirements = tuple(requirements)
        aggregates = {name: value for item in requirements for name, value in item.aggregates().items()}
        self.shape = node_sql.Shape(frequency.hierarchy_tables, aggregates, frequency.count_type)
        root = FrequencySetOf((0,) * len(frequency.hierarchies), frequency.table, frequency.combinations)
        self._roll_ups = RollUps(root, self.shape, scratch, frequency.rows, lambda: self.level_figures)
        self._known: dict[Node, tuple[Counted, ...]] = {}
        self._asked: set[Node] = set()

    @property
    def asked(self) -> int:
        """How many nodes the database has counted, those that were put in beforehand not among them."""
        return len(self._asked)

    def known(self) -> Mapping[Node, tuple[Counted, ...]]:
        """Everything counted or put in so far."""
        return self._known

    def put(self, node: Node, counted: tuple[Counted, ...]) -> None:
        """Take over an answer of an earlier run on the same frequency set and requirements."""
        self._known[node] = counted

    def of(self, nodes: Iterable[Node], requirement: int) -> list[Counted]:
        """The counts of these nodes under one requirement, asking the database for those not known yet."""
        wanted = list(nodes)
        missing = [node for node in dict.fromkeys(wanted) if node not in self._known]
        for start in range(0, len(missing), BATCH):
            self._ask(missing[start : start + BATCH])
        return [self._known[node][requirement] for node in wanted]

    def record(self, node: Node, requirement: int, counted: Counted) -> None:
        """Note what another statement counted of a node; of use where there is one requirement."""
        self._asked.add(node)
        if requirement == 0 and len(self.requirements) == 1:
            self._known[node] = (counted,)

    def learn_size(self, node: Node, classes: int) -> None:
        """Note how many classes a node has, failing ones too: what a roll-up of it would hold."""
        self._roll_ups.sizes.learn(node, classes)

    def tables(self, nodes: Sequence[Node]) -> dict[Node, Table]:
        """The smallest set that can answer for each node."""
        return self._roll_ups.tables(nodes)

    @cached_property
    def level_figures(self) -> tuple[tuple[LevelFigures, ...], ...]:
        """For each column, for each level: what that level costs whatever the other columns do."""
        query = frequency_sql.level_figures(self.frequency.domains, self.shape.hierarchies)
        rows = sorted(self.engine.query(Statement("level figures", query)), key=lambda row: int(row[0]))
        return tuple(
            _levels(hierarchy, self.frequency.rows, row)
            for hierarchy, row in zip(self.shape.hierarchies, rows, strict=True)
        )

    def _ask(self, nodes: Sequence[Node]) -> None:
        tables = self.tables(nodes)
        requests = [(index, node, tables[node]) for index, node in enumerate(nodes)]
        satisfied = [requirement.satisfied() for requirement in self.requirements]
        query = node_sql.check(requests, self.shape, satisfied, self._roll_ups.small_tables())
        for index, size, *numbers in self.engine.query(Statement("evaluate nodes", query, fresh=True)):
            self.learn_size(nodes[index], int(size))
            pairs = zip(numbers[::2], numbers[1::2], strict=True)
            self._known[nodes[index]] = tuple((int(suppressed), int(classes)) for suppressed, classes in pairs)
        self._asked.update(nodes)


def _levels(hierarchy: HierarchyTable, rows: int, figures: Sequence[Any]) -> tuple[LevelFigures, ...]:
    """The figures of one column's levels: 0 and the top follow from the counts, those in between were summed."""
    leaves = hierarchy.leaves
    _, values, entropy, *between = figures
    levels = [LevelFigures(rows / leaves, 0.0, 0.0, int(values), 1 / leaves)] if hierarchy.height else []
    for start in range(0, 5 * (hierarchy.height - 1), 5):
        shared, lost, penalty, distinct, most = between[start : start + 5]
        share, largest = float(shared) / leaves, float(most) / leaves
        levels.append(LevelFigures(share, float(lost), float(penalty), int(distinct), largest))
    top_penalty = float(rows) if values > 1 else 0.0
    return (*levels, LevelFigures(float(rows), float(entropy), top_penalty, 1, 1.0))
