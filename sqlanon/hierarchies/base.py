"""What a hierarchy says, before any database is asked: a rule for the labels of each level.

Pure. A builder (mask, interval, date, ...) turns its part of the spec into one of the three rule kinds below;
sqlgen turns rules into SQL, `label()` computes the same label in Python and is what the SQL is tested against.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

TOP = "*"
"""The label that tops a hierarchy which does not end in one value."""


class Family(StrEnum):
    """What kind of values a column holds, as far as hierarchies care. Engines map their types to it."""

    TEXT = "text"
    INTEGER = "integer"
    DECIMAL = "decimal"
    FLOAT = "float"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    TIMESTAMP_TZ = "timestamp with time zone"
    OTHER = "other"

    @property
    def exact(self) -> bool:
        """Whether equal values look alike. Zeros differ by sign, numbers by scale, intervals by unit."""
        return self not in (Family.DECIMAL, Family.FLOAT, Family.OTHER)


class Level(Protocol):
    """One level above 0 whose labels follow from the value by a formula."""

    def label(self, value: object) -> str:
        """The label of a value that is not NULL."""


@dataclass(frozen=True)
class Formula:
    """Labels computed from the value by a rule per level.

    Level 0 is the value. Levels 1 to len(levels) follow `levels`; above them stands one constant level, labelled
    `top`, or `*` where `top` is None. So a formula always has len(levels) + 1 levels above 0. A level that is one
    value by construction (a full mask, the date level `any`) is never in `levels`: `top` expresses it.
    """

    levels: tuple[Level, ...]
    top: str | None


@dataclass(frozen=True)
class Lookup:
    """Labels listed value by value: each row is (level 0, level 1, ..., top), all rows equally long.

    Level 0 is the text of the value. A last level of several labels gets `*` above it.
    """

    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Reference:
    """Labels read from an existing table: one column per level, level 0 first."""

    table: tuple[str, ...]
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Expressions:
    """Labels given as SQL expressions over the column, one per level above 0, in the engine's dialect."""

    expressions: tuple[str, ...]


Rule = Formula | Lookup | Reference | Expressions
