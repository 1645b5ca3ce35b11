"""Mondrian's partitioning (LeFevre et al.; chapter, section 4.1.2) as rounds of SQL over all regions at once.

A round looks at every region, finds and judges cuts and parts the regions. How many statements that takes does not
depend on the number of regions, and no row enters Python.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.privacy.base import Grouping
from sqlanon.privacy.k_anonymity import KAnonymity
from sqlanon.recoding.mondrian import cuts as cuts_sql
from sqlanon.recoding.mondrian import regions as regions_sql
from sqlanon.recoding.mondrian.cuts import Asked
from sqlanon.recoding.mondrian.regions import Dimension, Space
from sqlanon.source.combinations import Combinations
from sqlanon.source.scratch import Again, Scratch
from sqlanon.sql.relations import Table


@dataclass(frozen=True)
class Settings:
    """How regions are cut."""

    relaxed: bool
    guided: bool
    weights: tuple[float, ...]


@dataclass(frozen=True)
class Partition:
    """The final regions, and the points with the region that each lies in."""

    regions: Table
    points: Table
    space: Space
    rounds: int
    judged: int
    """Regions that were tried at a column, over all rounds."""


class Partitioning:
    """Cuts all regions round by round until none of them can be cut."""

    def __init__(
        self, engine: Engine, scratch: Scratch, made: Combinations, asked: Grouping, settings: Settings
    ) -> None:
        self.engine = engine
        self.scratch = scratch
        self.made = made
        self.plain = all(isinstance(model, KAnonymity) and not model.persons for model in asked.models)
        """Counts of rows decide everything."""
        self.asked = Asked(asked.measures(), asked.satisfied(), made.value_tables, made.persons)
        self.space = self._space(asked, settings)
        self._again = Again(scratch)
        self._done: tuple[Table, Table] | None = None
        """Final regions and their points."""

    def satisfiable(self) -> bool:
        """Whether all rows together, as one class, satisfy."""
        query = cuts_sql.satisfies(self.made.table, self.asked)
        return bool(self.engine.query(Statement("judge all rows", query))[0][0])

    def run(self) -> Partition:
        """Partition the combinations."""
        create, space = self.scratch.create, self.space
        points = create("first region", "points0", regions_sql.first_points(self.made.table, space))
        regions = create("first region", "regions0", regions_sql.first_region(space))
        judged = 0
        for number in count(1):
            looked = self._looked_at(points, regions, number)
            [(final, active)] = self.engine.query(Statement("count regions", regions_sql.progress(looked)))
            # What is final is put away when it is worth a pass over it.
            put_away = 4 * final > active or not active
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
        return Partition(*self._done, space, number, judged)

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
        return self._again.create(step, f"{name}{number % 2}", query, which)

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

    def _space(self, asked: Grouping, settings: Settings) -> Space:
        domains, relaxed = self.made.domains, settings.relaxed
        most = max(settings.weights)
        dimensions = [
            Dimension(
                position,
                domain.values - 1,
                settings.weights[position] / most,
                domain.height - 1 if settings.guided and not relaxed and not domain.natural else 0,
            )
            for position, domain in enumerate(domains)
        ]
        others = [] if self.plain and not relaxed else [*self.made.coded]
        if self.made.persons:
            others += ["r", "u"]
        if relaxed:
            others += ["first_row", "last_row"]
        guided = [(item, domains[item.position].table) for item in dimensions if item.levels]
        ladder = None
        if guided:
            query = regions_sql.ladder(guided, max(item.levels for item in dimensions))
            ladder = self.scratch.create("branches", "ladder", query)
        return Space(
            tuple(dimensions),
            tuple(others),
            self.made.rows,
            _least(asked),
            self.plain,
            inherits=all(model.monotonicity.with_suppression for model in asked.models) and not relaxed,
            relaxed=relaxed,
            ladder=ladder,
        )


def _least(asked: Grouping) -> int:
    """The rows that any class must have by k."""
    return max((model.k for model in asked.models if isinstance(model, KAnonymity)), default=1)
