"""Opening a session: the URL, SQLAlchemy's engine, and how values come back to Python.

The only place that sees the password; it leaves in no message.
"""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import psycopg
import sqlalchemy
from psycopg import pq
from psycopg.adapt import Buffer, Loader
from psycopg.conninfo import make_conninfo
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from sqlanon.engines.postgres.errors import cannot_connect
from sqlanon.errors import UsageError

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
