"""Profiles of columns, from which roles are guessed: catalog type, counts, lengths and ranges.

One query for each handful of columns, aggregates only. Of text, not even the smallest and largest value are asked for:
they are data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import count, named, total_where
from sqlanon.sql.relations import Relation, cast, column, literal
from sqlanon.sql.traits import Traits

ORDINARY = 10**15
"""Numbers up to here are exact in a double, and small enough for every interval."""

SHAPES = {
    "five_digits": "^[0-9]{5}$",
    "digits": "^[0-9]+$",
    "whole": "^[+-]?([0-9]+([.]0+)?|[0-9]([.][0-9]+)?[eE][+]?(1[6-9]|[2-9][0-9]|[0-9]{3}))$",
    "fraction": "^[+-]?[0-9]*[.][0-9]+([eE][+-]?[0-9]+)?$",
    "email": "^[^@ ]+@[^@ ]+[.][^@ ]+$",
    "uuid": "^[0-9A-Fa-f]{8}-([0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}$",
    "ssn": "^[0-9]{3}-[0-9]{2}-[0-9]{4}$",
    "iban": "^[A-Z]{2}[0-9]{2}[0-9A-Z]{11,30}$",
    "phone": "^[+][0-9][0-9 ()/-]{6,20}$",
    "ip": "^([0-9]{1,3}[.]){3}[0-9]{1,3}$",
    "instant": "^[0-9]{4}-[0-9]{2}-[0-9]{2}",
    "code": "^[0-9A-Za-z_.:/#-]*([A-Za-z][_.:/#-]*[0-9]|[0-9][_.:/#-]*[A-Za-z])[0-9A-Za-z_.:/#-]*$",
    "digest": "^([0-9A-Fa-f]{32}|[0-9A-Fa-f]{40}|[0-9A-Fa-f]{56}|[0-9A-Fa-f]{64}|[0-9A-Fa-f]{96}|[0-9A-Fa-f]{128})$",
}
"""What identifiers and codes look like; patterns that every engine reads alike."""

NUMBERS = (Family.INTEGER, Family.DECIMAL, Family.FLOAT)
DATES = (Family.DATE, Family.TIMESTAMP, Family.TIMESTAMP_TZ)

Measure = Callable[[exp.Expression, Family, Traits], exp.Expression]


def _present(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    return exp.Count(this=value)


def _distinct(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    # Some types of the family OTHER have no equality; their text has.
    key = traits.text(value, family) if family is Family.OTHER else traits.key(value, family)
    return exp.Count(this=exp.Distinct(expressions=[key]))


def _longest(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    return exp.Max(this=exp.Length(this=traits.text(value, family)))


def _shortest(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    return exp.Min(this=exp.Length(this=traits.text(value, family)))


def _shape(pattern: str) -> Measure:
    def matching(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
        return count_shape(pattern, value, family, traits, literal(1))

    return matching


def count_shape(
    pattern: str, value: exp.Expression, family: Family, traits: Traits, each: exp.Expression
) -> exp.Expression:
    """The sum of `each` over the values of a shape."""
    like = exp.RegexpLike(this=traits.text(value.copy(), family), expression=literal(pattern))
    return total_where(like, each.copy())


def is_ordinary(value: exp.Expression) -> exp.Expression:
    """Neither NaN nor infinite, nor too large: both engines hold NaN for larger than any number."""
    return exp.Between(this=value, low=literal(-ORDINARY), high=literal(ORDINARY))


def least(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """The least of the ordinary numbers, as text."""
    return traits.text(exp.Min(this=exp.Case().when(is_ordinary(value), value.copy())), family)


def greatest(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """The greatest of the ordinary numbers, as text."""
    return traits.text(exp.Max(this=exp.Case().when(is_ordinary(value), value.copy())), family)


def _extraordinary(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    return unusual(value)


def unusual(value: exp.Expression) -> exp.Expression:
    """How many numbers are not ordinary."""
    return total_where(exp.Not(this=exp.Paren(this=is_ordinary(value))), literal(1))


def _first_year(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    return cast(exp.Extract(this=exp.var("YEAR"), expression=exp.Min(this=value)), "text")


def _last_year(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    return cast(exp.Extract(this=exp.var("YEAR"), expression=exp.Max(this=value)), "text")


_ALWAYS: dict[str, Measure] = {"present": _present, "distinct": _distinct}
_LENGTHS: dict[str, Measure] = {"shortest": _shortest, "longest": _longest}
_SHAPED: dict[str, Measure] = {name: _shape(pattern) for name, pattern in SHAPES.items()}
_RANGE: dict[str, Measure] = {"least": least, "greatest": greatest, "extraordinary": _extraordinary}
_YEARS: dict[str, Measure] = {"first_year": _first_year, "last_year": _last_year}


def measures(family: Family) -> dict[str, Measure]:
    """What is asked about a column of this kind, in order."""
    if family is Family.TEXT:
        return {**_ALWAYS, **_LENGTHS, **_SHAPED}
    if family is Family.INTEGER:
        return {**_ALWAYS, **_LENGTHS, **_RANGE}
    if family in NUMBERS:
        return {**_ALWAYS, **_RANGE}
    if family in DATES:
        return {**_ALWAYS, **_YEARS}
    return _ALWAYS


def profile(relation: exp.Expression, columns: Sequence[tuple[str, Family]], alias: str, traits: Traits) -> exp.Select:
    """One row: the number of rows, then for each column its measures in order."""
    items: list[exp.Expression] = [named(count(), "rows")]
    for position, (name, family) in enumerate(columns):
        for measure, built in measures(family).items():
            items.append(named(built(column(name, alias), family, traits), f"{measure}_{position}"))
    return exp.select(*items).from_(relation)


COLUMNS_PER_QUERY = 40
"""PostgreSQL takes 1,664 results in one query; no column has more than twenty."""


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
    whole: int = 0
    """Numbers without a fraction, as engines write them in columns of decimals and floats."""
    fraction: int = 0
    email: int = 0
    uuid: int = 0
    ssn: int = 0
    iban: int = 0
    phone: int = 0
    ip: int = 0
    instant: int = 0
    """Texts that begin with a date."""
    code: int = 0
    """Texts of letters and digits without a blank."""
    digest: int = 0
    least: Decimal | None = None
    greatest: Decimal | None = None
    extraordinary: int = 0
    """Numbers that are NaN, infinite or enormous."""
    first_year: int | None = None
    last_year: int | None = None
    kind: str = ""
    """The name of its type, where the family does not tell it."""
    pairs: int | None = None
    """Distinct pairs of a value and a person, where persons are told apart."""

    @property
    def owned(self) -> int:
        """How often somebody has a value: by persons where they are told apart, else by rows."""
        return self.present if self.pairs is None else self.pairs

    @property
    def ownership(self) -> float:
        """Values for each that somebody has: 1 when no two persons, or rows, share one."""
        return self.distinct / self.owned if self.owned else 0.0

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
    kinds = {info.name: info.type.sql().upper() for info in infos if info.family is Family.OTHER}
    source = engine.traits.relation(relation, "profiled")
    [(rows, *values)] = engine.query(Statement("profile", profile(source, columns, "profiled", engine.traits)))
    position = 0
    for name, family in columns:
        names = list(measures(family))
        answers = dict(zip(names, values[position : position + len(names)], strict=True))
        position += len(names)
        read = {key: _read(key, value) for key, value in answers.items()}
        yield Profile(name, family, int(rows), **read, kind=kinds.get(name, ""))


def _read(measure: str, value: Any) -> Any:
    if value is None:
        return None
    if measure in ("least", "greatest"):
        return number_of(value)
    if measure in ("first_year", "last_year"):
        return _year(str(value))
    return int(value)


def number_of(text: object) -> Decimal | None:
    """A number that came as text; None of none."""
    try:
        return None if text is None else Decimal(str(text))
    except InvalidOperation:
        return None


def _year(text: str) -> int | None:
    """The year; an infinite date has none."""
    try:
        return int(Decimal(text))
    except (InvalidOperation, OverflowError, ValueError):
        return None
