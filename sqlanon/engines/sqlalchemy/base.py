"""Statements through SQLAlchemy and any driver: the connection, its errors, and a thread on which they run.

The probes, the catalog and the swap of tables know the engine by this class. The only place that sees the password; it
leaves in no message. Errors become sqlanon's: one safe line each, the driver's own text as detail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool
from sqlglot import exp

from sqlanon.engines import scratch
from sqlanon.engines.base import Capability, Engine, Row, Session, Statement
from sqlanon.engines.session import Runner, TimeLimitReached, ran_too_long
from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied, SourceError, UsageError
from sqlanon.sql.relations import Table
from sqlanon.sql.traits import Traits

Result = TypeVar("Result")

BATCH = 2_000
"""Rows of a hierarchy definition that are bound at once."""

_STOPPERS = ("interrupt", "cancel_safe", "cancel")
"""What drivers call the request to stop a statement from another thread."""


class SQLAlchemyBase(Engine):
    """One connection of SQLAlchemy's and its statement thread."""

    def __init__(self, session: Session, url: str, folder: Path) -> None:
        super().__init__(session)
        self.url = parse(url, folder)
        self.lasting = not in_memory(self.url)
        engine = create(self.url)
        self._closed = False
        self._runner = Runner(self._stop)
        # Some drivers let only the thread that connected use a connection.
        self._connection: sqlalchemy.Connection = self._opened(engine)
        self._driver: Any = self._connection.connection.driver_connection
        scratch.enter(session.run)
        if session.statement_seconds is not None and not self._can_stop():
            if not session.limit_asked:
                session.statement_seconds = None
                return
            self.close()
            raise UsageError(
                f"limits.statement_seconds: the driver {engine.dialect.driver} cannot stop a statement; "
                f"name another driver in the connection URL, or leave this limit out"
            )

    def _opened(self, engine: sqlalchemy.Engine) -> sqlalchemy.Connection:
        try:
            return self._runner.run(partial(connect, engine, self.url))
        except BaseException:
            self._runner.close()
            raise

    def write_as(self, traits: Traits) -> None:
        """From now on statements are written by these traits."""
        # Traits belong to the class of an engine; here the database decides, so each object has its own.
        vars(self)["traits"] = traits
        vars(self)["dialect"] = traits.dialect

    # -- running statements ------------------------------------------------------------------------------------

    def _execute(self, sql: str) -> int:
        def action() -> int:
            with self._connection.exec_driver_sql(sql) as result:
                return result.rowcount

        return self._run(action)

    def _query(self, sql: str, limit: int) -> list[Row]:
        def action() -> list[Row]:
            with self._connection.exec_driver_sql(sql) as result:
                return [tuple(map(_plain, row)) for row in result.fetchmany(limit)]

        return self._run(action)

    def _load(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
        schema = ".".join(table.schema) or None
        target = sqlalchemy.Table(
            table.name,
            sqlalchemy.MetaData(),
            *(sqlalchemy.Column(name, sqlalchemy.Text, key=f"c_{position}") for position, name in enumerate(columns)),
            schema=schema,
            quote=True,
        )
        keys = [f"c_{position}" for position in range(len(columns))]
        remaining = (dict(zip(keys, row, strict=True)) for row in rows)
        self._run(lambda: self._insert(target.insert(), remaining))

    def _insert(self, insert: sqlalchemy.Insert, rows: Iterator[dict[str, str | None]]) -> None:
        """Values are bound: only here are there parameters. In one transaction: one for each row would take minutes."""
        own = Capability.TRANSACTIONAL_DDL in self.capabilities and not self.in_transaction
        if own:
            self._connection.exec_driver_sql(self.traits.render(exp.Transaction()))
        try:
            while batch := list(islice(rows, BATCH)):
                self._connection.execute(insert, batch, execution_options={"no_parameters": False})
        except BaseException:
            if own:
                self._connection.exec_driver_sql(self.traits.render(exp.Rollback()))
            raise
        if own:
            self._connection.exec_driver_sql(self.traits.render(exp.Commit()))

    def _run(self, action: Callable[[], Result]) -> Result:
        seconds = self.session.statement_seconds
        try:
            return self._runner.run(action, seconds)
        except TimeLimitReached:
            raise ran_too_long(self.step, seconds) from None
        except SQLAlchemyError as error:
            raise translate(error, self.step) from None

    # -- asking SQLAlchemy ---------------------------------------------------------------------------------------

    def inspected(self, words: str, action: Callable[[sqlalchemy.Inspector], Result], step: str = "catalog") -> Result:
        """What SQLAlchemy's inspector says, traced as a statement by a comment; nothing is cached."""

        def asked() -> Result:
            # SQLAlchemy doubles percent signs in names; only with parameters, even none, they become single again.
            self._connection.execution_options(no_parameters=False)
            try:
                return action(sqlalchemy.inspect(self._connection))
            finally:
                self._connection.execution_options(no_parameters=True)
                if not self.in_transaction:
                    # Looking has begun a transaction of SQLAlchemy's own, which is nothing in the driver.
                    self._connection.commit()

        self.step = step
        text = f"/* {self.tag} */ -- {words}"
        result: Result = self._traced(step, text, lambda: self._run(asked))
        return result

    def names_of(self, select: exp.Query, relation: object) -> list[str]:
        """The names of a query's columns; no row is read."""
        sql = self.render(Statement("describe", select))

        def action() -> list[str]:
            with self._connection.exec_driver_sql(sql) as result:
                return list(result.keys())

        def described() -> list[str]:
            try:
                return self._runner.run(action, self.session.statement_seconds)
            except DBAPIError as error:
                if is_about_names(error):
                    raise SourceError(f"cannot read {relation}: {told(error)}") from None
                raise translate(error, self.step) from None

        found: list[str] = self._traced("describe", sql, described)
        return found

    # -- stopping and closing ------------------------------------------------------------------------------------

    def cancel(self) -> None:
        self._stop()

    def _can_stop(self) -> bool:
        return any(callable(getattr(self._driver, name, None)) for name in _STOPPERS)

    def _stop(self) -> None:
        """Drivers without a way to stop a statement let it run to its end."""
        for name in _STOPPERS:
            stop = getattr(self._driver, name, None)
            if callable(stop):
                # The driver's own errors have no common class: there is then nothing left that could be stopped.
                with suppress(Exception):
                    stop()
                return

    def close(self) -> None:
        """The database rolls back what was not committed, and drops the temporary tables."""
        if self._closed:
            return
        self._closed = True
        scratch.leave(self.session.run)
        with suppress(SQLAlchemyError, EngineError):
            self._runner.run(self._connection.close)
        self._runner.close()


def _plain(value: Any) -> Any:
    """Sums of integers are decimals on some databases: without a fraction they come back as int, as elsewhere."""
    if isinstance(value, Decimal) and value.is_finite():
        exponent = value.as_tuple().exponent
        return int(value) if isinstance(exponent, int) and exponent >= 0 else value
    return value


_NAME = r"""(?:[\w.$@-]+|"[^"\n]*"|'[^'\n]*'|`[^`\n]*`)"""
_ABOUT_NAMES = re.compile(
    rf"no such (?:table|column|function|collation sequence|index|view): [^\n]+"
    rf"|unknown database {_NAME}"
    rf"|(?:table|view|index) {_NAME} already exists"
    rf"|there is already (?:a table|another table or index)[^\n]*"
    rf"|(?:relation|column|schema|table|function) [^\n]{{1,200}} does not exist"
    rf"|Table {_NAME} doesn't exist"
    rf"|Unknown (?:column|table|database) {_NAME}"
    rf"|Invalid (?:object|column) name {_NAME}",
    re.IGNORECASE,
)
_STATES = re.compile(
    r"database is locked|database table is locked|unable to open database file|file is not a database"
    r"|database or disk is full|too many SQL variables|parser stack overflow",
    re.IGNORECASE,
)
_TOO_DEEP = re.compile(
    r"parser stack overflow|Expression tree is too large[^\n]{0,40}|too many terms in compound SELECT"
    r"|at most \d+ tables in a join|too many columns[^\n]{0,40}|too many FROM clause terms[^\n]{0,40}",
    re.IGNORECASE,
)
_FORBIDDEN = re.compile(
    r"permission denied|access denied|command denied|readonly database|insufficient privilege", re.I
)
_STOPPED = re.compile(r"\binterrupted\b|cancel+(?:ed|ing) statement|query execution was interrupted|cancelled", re.I)


def is_about_names(error: DBAPIError) -> bool:
    """Whether the statement named something that is not there."""
    return _ABOUT_NAMES.search(_text(error)) is not None


def is_stopped(error: DBAPIError) -> bool:
    """Whether the statement was stopped on request."""
    return _STOPPED.search(_text(error)) is not None


def told(error: SQLAlchemyError) -> str:
    """What may be shown of an error.

    A driver nobody knows may quote data in any message. Only messages of a known form, which name objects, are told; of
    all others the class.
    """
    text = _text(error)
    for pattern in (_ABOUT_NAMES, _STATES):
        if found := pattern.search(text):
            return found[0].strip()
    kind = type(error.orig if isinstance(error, DBAPIError) and error.orig is not None else error).__name__
    return f"the database reports {re.sub(r'(?<=[a-z0-9])(?=[A-Z])', ' ', kind).lower()}"


def translate(error: SQLAlchemyError, step: str) -> EngineError:
    """The error to raise for a statement that the database refused."""
    detail = _text(error)
    if not isinstance(error, DBAPIError):
        return EngineError(f"step '{step}': {told(error)}", detail=detail)
    if is_stopped(error):
        return EngineError(f"step '{step}' was cancelled", detail=detail)
    if error.connection_invalidated:
        return ConnectionFailed(f"step '{step}': the connection to the database was lost", detail=detail)
    if forbidden := _FORBIDDEN.search(detail):
        return PermissionDenied(f"step '{step}': {forbidden[0].lower()}", detail=detail)
    if deep := _TOO_DEEP.search(detail):
        return EngineError(
            f"step '{step}': the spec is too wide for this database, whose limit is told as '{deep[0]}'; give it fewer "
            f"quasi-identifiers, sensitive columns or levels, or release on another engine",
            detail=detail,
        )
    return EngineError(f"step '{step}': {told(error)}", detail=detail)


def _text(error: SQLAlchemyError) -> str:
    """The driver's own words, without SQLAlchemy's, which repeat the statement."""
    if isinstance(error, DBAPIError):
        return str(error.orig)
    return str(error.args[0]) if error.args else type(error).__name__


def knows(scheme: str) -> bool:
    """Whether a package that is installed gives SQLAlchemy a dialect of this name."""
    try:
        sqlalchemy.dialects.registry.load(scheme.replace("+", "."))
    except NoSuchModuleError:
        return False
    except ImportError:
        return True
    return True


def parse(text: str, folder: Path) -> URL:
    """The URL; a relative path of an SQLite file is taken from `folder`."""
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UsageError(
            "the connection URL is not valid: write dialect+driver://user:password@host:port/database, with special"
            " characters of the password percent-encoded"
        ) from None
    if url.get_backend_name() == "sqlite" and not in_memory(url) and not str(url.database).startswith("file:"):
        return url.set(database=str(folder / str(url.database)))
    return url


def in_memory(url: URL) -> bool:
    """Whether this is an SQLite database that ends with its session."""
    if url.get_backend_name() != "sqlite":
        return False
    return url.database in (None, "", ":memory:") or url.query.get("mode") == "memory"


def create(url: URL) -> sqlalchemy.Engine:
    """SQLAlchemy's engine. Every statement commits by itself unless a transaction is begun."""
    options: dict[str, Any] = {"poolclass": NullPool, "execution_options": {"no_parameters": True}}
    try:
        return sqlalchemy.create_engine(url, **options)
    except NoSuchModuleError:
        raise UsageError(f"SQLAlchemy knows no dialect '{url.drivername}': install its package") from None
    except ImportError as error:
        raise UsageError(
            f"connection scheme '{url.drivername}' needs the Python package '{error.name}', which is not installed: "
            f"install it, or name another driver (dialect+driver://...)"
        ) from None
    except (ArgumentError, TypeError, ValueError):
        raise UsageError("the connection URL has an option that cannot be used") from None


def connect(engine: sqlalchemy.Engine, url: URL) -> sqlalchemy.Connection:
    """A connection of its own, in the driver's mode of committing each statement where it has one."""
    place = str(url.database) if url.get_backend_name() == "sqlite" else (url.host or url.get_backend_name())
    try:
        connection = engine.connect()
    except DBAPIError as error:
        detail = str(error.orig)
        hidden = url.password and url.password in detail
        reason = "the database refused" if hidden else told(error)
        raise ConnectionFailed(f"cannot connect to '{place}': {reason}", detail="" if hidden else detail) from None
    try:
        connection.execution_options(isolation_level="AUTOCOMMIT")
    except (SQLAlchemyError, NotImplementedError):
        connection.close()
        raise UsageError(
            f"{engine.dialect.name} through the driver {engine.dialect.driver} cannot commit each statement by itself, "
            f"which sqlanon needs: name another driver in the connection URL"
        ) from None
    return connection
