"""What is known of a column before its role is guessed: catalog type and aggregates.

Asks the engine one query for each handful of columns.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlanon.draft.statements import measures, profile
from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import Relation

COLUMNS_PER_QUERY = 40
"""PostgreSQL takes 1,664 results in one query; no column has more than ten."""


@dataclass(frozen=True)
class Profile:
    """One column in numbers. None: not asked for this kind of column, or the column is empty."""

    name: str
    family: Family
    rows: int
    present: int
    distinct: int
    shortest: int | None = None
    longest: int | None = None
    five_digits: int = 0
    digits: int = 0
    email: int = 0
    uuid: int = 0
    least: Decimal | None = None
    greatest: Decimal | None = None
    extraordinary: int = 0
    """Numbers that are NaN, infinite or enormous."""
    first_year: int | None = None
    last_year: int | None = None

    @property
    def distinctness(self) -> float:
        """Distinct values for each value that is there: 1 when none repeats."""
        return self.distinct / self.present if self.present else 0.0

    def mostly(self, count: int) -> bool:
        """Whether nine in ten of the values are like that."""
        return self.present > 0 and count >= 0.9 * self.present


def profile_columns(engine: Engine, relation: Relation, infos: Sequence[ColumnInfo]) -> tuple[Profile, ...]:
    """Profile every column, in the order of the catalog."""
    found: list[Profile] = []
    for start in range(0, len(infos), COLUMNS_PER_QUERY):
        found += _profile_some(engine, relation, infos[start : start + COLUMNS_PER_QUERY])
    return tuple(found)


def _profile_some(engine: Engine, relation: Relation, infos: Sequence[ColumnInfo]) -> Iterator[Profile]:
    columns = [(info.name, info.family) for info in infos]
    source = engine.traits.relation(relation, "profiled")
    [(rows, *values)] = engine.query(Statement("profile", profile(source, columns, "profiled", engine.traits)))
    position = 0
    for name, family in columns:
        names = list(measures(family))
        answers = dict(zip(names, values[position : position + len(names)], strict=True))
        position += len(names)
        yield Profile(name, family, int(rows), **{key: _read(key, value) for key, value in answers.items()})


def _read(measure: str, value: Any) -> Any:
    if value is None:
        return None
    if measure in ("least", "greatest"):
        return _decimal(str(value))
    if measure in ("first_year", "last_year"):
        return _year(str(value))
    return int(value)


def _decimal(text: str) -> Decimal | None:
    try:
        return Decimal(text)
    except InvalidOperation:
        return None


def _year(text: str) -> int | None:
    """The year; an infinite date has none."""
    try:
        return int(Decimal(text))
    except (InvalidOperation, OverflowError, ValueError):
        return None
