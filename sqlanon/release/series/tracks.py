"""Who of a release stays out of it, so that each group of people of one track satisfies the requirement.

Reads the staged rows and the ledger by SQL; Python sees counts. A group has one track after this release: people of one
earlier track who stand in one class, or who are absent. Groups of a class that fail stay out. Where the absent people
of a track fail, others of it leave with them, chosen by their keyed hashes; what is left and fails then, goes too. Only
people leave, so this ends; tracks do not depend on each other, so a round looks at those alone that changed.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError, RequirementError, SpecError, UsageError
from sqlanon.evaluation.requirements import requirement_from
from sqlanon.privacy.base import Grouping
from sqlanon.release.series import statements as series_sql
from sqlanon.release.series.ledger import Ledger, Standing, opened
from sqlanon.release.steps import audited_rows
from sqlanon.source.scratch import Scratch
from sqlanon.spec.keys import days_of
from sqlanon.sql.build import all_of, any_of
from sqlanon.sql.relations import Query, Table, column, table_expression

if TYPE_CHECKING:
    from sqlanon.recoding.assignment import Judgement
    from sqlanon.source.binding import Binding


@dataclass(frozen=True)
class HistoryFigures:
    """What a ledger did to a release, in people."""

    release: int
    """The number of the release among those of its ledger."""
    joined: int
    """People who are in a release for the first time."""
    gone: int
    """People who stood in the release before, and are no longer in the source or in a class that satisfies."""
    deferred: int
    """Newcomers who wait until enough of them have come."""
    covered: int
    """People of earlier releases who are left out, so that those who leave or move are not alone."""
    left: int
    """People whom the source keeps although they have left, and who are not in the release."""
    staying: int
    """People who have left, and are still in the release until enough of them can leave together."""
    smallest: int
    """The fewest people who share all of their history."""

    @property
    def held(self) -> int:
        """Rows that satisfy by themselves, and are left out all the same."""
        return self.deferred + self.covered + self.left

    def to_dict(self) -> dict[str, int]:
        return {
            "release": self.release,
            "joined": self.joined,
            "gone": self.gone,
            "deferred": self.deferred,
            "covered": self.covered,
            "staying": self.staying,
            "smallest_track": self.smallest,
        }


@dataclass(frozen=True)
class Tracked:
    """The rows of a release that may be published, and what the ledger will say of them."""

    rows: Table
    figures: HistoryFigures
    ledger: Ledger
    standing: Standing
    published: Table

    def write(self, rows: int, kind: str = "release") -> HistoryFigures:
        """Write the ledger, within the transaction of the release; the figures are complete then.

        Whoever is gone for longer than the ledger keeps is forgotten.
        """
        found = self.figures
        counts = {"rows": rows, "joined": found.joined, "gone": found.gone}
        counts |= {"deferred": found.deferred, "covered": found.covered, "staying": found.staying}
        smallest = self.ledger.add(self.standing, self.published, counts, kind)
        forget_outlived(self.ledger, self.ledger.read())
        return replace(found, smallest=smallest)


def forget_outlived(ledger: Ledger, standing: Standing) -> int:
    """Forget those who are gone for longer than the spec keeps them; how many. Nobody where it keeps them for ever."""
    kept = ledger.binding.spec.ledger
    if kept is None or kept.keep is None:
        return 0
    people = ledger.outlived(standing, datetime.now(UTC) - timedelta(days=days_of(kept.keep)))
    return 0 if people is None else ledger.forget("expire", standing, people)


def track(engine: Engine, binding: Binding, judged: Judgement, scratch: Scratch) -> Tracked:
    """Decide who stays out of a release, within its transaction; `judged` has its rows with the key of the person."""
    requirement = asked_of_tracks(binding)
    ledger = opened(engine, binding, scratch)
    standing = ledger.standing()
    seen = _seen(engine, binding, judged, scratch, ledger)
    values = len(binding.sensitive)
    everybody = scratch.create("people of release", "people", series_sql.people(seen, standing.people, values))
    engine.analyze("people of release", everybody)
    gone = scratch.create("people gone", "gone", series_sql.gone(everybody, standing.people, standing.tracks))
    last = standing.last_of(str(binding.target))
    before = scratch.create("tracks of tables", "before", series_sql.present_tracks(standing.tracks, [last]))
    first = _first(engine, scratch, FirstRound(everybody, gone, before, requirement), binding)
    held = _held(engine, scratch, first, gone, requirement, binding)
    [(deferred, covered, left)] = engine.query(Statement("people held back", series_sql.held_figures(held)))
    published = scratch.create("people published", "published", series_sql.present(everybody, held))
    if judged.released == int(deferred) + int(covered) + int(left):
        raise InfeasibleError(
            "history: nobody can be released: all groups of people who share their history are too small"
        )
    joined = _count(engine, "people joined", series_sql.joined(published))
    absent = _count(engine, "people gone", series_sql.gone_since(standing.people, before, everybody, held))
    staying = _count(engine, "people staying", series_sql.staying(published)) if _keeps_left(binding) else 0
    counts = (joined, absent, int(deferred), int(covered), int(left), staying)
    figures = HistoryFigures(len(standing.releases) + 1, *counts, smallest=0)
    rows = seen
    if figures.held:
        names = [*binding.released, *binding.witnesses]
        rows = scratch.create("rows of release", "tracked", series_sql.without_people(seen, held, names))
    return Tracked(rows, figures, ledger, standing, published)


def asked_of_tracks(binding: Binding) -> Grouping:
    """The requirement as groups of people are asked: each person has one row."""
    whole = requirement_from(binding.spec.model_copy(update={"respondent": None})).whole
    if whole is None:
        raise UsageError("history: a ledger needs a single quasi-identifier, and other_sensitive unknown")
    return whole


def _seen(engine: Engine, binding: Binding, judged: Judgement, scratch: Scratch, ledger: Ledger) -> Table:
    """The rows of the release with hash of the person, class and codes; refused where a person has several rows."""
    history = binding.history
    if history is None:
        raise ValueError("no ledger is kept")
    traits = engine.traits
    rows = judged.query.copy()
    rows.set("order", None)
    found = {info.name: info for info in engine.columns(Query(rows))}
    keys, values = (
        [traits.key(column(name, "source"), found[name].family) for name in names]
        for names in (binding.names, [item.name for item in binding.sensitive])
    )
    person = ledger.hash(column(history.key.name, "source"), history.key)
    step = audited_rows(
        binding, scratch.name, series_sql.told_apart(rows, person, ledger.told(), keys, values, history.left)
    )
    seen = scratch.create_at(step.title, step.table, step.query)
    source = engine.traits.relation(binding.source, "source")
    key = traits.key(column(history.key.name, "source"), history.key.family)
    [(rows_read, known, persons)] = engine.query(Statement("people of source", series_sql.persons_of(source, key)))
    if known < rows_read:
        raise SpecError(f"history.key: {rows_read - known} rows of the source have no '{history.key.name}'")
    if persons < known:
        raise SpecError(
            f"history.key: the source has {known} rows of {persons} people; a ledger needs one row for each person"
        )
    return seen


@dataclass(frozen=True)
class FirstRound:
    """What rounds begin with."""

    everybody: Table
    gone: Table
    before: Table
    """The tracks of those who stand in the table that is replaced."""
    requirement: Grouping


def _keeps_left(binding: Binding) -> bool:
    return binding.history is not None and binding.history.left is not None


def _first(engine: Engine, scratch: Scratch, group: FirstRound, binding: Binding) -> Table:
    """The people of the first round; where the source keeps those who have left, they leave if enough can together."""
    everybody, values = group.everybody, len(binding.sensitive)
    if not _keeps_left(binding):
        return everybody
    rest = scratch.create("people left", "rest", series_sql.in_round(everybody, values, has_not_left()))
    failing = [
        scratch.create("people left", name, series_sql.failing_groups(table, group.requirement, values))
        for name, table in (("failing_whole", everybody), ("failing_rest", rest))
    ]
    whole, rest_failing = failing
    after = scratch.create("people left", "rest_after", series_sql.without_groups(rest, whole, values))
    short = series_sql.failing_absent(after, group.gone, group.requirement, values, binding.k)
    lacking = scratch.create("people left", "rest_short", short)
    bound = scratch.create("people left", "bound", series_sql.bound_tracks(rest_failing, whole, lacking))
    kept = stays_or_has_not_left(bound, group.before)
    first = scratch.create("people left", "first", series_sql.in_round(everybody, values, kept))
    scratch.drop(rest, whole, rest_failing, after, lacking, bound)
    return first


def has_not_left() -> exp.Expression:
    """Whether the source does not say that a person has left."""
    return exp.Not(this=column("leaving", "p"))


def stays_or_has_not_left(bound: Table, standing: Table) -> exp.Expression:
    """The same, or the person stands in the table that is replaced, on a track that nobody can leave yet."""
    on_track = [
        exp.In(
            this=column("track", "p"), query=exp.Subquery(this=exp.select(column("track")).from_(table_expression(t)))
        )
        for t in (bound, standing)
    ]
    return any_of([has_not_left(), all_of(on_track)])


def _held(
    engine: Engine, scratch: Scratch, everybody: Table, gone: Table, requirement: Grouping, binding: Binding
) -> Table:
    """Who stays out: `person`, `track`, `leaving`."""
    values, parts = len(binding.sensitive), []
    now, number = everybody, 0

    def made(name: str, query: exp.Query) -> Table:
        return scratch.create("tracks", f"{name}_{number}", query)

    while True:
        number += 1
        failing = made("failing", series_sql.failing_groups(now, requirement, values))
        after = made("without", series_sql.without_groups(now, failing, values))
        short = made("short", series_sql.failing_absent(after, gone, requirement, values, binding.k))
        parts.append(made("held", series_sql.settled(after, short)))
        if not _count(engine, "tracks", series_sql.rows_of(short)):
            scratch.drop(failing, after, short)
            break
        chosen = made("chosen", series_sql.covers(after, short, values))
        following = made("round", series_sql.touched(after, short, chosen, values))
        scratch.drop(failing, after, short, chosen, *([] if now is everybody else [now]))
        now = following
    return scratch.create("people held back", "held", series_sql.together(parts, ("person", "track", "leaving")))


def refuse_by_policy(binding: Binding, found: HistoryFigures) -> None:
    """RequirementError where people would be held back and the spec says that nobody is."""
    kept = binding.spec.ledger
    if kept is None:
        return
    if kept.joiners == "refuse" and found.deferred:
        raise RequirementError(
            f"history.joiners: {found.deferred} newcomers are too few of their classes to be released; "
            f"nothing was published"
        )
    if kept.leavers == "refuse" and found.covered:
        raise RequirementError(
            f"history.leavers: {found.covered} people would have to leave with others who leave or move; "
            f"nothing was published"
        )


def _count(engine: Engine, step: str, query: exp.Select) -> int:
    [(number,)] = engine.query(Statement(step, query))
    return int(number or 0)
