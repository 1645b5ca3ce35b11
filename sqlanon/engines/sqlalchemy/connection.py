"""Opening a session of any database that SQLAlchemy knows: the URL, its dialect, its driver.

The only place that sees the password; it leaves in no message.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from sqlanon.engines.sqlalchemy.errors import told
from sqlanon.errors import ConnectionFailed, UsageError


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
