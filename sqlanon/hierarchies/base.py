"""What a hierarchy says, before any database is asked: a rule for the labels of each level.

Pure. A builder (mask, interval, date, ...) turns its part of the spec into one of the three rule kinds below;
`source.hierarchy_statements` turns rules into SQL, `label()` computes the same label in Python and is what the SQL is
tested against.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, StrEnum
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


class Ending(Enum):
    """How a formula ends that has no constant level of its own."""

    FOUND = "found"
    """With its last level where all values have one label there, otherwise with `*` above it: the data tell."""
    LAST = "last"
    """With its last level; values of other labels are refused."""


@dataclass(frozen=True)
class Formula:
    """Labels computed from the value by a rule per level.

    Level 0 is the value. Levels 1 to len(levels) follow `levels`; above them stands one constant level, labelled
    `top`, or `*` where `top` is None; an `Ending` says whether there is one. A level that is one value by construction
    (a full mask, the date level `any`) is never in `levels`: `top` expresses it.
    """

    levels: tuple[Level, ...]
    top: str | Ending | None


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


@dataclass(frozen=True)
class Grouped:
    """Groups of the labels that another rule has at one level: level 1 is the group of a value's label there."""

    rule: Formula | Reference | Expressions
    level: int
    rows: tuple[tuple[str, str], ...]
    """Each label with its group."""


Rule = Formula | Lookup | Reference | Expressions | Grouped


def grouped(rule: Rule, level: int, rows: tuple[tuple[str, str], ...]) -> Lookup | Grouped:
    """The rule whose level 1 is the groups of labels at a level of this rule; of listed labels, as a list.

    >>> grouped(Lookup((("94139", "9413*"), ("94141", "9414*"))), 1, (("9413*", "a"), ("9414*", "a")))
    Lookup(rows=(('94139', 'a'), ('94141', 'a')))
    """
    if isinstance(rule, Grouped):
        raise TypeError("groups are not grouped again")
    if level and not isinstance(rule, Lookup):
        return Grouped(rule, level, rows)
    if not level or not isinstance(rule, Lookup):
        return Lookup(rows)
    groups = dict(rows)
    labels = ((row[0], row[level] if level < len(row) else TOP) for row in rule.rows)
    return Lookup(tuple(dict.fromkeys((value, groups[label]) for value, label in labels if label in groups)))
