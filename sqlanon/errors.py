"""Every error sqlanon raises on purpose, and the exit code each one ends a command with.

    SqlanonError
    ├── UsageError            2  a flag, argument or file that cannot be used
    │   ├── SpecError         2  the spec is wrong: file, key path and line are named
    │   ├── HierarchyError    2  a hierarchy does not fit its column
    │   └── SourceError       2  the spec and the catalog disagree
    ├── RequirementError      1  a measured table does not satisfy its requirement
    ├── InfeasibleError       3  no generalization satisfies the requirement within limits and budget
    └── EngineError           4  the database refused or failed
        ├── ConnectionFailed  4  unreachable, wrong password, unknown database
        ├── PermissionDenied  4  a privilege is missing
        └── StatementTimeout  4  a statement ran longer than allowed

A message is one line for a person. It names columns and counts, never data values, passwords or SQL text.
"""

from __future__ import annotations

from typing import ClassVar

__all__ = [
    "ConnectionFailed",
    "EngineError",
    "HierarchyError",
    "InfeasibleError",
    "PermissionDenied",
    "RequirementError",
    "SourceError",
    "SpecError",
    "SqlanonError",
    "StatementTimeout",
    "UsageError",
]


class SqlanonError(Exception):
    """The root: catch this to catch everything sqlanon raises on purpose."""

    exit_code: ClassVar[int] = 4


class UsageError(SqlanonError):
    """The caller asked for something that cannot be done as asked."""

    exit_code = 2


class SpecError(UsageError):
    """The spec is wrong. `problems` holds every problem found, each already one line."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class HierarchyError(UsageError):
    """A hierarchy does not fit its column. `samples` is filled only where showing values was asked for."""

    def __init__(self, message: str, *, column: str, level: int | None = None, count: int = 0) -> None:
        super().__init__(message)
        self.column = column
        self.level = level
        self.count = count


class SourceError(UsageError):
    """The spec names something that the catalog does not have, or leaves out something it has; all that was found."""

    def __init__(self, *problems: str) -> None:
        self.problems = problems
        super().__init__("\n".join(problems))


class RequirementError(SqlanonError):
    """A table was measured and does not satisfy its requirement."""

    exit_code = 1


class InfeasibleError(SqlanonError):
    """Nothing acceptable exists, or none was found within the budget."""

    exit_code = 3


class EngineError(SqlanonError):
    """The database refused or failed. `detail` is the engine's own text: shown only when asked for."""

    exit_code = 4

    def __init__(self, message: str, *, detail: str = "") -> None:
        super().__init__(message)
        self.detail = detail


class ConnectionFailed(EngineError):
    """No session could be opened."""


class PermissionDenied(EngineError):
    """The session lacks a privilege."""


class StatementTimeout(EngineError):
    """A statement was stopped because it ran longer than the spec allows."""
