"""Mondrian (LeFevre et al.; chapter, section 4.1.2): regions of the space of values, cut while cuts are allowable.

Strict regions do not overlap. Relaxed ones may share a value, whose rows are parted among them: strict regions are cut
further, each of them in half as long as both halves satisfy. A region is published by a hierarchy's label, a range or a
set. Works in scratch tables; no row enters Python.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import count

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.privacy.base import Grouping
from sqlanon.privacy.k_anonymity import KAnonymity
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.base import Recoded, least_levels, recoded_by, requirement_for, with_slack
from sqlanon.recoding.kinds import RegionLookup
from sqlanon.recoding.mondrian import cuts as cuts_sql
from sqlanon.recoding.mondrian import labels as labels_sql
from sqlanon.recoding.mondrian import regions as regions_sql
from sqlanon.recoding.mondrian.cuts import CutQuestion
from sqlanon.recoding.mondrian.labels import OrderedDomain
from sqlanon.recoding.mondrian.regions import Dimension, ValueSpace
from sqlanon.source.combinations import Combinations, combine
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.source.scratch import Again, Scratch
from sqlanon.sql.relations import Table


@dataclass(frozen=True)
class MondrianSettings:
    """How regions are cut."""

    relaxed: bool
    guided: bool
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Partition:
    """The final regions, and the points with the region that each lies in."""

    regions: Table
    points: Table
    space: ValueSpace
    rounds: int
    judged: int
    """Regions that were tried at a column, over all rounds."""


class Partitioning:
    """Cuts all regions round by round until none of them can be cut: between values, then where wanted within them.

    A round looks at every region, finds and judges cuts and parts the regions. How many statements that takes does not
    depend on the number of regions.
    """

    def __init__(
        self, engine: Engine, scratch: Scratch, made: Combinations, asked: Grouping, settings: MondrianSettings
    ) -> None:
        self.engine = engine
        self.scratch = scratch
        self.made = made
        self.plain = all(isinstance(model, KAnonymity) and not model.persons for model in asked.models)
        """Counts of rows decide everything."""
        self.asked = CutQuestion(asked.measures(), asked.satisfied(), made.value_tables, made.persons)
        self.space = self._space(asked, settings)
        self._relaxed = settings.relaxed

    def satisfiable(self) -> bool:
        """Whether all rows together, as one class, satisfy."""
        query = cuts_sql.satisfies(self.made.table, self.asked)
        return bool(self.engine.query(Statement("judge all rows", query))[0][0])

    def run(self) -> Partition:
        """Partition the combinations."""
        create, space = self.scratch.create, self.space
        points = create("first region", "points0", regions_sql.first_points(self.made.table, space))
        regions = create("first region", "regions0", regions_sql.first_region(space))
        found = _Rounds(self, space, "").run(points, regions)
        if not self._relaxed:
            return found
        # A cut within a value leaves the value on both sides: it narrows less than any cut between values does.
        space = replace(space, relaxed=True, ladder=None, inherits=False)
        points = create("strict regions", "within_points0", regions_sql.points_again(found.points, space))
        regions = create("strict regions", "within_regions0", regions_sql.regions_again(found.regions, space))
        self.scratch.drop(found.points, found.regions)
        further = _Rounds(self, space, "within_").run(points, regions)
        return replace(further, rounds=found.rounds + further.rounds, judged=found.judged + further.judged)

    def _space(self, asked: Grouping, settings: MondrianSettings) -> ValueSpace:
        domains, relaxed = self.made.domains, settings.relaxed
        most = max(settings.weights)
        dimensions = [
            Dimension(
                position,
                domain.values - 1,
                settings.weights[position] / most,
                domain.height - 1 if settings.guided and not domain.natural else 0,
            )
            for position, domain in enumerate(domains)
        ]
        others = [] if self.plain and not relaxed else [*self.made.coded]
        if self.made.persons:
            others += ["respondent", "lone_respondents"]
        if relaxed:
            others += ["first_row", "last_row"]
        guided = [(item, domains[item.position].table) for item in dimensions if item.levels]
        ladder = None
        if guided:
            query = regions_sql.ladder(guided, max(item.levels for item in dimensions))
            ladder = self.scratch.create("branches", "ladder", query)
        return ValueSpace(
            tuple(dimensions),
            tuple(others),
            self.made.rows,
            _least(asked),
            self.plain,
            inherits=all(model.monotonicity.with_suppression for model in asked.models),
            relaxed=False,
            ladder=ladder,
        )


class _Rounds:
    """The rounds of one kind of cuts.

    The first tables are called `points0` and `regions0` after the prefix: so are those of every second round, which the
    same statements read.
    """

    def __init__(self, partitioning: Partitioning, space: ValueSpace, prefix: str) -> None:
        self.engine, self.scratch = partitioning.engine, partitioning.scratch
        self.plain, self.asked, self.space = partitioning.plain, partitioning.asked, space
        self._again, self._prefix = Again(self.scratch), prefix
        self._done: tuple[Table, Table] | None = None
        """Final regions and their points."""

    def run(self, points: Table, regions: Table) -> Partition:
        """Cut these regions until all of them are final."""
        judged = 0
        for number in count(1):
            looked = self._looked_at(points, regions, number)
            [(final, active)] = self.engine.query(Statement("count regions", regions_sql.progress(looked)))
            # What is final is put away when it is worth a pass over it.
            put_away = 2 * final > active or not active
            if put_away and final:
                self._put_away(points, looked)
            after = self._parted(points, looked, number, only_active=put_away) if active else ()
            self.scratch.drop(points, regions, looked)
            if not after:
                break
            points, regions = after
            judged += int(active)
        if self._done is None:
            raise ValueError("a partition has at least one region")
        return Partition(*self._done, self.space, number, judged)

    def _looked_at(self, points: Table, regions: Table, number: int) -> Table:
        return self._made(
            "look at regions", "looked", number, lambda: regions_sql.looked_at(points, regions, self.space)
        )

    def _parted(self, points: Table, looked: Table, number: int, *, only_active: bool) -> tuple[Table, Table]:
        """One round of cuts: the points and regions after it."""
        space, made = self.space, self._made
        beside: list[Table] = []
        if space.relaxed:
            sides = made("part rows", "sides", number, lambda: cuts_sql.parted(points, looked, space))
            beside.append(sides)
        elif not self.plain:
            tried = made("candidate cuts", "tried", number, lambda: cuts_sql.candidates(points, looked, space))
            beside.append(tried)

        def found() -> exp.Query:
            if space.relaxed:
                return cuts_sql.relaxed_cuts(sides, None if self.plain else self.asked)
            if self.plain:
                return cuts_sql.strict_cuts(points, looked, space)
            return cuts_sql.judged_cuts(points, tried, space, self.asked)

        def moved() -> exp.Query:
            if space.relaxed:
                return cuts_sql.parted_points(points, looked, sides, cuts, space, only_active=only_active)
            return regions_sql.next_points(points, looked, cuts, space, only_active=only_active)

        which = "of active" if only_active else "of all"
        cuts = made("judge cuts", "cuts", number, lambda: regions_sql.numbered(found(), looked))
        parts = made(
            "part regions",
            "regions",
            number,
            lambda: regions_sql.next_regions(looked, cuts, space, only_active=only_active),
            which,
        )
        parted = made("part points", "points", number, moved, which)
        self.scratch.drop(cuts, *beside)
        return parted, parts

    def _made(self, step: str, name: str, number: int, query: Callable[[], exp.Query], which: str = "") -> Table:
        """A table of this round. Names alternate, so that the statements of every second round are the same."""
        return self._again.create(step, f"{self._prefix}{name}{number % 2}", query, which)

    def _put_away(self, points: Table, looked: Table) -> None:
        """Keep what is final apart from what is still cut."""
        regions = regions_sql.final_regions(looked, self.space)
        kept = regions_sql.final_points(points, looked, self.space)
        if self._done is None:
            create = self.scratch.create
            self._done = create("final regions", "regions", regions), create("final regions", "placed", kept)
            return
        for table, query in zip(self._done, (regions, kept), strict=True):
            self.engine.execute(Statement("final regions", regions_sql.appended(table, query)))


def _least(asked: Grouping) -> int:
    """The rows that any class must have by k."""
    return max((model.k for model in asked.models if isinstance(model, KAnonymity)), default=1)


MOST_MEMBERS = 10
"""Labels that a set lists; of a longer one it shows the first and the last."""


def name_regions(run: Run, made: Combinations, partition: Partition, *, space: bool) -> Assignment:
    """The classes of a partition with their labels: of the regions' bounds, or of the values that occur in them."""
    named, merged = named_regions(run, made, partition, space=space)
    create = run.scratch.create
    query = labels_sql.assignment(partition.points, named, partition.space, made.coded)
    table = create("assignment", "assignment", query)
    labels = named
    if merged:
        labels = create("labels", "labels", labels_sql.labels(named, len(made.domains)))
        run.scratch.drop(named)
    return Assignment(made, table, labels, whole=not partition.space.relaxed)


def named_regions(run: Run, made: Combinations, partition: Partition, *, space: bool) -> tuple[Table, bool]:
    """Every region with its labels, and whether some of them may have the same."""
    low, high = ("lo", "hi") if space else ("a", "b")
    domains = [
        OrderedDomain(position, domain.table, domain.height, domain.natural, domain.null, domain.least > 0)
        for position, domain in enumerate(made.domains)
    ]
    names = _names(run, partition.regions, domains, low, high)
    [(ambiguous,)] = run.engine.query(Statement("compare labels", labels_sql.ambiguous(names)))
    merge = partition.space.relaxed or ambiguous > 0
    query = labels_sql.named_regions(partition.regions, names, len(domains), low, high, merge=merge)
    named = run.scratch.create("name regions", "named", query)
    run.scratch.drop(names)
    return named, merge


def _names(run: Run, regions: Table, domains: list[OrderedDomain], low: str, high: str) -> Table:
    """The label of every range that some region has."""
    create, drop = run.scratch.create, run.scratch.drop
    nodes = create("labels of branches", "nodes", labels_sql.nodes(domains))
    totals = create("rows of values", "upto", labels_sql.counted(domains))
    ranges = create("ranges", "ranges", labels_sql.ranges(regions, domains, low, high))
    natural = [domain.position for domain in domains if domain.natural]
    of_labels = any(domain.of_labels for domain in domains)
    simple = create("name ranges", "simple", labels_sql.simple_names(ranges, nodes, natural, of_labels=of_labels))
    sets = _sets(run, simple, nodes)
    names = create("name ranges", "names", labels_sql.all_names(simple, sets, nodes, totals, of_labels=of_labels))
    drop(nodes, totals, ranges, simple, sets)
    return names


def _sets(run: Run, simple: Table, nodes: Table) -> Table:
    """The ranges that no label covers, listed label by label."""
    sets = run.scratch.create("list sets", "sets0", labels_sql.first_members(simple))
    for number in range(1, MOST_MEMBERS + 1):
        [(unfinished,)] = run.engine.query(Statement("list sets", labels_sql.open_sets(sets)))
        if not unfinished:
            break
        longer = run.scratch.create("list sets", f"sets{number}", labels_sql.next_members(sets, nodes))
        run.scratch.drop(sets)
        sets = longer
    return sets


MOST_WRITTEN = 50_000
"""Regions, and values of a column, that a script writes out."""


def mondrian(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Partition the combinations of the source and name the regions."""
    wanted = run.binding.spec.search.mondrian
    made, partition = _partition(run, base, stored)
    assignment = name_regions(run, made, partition, space=wanted.bounds == "space")
    largest, regions = run.engine.query(Statement("count regions", regions_sql.sizes(partition.regions)))[0]
    details = {
        "kind": wanted.kind,
        "cuts": wanted.cuts,
        "bounds": wanted.bounds,
        "regions": int(regions),
        "largest": int(largest),
        "rounds": partition.rounds,
    }
    run.scratch.drop(partition.regions, partition.points)
    return replace(recoded_by(run, assignment, details), checks=partition.judged)


def mondrian_lookup(run: Run, base: Base, stored: Sequence[StoredHierarchy], fingerprint: str) -> RegionLookup:
    """The regions of a strict partition as a script writes them.

    UsageError where that is too much to write, or where the combinations are no longer those of the fingerprint.
    """
    wanted = run.binding.spec.search.mondrian
    made, partition = _partition(run, base, stored)
    if made.fingerprint != fingerprint:
        raise UsageError("the source has changed since this lock file was written, and its classes with it: plan again")
    [(_, regions)] = run.engine.query(Statement("count regions", regions_sql.sizes(partition.regions)))
    if max(int(regions), *(domain.hierarchy.values for domain in made.domains)) > MOST_WRITTEN:
        raise UsageError(f"search.algorithm: a script writes out at most {MOST_WRITTEN} regions and values of a column")
    named, _ = named_regions(run, made, partition, space=wanted.bounds == "space")
    query = labels_sql.written(partition.regions, named, len(made.domains))
    rows = run.engine.query(Statement("regions", query))
    values = places_of_values(run.engine, made)
    run.scratch.drop(named, partition.regions, partition.points)
    return RegionLookup(
        values,
        tuple(tuple(None if item is None else str(item) for item in row) for row in rows),
    )


def places_of_values(engine: Engine, made: Combinations) -> tuple[tuple[tuple[str | None, int], ...], ...]:
    """For each column its values as texts, with the ordinal of each."""
    statements = [Statement("values", labels_sql.values_in_order(domain.keys)) for domain in made.domains]
    return tuple(tuple((text, int(place)) for text, place in engine.query(statement)) for statement in statements)


def _partition(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> tuple[Combinations, Partition]:
    grouping = requirement_for(with_slack(run)).whole
    if grouping is None:
        raise TypeError("recoders judge classes of the whole quasi-identifier")
    if run.binding.spec.search.mondrian.kind == "relaxed" and run.binding.persons:
        raise UsageError("search.mondrian.kind: relaxed parts rows, which respondents may have several of; use strict")
    made = combine(run.engine, run.binding, base, stored, run.scratch, least_levels(run, stored))
    partitioning = Partitioning(run.engine, run.scratch, made, grouping, _settings(run))
    if not partitioning.satisfiable():
        raise InfeasibleError("all rows in one class do not satisfy the requirement: no release can satisfy it")
    return made, partitioning.run()


def _settings(run: Run) -> MondrianSettings:
    spec = run.binding.spec
    wanted = spec.search.mondrian
    weights = tuple(float(spec.weight(name)) for name in run.binding.names)
    return MondrianSettings(wanted.kind == "relaxed", wanted.cuts == "guided", weights)
