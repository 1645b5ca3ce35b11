"""Personalized privacy measured: the distribution of breach probabilities over the rows of the microdata.

Reads counts by probability and by level of the guarding node, never a value.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sqlglot import exp

from sqlanon.auditor.breach_statements import BUCKETS, CLASSES, NO_PATH, OUTSIDE, UNKNOWN, Taxonomy, breaches
from sqlanon.auditor.checks import Check, Question
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError
from sqlanon.spec import Personalized

NOT_MEASURED = "could not be measured: the table does not show the guarding nodes; use --personalized with the spec"


@dataclass(frozen=True)
class Linked:
    """A release beside the microdata that it was made of."""

    published: exp.Query
    """Rows `n` of each `class` by published `label`."""
    targets: exp.Query
    """Rows `n` of the microdata by the `class` that they lie in, `value` and `guard`."""
    people: exp.Query
    """What stands for n of Theorems 1 and 2 in each class, as `m`."""
    taxonomy: Taxonomy
    external: bool = False
    """Persons were counted in an external table."""


@dataclass(frozen=True)
class GuardedLevel:
    """The rows whose guarding nodes lie at one level of the taxonomy; level -1: rows without protection."""

    level: int
    rows: int
    maximum: float
    average: float
    above: int
    """Rows whose breach probability exceeds what is allowed."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": None if self.level < 0 else self.level,
            "rows": self.rows,
            "maximum": self.maximum,
            "average": self.average,
            "above": self.above,
        }


@dataclass(frozen=True)
class BreachFigures:
    """Breach probabilities of all rows."""

    column: str
    p_breach: float
    primary: bool
    external: bool
    levels: tuple[GuardedLevel, ...]
    buckets: tuple[tuple[float, int], ...]
    """From which probability on, how many rows."""
    classes_above: int
    outside: int
    """Rows of the microdata that lie in no class."""

    @property
    def rows(self) -> int:
        return sum(level.rows for level in self.levels)

    @property
    def maximum(self) -> float:
        return max((level.maximum for level in self.levels), default=0.0)

    @property
    def above(self) -> int:
        return sum(level.above for level in self.levels)

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "p_breach": self.p_breach,
            "primary": self.primary,
            "external": self.external,
            "rows": self.rows,
            "maximum": self.maximum,
            "above": self.above,
            "share_above": self.above / self.rows if self.rows else 0.0,
            "outside": self.outside,
            "levels": [level.to_dict() for level in self.levels],
            "distribution": [{"from": start, "rows": rows} for start, rows in self.buckets],
        }


def measure_breaches(engine: Engine, linked: Linked, asked: Personalized, *, primary: bool) -> BreachFigures:
    """The breach probability of every row of the microdata."""
    query = breaches(
        linked.published,
        linked.targets,
        linked.people,
        linked.taxonomy,
        p=Fraction(asked.p_breach),
        primary=primary,
    )
    found = engine.query(Statement("audit breaches", query))
    counted = dict.fromkeys((NO_PATH, UNKNOWN, OUTSIDE, CLASSES), 0)
    levels: dict[int, list[tuple[int, float, float, int]]] = {}
    buckets: dict[int, int] = {}
    for level, bucket, rows, most, total, above in found:
        if int(level) in counted:
            counted[int(level)] += int(rows)
            continue
        levels.setdefault(int(level), []).append((int(rows), float(most), float(total), int(above)))
        buckets[int(bucket)] = buckets.get(int(bucket), 0) + int(rows)
    if counted[UNKNOWN]:
        raise SourceError(
            f"column '{asked.column}': {counted[UNKNOWN]} rows of the release show what is no node of its taxonomy"
        )
    if counted[NO_PATH]:
        raise SourceError(
            f"column '{asked.guarding}': {counted[NO_PATH]} rows guard what is no node between the root and their value"
        )
    return BreachFigures(
        asked.column,
        float(asked.p_breach),
        primary,
        linked.external,
        tuple(_level(level, entries) for level, entries in sorted(levels.items())),
        tuple((bucket / BUCKETS, rows) for bucket, rows in sorted(buckets.items())),
        counted[CLASSES],
        counted[OUTSIDE],
    )


def _level(level: int, entries: list[tuple[int, float, float, int]]) -> GuardedLevel:
    rows = sum(entry[0] for entry in entries)
    average = sum(entry[2] for entry in entries) / rows
    return GuardedLevel(level, rows, max(entry[1] for entry in entries), average, sum(entry[3] for entry in entries))


def breach_check(asked: Personalized, figures: BreachFigures | None, group: str, classes: int, rows: int) -> Check:
    """The verdict; a requirement that could not be measured does not hold."""
    question = Question(
        "personalized",
        f"p_breach = {asked.p_breach}",
        f"let a guarding node be inferred with more than {asked.p_breach}",
        "the greatest probability is {}",
        asked.column,
    )
    if figures is None:
        return Check(question, group, classes, classes, rows, rows, None, NOT_MEASURED)
    return Check(question, group, classes, figures.classes_above, figures.rows, figures.above, figures.maximum)
