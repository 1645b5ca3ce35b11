"""What the database counted of each node, shared by every requirement that is asked of one frequency set.

One statement counts many nodes for all requirements at once; a node is never counted twice. Answers of an earlier run
on the same frequency set can be put in beforehand.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from sqlanon.engines.base import Engine, Statement
from sqlanon.evaluation import statements as node_sql
from sqlanon.evaluation.rollup import FrequencySetOf, RollUps
from sqlanon.evaluation.rounds import Request, Rounds
from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import LevelFigures
from sqlanon.privacy.base import Requirement
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.frequency_statements import HierarchyTable
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table

BATCH = 48
"""Nodes per statement: enough to spread planning and a round trip over many, few enough to plan fast."""

MOST_ROWS = 5_000_000
"""Counted rows that nodes may have together while suppression goes in rounds."""

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
        self.shape = frequency.shape
        root = FrequencySetOf((0,) * len(frequency.hierarchies), frequency.table, frequency.combinations)
        self._roll_ups = RollUps(root, self.shape, scratch, frequency.rows, lambda: self.level_figures)
        self.rounds = Rounds(engine, scratch, self.shape)
        self.in_rounds = any(requirement.whole is None for requirement in requirements)
        """Rows of classes that fail in one grouping are missing in the others: suppression goes in rounds."""
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
        for start in range(0, len(missing), self.batch):
            self._ask(missing[start : start + self.batch])
        return [self._known[node][requirement] for node in wanted]

    @property
    def batch(self) -> int:
        """Nodes per statement. Rounds keep the counted rows of all of them."""
        return min(BATCH, max(1, MOST_ROWS // self.frequency.combinations)) if self.in_rounds else BATCH

    def record(self, node: Node, *counted: Counted) -> None:
        """Note what another statement counted of a node; of use where it says so of every requirement."""
        self._asked.add(node)
        if len(counted) == len(self.requirements):
            self._known[node] = counted

    def learn_size(self, node: Node, classes: int) -> None:
        """Note how many classes a node has, failing ones too: what a roll-up of it would hold.

        Where a roll-up holds each class once for every value or person, its classes say too little.
        """
        if not self.shape.others:
            self._roll_ups.sizes.learn(node, classes)

    def tables(self, nodes: Sequence[Node]) -> dict[Node, Table]:
        """The smallest set that can answer for each node."""
        return self._roll_ups.tables(nodes)

    @cached_property
    def level_figures(self) -> tuple[tuple[LevelFigures, ...], ...]:
        """For each column, for each level: what that level costs whatever the other columns do."""
        query = frequency_sql.level_figures(self.frequency.domains, self.shape.hierarchies, self.frequency.rows)
        found: dict[int, list[Sequence[Any]]] = {position: [] for position in range(len(self.shape.hierarchies))}
        for row in sorted(self.engine.query(Statement("level figures", query, fresh=True)), key=_place):
            found[int(row[0])].append(row[2:])
        return tuple(
            _levels(hierarchy, self.frequency.rows, found[position])
            for position, hierarchy in enumerate(self.shape.hierarchies)
        )

    def _ask(self, nodes: Sequence[Node]) -> None:
        tables = self.tables(nodes)
        requests = [(index, node, tables[node]) for index, node in enumerate(nodes)]
        counted = self._ask_in_rounds(requests) if self.in_rounds else self._ask_at_once(requests)
        for index, size, numbers in counted:
            self.learn_size(nodes[index], size)
            self._known[nodes[index]] = tuple(zip(numbers[::2], numbers[1::2], strict=True))
        self._asked.update(nodes)

    def _ask_at_once(self, requests: Sequence[Request]) -> list[tuple[int, int, list[int]]]:
        query = node_sql.check(requests, self.shape, question_of(self.requirements), self._roll_ups.small_tables())
        answers = self.engine.query(Statement("evaluate nodes", query, fresh=True))
        return [(int(index), int(size), [int(number) for number in numbers]) for index, size, *numbers in answers]

    def _ask_in_rounds(self, requests: Sequence[Request]) -> list[tuple[int, int, list[int]]]:
        found: dict[int, tuple[int, list[int]]] = {}
        for requirement in self.requirements:
            for index, size, suppressed, classes in self.rounds.counts(requests, requirement):
                found.setdefault(index, (size, []))[1].extend((suppressed, classes))
        return [(index, size, numbers) for index, (size, numbers) in found.items()]


def question_of(requirements: Sequence[Requirement]) -> node_sql.Question:
    """What these requirements, each on the classes of the whole quasi-identifier, ask of every class."""
    groupings = [grouping for requirement in requirements for grouping in requirement.groupings]
    return node_sql.Question(
        tuple(measures for grouping in groupings for measures in grouping.measures()),
        tuple(grouping.satisfied() for grouping in groupings),
        population=any(grouping.reads_population for grouping in groupings),
        absent=any(grouping.asks_of_absent for grouping in groupings),
    )


def _place(row: Sequence[Any]) -> tuple[int, int]:
    return int(row[0]), int(row[1])


def _levels(hierarchy: HierarchyTable, rows: int, figures: Sequence[Sequence[Any]]) -> tuple[LevelFigures, ...]:
    """The figures of one column's levels: those of level 0 follow from the counts, others were summed, the top last."""
    leaves = hierarchy.leaves
    *between, (values, _, entropy, *_) = figures
    levels = [LevelFigures(rows / leaves, 0.0, 0.0, int(values), 1 / leaves)] if hierarchy.height else []
    for _, shared, lost, penalty, distinct, most in between:
        share, largest = float(shared) / leaves, float(most) / leaves
        levels.append(LevelFigures(share, float(lost), float(penalty), int(distinct), largest))
    top_penalty = float(rows) if values > 1 else 0.0
    return (*levels, LevelFigures(float(rows), float(entropy), top_penalty, 1, 1.0))
