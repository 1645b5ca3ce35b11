"""`greedy`: Xiao and Tao's framework (Figure 4) as they wrote it: one split of one column a round, for all rows.

Every candidate split of a round is tried at once in the database, and only on groups that the last split divided;
Python adds up what the candidates come to and takes the best.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from sqlglot import exp

from sqlanon.engines.base import Statement
from sqlanon.errors import UsageError
from sqlanon.recoding import divisions as divisions_sql
from sqlanon.recoding.base import Recoded
from sqlanon.recoding.divisions import Attribute
from sqlanon.recoding.personalized import split_statements as splits_sql
from sqlanon.recoding.personalized import statements as personalized_sql
from sqlanon.recoding.personalized.recoder import Guarded, guard, published, refuse_hopeless
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.sql.build import query
from sqlanon.sql.relations import Table

MOST_VALUES = 20_000
"""Of a column: each is a candidate in every round, weighed in Python."""

Effects = dict[tuple[int, int, int], tuple[int, int]]
"""By column, level (-1: an interval) and ordinal: leaves lost, parts beyond help."""


@dataclass(frozen=True)
class GreedyPartition:
    """A part of a general domain (Definition 4), by its ordinals."""

    low: int
    high: int
    level: int = -1


@dataclass(frozen=True)
class SplitNode:
    """A node of a hierarchy, by its ordinals and leaves."""

    low: int
    high: int
    leaves: int


@dataclass(frozen=True)
class Split:
    """A candidate: what to split, and by how much the loss changes."""

    attribute: Attribute
    partition: GreedyPartition
    cut: int | None
    change: Fraction
    children: tuple[GreedyPartition, ...]


@dataclass
class General:
    """The general domain of one column, and what is needed to weigh its splits."""

    attribute: Attribute
    before: list[int]
    """Rows with an ordinal below each place."""
    nodes: dict[tuple[int, int], SplitNode]
    """By level and first ordinal."""
    places: list[tuple[int, int]]
    """The first and the last place of each ordinal in the domain."""
    partitions: list[GreedyPartition] = field(default_factory=list)

    def whole(self) -> None:
        """Begin with one part of everything."""
        last = self.attribute.last
        natural = self.attribute.natural
        self.partitions = [GreedyPartition(0, last) if natural else self._least(0, last, self.attribute.height)]

    def _least(self, low: int, high: int, level: int) -> GreedyPartition:
        """The lowest node of these ordinals: one of which only one child occurs is that child."""
        while level > 0 and self.nodes[level - 1, low].high == high:
            level -= 1
        return GreedyPartition(low, high, level)

    def rows(self, low: int, high: int) -> int:
        return self.before[high + 1] - self.before[low]

    def size(self, low: int, high: int) -> int:
        """Leaves of an interval; NULL lies in no interval but that of everything."""
        if low < high and high == self.attribute.null:
            return self.attribute.values
        return self.places[high][1] - self.places[low][0] + 1

    def candidates(self, effects: Effects, weight: Fraction | None, leaves: int) -> Iterator[Split]:
        """Every single split, with the change of Equation 6; those that leave somebody without protection left out."""
        for partition in self.partitions:
            if partition.low == partition.high:
                continue
            splits = self._cuts if self.attribute.natural else self._children
            for split, lost, hopeless in splits(partition, effects):
                if hopeless or (weight is None and lost):
                    continue
                extra = Fraction(0) if weight is None else weight * lost / leaves
                yield replace(split, change=split.change + extra)

    def _cuts(self, partition: GreedyPartition, effects: Effects) -> Iterator[tuple[Split, int, int]]:
        share = self.attribute.weight / self.attribute.values
        low, high = partition.low, partition.high
        size, lost, hopeless = self.size(low, high), 0, 0
        for cut in range(low, high):
            step = effects.get((self.attribute.position, -1, cut), (0, 0))
            lost, hopeless = lost + step[0], hopeless + step[1]
            gained = self.rows(low, cut) * (size - self.size(low, cut))
            gained += self.rows(cut + 1, high) * (size - self.size(cut + 1, high))
            parts = (GreedyPartition(low, cut), GreedyPartition(cut + 1, high))
            yield Split(self.attribute, partition, cut, -share * gained, parts), lost, hopeless

    def _children(self, partition: GreedyPartition, effects: Effects) -> Iterator[tuple[Split, int, int]]:
        share = self.attribute.weight / self.attribute.values
        size = self.nodes[partition.level, partition.low].leaves
        parts: list[GreedyPartition] = []
        gained, place = 0, partition.low
        while place <= partition.high:
            child = self.nodes[partition.level - 1, place]
            part = self._least(child.low, child.high, partition.level - 1)
            gained += self.rows(child.low, child.high) * (size - self.nodes[part.level, part.low].leaves)
            parts.append(part)
            place = child.high + 1
        lost, hopeless = effects.get((self.attribute.position, partition.level, partition.low), (0, 0))
        yield Split(self.attribute, partition, None, -share * gained, tuple(parts)), lost, hopeless

    def take(self, split: Split) -> None:
        """Refine the general domain."""
        place = self.partitions.index(split.partition)
        self.partitions[place : place + 1] = split.children


def recode(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Split as long as the loss falls."""
    guarded = guard(run, base, stored)
    return _GreedySearch(guarded).recoded()


class _GreedySearch:
    """A greedy search under way."""

    def __init__(self, guarded: Guarded) -> None:
        self.guarded = guarded
        self.scratch = guarded.scratch
        self.again = guarded.again
        self.domains = [_general(guarded, item) for item in guarded.attributes]
        self.effects: Effects = {}
        self.checks = 0
        self.numbered = 0
        self.rounds = 0
        self._statements: dict[str, Statement] = {}
        self.rows = self.scratch.create("divide", "w0", personalized_sql.one_group(guarded.cells, guarded.held))
        self.past = self._start()

    def recoded(self) -> Recoded:
        budget, started = self.guarded.run.binding.spec.search.budget, time.monotonic()
        complete, seconds = False, budget.most_seconds
        while not (
            (seconds is not None and time.monotonic() - started >= seconds)
            or (budget.nodes is not None and self.checks >= budget.nodes)
        ):
            split = self._best()
            if split is None:
                complete = True
                break
            self._take(split)
            if self.guarded.run.options.progress is not None:
                self.guarded.run.options.progress(self.checks, 0)
        kept = self._kept()
        rounds = [(self.rows, self._as_classes())]
        assignment = self.scratch.create(
            "classes", "assignment", personalized_sql.assigned(rounds, self.guarded.made.ordinals)
        )
        details = {
            "rounds": self.rounds,
            "complete": complete,
            "partitions": [len(domain.partitions) for domain in self.domains],
        }
        return published(self.guarded, assignment, kept, self.checks, details)

    def _best(self) -> Split | None:
        """The split that lowers the loss most; the first of several."""
        candidates: list[Split] = []
        for domain in self.domains:
            candidates += domain.candidates(self.effects, self.guarded.weight, self.guarded.leaves)
        self.checks += len(candidates)
        best = min(candidates, key=lambda split: split.change, default=None)
        return best if best is not None and best.change < 0 else None

    def _start(self) -> Table:
        """The steps of the one group of all rows."""
        outcome, steps = self._tried(self.rows, "of all")
        stands = splits_sql.as_they_stand(outcome, self.guarded.attributes)
        [(lost, hopeless)] = self.guarded.engine.query(Statement("breach", stands))
        beyond = hopeless or (lost and self.guarded.weight is None)
        refuse_hopeless(personalized_sql.HOPELESS if beyond else 0, self.guarded.weight)
        self._add(Statement("add up splits", splits_sql.effects(steps, None, None)))
        past = self.scratch.create("split", "past", query("select s.* from s", {"s": steps}))
        self.scratch.drop(outcome, steps)
        return past

    def _take(self, split: Split) -> None:
        """Carry out a split: groups that it divides are replaced by their parts, whose trials are made anew."""
        scratch, again, held = self.scratch, self.again, self.guarded.held
        item, part = split.attribute, split.partition
        self.domains[item.position].take(split)
        if split.cut is not None:
            chosen_query = splits_sql.touched(self.rows, item, part.low, part.high, split.cut)
        else:
            chosen_query = splits_sql.touched_node(self.rows, item, part.low, part.high, part.level)
        chosen = scratch.create("split", "chosen", chosen_query)
        divided = splits_sql.split_rows(self.rows, chosen, held, item, split.cut, part.level, self.numbered)
        inside = scratch.create("split", "inside", divided)
        before, turn = self.rows, self.rounds % 2
        rows = again.create("split", f"w{1 - turn}", lambda: splits_sql.all_rows(before, chosen, inside, held))
        self.rounds += 1
        outcome, steps = self._tried(inside, "of parts")
        self._add(self._repeated("effects", lambda: splits_sql.effects(steps, self.past, chosen)))
        everything = self._repeated(
            "insert", lambda: splits_sql.insert(self.past, query("select s.* from s", {"s": steps}))
        )
        self.guarded.engine.execute(everything)
        scratch.drop(chosen, inside, outcome, steps, before)
        self.rows = rows

    def _tried(self, rows: Table, which: str) -> tuple[Table, Table]:
        """What the parts of every trial of the groups of these rows lose, and how that changes what they lose now."""
        again, attributes = self.again, self.guarded.attributes
        groups = again.create("split", "groups", lambda: divisions_sql.extents(rows, attributes), which)
        [(last,)] = self.guarded.engine.query(
            self._repeated("last", lambda: query("select coalesce(max(e.g), 0) from e", {"e": groups}))
        )
        self.numbered = max(self.numbered, int(last))
        cells = again.create("try splits", "t", lambda: splits_sql.trial_cells(rows, groups, attributes), which)
        people = None
        if self.guarded.more:
            people = again.create("try splits", "y", lambda: splits_sql.trial_people(rows, groups, attributes), which)
        generalized = self.guarded.generalized(cells, "z", people)
        lost = again.create("try splits", "m", lambda: personalized_sql.lost(generalized))
        outcome = again.create("try splits", "o", lambda: splits_sql.outcomes(cells, lost))
        steps = again.create("try splits", "steps", lambda: splits_sql.steps(outcome, groups, attributes))
        self.scratch.drop(cells, generalized, lost, groups)
        return outcome, steps

    def _repeated(self, name: str, expression: Callable[[], exp.Expression]) -> Statement:
        """A statement that is the same in every round."""
        if name not in self._statements:
            self._statements[name] = Statement("add up splits", expression(), texts={})
        return self._statements[name]

    def _add(self, effects: Statement) -> None:
        """Add to what the candidates come to together."""
        for column, level, ordinal, lost, hopeless in self.guarded.engine.query(effects):
            key = (int(column), int(level), int(ordinal))
            before = self.effects.get(key, (0, 0))
            after = (before[0] + int(lost), before[1] + int(hopeless))
            if any(after):
                self.effects[key] = after
            else:
                self.effects.pop(key, None)

    def _kept(self) -> Table:
        """The groups with their partitions as extents."""
        loaded = self.scratch.create_text("classes", "bounds", ["a", "lo", "hi"])
        lines = [
            (str(domain.attribute.position), str(partition.low), str(partition.high))
            for domain in self.domains
            for partition in domain.partitions
        ]
        self.guarded.engine.load("classes", loaded, ["a", "lo", "hi"], lines)
        attributes = self.guarded.attributes
        bounds = self.scratch.create("classes", "partitions", splits_sql.bounds_of(loaded, attributes))
        extents = splits_sql.partition_extents(self.rows, attributes, bounds)
        return self.scratch.create("classes", "kept", divisions_sql.measured(extents, attributes))

    def _as_classes(self) -> Table:
        return self.scratch.create("classes", "every", query("select distinct g, g as class from w", {"w": self.rows}))


def _general(guarded: Guarded, item: Attribute) -> General:
    """The general domain of one partition, with the rows of every value and the nodes of its hierarchy."""
    if item.last >= MOST_VALUES:
        name = guarded.run.binding.names[item.position]
        raise UsageError(
            f"search.algorithm: greedy weighs every value of column '{name}', which has {item.last + 1}, more than "
            f"{MOST_VALUES}; use personalized"
        )
    levels = range(item.height + 1)
    select = query("select r.o, r.n, r.lower, r.upper from r order by r.o", {"r": item.reach})
    if not item.natural:
        for level in levels:
            select = select.select(*divisions_sql.node_columns(level))
    before, nodes, places = [0], {}, []
    for ordinal, number, lower, upper, *found in guarded.engine.query(Statement("general domain", select)):
        before.append(before[-1] + int(number))
        places.append((int(lower), int(upper)))
        for level in levels if found else ():
            low, high, leaves = (int(value) for value in found[3 * level : 3 * level + 3])
            if low == ordinal:
                nodes[level, low] = SplitNode(low, high, leaves)
    general = General(item, before, nodes, places)
    general.whole()
    return general
