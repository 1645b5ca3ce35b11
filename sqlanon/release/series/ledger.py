"""The ledger of a series: three tables that their owner alone can read, and a chain of digests that tells of changes.

`people` has the keyed hash of each person, the number of the track, and a keyed digest by which it is told whether the
sensitive values are still those that were published last; `tracks` says of each track in which class of
which release it went on from which other; `releases` has a row for each event: counts, and a digest under the secret
over that row, the digest before it and all that the other two tables hold. No value, no label and no secret is in them.
Written within the transaction of a release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlglot import exp
from sqlglot.expressions import DType

from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.errors import SpecError, UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.release.series import chain
from sqlanon.release.series import statements as series_sql
from sqlanon.source.binding import Binding
from sqlanon.source.history import BoundHistory
from sqlanon.source.keyed_hash import HashSecret, KeyedHash, canonical_text, secret_of
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import concat, create_table_as, named
from sqlanon.sql.relations import Table, cast, column, literal

Event = dict[str, Any]
"""A row of the releases by the names of its columns."""

RELEASES = ("release", "begin")
"""Events that tracks go on with: a release, and a published table that was taken up."""

DIGITS = 16
"""Digits of the digest of a person's values: it is only asked whether two are equal."""


@dataclass(frozen=True)
class Standing:
    """A ledger as it stands, checked."""

    tables: tuple[Table, Table, Table]
    events: tuple[Event, ...]

    @property
    def people(self) -> Table:
        return self.tables[0]

    @property
    def tracks(self) -> Table:
        return self.tables[1]

    @property
    def releases(self) -> tuple[Event, ...]:
        """The events that are releases, that which was taken up among them."""
        return tuple(event for event in self.events if event["event"] in RELEASES)

    def last_of(self, target: str) -> int:
        """The number of the last release to a target; 0 where there is none."""
        return max((event["release"] for event in self.releases if event["target"] == target), default=0)

    @property
    def standing_releases(self) -> list[int]:
        """The number of the last release to each target: what readers see now."""
        return sorted({self.last_of(event["target"]) for event in self.releases})

    def before(self, day: datetime) -> list[int]:
        """The releases that are older than a day."""
        return [event["release"] for event in self.releases if datetime.fromisoformat(event["published"]) < day]

    @property
    def last(self) -> int:
        """The number of the last event; 0 where there is none."""
        return int(self.events[-1]["release"]) if self.events else 0

    @property
    def digest(self) -> str:
        """The end of the chain."""
        return str(self.events[-1]["digest"]) if self.events else ""


@dataclass(frozen=True)
class Ledger:
    """A ledger and what it takes to write it."""

    engine: Engine
    binding: Binding
    history: BoundHistory
    scratch: Scratch
    secret: HashSecret
    keyed: KeyedHash

    def hash(self, value: exp.Expression, info: ColumnInfo) -> exp.Expression:
        """The keyed hash of a person."""
        return self.keyed.of(value, info)

    def told(self) -> exp.Expression:
        """A keyed digest of a person and the sensitive values that models read; they are read from alias `source`."""
        return told(self.binding, self.history.key.name, self.keyed)

    @property
    def contract(self) -> str:
        """What all releases of the ledger have in common: source, key of the person, requirement."""
        spec = self.binding.spec
        key = self.history.key.name if spec.ledger is None else spec.ledger.key
        return self.secret.digest(chain.joined([chain.source_of(spec), key, chain.requirement_of(spec)]))

    # -- reading -------------------------------------------------------------------------------------------------------

    def standing(self) -> Standing:
        """The ledger as it stands; made where there is none. UsageError where it is not what was written last."""
        if not any(self.engine.relation_kind(table) for table in self.history.tables):
            self._begin()
            return Standing(self.history.tables, ())
        return self.existing()

    def existing(self) -> Standing:
        """The ledger as it stands; UsageError where there is none, or it is not what was written last."""
        tables = self.history.tables
        kinds = [self.engine.relation_kind(table) for table in tables]
        if not any(kinds):
            raise UsageError(f"history.ledger: there is no {tables[0]} yet; the first run makes it")
        if any(kind != "table" for kind in kinds):
            names = ", ".join(str(table) for table in tables)
            raise UsageError(f"history.ledger: a ledger has the tables {names}, and they are not all there")
        for table in tables:
            if self.engine.open_to_others(table):
                raise UsageError(opened_to_others(table))
        for table, expected in zip(tables, (series_sql.PEOPLE, series_sql.TRACKS), strict=False):
            if not {info.name for info in self.engine.columns(table)} >= set(expected):
                raise edited(table)
        found = self.read()
        self._verify(found.events)
        return found

    def read(self) -> Standing:
        """The ledger as it stands, which has been checked before."""
        return Standing(self.history.tables, read_events(self.engine, self.history.releases))

    def _begin(self) -> None:
        queries = (series_sql.nobody(), series_sql.no_tracks(), series_sql.no_releases())
        for table, query in zip(self.history.tables, queries, strict=True):
            self._create(table, query)

    def _create(self, table: Table, query: exp.Query) -> None:
        create = create_table_as(table, query, self.engine.traits, scratch=False)
        self.engine.create(Statement("write ledger", create), table)

    def _verify(self, events: Sequence[Event]) -> None:
        where, before = self.history.people, ""
        for number, event in enumerate(events, start=1):
            if event["secret_mark"] != self.secret.digest(chain.MARK):
                raise UsageError(
                    f"history.secret: the ledger {where} was written with another secret, or was changed by hand; "
                    f"give the secret that it was written with"
                )
            if event["release"] != number or event["digest"] != self._digest(event, before):
                raise edited(self.history.releases)
            before = event["digest"]
        if not events or events[-1]["state"] != self._state(self.history.people, self.history.tracks):
            raise edited(where)
        if events[-1]["contract"] != self.contract:
            raise UsageError(
                f"history.ledger: {where} was kept for another source, key or requirement; name another ledger, "
                f"or take back what has changed in the spec"
            )

    def _digest(self, event: Event, before: str) -> str:
        return self.secret.digest(chain.joined([before, *(event[name] for name in chain.CHAINED)]))

    def _state(self, people: Table, tracks: Table) -> str:
        """A digest under the secret over all that the tables hold."""
        digest = exp.select(named(chain.state(people, tracks, self.keyed), "state"))
        [(found,)] = self.engine.query(Statement("digest of ledger", digest))
        return str(found)

    # -- writing -------------------------------------------------------------------------------------------------------

    def add(self, standing: Standing, published: Table, counts: Mapping[str, int], kind: str = "release") -> int:
        """Write a release; the fewest people that now have one track."""
        number = standing.last + 1
        scratch, execute = self.scratch, self.engine.execute
        groups = scratch.create("write ledger", "groups", series_sql.new_tracks(published, standing.tracks))
        rows = series_sql.tracks_of(groups, number)
        execute(Statement("write ledger", series_sql.insert(standing.tracks, series_sql.TRACKS, rows)))
        self._replace(standing.people, series_sql.people_now(standing.people, published, groups))
        query = series_sql.smallest_track(standing.people, standing.tracks)
        [(smallest,)] = self.engine.query(Statement("smallest track", query))
        self.log(kind, standing, {**counts, "smallest": int(smallest or 0)}, target=str(self.binding.target))
        return int(smallest or 0)

    def _replace(self, table: Table, query: exp.Query) -> None:
        """Other rows in the place of those of a table."""
        staged = table.beside(self.scratch.name("ledger").name)
        self._create(staged, query)
        self.engine.replace(staged, table)

    def forget(self, kind: str, standing: Standing, people: Table) -> int:
        """Take people, by their hashes and tracks, out of the ledger; tracks remember how many. How many they were."""
        [(number,)] = self.engine.query(Statement("people to forget", series_sql.rows_of(people)))
        if number:
            self._replace(standing.people, series_sql.remaining(standing.people, people))
            self._replace(standing.tracks, series_sql.tracks_forgetting(standing.tracks, people))
            self.log(kind, standing, {"gone": int(number)})
        return int(number)

    def outlived(self, standing: Standing, before: datetime) -> Table | None:
        """Those who are in no published table and not in the source, and stood in a release before a day last."""
        releases = standing.before(before)
        if not releases:
            return None
        scratch = self.scratch
        candidates = scratch.create(
            "people gone for long",
            "outlived",
            series_sql.outlived(standing.people, standing.tracks, self.present_tracks(standing), releases),
        )
        [(number,)] = self.engine.query(Statement("people gone for long", series_sql.rows_of(candidates)))
        if not number:
            return None
        return scratch.create("people to forget", "forget", series_sql.not_among(candidates, self.persons()))

    def present_tracks(self, standing: Standing) -> Table:
        """The tracks of those who stand in a table that readers see now."""
        query = series_sql.present_tracks(standing.tracks, standing.standing_releases)
        return self.scratch.create("tracks of tables", "present", query)

    def persons(self) -> Table:
        """Everybody who is in the source now, by keyed hash."""
        source = self.engine.traits.relation(self.binding.source, "source")
        person = self.hash(column(self.history.key.name, "source"), self.history.key)
        return self.scratch.create("people of source", "persons", series_sql.persons(source, person))

    def log(self, kind: str, standing: Standing, counts: Mapping[str, int], target: str = "") -> None:
        """Write the row of an event, the last of the chain."""
        event: Event = {name: int(counts.get(name, 0)) for name in series_sql.NUMBERS}
        event |= {
            "release": standing.last + 1,
            "event": kind,
            "run": self.engine.session.run,
            "target": target,
            "published": datetime.now(UTC).isoformat(timespec="seconds"),
            "secret_mark": self.secret.digest(chain.MARK),
            "contract": self.contract,
            "state": self._state(standing.people, standing.tracks),
        }
        event["digest"] = self._digest(event, standing.digest)
        names = (*series_sql.NUMBERS, *series_sql.TEXTS)
        row = series_sql.insert(self.history.releases, names, series_sql.release_row(event))
        self.engine.execute(Statement("write ledger", row))


def told(binding: Binding, key: str, keyed: KeyedHash) -> exp.Expression:
    """A keyed digest of a person and the sensitive values that models read; they are read from alias `source`."""
    if not binding.sensitive:
        return literal("")
    infos = {info.name: info for info in binding.columns}
    text: exp.Expression = literal("values")
    for name in (key, *sorted(item.name for item in binding.sensitive)):
        if infos[name].family is Family.OTHER and infos[name].type.this is not DType.UUID:
            raise SpecError(
                f"history: values of column '{name}' cannot be compared from night to night; cast it in the source"
            )
        value = canonical_text(column(name, "source"), infos[name], keyed.traits)
        # With its length, no text reads like two; NULL reads like no text.
        known = concat(",", cast(exp.Length(this=value.copy()), "text"), ":", value)
        text = exp.DPipe(this=text, expression=exp.Coalesce(this=known, expressions=[literal("-")]), safe=True)
    return exp.Substring(this=keyed.of_text(text), start=literal(1), length=literal(DIGITS))


def read_events(engine: Engine, table: Table) -> tuple[Event, ...]:
    """The events of a ledger in their order, as they stand."""
    names = (*series_sql.NUMBERS, *series_sql.TEXTS)
    if not {info.name for info in engine.columns(table)} >= set(names):
        raise edited(table)
    rows = engine.query(Statement("read ledger", series_sql.releases(table)))
    numbers = len(series_sql.NUMBERS)
    if any(not isinstance(value, int if place < numbers else str) for row in rows for place, value in enumerate(row)):
        raise edited(table)
    return tuple(dict(zip(names, row, strict=True)) for row in rows)


def waiting(engine: Engine, binding: Binding) -> int:
    """How many people the last release to the target of a spec left out for the sake of others, as its ledger says."""
    history = binding.history
    if history is None or engine.relation_kind(history.releases) != "table":
        return 0
    events = [event for event in read_events(engine, history.releases) if event["target"] == str(binding.target)]
    return int(events[-1]["deferred"] + events[-1]["covered"]) if events else 0


def opened(engine: Engine, binding: Binding, scratch: Scratch) -> Ledger:
    """The ledger of a spec, its secret at hand; nothing is read of it yet."""
    kept, history = binding.spec.ledger, binding.history
    if kept is None or history is None:
        raise UsageError("history: the spec keeps no ledger")
    secret = secret_of("history.secret", kept.secret).for_purpose("ledger")
    return Ledger(engine, binding, history, scratch, secret, KeyedHash.stored(engine, scratch, secret, "ledger_key"))


def edited(table: Table) -> UsageError:
    """A table of a ledger is not what was written last."""
    return UsageError(
        f"history.ledger: {table} is not as the last release left it; somebody has changed it, or put back an older "
        f"one: restore what was written, or begin another ledger"
    )


def opened_to_others(table: Table) -> str:
    """What is wrong with a table of a ledger that others have rights on."""
    return f"history.ledger: others than its owner may read or write {table}; take these rights from them"
