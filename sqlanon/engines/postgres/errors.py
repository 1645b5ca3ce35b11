"""PostgreSQL's errors as sqlanon's, told apart by SQLSTATE: one safe line each, the server's own text as detail.

Messages about objects, privileges and resources are the server's; those of classes that quote data values (22, 23 and
whatever is not listed) are told only by the name of their condition.
"""

from __future__ import annotations

import re

import psycopg

from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied

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
    """What may be shown of an error."""
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
