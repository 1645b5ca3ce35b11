"""Nobody but its owner reads what a run makes for itself: during the run, at every statement, and after `kill -9`."""

from __future__ import annotations

import os
import signal
import stat
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url
from sqlglot import parse_one

from sqlanon import pipeline
from sqlanon.engines import open_engine, temporaries
from sqlanon.engines.base import Session, Statement, TraceEvent
from sqlanon.errors import UsageError
from sqlanon.release.evidence import recorder_for
from sqlanon.source.run import Options
from sqlanon.spec import Spec
from tests.kit.database import Database, changed
from tests.kit.processes import fork

pytestmark = pytest.mark.reopened
"""Other processes open the same file."""

ROWS = [
    (f"Person {number}", zip_, 20 + number % 3, disease)
    for number, (zip_, disease) in enumerate(
        [(zip_, disease) for zip_ in ("94138", "94139", "94141") for disease in ("flu", "cold")] * 3
    )
]
TYPES = {"name": "text", "zip": "text", "age": "integer", "disease": "text"}
SPEC: dict[str, Any] = {
    "source": "patients",
    "target": "released",
    "respondent": "name",
    "columns": {
        "name": {"role": "identifier"},
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2]}}},
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10]}}},
        "disease": {"role": "sensitive"},
    },
    "privacy": {"k": 2, "l_diversity": [{"column": "disease", "l": 2}], "suppression": {"limit": "20%"}},
}
ALGORITHMS = ("samarati", "optimal", "mondrian")


class Reader:
    """A role that default privileges let read whatever is made in the schema of releases."""

    def __init__(self, server: str, schema: str) -> None:
        self.name = f"reader_{uuid.uuid4().hex[:12]}"
        self.schema = schema
        self._url = make_url(server).set(username=self.name, password="reads")
        self.seen: set[str] = set()
        self.read: set[str] = set()

    @contextmanager
    def session(self) -> Iterator[Reader]:
        url = self._url.render_as_string(hide_password=False).replace("postgresql+psycopg", "postgresql")
        with psycopg.connect(url, autocommit=True) as self._connection:
            yield self

    def look(self, event: TraceEvent | None = None) -> None:
        """Try to read everything that stands in the schema."""
        listed = self._connection.execute(
            "SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
            " WHERE n.nspname = %s AND c.relkind IN ('r', 'v', 'm', 'p')",
            [self.schema],
        ).fetchall()
        for (name,) in listed:
            self.seen.add(name)
            try:
                self._connection.execute("SET lock_timeout = '50ms'")
                self._connection.execute(
                    sql.SQL("SELECT * FROM {}.{} LIMIT 1").format(sql.Identifier(self.schema), sql.Identifier(name))
                )
                self.read.add(name)
            except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedTable):
                pass
            except psycopg.errors.LockNotAvailable:
                # It may read the table, and only has to wait for it.
                self.read.add(name)


@pytest.fixture
def reader(postgres_server: str, postgres_url: str) -> Iterator[Reader]:
    schema = Database(postgres_url).run("SELECT current_schema()")[0][0]
    found = Reader(postgres_server, schema)
    role, place = sql.Identifier(found.name), sql.Identifier(schema)
    with psycopg.connect(postgres_server, autocommit=True) as owner:
        owner.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'reads'").format(role))
        owner.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(place, role))
        owner.execute(sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT SELECT ON TABLES TO {}").format(place, role))
        owner.execute(sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT ALL ON TABLES TO PUBLIC").format(place))
        yield found
        owner.execute(sql.SQL("DROP OWNED BY {}").format(role))
        owner.execute(sql.SQL("DROP ROLE {}").format(role))


def spec_on(url: str, **changes: Any) -> Spec:
    return changed({**SPEC, "connection": url}, **changes)


def patients(url: str) -> Database:
    """A source that only its owner reads."""
    database = Database(url)
    database.create("patients", TYPES, ROWS)
    if not database.is_duckdb:
        database.run(
            "DO 'begin execute (select string_agg(format(''REVOKE ALL ON patients FROM %s'', case when grantee = 0"
            " then ''PUBLIC'' else quote_ident(pg_get_userbyid(grantee)) end), ''; '') from pg_class,"
            " aclexplode(relacl) as a where relname = ''patients'' and relnamespace ="
            " cast(current_schema() as regnamespace) and a.grantee <> relowner); end'"
        )
    return database


@pytest.mark.postgres
@pytest.mark.no_cover
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_default_privileges_open_no_scratch_table(postgres_url: str, reader: Reader, algorithm: str) -> None:
    patients(postgres_url)
    spec = spec_on(postgres_url, search={"algorithm": algorithm}, evidence={"tables": True})
    with reader.session():
        pipeline.run(spec, Options(hooks=(reader.look,)))
        reader.look()
    scratch = {name for name in reader.seen if name.startswith("sqlanon_")}
    assert len(scratch) > 4, "the reader has not looked while the run worked"
    assert {name for name in scratch if name.startswith("sqlanon_run")} == {
        "sqlanon_run",
        "sqlanon_run_level",
        "sqlanon_run_check",
        "sqlanon_run_statement",
    }
    assert reader.read == {"released"}, "what is made for release is released, and nothing else"


@pytest.mark.postgres
@pytest.mark.no_cover
def test_what_a_killed_run_leaves_is_private(postgres_url: str, reader: Reader) -> None:
    database = patients(postgres_url)
    spec = spec_on(postgres_url)

    def until_published() -> int:
        def hook(event: TraceEvent) -> None:
            if event.step == "begin":
                os.kill(os.getpid(), signal.SIGKILL)

        pipeline.run(spec, Options(hooks=(hook,)))
        return 0

    _, status = os.waitpid(fork(until_published), 0)
    assert os.WIFSIGNALED(status)
    deadline = time.monotonic() + 10
    while database.run("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sqlanon run=%'") != [(0,)]:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert database.leftovers(), "a killed run has left nothing to look at"
    with reader.session():
        reader.look()
    assert reader.seen > {"patients"}
    assert reader.read == set()


@pytest.mark.postgres
def test_grants_on_evidence_tables_stay(postgres_url: str, reader: Reader) -> None:
    database = patients(postgres_url)
    spec = spec_on(postgres_url, evidence={"tables": True})
    pipeline.run(spec)
    database.run(f"GRANT SELECT ON sqlanon_run TO {reader.name}", "DROP TABLE sqlanon_run_check")
    pipeline.run(spec)
    with reader.session():
        reader.look()
    assert reader.read == {"released", "sqlanon_run"}


@pytest.mark.postgres
@pytest.mark.no_cover
def test_an_odd_schema_is_closed_too(postgres_server: str, postgres_url: str, reader: Reader) -> None:
    odd = "odd 'name' \"$sqlanon$\" \\ %s :x"
    patients(postgres_url)
    place = sql.Identifier(odd)
    with psycopg.connect(postgres_server, autocommit=True) as owner:
        owner.execute(sql.SQL("CREATE SCHEMA {}").format(place))
        owner.execute(sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT SELECT ON TABLES TO PUBLIC").format(place))
        owner.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO PUBLIC").format(place))
        try:
            reader.schema = odd
            quoted = '"' + odd.replace('"', '""') + '"'
            with reader.session():
                pipeline.run(spec_on(postgres_url, scratch=quoted), Options(hooks=(reader.look,)))
        finally:
            owner.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(place))
    assert reader.seen
    assert reader.read == set()


# -- files -------------------------------------------------------------------------------------------------------------


def rights(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_new_database_file_is_private_while_the_run_works(tmp_path: Path) -> None:
    (tmp_path / "patients.csv").write_text(
        "name,zip,age,disease\n" + "".join(f"{','.join(map(str, row))}\n" for row in ROWS), encoding="utf-8"
    )
    seen: set[int] = set()
    file = tmp_path / "new.duckdb"
    spec = changed({**SPEC, "source": "patients.csv", "connection": f"duckdb:///{file}"}, tmp_path)
    pipeline.run(spec, Options(hooks=(lambda event: seen.add(rights(file)) if event.step != "session" else None,)))
    assert seen == {0o600}
    assert rights(file) == 0o666 & ~umask()


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_what_duckdb_moves_out_of_memory_is_private(duckdb_url: str, tmp_path: Path) -> None:
    asked = Statement("look", parse_one("SELECT current_setting('temp_directory')"))
    engine = open_engine(duckdb_url, Session(), tmp_path)
    [(folder,)] = engine.query(asked)
    assert rights(Path(folder)) == 0o700
    assert Path(folder).parent == tmp_path
    again = open_engine(duckdb_url, Session(), tmp_path)
    assert again.query(asked) == [(folder,)]
    again.close()
    assert Path(folder).is_dir()
    engine.close()
    assert not Path(folder).exists()


def test_evidence_files_are_their_owners(duckdb_url: str, tmp_path: Path) -> None:
    patients(duckdb_url)
    spec = changed({**SPEC, "connection": duckdb_url, "evidence": {"folder": "kept"}}, tmp_path)
    assert recorder_for(spec, "run", "x") is not None
    pipeline.run(spec)
    [file] = (tmp_path / "kept").iterdir()
    assert rights(file) == 0o600


@pytest.mark.parametrize("format_", ["csv", "parquet"])
def test_a_file_is_private_until_it_is_whole(duckdb_url: str, tmp_path: Path, format_: str) -> None:
    patients(duckdb_url)
    seen: list[tuple[str, int]] = []

    def look(event: TraceEvent) -> None:
        if event.step == "write file":
            seen.extend((found.name, rights(found)) for found in tmp_path.glob(".released*"))

    pipeline.run(spec_on(duckdb_url, target=str(tmp_path / f"released.{format_}")), Options(hooks=(look,)))
    assert seen
    assert {mode for _, mode in seen} == {0o700}
    assert len(duckdb.connect().execute(f"FROM '{tmp_path / f'released.{format_}'}'").fetchall()) > 0
    assert not list(tmp_path.glob(".released*"))


def test_a_temporary_follows_no_link(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "0123456789ab")
    victim = tmp_path / "victim"
    victim.write_text("untouched", encoding="utf-8")
    (tmp_path / ".out.json.0123456789ab.tmp").symlink_to(victim)
    with pytest.raises(FileExistsError):
        temporaries.write_whole(tmp_path / "out.json", "new")
    assert victim.read_text(encoding="utf-8") == "untouched"
    assert not (tmp_path / "out.json").exists()


def test_a_link_named_like_a_leftover_loses_only_itself(tmp_path: Path) -> None:
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "precious").write_text("untouched", encoding="utf-8")
    link = tmp_path / ".out.csv.0123456789ab.999999999.partial"
    link.symlink_to(kept, target_is_directory=True)
    unrelated = tmp_path / ".out.csv.mine.999999999.partial"
    unrelated.write_text("not of ours", encoding="utf-8")
    with temporaries.private_folder(tmp_path / "out.csv") as folder:
        assert rights(folder) == 0o700
    assert (kept / "precious").read_text(encoding="utf-8") == "untouched"
    assert not link.is_symlink()
    assert unrelated.exists()


def test_the_name_of_a_temporary_is_never_too_long(tmp_path: Path) -> None:
    path = tmp_path / ("é" * 125 + ".csv")
    temporaries.write_whole(path, "whole")
    with temporaries.private_folder(path) as folder:
        assert folder.is_dir()
    assert path.read_text(encoding="utf-8") == "whole"


def test_rights_of_a_replaced_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "out.json"
    path.write_text("old", encoding="utf-8")
    path.chmod(0o640)
    temporaries.write_whole(path, "new")
    assert (path.read_text(encoding="utf-8"), rights(path)) == ("new", 0o640)
    temporaries.write_whole(path, "newer", private=True)
    assert rights(path) == 0o600


def test_a_failing_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sqlanon.cli.files import write_text

    path = tmp_path / "out.json"
    path.write_text("old", encoding="utf-8")

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(UsageError, match="No space left on device"):
        write_text(path, "new")
    assert [found.name for found in tmp_path.iterdir()] == ["out.json"]
    assert path.read_text(encoding="utf-8") == "old"
