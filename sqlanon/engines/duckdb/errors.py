"""DuckDB's exceptions as sqlanon's: one safe line each, the engine's own text as detail.

Errors about names and files are told in DuckDB's words; errors about values only by their class, for they quote data.
"""

from __future__ import annotations

import duckdb

from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied

_TOLD: tuple[type[Exception], ...] = (
    duckdb.CatalogException,
    duckdb.BinderException,
    duckdb.DependencyException,
    duckdb.IOException,
    duckdb.OutOfMemoryException,
    duckdb.ParserException,
    duckdb.PermissionException,
    duckdb.TransactionException,
)


def first_line(error: Exception) -> str:
    """What DuckDB says, without the class in front, the suggestions and the excerpt of the statement."""
    line = str(error).strip().partition("\n")[0]
    return line.partition(" Error: ")[2] or line


def translate(error: duckdb.Error, step: str) -> EngineError:
    """The error to raise for a statement that DuckDB refused."""
    detail = str(error)
    if isinstance(error, duckdb.InterruptException):
        return EngineError(f"step '{step}' was cancelled", detail=detail)
    if isinstance(error, duckdb.PermissionException):
        return PermissionDenied(f"step '{step}': {first_line(error)}", detail=detail)
    if isinstance(error, _TOLD):
        return EngineError(f"step '{step}': {first_line(error)}", detail=detail)
    return EngineError(f"step '{step}': DuckDB reports {_words(error)}", detail=detail)


def cannot_open(error: duckdb.Error, path: str) -> ConnectionFailed:
    """The error to raise when a database file does not open."""
    if "lock on file" in str(error):
        reason = "another process has it open; close that process or wait for it to finish"
    else:
        reason = first_line(error)
    return ConnectionFailed(f"cannot open database '{path}': {reason}", detail=str(error))


def _words(error: Exception) -> str:
    name = type(error).__name__.removesuffix("Exception")
    return "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name).strip() + " error"
