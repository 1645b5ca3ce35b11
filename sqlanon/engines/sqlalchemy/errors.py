"""Errors of any driver as sqlanon's: one safe line each, the driver's own text as detail.

A driver nobody knows may quote data in any message. Only messages of a known form, which name objects, are told; of all
others the class.
"""

from __future__ import annotations

import re

from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied

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
    """What may be shown of an error."""
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
    return EngineError(f"step '{step}': {told(error)}", detail=detail)


def _text(error: SQLAlchemyError) -> str:
    """The driver's own words, without SQLAlchemy's, which repeat the statement."""
    if isinstance(error, DBAPIError):
        return str(error.orig)
    return str(error.args[0]) if error.args else type(error).__name__
