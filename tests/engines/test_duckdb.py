from __future__ import annotations

import subprocess
import sys
import warnings
from pathlib import Path
from typing import ClassVar

import duckdb
import pytest
from sqlglot import exp

from sqlanon.engines import open_engine
from sqlanon.engines.base import Capability, Engine, Session, Statement, TraceEvent
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.errors import ConnectionFailed, EngineError, SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import File, Table, column
from tests.engines.contract import VALUES, EngineContract
from tests.kit.engine import execute, open_at, query

pytestmark = pytest.mark.reopened


class TestDuckDB(EngineContract):
    LONG_STATEMENT: ClassVar[str] = "SELECT COUNT(*) FROM range(100000000000) AS a, range(1000) AS b"

    @pytest.fixture
    def url(self, duckdb_url: str) -> str:
        return duckdb_url

    def assert_nothing_runs(self, url: str) -> None:
        """An embedded engine runs in the process that was interrupted; that its session lives on shows in the lock."""
        with pytest.raises(ConnectionFailed, match="another process"):
            open_at(url)

    def comments(self, engine: Engine, table: str) -> dict[str | None, str]:
        own = query(engine, f"SELECT NULL, comment FROM duckdb_tables() WHERE table_name = '{table}'")
        columns = query(engine, f"SELECT column_name, comment FROM duckdb_columns() WHERE table_name = '{table}'")
        return {name: comment for name, comment in own + columns if comment is not None}

    def indexes(self, engine: Engine, table: str) -> list[str]:
        rows = query(engine, f"SELECT index_name FROM duckdb_indexes() WHERE table_name = '{table}' ORDER BY 1")
        return [name for (name,) in rows]

    def test_capabilities(self, engine: Engine) -> None:
        assert Capability.FILE_SOURCES in engine.capabilities
        assert Capability.SERVER not in engine.capabilities

    def test_names_fold_case(self, engine: Engine) -> None:
        execute(engine, "CREATE SCHEMA s", "CREATE TABLE s.t (a INTEGER)")
        assert engine.same_object(Table(("S", "T")), Table(("test", "s", "t")))
        assert engine.relation_kind(Table(("test", "S", "T"))) == "table"

    def test_a_collation_merges_no_values(self, engine: Engine) -> None:
        execute(engine, "CREATE TABLE t (v VARCHAR COLLATE NOCASE)", "INSERT INTO t VALUES ('a'), ('A')")
        key = engine.traits.key(column("v"), Family.TEXT)
        rows = engine.query(Statement("group", exp.select(key, "COUNT(*)").from_("t").group_by(key.copy())))
        assert dict(rows) == {"a": 1, "A": 1}

    def test_python_variables_are_no_tables(self, engine: Engine) -> None:
        frame = duckdb.sql("SELECT 1 AS a")
        with pytest.raises(EngineError, match="frame"):
            query(engine, "SELECT * FROM frame")
        del frame


class TestFiles:
    @pytest.fixture
    def engine(self) -> Engine:
        return open_at("duckdb://")

    def test_types_are_decided_by_the_whole_file(self, engine: Engine, tmp_path: Path) -> None:
        path = tmp_path / "late.csv"
        path.write_text("zip,n\n" + "02139,1\n" * 50_000 + "x,2\n")
        found = engine.columns(File(str(path), "csv"))
        assert [(info.name, info.family) for info in found] == [("zip", Family.TEXT), ("n", Family.INTEGER)]

    def test_a_file_of_text_has_a_header(self, engine: Engine, tmp_path: Path) -> None:
        path = tmp_path / "it's text.csv"
        path.write_text("city;country\nBern;Switzerland\n")
        assert [info.name for info in engine.columns(File(str(path), "csv"))] == ["city", "country"]

    @pytest.mark.parametrize("format_", ["csv", "parquet"])
    def test_missing_files_are_source_errors(self, engine: Engine, tmp_path: Path, format_: str) -> None:
        with pytest.raises(SourceError, match="missing file"):
            engine.columns(File(str(tmp_path / "missing file"), "csv" if format_ == "csv" else "parquet"))

    @pytest.mark.parametrize("format_", ["csv", "parquet"])
    def test_written_files_read_back(self, engine: Engine, tmp_path: Path, format_: str) -> None:
        file = File(str(tmp_path / f"it's a file.{format_}"), "csv" if format_ == "csv" else "parquet")
        Path(file.path).write_text("old")
        execute(engine, "CREATE TABLE t (v VARCHAR)")
        engine.load("fill", Table(("t",)), ["v"], [[value] for value in VALUES])
        engine.write_file("write", Table(("t",)), file)
        read = exp.select(column("v", "f")).from_(engine.traits.relation(file, "f"))
        values = {value for (value,) in engine.query(Statement("read", read))}
        # In csv a quoted empty field reads back as NULL.
        assert values == (set(VALUES) - {""} if format_ == "csv" else set(VALUES))
        assert [entry.name for entry in tmp_path.iterdir()] == [Path(file.path).name]

    def test_a_failed_write_leaves_the_old_file(self, engine: Engine, tmp_path: Path) -> None:
        path = tmp_path / "out.csv"
        path.write_text("old")
        with pytest.raises(EngineError, match="missing"):
            engine.write_file("write", Table(("missing",)), File(str(path), "csv"))
        execute(engine, "CREATE VIEW v AS SELECT CAST('x' || i AS INTEGER) AS a FROM range(10) AS r(i)")
        with pytest.raises(EngineError, match="conversion error"):
            engine.write_file("write", Table(("v",)), File(str(path), "csv"))
        assert path.read_text() == "old"
        assert list(tmp_path.iterdir()) == [path]

    def test_a_directory_in_the_way(self, engine: Engine, tmp_path: Path) -> None:
        (tmp_path / "out.csv").mkdir()
        execute(engine, "CREATE TABLE t (v VARCHAR)")
        with pytest.raises(EngineError, match="cannot write file"):
            engine.write_file("write", Table(("t",)), File(str(tmp_path / "out.csv"), "csv"))
        assert [entry.name for entry in tmp_path.iterdir()] == ["out.csv"]


class TestOpening:
    def test_relative_paths_start_at_the_base(self, tmp_path: Path) -> None:
        engine = open_engine("duckdb:///sub.duckdb", Session(), tmp_path)
        execute(engine, "CREATE TABLE t (a INTEGER)")
        engine.close()
        assert (tmp_path / "sub.duckdb").exists()

    def test_a_misspelt_file_is_told_and_not_left_behind(self, tmp_path: Path) -> None:
        engine = open_engine("duckdb:///typo.duckdb", Session(), tmp_path)
        execute(engine, "CREATE TEMP TABLE scratch (a INTEGER)")
        with pytest.raises(SourceError, match=r"no table or view t: the database file '.*typo\.duckdb' did not exist"):
            engine.columns(Table(("t",)))
        engine.close()
        assert list(tmp_path.iterdir()) == []

    @pytest.mark.parametrize("url", ["duckdb://", "duckdb:///", "duckdb:///:memory:"])
    def test_memory(self, url: str, tmp_path: Path) -> None:
        engine = open_engine(url, Session(), tmp_path)
        assert query(engine, "SELECT 1") == [(1,)]
        engine.close()
        assert list(tmp_path.iterdir()) == []

    def test_no_such_directory(self, tmp_path: Path) -> None:
        with pytest.raises(ConnectionFailed, match=r"cannot open database .*No such file or directory"):
            open_engine("duckdb:///missing/x.duckdb", Session(), tmp_path)

    @pytest.mark.process
    def test_a_locked_file(self, duckdb_url: str) -> None:
        engine = open_at(duckdb_url)
        program = (
            "import sys; from tests.kit.engine import open_at; from sqlanon.errors import ConnectionFailed\n"
            "try: open_at(sys.argv[1])\nexcept ConnectionFailed as error: print(error)"
        )
        command = [sys.executable, "-c", program, duckdb_url]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
        engine.close()
        assert "another process has it open" in done.stdout

    @pytest.mark.process
    def test_a_forgotten_engine_leaves_no_noise(self) -> None:
        program = "from tests.kit.engine import open_at; engine = open_at('duckdb://')"
        command = [sys.executable, "-c", program]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=Path(__file__).parents[2])
        assert done.stderr == ""

    def test_opening_warns_of_nothing(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            open_at("duckdb://").close()


def test_a_file_is_described_once_until_it_changes(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("zip,age\n94138,7\n", encoding="utf-8")
    steps: list[str] = []

    def hear(event: TraceEvent) -> None:
        if event.seconds is None:
            steps.append(event.step)

    engine = DuckDBEngine(Session(hooks=[hear]))
    file, several = File(str(path), "csv"), File(str(tmp_path / "*.csv"), "csv")
    first = engine.columns(file)
    assert engine.columns(file) == first
    assert [info.name for info in first] == ["zip", "age"]
    assert steps.count("describe") == 1
    assert engine.columns(File(str(path), "csv", "text")) != first
    path.write_text("zip,age\n94138,y\n", encoding="utf-8")
    assert [info.family for info in engine.columns(file)] != [info.family for info in first]
    path.unlink()
    with pytest.raises(SourceError):
        engine.columns(file)
    path.write_text("zip\n94138\n", encoding="utf-8")
    assert [info.name for info in engine.columns(several)] == ["zip"]
    path.write_text("city\nRome\n", encoding="utf-8")
    assert [info.name for info in engine.columns(several)] == ["city"]
    engine.close()
