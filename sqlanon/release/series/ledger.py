"""The ledger of a series: three tables that their owner alone can read, and a chain of digests that tells of changes.

`people` has the keyed hash of each person and the number of the track; `tracks` says of each track in which class of
which release it went on from which other; `releases` has a row for each event: counts, and a digest under the secret
over that row, the digest before it and all that the other two tables hold. No value, no label and no secret is in them.
Written within the transaction of a release.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from sqlglot import exp

from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.evaluation.requirements import requirement_from
from sqlanon.release.series import statements as series_sql
from sqlanon.source.binding import Binding
from sqlanon.source.history import BoundHistory
from sqlanon.source.keyed_hash import HashSecret, KeyedHash, secret_of
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import create_table_as
from sqlanon.sql.relations import Table, column, literal

Event = dict[str, Any]
"""A row of the releases by the names of its columns."""

MARK = "sqlanon ledger"
"""What the mark of the secret is a digest of: another secret is told from an edit by it."""

BUCKETS = 2
"""Digits of a person's hash by which the ledger is digested in parts."""


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
    def number(self) -> int:
        """The number of the last release; 0 where there is none."""
        return max((event["release"] for event in self.events if event["event"] == "release"), default=0)

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

    @property
    def contract(self) -> str:
        """What all releases of the ledger have in common: source, key of the person, requirement."""
        spec = self.binding.spec
        source = spec.model_dump(mode="json", include={"source"})
        asked = requirement_from(spec).describe()
        return self.secret.digest(json.dumps([source, self.history.key.name, asked], sort_keys=True))

    # -- reading -------------------------------------------------------------------------------------------------------

    def standing(self) -> Standing:
        """The ledger as it stands; made where there is none. UsageError where it is not what was written last."""
        tables = self.history.tables
        kinds = [self.engine.relation_kind(table) for table in tables]
        if not any(kinds):
            self._begin()
            return Standing(tables, ())
        if any(kind != "table" for kind in kinds):
            names = ", ".join(str(table) for table in tables)
            raise UsageError(f"history.ledger: a ledger has the tables {names}, and they are not all there")
        for table in tables:
            if self.engine.open_to_others(table):
                raise UsageError(
                    f"history.ledger: others than its owner may read or write {table}; take these rights from them"
                )
        events = read_events(self.engine, tables[2])
        self._verify(events)
        return Standing(tables, events)

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
            if event["secret_mark"] != self.secret.digest(MARK):
                raise UsageError(
                    f"history.secret: the ledger {where} was written with another secret, or was changed by hand; "
                    f"give the secret that it was written with"
                )
            if event["release"] != number or event["digest"] != self._digest(event, before):
                raise _edited(self.history.releases)
            before = event["digest"]
        if not events or events[-1]["state"] != self._state(self.history.people, self.history.tracks):
            raise _edited(where)
        if events[-1]["contract"] != self.contract:
            raise UsageError(
                f"history.ledger: {where} was kept for another source, key or requirement; name another ledger, "
                f"or take back what has changed in the spec"
            )

    def _digest(self, event: Event, before: str) -> str:
        names = [name for name in (*series_sql.NUMBERS, *series_sql.TEXTS) if name != "digest"]
        return self.secret.digest(json.dumps([before, *(event[name] for name in names)]))

    def _state(self, people: Table, tracks: Table) -> str:
        """A digest under the secret over all that the tables hold."""
        start = exp.Substring(this=column("person"), start=literal(1), length=literal(BUCKETS))
        part = exp.Paren(this=exp.Mod(this=column("track"), expression=literal(64)))
        names = ("track", "parent", "release", "class", "forgotten")
        found = []
        for query in (
            series_sql.in_buckets(people, start, "person", ("person", "track")),
            series_sql.in_buckets(tracks, part, "track", names),
        ):
            hashed = series_sql.hashed(query, self.keyed.of_text(column("listed")))
            rows = self.engine.query(Statement("digest of ledger", hashed))
            found.append(sorted([str(bucket), str(digest)] for bucket, digest in rows))
        return self.secret.digest(json.dumps(found))

    # -- writing -------------------------------------------------------------------------------------------------------

    def add(self, standing: Standing, published: Table, counts: Mapping[str, int]) -> int:
        """Write a release; the fewest people that now have one track."""
        number = standing.last + 1
        scratch, execute = self.scratch, self.engine.execute
        groups = scratch.create("write ledger", "groups", series_sql.new_tracks(published, standing.tracks))
        rows = series_sql.tracks_of(groups, number)
        names = ("track", "parent", "release", "class", "forgotten")
        execute(Statement("write ledger", series_sql.insert(standing.tracks, names, rows)))
        self.replace_people(series_sql.people_now(standing.people, published, groups))
        query = series_sql.smallest_track(standing.people, standing.tracks)
        [(smallest,)] = self.engine.query(Statement("smallest track", query))
        self.log("release", standing, {**counts, "smallest": int(smallest or 0)}, target=str(self.binding.target))
        return int(smallest or 0)

    def replace_people(self, query: exp.Query) -> None:
        """Other rows in the place of the people."""
        staged = self.history.people.beside(self.scratch.name("ledger").name)
        self._create(staged, query)
        self.engine.replace(staged, self.history.people)

    def log(self, kind: str, standing: Standing, counts: Mapping[str, int], target: str = "") -> None:
        """Write the row of an event, the last of the chain."""
        event: Event = {name: int(counts.get(name, 0)) for name in series_sql.NUMBERS}
        event |= {
            "release": standing.last + 1,
            "event": kind,
            "run": self.engine.session.run,
            "target": target,
            "published": datetime.now(UTC).isoformat(timespec="seconds"),
            "secret_mark": self.secret.digest(MARK),
            "contract": self.contract,
            "state": self._state(standing.people, standing.tracks),
        }
        event["digest"] = self._digest(event, standing.digest)
        names = (*series_sql.NUMBERS, *series_sql.TEXTS)
        row = series_sql.insert(self.history.releases, names, series_sql.release_row(event))
        self.engine.execute(Statement("write ledger", row))


def read_events(engine: Engine, table: Table) -> tuple[Event, ...]:
    """The events of a ledger in their order, as they stand."""
    names = (*series_sql.NUMBERS, *series_sql.TEXTS)
    rows = engine.query(Statement("read ledger", series_sql.releases(table)))
    return tuple(
        {name: int(value) if name in series_sql.NUMBERS else str(value) for name, value in zip(names, row, strict=True)}
        for row in rows
    )


def waiting(engine: Engine, binding: Binding) -> int:
    """How many people the last release to the target of a spec left out for the sake of others, as its ledger says."""
    history = binding.history
    if history is None or engine.relation_kind(history.releases) != "table":
        return 0
    events = [event for event in read_events(engine, history.releases) if event["target"] == str(binding.target)]
    return int(events[-1]["deferred"] + events[-1]["covered"]) if events else 0


def opened(engine: Engine, binding: Binding, scratch: Scratch) -> tuple[Ledger, Standing]:
    """The ledger of a spec, checked, and made where there is none; within a transaction."""
    kept, history = binding.spec.ledger, binding.history
    if kept is None or history is None:
        raise UsageError("history: the spec keeps no ledger")
    secret = secret_of("history.secret", kept.secret).for_purpose("ledger")
    ledger = Ledger(engine, binding, history, scratch, secret, KeyedHash.stored(engine, scratch, secret, "ledger_key"))
    return ledger, ledger.standing()


def _edited(table: Table) -> UsageError:
    return UsageError(
        f"history.ledger: {table} is not as the last release left it; somebody has changed it, or put back an older "
        f"one: restore what was written, or begin another ledger"
    )
