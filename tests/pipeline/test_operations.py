"""Runs in a world of other runs, limits and privileges; plans that are used again; the state of a release."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from sqlalchemy.engine import make_url
from sqlalchemy.exc import OperationalError

from sqlanon import pipeline
from sqlanon.api.status import drift, status
from sqlanon.engines.base import Engine, Needs, Session, Statement, TraceEvent, told
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.engines.postgres import connection as postgres_connect
from sqlanon.errors import (
    ConnectionFailed,
    EngineError,
    InfeasibleError,
    PermissionDenied,
    SpecError,
    SqlanonError,
    UsageError,
)
from sqlanon.planning import operations
from sqlanon.release.lock import Lock
from sqlanon.release.results import RunResult
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from sqlanon.sql.relations import File, Query, Table
from tests.kit.database import Database, changed
from tests.kit.engine import open_at

ZIPS = ("94138", "94139", "94141")
ROWS = [(zip_, disease) for zip_ in ZIPS for disease in ("flu", "cold")] * 2
SPEC: dict[str, Any] = {
    "source": "patients",
    "target": "released",
    "columns": {
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2]}}},
        "disease": {"role": "sensitive"},
    },
    "privacy": {"k": 2, "suppression": {"limit": 1}},
    "search": {"algorithm": "samarati"},
}
SECONDS = 60


@pytest.fixture
def database(engine_url: str) -> Database:
    return filled(engine_url)


def filled(url: str) -> Database:
    found = Database(url)
    found.create("patients", {"zip": "text", "disease": "text"}, ROWS)
    return found


def spec_on(database: Database, **changes: Any) -> Spec:
    return changed({**SPEC, "connection": database.url}, **changes)


def lock_on(spec: Spec) -> Lock:
    return Lock.of(spec, pipeline.plan(spec), "spec.yaml")


# -- two runs at once --------------------------------------------------------------------------------------------------


class Meeting:
    """Two runs of one spec: the first waits in the middle of its publish until the second stands before the lock."""

    def __init__(self, database: Database, **changes: Any) -> None:
        self.spec = spec_on(database, **changes)
        self.first_is_in = threading.Event()
        self.second_is_there = threading.Event()
        self.go_on = threading.Event()
        self.order: list[str] = []

    def first(self) -> RunResult:
        def hook(event: TraceEvent) -> None:
            if event.step == "stage release" and event.seconds is None:
                self.first_is_in.set()
                assert self.go_on.wait(SECONDS)
            self._commits("first", event)

        return pipeline.run(self.spec, Options(hooks=(hook,)))

    def second(self) -> RunResult:
        def phase(run: str, name: str, seconds: float) -> None:
            if name == "search":
                assert self.first_is_in.wait(SECONDS)
                self.second_is_there.set()

        return pipeline.run(self.spec, Options(hooks=(lambda event: self._commits("second", event),), on_phase=phase))

    def _commits(self, who: str, event: TraceEvent) -> None:
        if event.step == "commit" and event.seconds is not None:
            self.order.append(who)

    @contextmanager
    def held(self) -> Iterator[tuple[Future[RunResult], Future[RunResult]]]:
        with ThreadPoolExecutor(2) as pool:
            first, second = pool.submit(self.first), pool.submit(self.second)
            try:
                assert self.second_is_there.wait(SECONDS)
                yield first, second
            finally:
                self.go_on.set()


@pytest.mark.parametrize("exists", [False, True])
def test_two_runs_at_once_come_one_after_the_other(database: Database, exists: bool) -> None:
    if exists:
        pipeline.run(spec_on(database))
        database.run("INSERT INTO patients VALUES ('94142', 'new'), ('94142', 'new')")
    meeting = Meeting(database)
    with meeting.held() as (first, second):
        with pytest.raises(TimeoutError):
            second.result(timeout=0.5)
        meeting.go_on.set()
        results = first.result(SECONDS), second.result(SECONDS)
    assert meeting.order == ["first", "second"]
    assert all(result.audit.satisfied for result in results)
    assert pipeline.audit_spec(meeting.spec).satisfied
    assert len(database.rows("released")) == results[1].audit.rows
    assert database.leftovers() == []


def test_who_waits_too_long_is_told_what_for(database: Database) -> None:
    meeting = Meeting(database, limits={"lock_seconds": 0.3})
    with meeting.held() as (first, second):
        with pytest.raises(EngineError, match=r"^another run is publishing to released; waited 0\.3 seconds") as error:
            second.result(SECONDS)
        assert str(error.value).endswith("raise limits.lock_seconds")
        meeting.go_on.set()
        assert first.result(SECONDS).audit.satisfied
    assert database.leftovers() == []


@pytest.mark.postgres
def test_a_statement_timeout_ends_the_wait_too(postgres_url: str) -> None:
    one, other = open_at(postgres_url), open_at(postgres_url, Session(statement_seconds=0.2))
    with one.alone_with(Table(("t",)), 1):
        told_why = pytest.raises(EngineError, match=r"as long as a statement may run.*limits\.statement_seconds$")
        with told_why, other.alone_with(Table(("t",)), 30):
            raise AssertionError("both are alone")
        # A machine with much to do may need longer than that for a lock that is free.
        other._bound(60)
        with other.alone_with(Table(("another",)), 1):
            pass
    with other.alone_with(Table(("t",)), 1):
        pass
    one.close()
    other.close()


@pytest.mark.postgres
def test_a_target_is_one_by_whatever_name(postgres_url: str) -> None:
    [(schema,)] = Database(postgres_url).run("SELECT current_schema()")
    one, other = open_at(postgres_url), open_at(postgres_url)
    refused = pytest.raises(EngineError, match="another run is publishing")
    with one.alone_with(Table(("t",)), 1), refused, other.alone_with(Table((schema, "t")), 0.05):
        raise AssertionError("both are alone")
    one.close()
    other.close()


def test_a_wait_within_a_transaction_is_a_mistake(engine: Engine) -> None:
    mistake = pytest.raises(RuntimeError, match="only outside a transaction")
    with mistake, engine.transaction(), engine.alone_with(Table(("t",)), 1):
        raise AssertionError("it waited")


# -- limits ------------------------------------------------------------------------------------------------------------


def test_a_source_that_is_too_large_is_not_read(database: Database) -> None:
    steps: list[str] = []
    options = Options(hooks=(lambda event: steps.append(event.step),))
    with pytest.raises(
        InfeasibleError, match=r"limits\.max_scan_bytes: reading patients takes about \d+ bytes, .* is 1;"
    ):
        pipeline.run(spec_on(database, limits={"max_scan_bytes": 1}), options)
    assert "scan source" not in steps
    assert pipeline.run(spec_on(database, limits={"max_scan_bytes": "1 GB"})).audit.satisfied


@pytest.mark.parametrize(
    ("written", "size"), [(5, 5), ("5 B", 5), ("2 KB", 2000), ("2KiB", 2048), ("3 GB", 3 * 10**9), ("1 TiB", 2**40)]
)
def test_sizes_may_have_units(written: object, size: int) -> None:
    spec = changed(SPEC, limits={"max_scan_bytes": written})
    assert spec.limits.max_scan_bytes == size
    assert spec.hash() == changed(SPEC).hash()


@pytest.mark.parametrize("written", [0, True, "2 XB", "2 gb", "-1 GB", "1.5 GB", ""])
def test_sizes_that_are_none(written: object) -> None:
    with pytest.raises(SpecError, match=r"^limits\.max_scan_bytes: "):
        changed(SPEC, limits={"max_scan_bytes": written})


def test_sizes_follow_views_and_queries(database: Database) -> None:
    database.run(
        "CREATE TABLE large AS SELECT CAST(number AS TEXT) AS a FROM (VALUES (1)) AS t(number)",
        *["INSERT INTO large SELECT a || md5(CAST(random() AS TEXT)) FROM large"] * 13,
        "CREATE VIEW upon AS SELECT * FROM large",
        "CREATE VIEW above AS SELECT upon.* FROM upon",
    )
    database.run("CHECKPOINT")
    engine = open_at(database.url)
    size = {name: engine.scan_bytes(Table((name,))) or 0 for name in ("patients", "large", "upon", "above")}
    assert 0 < size["patients"] < size["large"] == size["upon"] == size["above"]
    assert size["large"] > 100_000
    both = Query(parsed(engine, "SELECT l.a FROM large AS l CROSS JOIN patients"))
    assert engine.scan_bytes(both) == size["large"] + size["patients"]
    assert engine.scan_bytes(Table(("nothing",))) is None
    engine.close()


def parsed(engine: Engine, text: str) -> Any:
    from sqlglot import parse_one

    return parse_one(text, dialect=engine.dialect)


@pytest.mark.postgres
def test_sizes_of_partitions_and_of_tables_elsewhere(postgres_url: str) -> None:
    database = Database(postgres_url)
    database.run(
        "CREATE TABLE whole (a int) PARTITION BY RANGE (a)",
        "CREATE TABLE low PARTITION OF whole FOR VALUES FROM (0) TO (1000)",
        "CREATE TABLE high PARTITION OF whole FOR VALUES FROM (1000) TO (2000)",
        "INSERT INTO whole SELECT generate_series(0, 1999)",
        "CREATE MATERIALIZED VIEW copied AS SELECT * FROM whole LIMIT 1",
    )
    engine = open_at(postgres_url)
    parts = [engine.scan_bytes(Table((name,))) or 0 for name in ("low", "high")]
    assert engine.scan_bytes(Table(("whole",))) == sum(parts) > 2 * 8192
    assert 0 < (engine.scan_bytes(Table(("copied",))) or 0) < sum(parts)
    assert engine.scan_bytes(File("x.csv", "csv")) is None
    engine.close()


def test_sizes_of_files(tmp_path: Path) -> None:
    for name in ("a.csv", "b.csv"):
        (tmp_path / name).write_text("zip\n1\n1\n", encoding="utf-8")
    engine = open_at("duckdb:///:memory:")
    assert engine.scan_bytes(File(str(tmp_path / "a.csv"), "csv")) == 8
    assert engine.scan_bytes(File(str(tmp_path / "*.csv"), "csv")) == 16
    assert engine.scan_bytes(File("https://example.org/a.csv", "csv")) is None
    assert engine.scan_bytes(Query(parsed(engine, f"SELECT * FROM read_csv('{tmp_path}/a.csv')"))) is None
    assert engine.scan_bytes(Query(parsed(engine, f"SELECT * FROM '{tmp_path}/a.csv'"))) is None
    engine.close()


def test_what_nobody_can_tell_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("zip\n1\n1\n", encoding="utf-8")
    values = {
        "source": {"query": f"SELECT * FROM read_csv('{tmp_path}/a.csv')"},
        "target": str(tmp_path / "out.csv"),
        "columns": {"zip": {"role": "quasi_identifier"}},
        "privacy": {"k": 2},
    }
    with pytest.raises(UsageError, match=r"limits\.max_scan_bytes: duckdb cannot tell .* to read the source query"):
        pipeline.run(spec_from_dict({**values, "limits": {"max_scan_bytes": "1 TB"}}))
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.one_engine
def test_a_session_works_in_the_memory_that_it_is_given(duckdb_url: str) -> None:
    """Also says what to do where it does not suffice."""
    Database(duckdb_url).create("patients", {"zip": "text"}, [("94138",)] * 4)
    bounded = Session(memory_bytes=3 * 10**7)
    engine = DuckDBEngine(bounded, duckdb_url.removeprefix("duckdb:///"))
    [(allowed,)] = engine.query(Statement("settings", parsed(engine, "SELECT current_setting('memory_limit')")))
    assert allowed == "28.6 MiB"
    with pytest.raises(EngineError, match=r"^step 'large': out of memory; limits\.memory of the spec may allow more$"):
        engine.query(Statement("large", parsed(engine, "SELECT len(list(i)) FROM range(20000000) AS t(i)")))
    engine.close()


def test_memory_is_bounded_or_the_key_is_refused(database: Database) -> None:
    spec = spec_on(database, limits={"memory": "1 GB"})
    if database.url.startswith("duckdb"):
        assert pipeline.run(spec).audit.satisfied
        return
    with pytest.raises(UsageError, match=r"^limits\.memory: postgresql? bounds memory by settings of its own"):
        pipeline.run(spec)


# -- connecting again --------------------------------------------------------------------------------------------------


def flaky(failures: int, calls: list[int]) -> Callable[[sqlalchemy.Engine], sqlalchemy.Connection]:
    connect = sqlalchemy.Engine.connect

    def attempt(engine: sqlalchemy.Engine) -> sqlalchemy.Connection:
        calls.append(1)
        if len(calls) <= failures:
            raise OperationalError("", {}, psycopg.OperationalError("connection refused"))
        return connect(engine)

    return attempt


@pytest.mark.postgres
def test_a_server_that_is_not_there_yet_is_tried_again(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postgres_connect, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(postgres_connect, "_answers", lambda engine, url: False)
    calls: list[int] = []
    monkeypatch.setattr(sqlalchemy.Engine, "connect", flaky(2, calls))
    open_at(postgres_url).close()
    assert len(calls) == 3
    calls.clear()
    monkeypatch.setattr(sqlalchemy.Engine, "connect", flaky(3, calls))
    with pytest.raises(ConnectionFailed, match="connection refused"):
        open_at(postgres_url)
    assert len(calls) == 3


@pytest.mark.postgres
def test_a_server_that_refuses_is_asked_once(postgres_server: str, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(sqlalchemy.Engine, "connect", flaky(0, calls))
    url = make_url(postgres_server).set(username="nobody_here").render_as_string(hide_password=False)
    with pytest.raises(ConnectionFailed, match="nobody_here"):
        open_at(url)
    assert len(calls) == 1


@pytest.mark.postgres
def test_a_session_that_is_lost_at_once_is_opened_again(postgres_url: str) -> None:
    run = "abcdef012345"
    ended: list[str] = []
    kill = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'sqlanon run={run}'"

    def hook(event: TraceEvent) -> None:
        if event.step == "session" and event.seconds is None and not ended:
            ended.append(event.step)
            Database(postgres_url).run(kill)

    engine = open_at(postgres_url, Session(run, hooks=[hook]))
    assert ended
    assert engine.version()
    engine.close()


# -- privileges --------------------------------------------------------------------------------------------------------


@pytest.fixture
def role(postgres_url: str) -> Iterator[str]:
    database = Database(postgres_url)
    [(schema,)] = database.run("SELECT current_schema()")
    name = f'role "{schema}"'
    quoted = '"' + name.replace('"', '""') + '"'
    database.run(f"CREATE ROLE {quoted} LOGIN", f"CREATE SCHEMA target_{schema}", f"CREATE SCHEMA scratch_{schema}")
    yield name
    database.run(
        f"DROP SCHEMA target_{schema}, scratch_{schema} CASCADE", f"DROP OWNED BY {quoted}", f"DROP ROLE {quoted}"
    )


@pytest.fixture
def limited(postgres_url: str, role: str) -> tuple[Spec, Spec]:
    """A spec as its role runs it, and as somebody runs it who may do everything."""
    database = filled(postgres_url)
    [(schema,)] = database.run("SELECT current_schema()")
    database.run("CREATE TABLE places (zip text, area text)", "CREATE VIEW seen AS SELECT * FROM patients")
    for zip_ in ZIPS:
        database.run(f"INSERT INTO places VALUES ('{zip_}', '{zip_[:3]}')")
    columns = {**SPEC["columns"], "zip": {"role": "quasi_identifier"}}
    columns["zip"]["hierarchy"] = {"table": {"name": f"{schema}.places", "levels": ["zip", "area"]}}
    values = {
        **SPEC,
        "source": {"query": f"SELECT * FROM {schema}.seen"},
        "target": f"target_{schema}.released",
        "scratch": f"scratch_{schema}",
        "columns": columns,
        "evidence": {"tables": True},
    }
    url = make_url(postgres_url).set(username=role).render_as_string(hide_password=False)
    return spec_from_dict({**values, "connection": url}), spec_from_dict({**values, "connection": postgres_url})


@pytest.mark.postgres
def test_the_privileges_printed_are_enough_and_none_is_too_many(
    postgres_url: str, role: str, limited: tuple[Spec, Spec]
) -> None:
    own, everything = limited
    database = Database(postgres_url)
    pipeline.run(everything)
    statements = operations.grants(everything, role)
    kinds = [" ".join(statement.split()[:2]) for statement in statements]
    assert kinds == [
        *["GRANT USAGE"] * 3,
        *["GRANT SELECT"] * 2,
        *["GRANT CREATE"] * 2,
        "ALTER TABLE",
        *["GRANT SELECT,"] * 4,
    ]
    for left_out in range(len(statements)):
        quoted = '"' + role.replace('"', '""') + '"'
        database.run(f"REASSIGN OWNED BY {quoted} TO CURRENT_USER", f"DROP OWNED BY {quoted}")
        database.run(*(statement for place, statement in enumerate(statements) if place != left_out))
        with pytest.raises(SqlanonError) as error:
            pipeline.run(own)
        assert isinstance(error.value, PermissionDenied | EngineError), statements[left_out]
        assert "permission denied" in str(error.value) or "must be owner" in str(error.value), statements[left_out]
    database.run(*statements)
    assert pipeline.run(own).audit.satisfied
    assert operations.cleanup(own, keep=0).evidence
    assert [line for line in operations.grants(everything, role) if line.startswith("ALTER")] == []


@pytest.mark.postgres
def test_grants_for_what_does_not_exist_yet(postgres_url: str) -> None:
    lines = operations.grants(operations.general(postgres_url), "no such role")
    assert lines[0].startswith('-- There is no role "no such role" yet')
    assert lines[1:] == [
        'CREATE SCHEMA "target_schema";',
        'GRANT USAGE ON SCHEMA "source_schema" TO "no such role";',
        'GRANT USAGE ON SCHEMA "target_schema" TO "no such role";',
        'GRANT SELECT ON TABLE "source_schema"."source_table" TO "no such role";',
        'GRANT CREATE ON SCHEMA "target_schema" TO "no such role";',
    ]
    with pytest.raises(UsageError, match=r"^--connection: a URL is expected"):
        operations.general("nonsense")


def test_engines_without_statements_of_their_own_tell_it_in_words() -> None:
    needs = Needs((Table(("raw", "patients")), File("a.csv", "csv")), Table(("out", "t")), False, ("scratch",))
    lines = list(told(needs, "somebody"))
    assert all(line.startswith("-- ") for line in lines)
    for words in ("read raw.patients and", "read a.csv", "tables in scratch", "tables in out, for out.t", "own out.t"):
        assert any(words in line for line in lines), words
    assert list(told(replace(needs, target=File("b.csv", "csv"), scratch=()), "somebody"))[-3:] == [
        "--   to create, write and drop tables in the session's default schema, for scratch tables",
        "--   to be the only one who may read tables in the session's default schema: scratch tables hold raw values",
        "--   to write b.csv",
    ]


def test_duckdb_has_files_instead_of_privileges(tmp_path: Path, duckdb_url: str) -> None:
    values = {
        "connection": duckdb_url,
        "source": "a.csv",
        "target": "b.csv",
        "columns": {"zip": {"role": "quasi_identifier"}},
        "privacy": {"k": 2, "k_map": 2, "population": {"source": "people.csv"}},
    }
    lines = operations.grants(spec_from_dict(values, tmp_path), "somebody")
    assert all(line.startswith("-- ") for line in lines)
    assert {f"--   to read {tmp_path / name}" for name in ("a.csv", "people.csv")} <= set(lines)
    assert f"--   to write {tmp_path / 'b.csv'}, and its folder" in lines


# -- a plan that is used again -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", ["released", "file"])
def test_a_plan_that_still_holds_is_used_again(duckdb_url: str, tmp_path: Path, target: str) -> None:
    place = str(tmp_path / "out.csv") if target == "file" else target
    grows_and_breaks(filled(duckdb_url), target=place)


@pytest.mark.postgres
def test_a_plan_is_used_again_on_postgres(postgres_url: str) -> None:
    grows_and_breaks(filled(postgres_url))


def grows_and_breaks(database: Database, **changes: Any) -> None:
    spec = spec_on(database, **changes)
    lock = lock_on(spec)
    assert lock.levels == {"zip": 0}
    database.run("INSERT INTO patients VALUES ('94142', 'new'), ('94142', 'new')")
    steps: list[str] = []
    again = pipeline.run(spec, Options(hooks=(lambda event: steps.append(event.step),)), lock, reuse=True)
    assert (again.reused, again.reason, again.plan, again.levels) == (True, None, None, {"zip": 0})
    assert "pack frequency set" not in steps
    assert again.audit.rows == len(ROWS) + 2
    assert again.to_dict()["reused"] is True
    database.run("INSERT INTO patients VALUES ('94143', 'new'), ('94151', 'new'), ('94152', 'new')")
    anew = pipeline.run(spec, known=lock, reuse=True)
    assert anew.reused is False
    assert anew.reason == "this generalization would suppress 3 of 17 rows, the limit is 1"
    assert anew.plan is not None
    assert anew.audit.satisfied
    assert anew.levels == pipeline.plan(spec).levels != lock.levels
    assert database.leftovers() == []


def test_why_a_plan_is_not_used_again(duckdb_url: str) -> None:
    database = filled(duckdb_url)
    spec = spec_on(database)
    lock = lock_on(spec)
    assert pipeline.run(spec, reuse=True).reason == "there is no lock file of an earlier plan"
    other = pipeline.run(spec_on(database, privacy={"k": 3}), known=lock, reuse=True)
    assert (other.reused, other.reason) == (
        False,
        "the spec has changed since this lock file was written (privacy.k, privacy.suppression)",
    )
    plain = pipeline.run(spec, known=lock)
    assert (plain.reused, plain.reason) == (None, None)
    assert "reused" not in plain.to_dict()
    looser = spec_on(database, limits={"statement_seconds": 99}, evidence={"files": False})
    assert pipeline.run(looser, known=lock, reuse=True).reused, "limits and evidence decide nothing of the release"


def test_a_hierarchy_that_changed_means_a_search(duckdb_url: str, tmp_path: Path) -> None:
    database = filled(duckdb_url)
    listing = tmp_path / "zip.csv"
    listing.write_text("".join(f"{code},{code[:4]},*\n" for code in ZIPS), encoding="utf-8")
    columns = {**SPEC["columns"], "zip": {"role": "quasi_identifier", "hierarchy": {"csv": {"path": str(listing)}}}}
    spec = spec_on(database, columns=columns)
    lock = lock_on(spec)
    assert pipeline.run(spec, known=lock, reuse=True).reused
    listing.write_text("".join(f"{code},{code[:3]},*\n" for code in ZIPS), encoding="utf-8")
    result = pipeline.run(spec, known=lock, reuse=True)
    assert result.reason == "the hierarchy of column 'zip' has changed since this lock file was written"


# -- the state of a release --------------------------------------------------------------------------------------------


def test_the_state_of_a_release(database: Database) -> None:
    spec = spec_on(database)
    lock = lock_on(spec)
    unpublished = status(spec, lock)
    assert (unpublished.audit, unpublished.satisfied, unpublished.drifted) == (None, False, False)
    pipeline.apply(spec, lock)
    fresh = status(spec, lock)
    assert (fresh.satisfied, fresh.drifted) == (True, False)
    assert fresh.drift is not None
    assert fresh.drift.acceptable
    assert list(fresh.drift.lines()) == []
    database.run("INSERT INTO released VALUES ('94199', 'flu')")
    broken = status(spec, None)
    assert (broken.satisfied, broken.drifted, broken.to_dict()["drift"]) == (False, None, None)
    assert database.leftovers() == []


def test_drift_of_the_source(database: Database) -> None:
    spec = spec_on(database)
    lock = lock_on(spec)
    database.run("UPDATE patients SET disease = 'other' WHERE zip = '94138'")
    assert drift(spec, lock).to_dict()["changed"] is False, "no verdict depends on it"
    database.run("UPDATE patients SET zip = '94139' WHERE zip = '94138'")
    moved = drift(spec, lock)
    assert (moved.changed, moved.acceptable) == (True, True)
    assert list(moved.lines()) == []
    assert moved.changes is not None
    assert str(moved.changes[-1]).startswith("because the data changed (")
    database.run("INSERT INTO patients VALUES ('94151', 'new'), ('94152', 'new')")
    grown = drift(spec, lock)
    assert (grown.acceptable, grown.suppressed, grown.limit) == (False, 2, 1)
    assert list(grown.lines()) == [
        "the planned generalization would suppress 2 rows now, the limit is 1",
    ]
    other = drift(spec_on(database, privacy={"k": 3}), lock)
    assert (other.acceptable, other.reason) == (
        False,
        "the spec has changed since this lock file was written (privacy.k, privacy.suppression)",
    )
    database.run("INSERT INTO patients VALUES ('9415100', 'new')")
    outside = drift(spec, lock)
    assert (outside.changed, outside.acceptable, outside.rows) == (True, False, None)
    assert outside.reason is not None
    assert outside.reason.startswith("column 'zip': 1 value is outside its hierarchy")
    assert "9415100" not in outside.reason
    assert database.leftovers() == []
