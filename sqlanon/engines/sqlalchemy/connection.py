"""A session of any database that SQLAlchemy knows: the URL, its dialect, its driver, and the driver's errors.

The only place that sees the password; it leaves in no message. Errors become sqlanon's: one safe line each, the
driver's own text as detail.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError
from sqlalchemy.pool import NullPool

from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied, UsageError

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
