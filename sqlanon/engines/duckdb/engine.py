"""DuckDB through its own API: the embedded engine, which also reads and writes files, and reads dataframes in memory.

Only this package imports the driver. One process owns a database file at a time. DuckDB's exceptions become sqlanon's:
one safe line each, the engine's own text as detail. A dataframe of pandas, polars or Arrow is a table that DuckDB reads
where it lies; none of the three packages is imported.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext, suppress
from functools import partial
from glob import has_magic
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final, TypeVar

import duckdb
from sqlglot import exp

from sqlanon.engines import MEMORY, duckdb_path, scratch, temporaries
from sqlanon.engines.base import COMMENT, Capability, ColumnInfo, Engine, Inspection, Needs, Row, Session, Statement
from sqlanon.engines.dialects import DUCKDB, data_type, family
from sqlanon.engines.duckdb import catalog as duckdb_catalog
from sqlanon.engines.session import Runner, TimeLimitReached, alone_in_process, ran_too_long, transaction
from sqlanon.engines.temporaries import owner_only, refuse_doubled_headers, spill_folder
from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied, SourceError, UsageError
from sqlanon.sql.relations import File, Query, Relation, Table, cast, identifier, literal, table_expression

_TOLD: tuple[type[Exception], ...] = (
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.DependencyException,
    duckdb.IOException,
    duckdb.ParserException,
    duckdb.PermissionException,
    duckdb.TransactionException,
)


def first_line(error: Exception) -> str:
    """What DuckDB says, without the class in front, the suggestions and the excerpt of the statement."""
    line = without_secrets(str(error)).strip().partition("\n")[0]
    return line.partition(" Error: ")[2] or line


def translate(error: duckdb.Error, step: str) -> EngineError:
    """The error to raise for a statement that DuckDB refused.

    Errors about names and files are told in DuckDB's words; errors about values only by their class, for they quote
    data.
    """
    detail = without_secrets(str(error))
    if isinstance(error, duckdb.InterruptException):
        return EngineError(f"step '{step}' was cancelled", detail=detail)
    if isinstance(error, duckdb.OutOfMemoryException):
        return EngineError(f"step '{step}': out of memory; limits.memory of the spec may allow more", detail=detail)
    if isinstance(error, duckdb.PermissionException):
        return PermissionDenied(f"step '{step}': {first_line(error)}", detail=detail)
    if isinstance(error, _TOLD):
        return EngineError(f"step '{step}': {first_line(error)}", detail=detail)
    return EngineError(f"step '{step}': DuckDB reports {_words(error)}", detail=detail)


def cannot_open(error: duckdb.Error, path: str) -> ConnectionFailed:
    """The error to raise when a database file does not open."""
    shown, detail = without_secrets(path), str(error).replace(path, without_secrets(path))
    if "lock on file" in detail:
        reason = "another process has it open; close that process or wait for it to finish"
    else:
        reason = without_secrets(first_line(error).replace(path, shown))
    return ConnectionFailed(f"cannot open database '{shown}': {reason}", detail=without_secrets(detail))


_SECRET = re.compile(r"((?:token|secret|password|key)\w*\s*[=:]\s*)[^&;\s'\"]+", re.IGNORECASE)


_LOGIN = re.compile(r"://[^/@\s'\"]+@")
"""Who logs in, in a URL."""


def without_secrets(text: str) -> str:
    """A text with the values of its secret options hidden.

    >>> without_secrets("md:sales?motherduck_token=eyJh.x&a=1")
    'md:sales?motherduck_token=***&a=1'
    >>> without_secrets("cannot read https://me:hush@host/a.csv")
    'cannot read https://***@host/a.csv'
    """
    return _SECRET.sub(r"\1***", _LOGIN.sub("://***@", text))


def _words(error: Exception) -> str:
    name = type(error).__name__.removesuffix("Exception")
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip() + " error"


Result = TypeVar("Result")

BATCH = 10_000
"""Rows of a hierarchy definition that are bound at once."""

_SETTINGS: dict[str, str] = {
    "timezone": "UTC",
    "default_collation": "",
    "default_null_order": "nulls_last",
    "default_order": "asc",
    # A misspelt table must be an error, not a variable of the calling program.
    "python_enable_replacements": "false",
    # Nothing is fetched from the network that nobody asked for.
    "autoinstall_known_extensions": "false",
}


def _connect(path: str, *, reads_only: bool) -> Any:
    """A connection; to a file that is only read, one that lets other processes read it too."""
    if reads_only and Path(path).is_file():
        # This process may have the file open for writing, and DuckDB opens it in one way only.
        with suppress(duckdb.ConnectionException):
            return duckdb.connect(path, read_only=True)
    return duckdb.connect(path)


_ELSEWHERE = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+)://")


class DuckDBEngine(Engine):
    """One connection to a DuckDB database: a file, or memory (`:memory:`)."""

    name: ClassVar[str] = "duckdb"
    dialect: ClassVar[str] = "duckdb"
    capabilities: ClassVar[frozenset[Capability]] = frozenset(
        {Capability.TRANSACTIONAL_DDL, Capability.FILE_SOURCES, Capability.FILE_TARGETS, Capability.MEMORY}
    )
    traits = DUCKDB

    def __init__(self, session: Session, path: str = ":memory:") -> None:
        super().__init__(session)
        self._path = None if path == ":memory:" else Path(path).resolve()
        self.lasting = self._path is not None
        # A file that is not there yet is made by the connection; it stays only if something is written to it.
        self._new_file = None if path == ":memory:" or Path(path).exists() else Path(path)
        try:
            self._connection: Any = _connect(path, reads_only=session.reads_only)
        except duckdb.Error as error:
            raise cannot_open(error, path) from None
        self._runner = Runner(self._connection.interrupt)
        self._closed = False
        self._files: dict[tuple[File, object], tuple[ColumnInfo, ...]] = {}
        """The columns of files, each as it was when they were read."""
        self._private = ExitStack()
        self._close_to_others()
        scratch.enter(session.run)
        settings = _SETTINGS
        if session.memory_bytes is not None:
            settings = {**_SETTINGS, "memory_limit": f"{session.memory_bytes}B"}
        for setting, value in settings.items():
            assignment = exp.EQ(this=exp.var(setting), expression=literal(value))
            self.execute(Statement("session", exp.Set(expressions=[exp.SetItem(this=assignment)])))

    def _close_to_others(self) -> None:
        """A new database file, and what does not fit into memory, is for its owner alone while the session lives."""
        # A database in memory may have a name, which is no file.
        on_disk = self._path is not None and self._path.is_file()
        if self._new_file is not None and on_disk:
            self._private.enter_context(owner_only(self._new_file))
        folder = self._private.enter_context(spill_folder(self._path if on_disk else None))
        assignment = exp.EQ(this=exp.var("temp_directory"), expression=literal(str(folder)))
        # Another session of this process that shares the database has set it, and used it.
        with suppress(EngineError):
            self.execute(Statement("session", exp.Set(expressions=[exp.SetItem(this=assignment)])))

    # -- running statements ------------------------------------------------------------------------------------

    def _execute(self, sql: str) -> int:
        rows = self._run(lambda: self._connection.execute(sql).fetchall())
        counted = len(rows) == 1 and len(rows[0]) == 1 and isinstance(rows[0][0], int)
        return int(rows[0][0]) if counted else -1

    def _query(self, sql: str, limit: int) -> list[Row]:
        return self._run(lambda: list(self._connection.execute(sql).fetchmany(limit)))

    def _load(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
        sql = self.traits.render(_insert(table, columns), self.tag)
        for batch in _batches(rows):
            self._run(partial(self._connection.execute, sql, _by_column(batch)))

    def _run(self, action: Callable[[], Result]) -> Result:
        seconds = self.session.statement_seconds
        try:
            return self._runner.run(action, seconds)
        except TimeLimitReached:
            raise ran_too_long(self.step, seconds) from None
        except duckdb.Error as error:
            raise translate(error, self.step) from None

    # -- the rest of the contract --------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[None]:
        return transaction(self)

    def columns(self, relation: Relation) -> tuple[ColumnInfo, ...]:
        if isinstance(relation, Table) and self.relation_kind(relation) is None:
            # What stands behind a question mark may be a token.
            named = str(self._new_file).partition("?")[0]
            there = "" if self._new_file is None else f": the database file '{named}' did not exist"
            raise SourceError(f"there is no table or view {relation}{there}")
        if not isinstance(relation, File):
            return self._described(relation)
        # A file is sniffed whole each time: as long as it is the same one, once.
        key = relation, _stamp(relation)
        if key not in self._files or key[1] is None:
            self._require_extensions(relation)
            self._files[key] = self._described(relation)
        return self._files[key]

    def _described(self, relation: Relation) -> tuple[ColumnInfo, ...]:
        sql = self.render(Statement("describe", exp.Describe(this=self._selection(relation))))
        try:
            described = self._traced("describe", sql, lambda: self._describe(sql))
        except (duckdb.CatalogException, duckdb.BinderException, duckdb.ParserException) as error:
            raise SourceError(f"cannot read {relation}: {first_line(error)}") from None
        except duckdb.IOException as error:
            if isinstance(relation, File):
                raise SourceError(f"cannot read file '{relation}': {first_line(error)}") from None
            raise translate(error, self.step) from None
        except duckdb.Error as error:
            if isinstance(relation, File) and isinstance(error, duckdb.InvalidInputException):
                # What DuckDB says of it quotes a line of the file.
                raise SourceError(f"cannot read file '{relation}': it is no {relation.format} file") from None
            raise translate(error, self.step) from None
        if isinstance(relation, Query):
            _refuse_duplicates([name for name, *_ in described])
        if isinstance(relation, File) and relation.of_text:
            self._refuse_renamed(relation, [str(name) for name, *_ in described])
        return tuple(_column(name, text) for name, text, *_ in described)

    def _require_extensions(self, file: File) -> None:
        """SourceError for a file that DuckDB reads with an extension that is not there: none is fetched unasked."""
        needed = {"excel": "Excel files"} if file.format == "xlsx" else {}
        for path in file.paths:
            scheme = _ELSEWHERE.match(path)
            if scheme is not None and scheme[1].lower() != "file":
                azure = scheme[1].lower() in ("az", "azure", "abfss")
                needed["azure" if azure else "httpfs"] = f"{scheme[1]}:// files"
        for extension, what in needed.items():
            if not duckdb_catalog.has_extension(self, extension):
                raise SourceError(
                    f"cannot read file '{file}': DuckDB reads {what} with its extension {extension}, which is not "
                    f"installed; run the statement INSTALL {extension} once, or copy the file here as csv or parquet"
                )

    def _selection(self, relation: Relation) -> exp.Query:
        # As a subquery, DuckDB would rename a column that comes twice instead of showing it.
        if isinstance(relation, Query):
            return relation.select
        return exp.select("*").from_(self.traits.relation(relation, "source"))

    def _refuse_renamed(self, file: File, names: Sequence[str]) -> None:
        """DuckDB adds a number to a header that comes twice: where a name ends in one, the header itself is read."""
        refuse_doubled_headers(file, names)
        folded = {name.casefold() for name in names}
        ends = (re.fullmatch(r"(.*)_[0-9]+", name, re.DOTALL) for name in names)
        if any(end is not None and end[1].casefold() in folded for end in ends):
            line = exp.select("*").from_(self.traits.header(file, "header")).limit(1)
            for headers in self.query(Statement("describe", line)):
                refuse_doubled_headers(file, headers)

    def _describe(self, sql: str) -> list[Row]:
        return self._runner.run(lambda: list(self._connection.execute(sql).fetchall()))

    def relation_kind(self, table: Table) -> str | None:
        found = duckdb_catalog.locate(self, table)
        return found.kind if found else None

    def has_schema(self, schema: tuple[str, ...]) -> bool:
        return duckdb_catalog.has_schema(self, schema)

    def is_reserved(self, table: Table) -> bool:
        inner = [part.lower() for part in table.schema]
        # What lies in `temp` ends with the session.
        return bool(inner) and (inner[0] in ("system", "temp") or inner[-1] in ("information_schema", "pg_catalog"))

    def same_object(self, left: Table, right: Table) -> bool:
        return duckdb_catalog.identity(self, left) == duckdb_catalog.identity(self, right)

    def reads(self, relation: Relation, table: Table) -> bool:
        """Follows views too: DuckDB lets the tables under a view be dropped."""
        query = duckdb_catalog.view_query(self, relation) if isinstance(relation, Table) else None
        return super().reads(relation, table) or (query is not None and self.reads(Query(query), table))

    def view_query(self, view: Table) -> exp.Query | None:
        query = duckdb_catalog.view_query(self, view)
        if query is None and self.relation_kind(view) == "view":
            raise SourceError(f"the definition of view {view} cannot be read")
        return query

    def macro_queries(self, name: str) -> list[exp.Query]:
        return duckdb_catalog.macro_queries(self, name)

    def files(self) -> list[str]:
        return duckdb_catalog.database_files(self)

    def replace(self, staging: Table, target: Table) -> None:
        duckdb_catalog.replace(self, staging, target)

    def write_file(self, step: str, table: Table, target: File, inspect: Inspection | None = None) -> None:
        temporaries.write_file(self, step, table, target, inspect)

    def leftovers(self, schema: tuple[str, ...]) -> list[Table]:
        return duckdb_catalog.leftovers(self, schema)

    def alone_with(self, target: Table, seconds: float) -> AbstractContextManager[None]:
        """Other processes cannot open the file at all; other runs of this one wait."""
        if self._path is None:
            return nullcontext()
        key = (self._path, *duckdb_catalog.identity(self, target))
        return alone_in_process(self, key, target, seconds)

    @property
    def forgets(self) -> bool:
        return self._path is None

    def comments(self, table: Table) -> dict[str, str]:
        return duckdb_catalog.comments(self, table)

    def scan_bytes(self, relation: Relation) -> int | None:
        return duckdb_catalog.scan_bytes(self, relation)

    def version(self) -> str:
        return str(duckdb.__version__)

    def grants(self, needs: Needs, role: str) -> list[str]:
        """DuckDB knows no roles: what the operating system allows is what counts."""
        lines = ["DuckDB has no roles and no privileges. The process that runs sqlanon needs the permission:"]
        if self._path is not None:
            lines.append(f"  to read and write {self._path}, and its folder")
        lines += [f"  to read {relation}" for relation in needs.read if isinstance(relation, File)]
        if isinstance(needs.target, File):
            lines.append(f"  to write {needs.target}, and its folder")
        return [COMMENT + line for line in lines]

    def cancel(self) -> None:
        self._connection.interrupt()

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        unused = None
        with suppress(EngineError):
            unused = self._new_file if self._new_file and duckdb_catalog.is_empty(self) else None
        scratch.leave(self.session.run)
        self._runner.close()
        with suppress(duckdb.Error):
            self._connection.close()
        self._private.close()
        if unused is not None:
            unused.unlink(missing_ok=True)


def _stamp(file: File) -> tuple[int, ...] | None:
    """What changes when a file on this machine is written anew; None of several files, or of one elsewhere."""
    if file.also or file.ending or has_magic(file.path):
        return None
    try:
        found = Path(file.path).stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size


def _insert(table: Table, columns: Sequence[str]) -> exp.Insert:
    lists = [exp.Unnest(expressions=[cast(exp.Placeholder(), "text[]")]) for _ in columns]
    names = [identifier(name) for name in columns]
    into = exp.Schema(this=table_expression(table), expressions=names)
    return exp.Insert(this=into, expression=exp.select(*lists))


def _batches(rows: Iterable[Sequence[str | None]]) -> Iterator[list[Sequence[str | None]]]:
    remaining = iter(rows)
    while batch := list(islice(remaining, BATCH)):
        yield batch


def _by_column(batch: list[Sequence[str | None]]) -> list[list[str | None]]:
    return [list(values) for values in zip(*batch, strict=True)]


def _column(name: str, text: str) -> ColumnInfo:
    kind = data_type(text, "duckdb")
    return ColumnInfo(name, kind, family(kind))


def _refuse_duplicates(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise SourceError(f"the source query has two columns named '{name}': give one of them another name")
        seen.add(name.lower())


NAME: Final = "dataframe"
"""What the dataframe is called as a table."""

_SCHEME = "duckdb://"
_KINDS = frozenset({("pandas", "DataFrame"), ("polars", "DataFrame"), ("pyarrow", "Table")})


def is_frame(value: object) -> bool:
    """Whether this is a dataframe or a table that can be read again and again; streams and lazy queries are not."""
    return any((kind.__module__.partition(".")[0], kind.__name__) in _KINDS for kind in type(value).__mro__)


class FrameEngine(DuckDBEngine):
    """A DuckDB session in which a dataframe stands as a view."""

    def __init__(self, session: Session, path: str, frame: object) -> None:
        # A database in memory that has a name can be opened again while it is open: `keep` does.
        self._place = f"{MEMORY}sqlanon_{secrets.token_hex(8)}" if path == MEMORY else path
        super().__init__(session, self._place)
        if path == MEMORY:
            self._path, self._new_file, self.lasting = None, None, False
        try:
            self._traced("session", f"/* {self.tag} */ -- register {NAME}", lambda: self._register(frame))
        except BaseException:
            self.close()
            raise

    def _register(self, frame: object) -> None:
        try:
            self._runner.run(lambda: self._connection.register(NAME, frame))
        except duckdb.Error as error:
            raise translate(error, "session") from None

    def keep(self) -> KeptFrame:
        """A second session of the same database, which goes on when this one ends."""
        return KeptFrame(duckdb.connect(self._place))


class KeptFrame:
    """Tables of a database in memory that are still to be read."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def arrow(self, table: Table) -> Any:
        """The rows as an Arrow table."""
        return self._read(table).to_arrow_table()

    def pandas(self, table: Table) -> Any:
        """The rows as a pandas dataframe."""
        return self._read(table).df()

    def polars(self, table: Table) -> Any:
        """The rows as a polars dataframe."""
        return self._read(table).pl()

    def _read(self, table: Table) -> Any:
        return self._connection.sql(exp.select("*").from_(table_expression(table)).sql("duckdb"))


def opener(frame: object, opened: Callable[[FrameEngine], None]) -> Callable[[str, Session, Path], FrameEngine]:
    """Opens the DuckDB of a URL with the dataframe in it, and tells of it."""

    def open_frame(url: str, session: Session, folder: Path) -> FrameEngine:
        if not url.lower().startswith(_SCHEME):
            raise UsageError(
                "connection: a dataframe is read by DuckDB; leave the connection out, or name a DuckDB file"
            )
        engine = FrameEngine(session, duckdb_path(url[len(_SCHEME) :], folder), frame)
        opened(engine)
        return engine

    return open_frame
