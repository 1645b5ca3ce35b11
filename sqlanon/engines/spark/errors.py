"""Spark's exceptions as sqlanon's: one safe line each, Spark's own text as detail.

Errors about names, paths and what a catalog cannot do are told in Spark's words; errors about values only by the name
of their condition, for they quote data. Never a stack trace.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import Any

from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied

NOT_FOUND = frozenset({"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PATH_NOT_FOUND", "CATALOG_NOT_FOUND"})

_TOLD = re.compile(
    r"(\w+_)?NOT_FOUND\b.*|(\w+_)?ALREADY_EXISTS\b.*|UNRESOLVED_\w+.*|AMBIGUOUS_\w+.*|INVALID_SCHEMA_OR_RELATION_NAME"
    r"|UNSUPPORTED_\w+.*|EXPECT_\w+.*|RENAME_TABLE_\w+|INVALID_TEMP_OBJ_REFERENCE|PARSE_\w+"
    r"|FAILED_READ_FILE\..*|UNABLE_TO_INFER_SCHEMA|CANNOT_READ_FILE_FOOTER|TABLE_\w+|NOT_ALLOWED_IN_FROM\..*"
    r"|RECURSION_\w+|UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE|INCOMPATIBLE_DATA_FOR_TABLE\..*"
)
"""Conditions whose text has names of the catalog and paths in it, but no values."""


class SparkError(EngineError):
    """Spark refused a statement; `told` is what may be shown of its own words."""

    def __init__(self, message: str, *, detail: str = "", told: str = "") -> None:
        super().__init__(message, detail=detail)
        self.told = told


class NotThere(SparkError):
    """A table, schema or path does not exist."""


_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]")
_PREFIX = re.compile(r"\[[A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_ADVICE = re.compile(r"\s+(Verify|If you|To tolerate|Correct|Did you|Please|Use)\b.*", re.DOTALL)
_LOST = ("Connection refused", "Answer from Java side is empty", "UNAVAILABLE", "SparkContext was shut down")
_DENIED = ("Permission denied", "AccessControlException", "AccessDenied")


def condition_of(error: BaseException) -> str | None:
    """Spark's name for what went wrong; that of the innermost cause where several are nested."""
    with suppress(Exception):
        ask = getattr(error, "getCondition", None)
        found = ask() if ask is not None else None
        if found:
            return str(found)
    nested = _CONDITION.findall(text_of(error))
    return str(nested[-1]) if nested else None


def text_of(error: BaseException) -> str:
    """What Spark said, without the trace."""
    with suppress(Exception):
        return re.split(r"\n\s*(?:at |JVM stacktrace)", str(error), maxsplit=1)[0].strip()
    return type(error).__name__


def told(error: BaseException) -> str:
    """The first sentence of Spark's message."""
    line = _PREFIX.sub("", text_of(error).partition("\n")[0], count=1)
    return _ADVICE.sub("", _STATE.sub("", line)).strip().rstrip(".")


def translate(error: BaseException, step: str) -> EngineError:
    """The error to raise for a statement that Spark refused."""
    detail = text_of(error)
    condition = condition_of(error)
    if condition is not None and _TOLD.fullmatch(condition):
        words = told(error)
        kind = NotThere if condition in NOT_FOUND else SparkError
        return kind(f"step '{step}': {words}", detail=detail, told=words)
    if any(sign in detail for sign in _DENIED):
        return PermissionDenied(f"step '{step}': Spark may not read or write what this needs", detail=detail)
    if any(sign in detail for sign in _LOST) or _lost_gateway(error):
        return ConnectionFailed(f"step '{step}': the connection to Spark was lost", detail=detail)
    known = condition is not None
    words = f"Spark reports {_words(condition or '')}" if known else f"Spark failed ({_java_class(error)})"
    return SparkError(f"step '{step}': {words}", detail=detail, told=words)


def _lost_gateway(error: BaseException) -> bool:
    return type(error).__name__ in ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError")


def _words(condition: str) -> str:
    return condition.replace("_", " ").replace(".", ", ").lower()


def _java_class(error: BaseException) -> str:
    java: Any = getattr(error, "java_exception", None)
    with suppress(Exception):
        if java is not None:
            return str(java.getClass().getSimpleName())
    return type(error).__name__
