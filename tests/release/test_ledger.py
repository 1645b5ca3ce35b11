"""The ledger between releases: begun with a published table, shown, verified, made to forget; on both engines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from sqlalchemy.engine import make_url

from sqlanon import pipeline
from sqlanon.errors import RequirementError, UsageError
from sqlanon.planning import ledgers, operations
from sqlanon.release.lock import Lock
from sqlanon.release.series import ledger as ledger_module
from sqlanon.source.run import Options
from tests.kit.commands import CommandLine
from tests.kit.database import Database
from tests.kit.series import SECRET, VARIABLE, Row, Series, hash_of


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


def people(*numbers: int, a: str = "A1", s: str = "flu") -> dict[str, Row]:
    return {f"p{number}": (a, s) for number in numbers}


def published_without(series: Series) -> Lock:
    """The lock file of a release that no ledger knows."""
    spec = series.spec(history=None)
    planned = pipeline.run(spec).plan
    assert planned is not None
    return Lock.of(spec, planned, "spec.yaml", None)


def test_a_published_table_is_taken_up(engine_url: str) -> None:
    """Releases after it hold people back as if the ledger had been there; the table itself is not touched."""
    series = Series(engine_url)
    series.source({**people(*range(1, 7)), **people(10, 11, a="B1")})
    lock = published_without(series)
    before = series.database.rows("released")
    series.database.run("ALTER TABLE released RENAME TO away")
    with pytest.raises(UsageError, match=r"^target: there is no released to take up"):
        pipeline.begin_ledger(series.spec(), lock)
    series.database.run("ALTER TABLE away RENAME TO released")
    result, kept = pipeline.begin_ledger(series.spec(), lock)
    assert kept.fits(series.spec())
    assert series.database.rows("released") == before
    history = result.publication.history
    assert history is not None
    assert (history.release, history.joined, history.smallest) == (1, 6, 6)
    assert not ledgers.verify(series.spec()).problems
    with pytest.raises(UsageError, match=r"^history\.ledger: kept is there already"):
        pipeline.begin_ledger(series.spec(), kept)
    series.releases, series.tracks = 1, dict.fromkeys(people(*range(1, 7)), ("A1",))
    series.values = dict.fromkeys(series.tracks, "flu")
    again = series.publish(people(1, 2, 3, 4, 5, 7, 8))
    assert again is not None
    assert again.publication.history is not None
    assert (again.publication.history.covered, again.publication.history.deferred) == (2, 2)
    assert [event["event"] for event in ledgers.show(series.spec()).events] == ["begin", "release"]


@pytest.mark.one_engine
def test_a_table_of_other_rows_is_not_taken_up(engine_url: str) -> None:
    series = Series(engine_url)
    series.source({**people(*range(1, 7)), **people(10, 11, 12, a="B1")})
    lock = published_without(series)
    series.source({**people(*range(1, 6)), **people(10, 11, 12, a="B1", s="cold")})
    with pytest.raises(UsageError, match=r"^target: released is not what .* 4 of its rows .* 3 of them"):
        pipeline.begin_ledger(series.spec(), lock)
    assert not series.database.run("SELECT 1 FROM information_schema.tables WHERE table_name LIKE 'kept%'")


def test_a_person_is_forgotten_once_gone(engine_url: str) -> None:
    """Erasure: the hash goes, the count of the track stays, and the others of it are as safe as before."""
    series = Series(engine_url)
    series.publish(people(*range(1, 10)))
    spec, seen = series.spec(), []
    options = Options(hooks=(lambda event: seen.append(event.sql),))
    with pytest.raises(RequirementError, match=r"^the person stands in a published table"):
        ledgers.forget(spec, "p1", options)
    series.publish(people(*range(2, 10)))
    waiting = sorted(p for p, track in series.tracks.items() if track[-1] is None and p != "p1")
    assert len(waiting) == 2
    with pytest.raises(RequirementError, match=r"^the person is still in the source"):
        ledgers.forget(spec, waiting[0], options)
    with pytest.raises(UsageError, match=r"^the ledger knows nobody by this key"):
        ledgers.forget(spec, "p99", options)
    assert ledgers.forget(spec, "p1", options) == 1
    assert not any("p1'" in sql or hash_of("p1") in sql for sql in seen)
    assert hash_of("p1") not in repr(series.database.rows("kept"))
    state = ledgers.verify(spec)
    assert (state.people, state.smallest, state.problems) == (8, 3, ())
    # The two who left with p1 stay out: coming back, they would show that p1 alone is gone.
    result = series.publish(people(*range(2, 10)))
    assert result is not None
    assert result.publication.history is not None
    assert result.publication.history.covered == 2


@pytest.mark.one_engine
def test_who_is_gone_for_long_is_forgotten(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the command, and by a run; those who wait in the source, and those of a table that stands, are kept."""
    series = Series(engine_url)
    keeping: dict[str, Any] = {"history": {**KEPT, "keep": "90 days"}}

    class Then(datetime):
        @classmethod
        def now(cls, tz: Any = None) -> Any:
            return datetime(2020, 1, 1, tzinfo=UTC)

    with monkeypatch.context() as patch:
        patch.setattr(ledger_module, "datetime", Then)
        series.publish(people(*range(1, 10)))
        assert ledgers.expire(series.spec(**keeping)) == 0
        series.publish(people(*range(2, 10)))
    assert ledgers.expire(series.spec(**keeping)) == 1
    assert ledgers.verify(series.spec()).problems == ()
    assert hash_of("p1") not in repr(series.database.rows("kept"))
    # Again by a run: somebody who waited is gone now.
    waits = min(p for p, track in series.tracks.items() if track[-1] is None and p != "p1")
    series.source({p: row for p, row in people(*range(2, 10)).items() if p != waits})
    pipeline.run(series.spec(**keeping))
    assert [event["event"] for event in ledgers.show(series.spec()).events][-2:] == ["release", "expire"]
    assert hash_of(waits) not in repr(series.database.rows("kept"))
    assert ledgers.verify(series.spec()).smallest == 3


KEPT = {"key": "id", "ledger": "kept", "secret": f"${{{VARIABLE}}}"}


@pytest.mark.postgres
def test_a_role_with_the_printed_privileges_keeps_a_ledger(postgres_url: str) -> None:
    """In a schema of its own; whoever may read the release may not read the ledger."""
    series = Series(postgres_url)
    database = series.database
    [(schema,)] = database.run("SELECT current_schema()")
    job, reader, private = (f"{name}_{schema}" for name in ("job", "reader", "private"))
    database.run(f"CREATE ROLE {job} LOGIN", f"CREATE ROLE {reader} LOGIN", f"CREATE SCHEMA {private}")
    try:
        changes: dict[str, Any] = {
            "source": f"{schema}.people",
            "target": f"{schema}.released",
            "history": {**KEPT, "ledger": f"{private}.kept"},
        }
        series.source(people(*range(1, 7)))
        database.run(*operations.grants(series.spec(**changes), job))
        own, other = (
            make_url(postgres_url).set(username=name).render_as_string(hide_password=False) for name in (job, reader)
        )
        for _ in range(2):
            pipeline.run(series.spec(**changes, connection=own))
        assert ledgers.verify(series.spec(**changes, connection=own)).problems == ()
        database.run(f"GRANT USAGE ON SCHEMA {schema}, {private} TO {reader}")
        database.run(f"GRANT SELECT ON {schema}.released TO {reader}")
        assert len(Database(other).rows(f"{schema}.released")) == 6
        for table in ("kept", "kept_tracks", "kept_releases"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                Database(other).rows(f"{private}.{table}")
    finally:
        database.run(f"DROP SCHEMA {private} CASCADE", f"DROP OWNED BY {job}, {reader}", f"DROP ROLE {job}, {reader}")


@pytest.mark.one_engine
def test_what_is_wrong_is_told(engine_url: str) -> None:
    series = Series(engine_url)
    series.source(people(1, 2, 3))
    assert "there is no kept yet" in ledgers.verify(series.spec()).problems[0]
    series.publish(people(*range(1, 7)))
    assert ledgers.verify(series.spec()).problems == ()
    series.database.run("DELETE FROM released")
    assert ledgers.verify(series.spec()).problems == ("released has 0 rows, the ledger knows of 6 people in it",)
    series.database.run("UPDATE kept SET track = 7 WHERE track = 1")
    assert "is not as the last release left it" in ledgers.verify(series.spec()).problems[0]
    with pytest.raises(UsageError, match="is not as the last release left it"):
        ledgers.forget(series.spec(), "p1")


def test_the_commands(duckdb_url: str, tmp_path: Path, sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    series = Series(duckdb_url)
    series.source(people(*range(1, 7)))
    path = tmp_path / "spec.yaml"
    values = yaml.safe_load(series.spec().model_dump_json(exclude_defaults=True, exclude={"connection", "history"}))
    values["connection"] = duckdb_url
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    assert sqlanon("run", path).code == 0
    path.write_text(yaml.safe_dump({**values, "history": KEPT}), encoding="utf-8")
    assert sqlanon("ledger", "begin", path).code == 0
    shown = sqlanon("ledger", "show", path)
    assert (shown.code, "begin" in shown.out) == (0, True)
    series.source(people(*range(2, 8)))
    assert sqlanon("plan", path, "--json").json["series"]["keeps"] is False
    again = sqlanon("run", path)
    assert (again.code, "searched anew" in again.err) == (0, False)
    outcome = sqlanon("ledger", "verify", path, "--json")
    assert (outcome.code, outcome.json["people"], outcome.json["smallest_track"]) == (0, 6, 3)
    assert [event["covered"] for event in outcome.json["events"]] == [0, 2]
    assert "in order" in sqlanon("ledger", "verify", path).out
    assert sqlanon("status", path, "--json").json["series"]["people"] == 6
    status = sqlanon("status", path)
    assert (status.code, "1 newcomers wait, 2 left with others" in status.out) == (0, True)
    with monkeypatch.context() as patch:
        patch.delenv(VARIABLE)
        assert "not checked: the secret of the ledger is not set" in sqlanon("status", path).out
    lock, report = path.with_name("spec.lock.json"), path.with_name("report.md")
    assert sqlanon("report", lock, "--format", "md", "--out", report, "--no-what-if").code == 0
    written = report.read_text(encoding="utf-8")
    assert "Timeline" in written
    [*_, last] = [line.split("|") for line in written.splitlines() if "| released |" in line]
    assert [int(cell) for cell in last[4:9]] == [6, 0, 1, 1, 2]
    assert "forgotten  1 person" in sqlanon("ledger", "forget", path, "p1").out
    assert sqlanon("ledger", "forget", path, "p1").code == 2
    assert sqlanon("ledger", "show", path, "p1").code == 2
    assert "history.keep: the spec says nothing" in sqlanon("ledger", "expire", path).err
    series.database.run("DELETE FROM kept_releases")
    assert sqlanon("ledger", "verify", path).code == 1
    assert "NOT in order" in (broken := sqlanon("status", path)).out
    assert broken.code == 1
