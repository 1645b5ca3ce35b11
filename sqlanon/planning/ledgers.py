"""What operators ask of a ledger beside releases: how the series went, whether tables agree with it, whom to forget.

Reads the ledger and the published table by SQL, counts only; writes the ledger alone, in a transaction of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sqlanon.engines.base import Statement
from sqlanon.errors import InfeasibleError, RequirementError, UsageError
from sqlanon.planning.decision import release_of, still_fits
from sqlanon.planning.operations import releases
from sqlanon.release.results import PlannedSeries, PlanResult
from sqlanon.release.series import statements as series_sql
from sqlanon.release.series.ledger import RELEASES, Event, Ledger, Standing, opened, read_events
from sqlanon.release.series.tracks import forget_outlived
from sqlanon.source.binding import bind_target
from sqlanon.source.run import DEFAULT, Options, Run, running
from sqlanon.spec import Spec
from sqlanon.sql.build import row_count
from sqlanon.sql.relations import File, Table, column, table_expression

if TYPE_CHECKING:
    from sqlanon.planning.decision import Decided
    from sqlanon.release.lock import Lock
    from sqlanon.source.frequency import Base
    from sqlanon.source.hierarchies import StoredHierarchy

Answer = TypeVar("Answer")
SHOWN = (
    "release",
    "event",
    "target",
    "published",
    "rows",
    "joined",
    "gone",
    "deferred",
    "covered",
    "staying",
    "smallest",
)
"""What is shown of each event."""


@dataclass(frozen=True)
class LedgerState:
    """A ledger as it was found."""

    ledger: str
    events: tuple[Event, ...]
    people: int | None = None
    """People that it knows; None where nobody counted."""
    smallest: int | None = None
    """The fewest people who share all of their history."""
    problems: tuple[str, ...] = ()
    """What is not in order."""

    def last(self, target: str) -> Event | None:
        """The last release to a target."""
        found = [event for event in self.events if event["event"] in RELEASES and event["target"] == target]
        return found[-1] if found else None

    @property
    def timeline(self) -> list[dict[str, Any]]:
        """What happened, event by event."""
        return [{name: event[name] for name in SHOWN} for event in self.events]

    def to_dict(self) -> dict[str, Any]:
        return {
            "ledger": self.ledger,
            "people": self.people,
            "smallest_track": self.smallest,
            "events": self.timeline,
            "problems": list(self.problems),
        }


def planned_series(
    run: Run, base: Base, stored: Sequence[StoredHierarchy], decided: Decided, known: Lock | None
) -> PlanResult:
    """A plan with whom the ledger would hold back: with the recoding that was found, and with that which stands."""
    from sqlanon.release.publication import held_back

    history, found = run.binding.history, decided.plan
    if history is None or run.engine.relation_kind(history.people) is None:
        return found
    with run.watch.phase("series"):
        try:
            new = held_back(run.engine, decided.release, run.scratch) if found.satisfied else None
        except (UsageError, InfeasibleError) as error:
            return replace(found, series=PlannedSeries(None, reason=f"not counted: {error}"))
        if known is None:
            return replace(found, series=PlannedSeries(new))
        try:
            recoding = still_fits(run, stored, known)
            if recoding.same_as(found.recoding):
                return replace(found, series=PlannedSeries(new, new, same=True))
            kept = held_back(run.engine, release_of(run, base, stored, recoding), run.scratch)
        except (UsageError, InfeasibleError) as error:
            reason = str(error).removesuffix(": plan again")
            return replace(found, series=PlannedSeries(new, reason=f"the lock file no longer holds: {reason}"))
    return replace(found, series=PlannedSeries(new, kept))


def kept_by(spec: Spec) -> Spec:
    """The spec of one release that keeps the ledger: recipients share it."""
    one = spec.for_recipient(spec.recipient_names[0]) if spec.recipients else spec
    if one.ledger is None:
        raise UsageError("history: the spec keeps no ledger; give it key, ledger and secret")
    return one


def show(spec: Spec, options: Options = DEFAULT) -> LedgerState:
    """The events of a ledger as they stand, not checked."""
    with running(kept_by(spec), options) as run:
        history = run.binding.history
        if history is None or run.engine.relation_kind(history.releases) != "table":
            return LedgerState("" if history is None else str(history.people), ())
        return LedgerState(str(history.people), read_events(run.engine, history.releases))


def measured(spec: Spec, options: Options = DEFAULT) -> LedgerState:
    """A ledger checked, or shown where the secret is not at hand: then `people` and `smallest` are not told."""
    try:
        return verify(spec, options)
    except UsageError:
        return show(spec, options)


def verify(spec: Spec, options: Options = DEFAULT) -> LedgerState:
    """Check a ledger: rights, the chain of digests, the sizes of tracks, and the published tables of the spec."""
    one = kept_by(spec)
    with running(one, options) as run, run.engine.transaction():
        ledger = opened(run.engine, run.binding, run.scratch)
        try:
            standing = ledger.existing()
        except UsageError as error:
            return LedgerState(str(ledger.history.people), (), problems=(str(error),))
        [(people,)] = run.engine.query(Statement("people of ledger", series_sql.rows_of(standing.people)))
        query = series_sql.smallest_track(standing.people, standing.tracks)
        [(smallest,)] = run.engine.query(Statement("smallest track", query))
        problems = []
        if smallest is not None and smallest < run.binding.k:
            problems.append(f"{smallest} people share all of their history, k is {run.binding.k}")
        targets = [bind_target(item, run.engine) for item in releases(spec)]
        problems += [text for target in targets for text in _agreement(run, ledger, standing, target)]
        return LedgerState(str(standing.people), standing.events, int(people), int(smallest or 0), tuple(problems))


def _agreement(run: Run, ledger: Ledger, standing: Standing, target: Table | File) -> list[str]:
    """What a published table and the ledger do not agree about."""
    last = standing.last_of(str(target))
    if not last:
        return []
    there = run.engine.relation_kind(target) is not None if isinstance(target, Table) else Path(target.path).exists()
    if not there:
        return [f"release {last} went to {target}, which is not there"]
    tracks = ledger.scratch.create("tracks of table", "of_table", series_sql.present_tracks(standing.tracks, [last]))
    [(known,)] = run.engine.query(Statement("people of table", series_sql.on_tracks(standing.people, tracks)))
    rows = row_count(run.engine.traits.relation(target, "published"))
    [(found,)] = run.engine.query(Statement("rows of table", rows))
    return [] if known == found else [f"{target} has {found} rows, the ledger knows of {known} people in it"]


def forget(spec: Spec, person: str, options: Options = DEFAULT) -> int:
    """Take one person out of a ledger; refused as long as the person is in the source or in a published table."""

    def forgotten(ledger: Ledger, standing: Standing) -> int:
        scratch, engine = ledger.scratch, ledger.engine
        # By a bound parameter: no statement, and no log of statements, has the key.
        given = scratch.create_text("person to forget", "given", ["person"])
        engine.load("person to forget", given, ["person"], [[person]])
        hashed = series_sql.persons(table_expression(given), ledger.keyed.of_text(column("person")))
        wanted = scratch.create("person to forget", "wanted", hashed)
        found = scratch.create("person to forget", "found", series_sql.known(standing.people, wanted))
        if not _number(ledger, series_sql.rows_of(found)):
            raise UsageError("the ledger knows nobody by this key")
        if _number(ledger, series_sql.on_tracks(found, ledger.present_tracks(standing))):
            raise RequirementError(
                "the person stands in a published table: take the row out of the source, publish, then forget"
            )
        if not _number(
            ledger,
            series_sql.rows_of(
                scratch.create("person to forget", "absent", series_sql.not_among(found, ledger.persons()))
            ),
        ):
            raise RequirementError("the person is still in the source: take the row out of it, then forget")
        return ledger.forget("forget", standing, found)

    return _writing(spec, options, forgotten)


def expire(spec: Spec, options: Options = DEFAULT) -> int:
    """Forget those who are gone for longer than `history.keep`; how many."""
    kept = kept_by(spec).ledger
    if kept is None or kept.keep is None:
        raise UsageError("history.keep: the spec says nothing of how long people are remembered; write it, as 2 years")
    return _writing(spec, options, forget_outlived)


def _writing(spec: Spec, options: Options, action: Callable[[Ledger, Standing], Answer]) -> Answer:
    """Do something to a ledger that was checked, alone with it, all or nothing."""
    one = kept_by(spec)
    with running(one, options) as run:
        history = run.binding.history
        if history is None:
            raise UsageError("history: the spec keeps no ledger")
        with run.engine.alone_with(history.people, one.limits.lock_seconds), run.engine.transaction():
            ledger = opened(run.engine, run.binding, run.scratch)
            return action(ledger, ledger.existing())


def _number(ledger: Ledger, query: Any) -> int:
    [(number,)] = ledger.engine.query(Statement("person to forget", query))
    return int(number)
