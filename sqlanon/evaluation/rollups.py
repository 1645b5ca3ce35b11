"""Counts of nodes from sets of rows that are rolled up from one another, also under a requirement of several groupings.

Decides which sets to materialize, as scratch tables, and on which of them a node is counted. The cost of a node is
taken as the rows it reads; a set is made when the nodes that would use it save more than making it costs. Under several
groupings rows are suppressed in rounds, until every grouping is content: a row of a class that fails in one is missing
in the classes of the others. Many nodes take a round together, by one statement.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations, count
from math import isnan, log2, nan
from statistics import median
from typing import Any

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.evaluation import statements as node_sql
from sqlanon.evaluation.statements import Judged, roll_up
from sqlanon.hierarchies.lattice import Distances, Node, NodeIndex, places
from sqlanon.metrics.base import LevelFigures
from sqlanon.privacy.base import Requirement
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.frequency_statements import HierarchyTable, Shape
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table
from sqlanon.sql.values import ValueTables

Request = tuple[int, Node, Table]
"""A node to evaluate: its number in the batch, its levels, and the set to evaluate it on."""


def settle(
    engine: Engine,
    scratch: Scratch,
    table: Table,
    columns: Sequence[str],
    groupings: Sequence[Judged],
    persons: bool,
    tables: Mapping[int, ValueTables],
) -> Table:
    """Repeat rounds on a table of counted rows until nothing changes; the last table, the others are dropped."""
    lost = -1
    for number in count(1):
        query = node_sql.survivors(table, columns, groupings, persons, tables)
        following = scratch.create("suppression round", f"{_plain(table, scratch)}_{number}", query)
        scratch.drop(table)
        table = following
        [(now,)] = engine.query(Statement("suppression round", node_sql.left_out(table)))
        if int(now) == lost:
            return table
        lost = int(now)
    raise AssertionError("rounds end: each suppresses more rows or is the last")


def _plain(table: Table, scratch: Scratch) -> str:
    """The name of a scratch table without the run's mark and the number of a round."""
    return table.name.removeprefix(scratch.name("").name).partition("_")[0]


class Rounds:
    """Evaluates batches of nodes in rounds."""

    def __init__(self, engine: Engine, scratch: Scratch, shape: Shape) -> None:
        self._engine = engine
        self._scratch = scratch
        self._shape = shape
        self._numbers = count(1)

    def counts(self, requests: Sequence[Request], requirement: Requirement) -> Iterator[tuple[int, int, int, int]]:
        """For each node: its number, classes, suppressed rows and classes with a kept row."""
        words = [f"p_{word}" for word in range(self._shape.layout.words)]
        table = self._settled(requests, requirement)
        for row in self._engine.query(Statement("evaluate nodes", node_sql.left_out_by_node(table, words))):
            index, size, suppressed, classes = (int(number) for number in row)
            yield index, size, suppressed, classes
        self._scratch.drop(table)

    def measures(
        self, requests: Sequence[Request], requirement: Requirement, figures: Mapping[str, exp.Expression]
    ) -> list[tuple[Any, ...]]:
        """The same with the figures of a metric."""
        table = self._settled(requests, requirement)
        nodes = [(index, node) for index, node, _ in requests]
        query = node_sql.measure_survivors(nodes, table, self._shape, figures)
        answers = self._engine.query(Statement("measure nodes", query, fresh=True))
        self._scratch.drop(table)
        return list(answers)

    def _settled(self, requests: Sequence[Request], requirement: Requirement) -> Table:
        name = f"t{next(self._numbers)}"
        start = self._scratch.create("counted rows", name, node_sql.several_nodes(requests, self._shape))
        groupings = [self._judged(requests, index, requirement) for index in range(len(requirement.groupings))]
        columns = ["node", *self._shape.columns]
        tables = dict(enumerate(self._shape.tables))
        return settle(self._engine, self._scratch, start, columns, groupings, self._shape.persons, tables)

    def _judged(self, requests: Sequence[Request], index: int, requirement: Requirement) -> Judged:
        grouping = requirement.groupings[index]
        keys = node_sql.grouping_keys(grouping.columns, grouping.known, self._shape)
        population = None
        if grouping.reads_population:
            nodes = [(number, node) for number, node, _ in requests]
            population = node_sql.population_of_nodes(nodes, grouping.columns, self._shape)
        return Judged(keys, grouping.measures(), grouping.satisfied(), population)


NEAREST = 5
"""Counted nodes whose experience an estimate goes by."""
RECENT = 64
"""Nodes counted last that an estimate looks at: those before lie elsewhere in the lattice, and looking costs time."""
PRIOR = 0.5
"""The exponent before anything is known: merging values merges fewer classes than independence would have it."""


class ClassForecast:
    """Estimates of the number of classes of nodes.

    If columns were independent and cells full, generalizing would shrink the number of classes by the loss of entropy.
    Real tables are sparse: it shrinks by a power of that, which is taken from the nearest nodes already counted.

    Starts from the entropies of the columns and learns from every node that was counted; asks nothing itself.
    """

    def __init__(self, combinations: int) -> None:
        self._combinations = combinations
        self._entropies: list[list[float]] = []
        self._known: dict[Node, int] = {}
        self._estimates: dict[Node, float] = {}
        self._recent: list[Node] = []
        """The nodes counted last; where they are as many as are looked at, the next takes the place of the oldest."""
        self._next = 0
        self._exponents: list[float] = []
        """The exponent that each of them showed; nan where it showed none."""
        self._index = NodeIndex(())
        self._distances = Distances(())

    @property
    def ready(self) -> bool:
        return bool(self._entropies)

    def prepare(self, levels: Sequence[Sequence[LevelFigures]], rows: int) -> None:
        """Take the entropies of the columns; estimates can be asked for afterwards."""
        self._entropies = [[(column[-1].entropy - level.entropy) / rows for level in column] for column in levels]
        heights = tuple(len(column) - 1 for column in levels)
        self._index, self._distances = NodeIndex(heights), Distances(heights)
        for node in list(self._known)[-RECENT:]:
            self._remember(node)

    def learn(self, node: Node, classes: int) -> None:
        """Note how many classes a node really has."""
        told = node in self._known
        self._known[node] = classes
        self._estimates.clear()
        if self._entropies and not told:
            self._remember(node)

    def _remember(self, node: Node) -> None:
        place = self._next
        before = self._recent[place] if place < len(self._recent) else None
        if before is None:
            self._recent.append(node)
            self._exponents.append(nan)
        self._next = (place + 1) % RECENT
        self._recent[place], self._exponents[place] = node, self._shown(node)
        self._index.put(place, node)
        self._distances.put(place, node, before)

    def estimate(self, node: Node) -> float:
        """The number of classes; exact where the node was counted."""
        if node in self._known:
            return float(self._known[node])
        if node not in self._estimates:
            self._estimates[node] = self._estimated(node)
        return self._estimates[node]

    def _estimated(self, node: Node) -> float:
        expected = self._combinations * 2 ** -(self._exponent(node) * self._lost(node))
        fewest = max(self._counts(self._index.above(node)), default=1)
        most = min(self._counts(self._index.below(node)), default=self._combinations)
        return float(min(max(expected, fewest), most))

    def _counts(self, bits: int) -> Iterator[int]:
        return (self._known[self._recent[place]] for place in places(bits))

    def _shown(self, node: Node) -> float:
        """The exponent that a counted node shows; none where nothing was lost or nothing is left."""
        lost = self._lost(node)
        return log2(self._combinations / self._known[node]) / lost if lost > 0 and self._known[node] > 1 else nan

    def _lost(self, node: Node) -> float:
        """Bits of entropy that generalizing to a node gives up."""
        return sum(column[0] - column[level] for column, level in zip(self._entropies, node, strict=True))

    def _exponent(self, node: Node) -> float:
        """How strongly lost entropy shrank the nearest counted nodes."""
        distances = self._distances.of(node, len(self._recent))
        told = [place for place, exponent in enumerate(self._exponents) if not isnan(exponent)]
        nearest = [self._exponents[place] for place in sorted(told, key=distances.__getitem__)[:NEAREST]]
        return median(nearest) if nearest else PRIOR


SMALL = 30_000
"""Rows that an embedded engine reads faster than it plans a statement: below this no set is worth making."""

MAKING = 3.0
"""What making a set costs, in readings of the set it is made from; measured, it is cheaper to make too few."""

MOST_SETS = 24
"""Sets kept at a time; with the bound on their rows this bounds scratch space."""

Figures = Callable[[], Sequence[Sequence[LevelFigures]]]


Covered = Sequence[tuple[int, int]]
"""Rows that nodes read, each number with how many nodes read so many."""


@dataclass
class NodesTogether:
    """Nodes that are evaluated together, and the sets that two of them could share."""

    nodes: Sequence[Node]
    heights: Node

    @cached_property
    def index(self) -> NodeIndex:
        return NodeIndex(self.heights, self.nodes)

    @cached_property
    def meets(self) -> list[Node]:
        """For each two of them the highest node below both."""
        return sorted({tuple(map(min, one, other)) for one, other in combinations(self.nodes, 2)})


@dataclass
class FrequencySetOf:
    """A materialized set: the classes of `node`, fit to evaluate every generalization of it."""

    node: Node
    table: Table
    rows: int
    last_used: int = 0


class RollUps:
    """The materialized sets of one run."""

    def __init__(self, root: FrequencySetOf, shape: Shape, scratch: Scratch, rows: int, figures: Figures) -> None:
        self._root = root
        self._shape = shape
        self._scratch = scratch
        self._rows = rows
        self._figures = figures
        self._sets: list[FrequencySetOf] = []
        """The smallest first."""
        self._heights = shape.heights()
        self._index = NodeIndex(self._heights)
        self._clock = 0
        self.sizes = ClassForecast(root.rows)

    def tables(self, nodes: Sequence[Node]) -> dict[Node, Table]:
        """The set to evaluate each node on; makes new sets first where that pays for these nodes."""
        self._clock += 1
        batch = NodesTogether(nodes, self._heights)
        while (node := self._worth_making(batch)) is not None:
            self._materialize(node)
        return {node: self._used(self._best(node)).table for node in nodes}

    @property
    def readings(self) -> list[tuple[Node, int]]:
        """The nodes whose sets stand, each with its rows: a node above one of them is counted by reading so many."""
        return [(item.node, item.rows) for item in (self._root, *self._sets)]

    def small_tables(self) -> set[Table]:
        """The tables of sets that are read faster than a statement of their own is planned."""
        together = self._scratch.engine.traits.nodes_together
        return {item.table for item in (self._root, *self._sets) if together or item.rows <= self._small}

    @property
    def _small(self) -> int:
        return SMALL * self._scratch.engine.traits.statement_cost

    def _best(self, node: Node) -> FrequencySetOf:
        """The smallest set that can answer for a node."""
        able = self._index.below(node)
        return self._sets[(able & -able).bit_length() - 1] if able else self._root

    def _used(self, chosen: FrequencySetOf) -> FrequencySetOf:
        chosen.last_used = self._clock
        return chosen

    def _worth_making(self, batch: NodesTogether) -> Node | None:
        """The set that would save most for these nodes, if any saves more than it costs."""
        readers: dict[int, int] = {}
        for place, node in enumerate(batch.nodes):
            if (rows := self._best(node).rows) > self._small:
                readers[rows] = readers.get(rows, 0) | 1 << place
        if sum(map(int.bit_count, readers.values())) < 2:
            return None
        if not self.sizes.ready:
            self.sizes.prepare(self._figures(), self._rows)
        best, most = None, 0.0
        for hope, candidate, covered in self._candidates(batch, readers):
            if hope <= most:
                break
            gain = self._gain(candidate, covered)
            if gain > most:
                best, most = candidate, gain
        return best

    def _candidates(self, batch: NodesTogether, readers: Mapping[int, int]) -> list[tuple[float, Node, Covered]]:
        """Sets that two nodes or more could use, the most hopeful first: what an empty set would save, the set, and
        the rows that its users read now.
        """
        found: list[tuple[float, Node, Covered]] = []
        for candidate in batch.meets:
            users = batch.index.above(candidate)
            covered = [(rows, (users & places).bit_count()) for rows, places in readers.items() if users & places]
            hope = sum(rows * count for rows, count in covered) - MAKING * self._best(candidate).rows
            if hope > 0:
                found.append((hope, candidate, covered))
        return sorted(found, reverse=True)

    def _gain(self, candidate: Node, covered: Covered) -> float:
        """Rows that need not be read, less the rows read to make the set."""
        size = self.sizes.estimate(candidate)
        saved = sum(max(rows - size, 0.0) * count for rows, count in covered)
        return saved - MAKING * self._best(candidate).rows

    def _materialize(self, node: Node) -> None:
        source = self._used(self._best(node))
        self._make_room()
        query = roll_up(source.table, node, self._shape)
        table, rows = self._scratch.create_counted("roll up", self._scratch.numbered("r"), query)
        self.sizes.learn(node, rows)
        self._sets = sorted([*self._sets, FrequencySetOf(node, table, rows, self._clock)], key=lambda item: item.rows)
        self._index = NodeIndex(self._heights, (item.node for item in self._sets))

    def _make_room(self) -> None:
        """Before a set is made, those kept hold at most twice the root's rows; the longest unused go, none in use."""
        idle = sorted((s for s in self._sets if s.last_used < self._clock), key=lambda s: s.last_used)
        while idle and (len(self._sets) >= MOST_SETS or sum(s.rows for s in self._sets) > 2 * self._root.rows):
            oldest = idle.pop(0)
            self._sets.remove(oldest)
            self._scratch.drop(oldest.table)


BATCH = 48
"""Nodes per statement: enough to spread planning and a round trip over many, few enough to plan fast."""

MOST_ROWS = 5_000_000
"""Counted rows that nodes may have together while suppression goes in rounds."""

Counted = tuple[int, int]
"""Suppressed rows and satisfying classes of a node, under one requirement."""


class NodeCounts:
    """Counts of nodes under several requirements, in the order these were given.

    One statement counts many nodes for all requirements at once; a node is never counted twice. Answers of an earlier
    run on the same frequency set can be put in beforehand.
    """

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

    @property
    def readings(self) -> list[tuple[Node, int]]:
        """What counting a node reads: sets that stand, each with its node and rows."""
        return self._roll_ups.readings

    def small_tables(self) -> set[Table]:
        """The tables whose nodes are best asked for by one query together."""
        return self._roll_ups.small_tables()

    @cached_property
    def level_figures(self) -> tuple[tuple[LevelFigures, ...], ...]:
        """For each column, for each level: what that level costs whatever the other columns do."""
        query = frequency_sql.level_figures(self.frequency.domains, self.shape.hierarchies, self.frequency.rows)
        with self.engine.few_rows(self.frequency.combinations):
            rows = sorted(self.engine.query(Statement("level figures", query, fresh=True)), key=place_of_level)
        return tuple(
            figures_of_levels(hierarchy, self.frequency.rows, [row[2:] for row in rows if int(row[0]) == position])
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
        query = node_sql.check(requests, self.shape, question_of(self.requirements), self.small_tables())
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
        tuple(grouping.lost() for grouping in groupings),
        population=any(grouping.reads_population for grouping in groupings),
        absent=any(grouping.asks_of_absent for grouping in groupings),
    )


def place_of_level(row: Sequence[Any]) -> tuple[int, int]:
    return int(row[0]), int(row[1])


def figures_of_levels(
    hierarchy: HierarchyTable, rows: int, figures: Sequence[Sequence[Any]]
) -> tuple[LevelFigures, ...]:
    """The figures of one column's levels: those of level 0 follow from the counts, others were summed, the top last."""
    leaves = hierarchy.leaves
    *between, (values, _, entropy, *_) = figures
    levels = [LevelFigures(rows / leaves, 0.0, 0.0, int(values), 1 / leaves)] if hierarchy.height else []
    for _, shared, lost, penalty, distinct, most in between:
        share, largest = float(shared) / leaves, float(most) / leaves
        levels.append(LevelFigures(share, float(lost), float(penalty), int(distinct), largest))
    top_penalty = float(rows) if values > 1 else 0.0
    return (*levels, LevelFigures(float(rows), float(entropy), top_penalty, 1, 1.0))
