"""Opening a session: the URL, SQLAlchemy's engine, and how values come back to Python.

The only place that sees the password; it leaves in no message.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import psycopg
import sqlalchemy
from psycopg.adapt import Buffer, Loader
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool

from sqlanon.engines.postgres_errors import cannot_connect
from sqlanon.errors import UsageError

CONNECT_SECONDS = 10
DEFAULT_PORT = 5432


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
    try:
        connection = engine.connect()
    except DBAPIError as error:
        if isinstance(error.orig, psycopg.Error):
            raise cannot_connect(error.orig, _place(url), url.username or "the current user", _password(url)) from None
        raise UsageError("the connection URL has an option that cannot be used") from None
    driver = connection.connection.driver_connection
    if isinstance(driver, psycopg.Connection):
        driver.adapters.register_loader("numeric", WholeNumberLoader)
    return connection


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
