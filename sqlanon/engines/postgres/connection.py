"""A session of a PostgreSQL server: the URL, how values come back to Python, errors, the lock on a target.

The only place that sees the password; it leaves in no message. The server's errors become sqlanon's, told apart by
SQLSTATE: one safe line each, the server's own text as detail.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from decimal import Decimal
from hashlib import sha256
from typing import Any

import psycopg
import sqlalchemy
from psycopg import pq
from psycopg.adapt import Buffer, Loader
from psycopg.conninfo import make_conninfo
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from sqlanon.engines.base import Engine, Statement
from sqlanon.engines.dialects import fill
from sqlanon.engines.ledgers import LOCK_SPACE
from sqlanon.engines.postgres.catalog import schema_of
from sqlanon.engines.session import busy, refuse_transaction
from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied, StatementTimeout, UsageError
from sqlanon.sql.relations import Table

_TOLD_CLASSES = frozenset({"0A", "2B", "3F", "42", "53", "55", "57"})
INSUFFICIENT_PRIVILEGE = "42501"
QUERY_CANCELED = "57014"
LOCK_NOT_AVAILABLE = "55P03"
_CONNECTION_LOST = frozenset({"57P01", "57P02", "57P03", "57P05"})


class LockTimeout(EngineError):
    """A lock was not given within the time that the session allows."""


def is_cancelled(error: psycopg.Error) -> bool:
    """Whether the statement was stopped, by the time limit or by a request."""
    return error.sqlstate == QUERY_CANCELED


def is_about_names(error: psycopg.Error) -> bool:
    """Whether the statement named something that is not there, or was not understood."""
    return (error.sqlstate or "")[:2] in ("42", "3F") and error.sqlstate != INSUFFICIENT_PRIVILEGE


def told(error: psycopg.Error) -> str:
    """What may be shown of an error.

    Messages about objects, privileges and resources are the server's. Those of classes that quote data values (22, 23
    and whatever is not listed) are told only by the name of their condition.
    """
    if error.sqlstate is None:
        return _words(type(error).__name__)
    if error.sqlstate[:2] in _TOLD_CLASSES:
        return (error.diag.message_primary or _words(type(error).__name__)).partition("\n")[0]
    return f"{_words(type(error).__name__)} ({error.sqlstate})"


def translate(error: psycopg.Error, step: str) -> EngineError:
    """The error to raise for a statement that the server refused."""
    state = error.sqlstate
    detail = "\n".join(filter(None, (str(error), error.diag.message_detail)))
    if state == INSUFFICIENT_PRIVILEGE:
        return PermissionDenied(f"step '{step}': {told(error)}", detail=detail)
    lost = state is None and isinstance(error, psycopg.OperationalError)
    if lost or state in _CONNECTION_LOST or (state or "").startswith("08"):
        return ConnectionFailed(f"step '{step}': the connection to the server was lost", detail=detail)
    kind = LockTimeout if state == LOCK_NOT_AVAILABLE else EngineError
    return kind(f"step '{step}': {told(error)}", detail=detail)


def cannot_connect(error: psycopg.Error, place: str, user: str, password: str | None) -> ConnectionFailed:
    """The error to raise when no session could be opened."""
    text = str(error)
    reason = re.sub(r"^(connection failed: )?(connection to server .*? failed: )?([A-Z]+: +)?", "", text.strip())
    reason = reason.partition("\n")[0]
    if password and password in text:
        text = reason = "the server refused"
    return ConnectionFailed(f"cannot connect to {place} as {user}: {reason}", detail=text)


def _words(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()


CONNECT_SECONDS = 10
DEFAULT_PORT = 5432
PAUSES = (0.1, 0.3, 0.6)
"""Seconds between attempts to reach a server that is not there, or not yet."""
QUICK = 1.0
"""An attempt that took longer is not made again: whoever waits has waited."""


class WholeNumberLoader(Loader):
    """Sums of integers are numeric on PostgreSQL: without a fraction they come back as int, as on other engines."""

    def load(self, data: Buffer) -> int | Decimal:
        text = bytes(data).decode()
        return int(text) if text.lstrip("-").isdigit() else Decimal(text)


def connect(text: str, application_name: str) -> sqlalchemy.Connection:
    """A connection of its own where every statement commits by itself unless a transaction is begun."""
    url = _parse(text)
    arguments: dict[str, Any] = {"application_name": application_name, "client_encoding": "utf8"}
    # Statements differ in their tags: preparing them pays nothing, and poolers dislike it.
    arguments["prepare_threshold"] = None
    if "connect_timeout" not in url.query:
        arguments["connect_timeout"] = CONNECT_SECONDS
    engine = sqlalchemy.create_engine(
        url,
        poolclass=NullPool,
        isolation_level="AUTOCOMMIT",
        use_native_hstore=False,
        connect_args=arguments,
        execution_options={"no_parameters": True},
    )
    connection = _opened(engine, url)
    driver = connection.connection.driver_connection
    if isinstance(driver, psycopg.Connection):
        driver.adapters.register_loader("numeric", WholeNumberLoader)
    return connection


def _opened(engine: sqlalchemy.Engine, url: URL) -> sqlalchemy.Connection:
    """Connecting changes nothing, so it may be tried again; a server that answered and refused is not asked twice."""
    for pause in (*PAUSES, None):
        started = time.monotonic()
        try:
            return engine.connect()
        except DBAPIError as error:
            if not isinstance(error.orig, psycopg.Error):
                raise UsageError("the connection URL has an option that cannot be used") from None
            user = url.username or "the current user"
            failure = cannot_connect(error.orig, _place(url), user, _password(url))
        if pause is None or time.monotonic() - started > QUICK or _answers(engine, url):
            raise failure from None
        time.sleep(pause)
    raise RuntimeError("the last attempt returns or raises")


def _answers(engine: sqlalchemy.Engine, url: URL) -> bool:
    """Whether a server is there and takes connections; a password, a role or a name was wrong then, or it is full."""
    _, options = engine.dialect.create_connect_args(url)
    known = {name: value for name, value in options.items() if name in ("host", "port", "hostaddr")}
    try:
        return pq.PGconn.ping(make_conninfo("", connect_timeout=1, **known).encode()) == pq.Ping.OK
    except psycopg.Error:
        return True


def _parse(text: str) -> URL:
    try:
        url = make_url(text)
    except (ArgumentError, ValueError):
        raise UsageError(
            "the connection URL is not valid: write postgresql://user:password@host:port/database, with special"
            " characters of the password percent-encoded"
        ) from None
    return url.set(drivername="postgresql+psycopg")


def _place(url: URL) -> str:
    host = url.host or url.query.get("host") or "localhost"
    shown = host if isinstance(host, str) else ", ".join(host)
    return shown if shown.startswith("/") else f"{shown}:{url.port or DEFAULT_PORT}"


def _password(url: URL) -> str | None:
    hidden = url.password or url.query.get("password")
    return hidden if isinstance(hidden, str) else None


# In one statement, so that the limit ends with it.
_WAIT = "select set_config('lock_timeout', :milliseconds, true), pg_advisory_lock(:key)"

_RELEASE = "select pg_advisory_unlock(:key)"


@contextmanager
def alone_with(engine: Engine, target: Table, seconds: float) -> Iterator[None]:
    """Wait for the lock of a target, and give it back; it also ends with the session.

    The lock is advisory, named by the schema and name of the target: its id would not do, for every release makes a new
    table.
    """
    refuse_transaction(engine)
    key = _key(schema_of(engine, target), target.name)
    milliseconds = str(max(1, round(seconds * 1000)))
    try:
        engine.query(Statement("wait for target", fill(_WAIT, "postgres", milliseconds=milliseconds, key=key)))
    except (LockTimeout, StatementTimeout) as error:
        raise busy(target, seconds, error) from None
    try:
        yield
    finally:
        # A session that was lost has given it back.
        with suppress(EngineError):
            engine.query(Statement("release target", fill(_RELEASE, "postgres", key=key)))


def _key(schema: str, name: str) -> int:
    digest = sha256(f"{schema}.{name}".encode()).digest()
    return LOCK_SPACE | int.from_bytes(digest[:6], "big")
