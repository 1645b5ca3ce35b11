"""Statements that make columns by their rules: what is released of a value, what is derived from it.

All of it is SQL over the source under the alias `source`; edges of a cap and tables that values are looked up in are
joined to it, each with one row for every row of the source.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from sqlanon.engines.base import ColumnInfo
from sqlanon.hierarchies.base import Family
from sqlanon.source.label_statements import DATE_TYPES, field_of, in_utc, infinite_dates
from sqlanon.spec.rules import Age, Edge, TableLookup
from sqlanon.sql.build import (
    concat,
    count,
    equal,
    expression,
    is_null,
    is_present,
    named,
    query,
    scalar,
    subquery,
    total,
)
from sqlanon.sql.relations import Table, cast, column, literal
from sqlanon.sql.traits import Traits

NUMBERS = frozenset({Family.INTEGER, Family.DECIMAL, Family.FLOAT})
MOMENTS = frozenset({Family.DATE, Family.TIMESTAMP, Family.TIMESTAMP_TZ})

# Floats from 2^52 steps on are whole numbers of steps as far as they can tell; NaN and infinite ones stay as they are.
_FLOAT = """
case when abs(:value / :step) < 4503599627370496e0
    then floor(:value / :step + 0.5) * :step
    else :value end
"""
# Whole numbers and decimals are exact: what is left over is taken away, and never negative.
_EXACT = "(:value + :half) - (((:value + :half) % :step + :step) % :step)"

_LIMIT = """
select case when max(people.number) >= :k then :reached end as edge
from (
    select person.value as value,
        row_number() over (order by person.value) as place,
        count(*) over () as number
    from person
) as people
where people.place <= :k or people.place * :whole < people.number * :part + :whole
"""

_FOUND = """
select :key as found_key,
    case when min(:value) = max(:value) then min(:value) end as found,
    case when min(:value) <> max(:value) then 1 else 0 end as several
from looked_up
"""


def number(value: Decimal | int) -> exp.Expression:
    """A number as it is written in SQL."""
    text = f"{abs(value):f}"
    written: exp.Expression = exp.Literal.number(text)
    return exp.Paren(this=exp.Neg(this=written)) if value < 0 else written


def edge_value(value: Decimal | date | datetime, family: Family) -> exp.Expression:
    """The value of an edge or cut as a column of that kind compares with it."""
    if isinstance(value, Decimal):
        return cast(literal(f"{value:f}"), "double") if family is Family.FLOAT else number(value)
    return cast(literal(value.isoformat()), DATE_TYPES[family])


def rounded(value: exp.Expression, family: Family, step: Decimal, traits: Traits) -> exp.Expression:
    """The nearest multiple of a step, halves up."""
    if family is Family.FLOAT:
        wide = cast(value, "double")
        size = edge_value(step, family)
        return exp.Paren(this=expression(_FLOAT, value=wide, step=size))
    if family is Family.INTEGER:
        return exp.Paren(this=expression(_EXACT, value=cast(value, "bigint"), step=int(step), half=int(step) // 2))
    exactly = exp.Paren(this=expression(_EXACT, value=value, step=number(step), half=number(step / 2)))
    beyond = exp.In(this=traits.text(value.copy(), family), expressions=[literal("Infinity"), literal("-Infinity")])
    return exp.Case().when(beyond, value.copy()).else_(exactly)


def truncated(value: exp.Expression, family: Family, unit: str) -> exp.Expression:
    """The first moment of a year, quarter, month, day or hour; of a moment with a time zone, by UTC and without it."""
    local = cast(value, "timestamp") if family is Family.DATE else in_utc(value, family)
    found = exp.TimestampTrunc(this=local, unit=exp.var(unit.upper()))
    return cast(found, "date") if family is Family.DATE else found


def bucketed(value: exp.Expression, family: Family, cuts: tuple[Decimal, ...], traits: Traits) -> exp.Expression:
    """The range that a number lies in, as text."""
    case = exp.Case().when(is_null(value), cast(exp.Null(), "text"))
    if family is not Family.INTEGER:
        # NaN is no number, and greater than all of them.
        case = case.when(equal(traits.text(value.copy(), family), literal("NaN")), literal("NaN"))
    for cut, label in zip(cuts, bucket_labels(cuts), strict=False):
        case = case.when(exp.LT(this=value.copy(), expression=edge_value(cut, family)), literal(label))
    return exp.Paren(this=case.else_(literal(bucket_labels(cuts)[-1])))


def bucket_labels(cuts: tuple[Decimal, ...]) -> list[str]:
    """The labels of the ranges, lowest first.

    >>> bucket_labels((Decimal(0), Decimal("2.5")))
    ['<0', '[0, 2.5)', '>=2.5']
    """
    texts = [f"{cut:f}" for cut in cuts]
    between = [f"[{low}, {high})" for low, high in itertools.pairwise(texts)]
    return [f"<{texts[0]}", *between, f">={texts[-1]}"]


def capped(value: exp.Expression, limits: Mapping[str, exp.Expression]) -> exp.Expression:
    """The value within its edges; NULL where an edge is not known. NaN lies beyond none of them."""
    found = value
    for side, limit in limits.items():
        beyond = exp.GT if side == "top" else exp.LT
        unknown = is_null(limit)
        case = exp.Case().when(unknown, exp.Null())
        found = exp.Paren(this=case.when(beyond(this=found.copy(), expression=limit.copy()), limit.copy()).else_(found))
    return found


def is_number(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """Whether a value is none of NULL and NaN."""
    there = is_present(value)
    if family is not Family.FLOAT and family is not Family.DECIMAL:
        return there
    return exp.And(this=there, expression=exp.NEQ(this=traits.text(value.copy(), family), expression=literal("NaN")))


def limit_of(
    source: exp.Expression,
    info: ColumnInfo,
    side: str,
    edge: Edge,
    person: exp.Expression | None,
    k: int,
    traits: Traits,
) -> exp.Select:
    """The `edge` that values are held to: at least k people reach it, and where it is a share, as many as that.

    Everybody counts once, by the value furthest out; people without a person's key count together, as one.
    """
    value = column(info.name, "source")
    outermost = exp.Max if side == "top" else exp.Min
    people = exp.select(named(value if person is None else outermost(this=value), "value")).from_(source, copy=False)
    people = people.where(is_number(value, info.family, traits), copy=False)
    people = people if person is None else people.group_by(person, copy=False)
    beyond = Fraction(0)
    if edge.percent is not None:
        beyond = Fraction(100 - edge.percent if side == "top" else edge.percent) / 100
    reached = (exp.Min if side == "top" else exp.Max)(this=column("value", "people"))
    whole, part = beyond.denominator, beyond.numerator
    found = query(_LIMIT, {"person": people}, k=k, whole=whole, part=part, reached=reached)
    for ordered in found.find_all(exp.Ordered):
        ordered.set("desc", side == "top")
    if edge.value is None:
        return found
    # A written edge that fewer people reach gives way to the last one that k of them reach.
    here = column("edge", "reached")
    given = edge_value(edge.value, info.family)
    inside = (exp.LT if side == "top" else exp.GT)(this=here, expression=given.copy())
    known = exp.Case().when(inside, here.copy()).when(is_present(here.copy()), given)
    return exp.select(named(known, "edge")).from_(subquery(found, "reached"))


def age(value: exp.Expression, family: Family, rule: Age, traits: Traits) -> exp.Expression:
    """Completed years at a day; who was born on 29 February is a year older from 1 March on, in other years."""
    local = in_utc(value, family)
    months = exp.Add(
        this=exp.Mul(this=field_of("MONTH", local), expression=literal(100)), expression=field_of("DAY", local)
    )
    later = exp.GT(this=months, expression=literal(rule.at.month * 100 + rule.at.day))
    years = exp.Paren(this=exp.Sub(this=literal(rule.at.year), expression=field_of("YEAR", local)))
    case = exp.Case()
    beyond = list(infinite_dates(value, family, traits).values())
    case = case.when(is_null(value.copy()), cast(exp.Null(), "int"))
    for infinite in beyond:
        case = case.when(infinite, cast(exp.Null(), "int"))
    case = case.when(later, exp.Sub(this=years, expression=literal(1)))
    return exp.Paren(this=case.else_(years.copy()))


def found_in(rule: TableLookup, key: exp.Expression) -> exp.Select:
    """A row for each key of a table that lists values, `found` NULL where it lists several."""
    found = query(_FOUND, {"looked_up": Table(rule.table)}, key=key, value=column(rule.value, "looked_up"))
    return found.group_by(key.copy(), copy=False)


def unlisted(source: exp.Expression, key: exp.Expression, found: exp.Select) -> exp.Select:
    """How many values of a column a table does not list, and how many keys of it have several values."""
    values = exp.select(named(key, "wanted_key")).distinct().from_(source, copy=False)
    values = values.where(is_present(key.copy()), copy=False)
    same = equal(column("wanted_key", "wanted"), column("found_key", "known"))
    missing = exp.select(count()).from_(subquery(values, "wanted"))
    missing = missing.join(subquery(found, "known"), on=same, join_type="left", copy=False)
    missing = missing.where(is_null(column("found_key", "known")), copy=False)
    several = exp.select(total(column("several"))).from_(subquery(found.copy(), "listed"))
    return exp.select(scalar(missing), scalar(several))


DIGITS = "0123456789abcdef"
LETTERS = "abcdefghijklmnopqrstuvwxyz234567"
"""Of base32, RFC 4648, in lower case."""


def _digit(place: int) -> exp.Expression:
    """The number that a hexadecimal digit of the hash is, counted from its first."""
    digit = exp.Substring(this=column("hash"), start=literal(place + 1), length=literal(1))
    position = exp.StrPosition(this=literal(DIGITS), substr=digit)
    return exp.Paren(this=exp.Sub(this=position, expression=literal(1)))


def offset(days: int) -> exp.Expression:
    """From the first eight digits of a hash: so many days back or on, never none."""
    number: exp.Expression = cast(literal(0), "bigint")
    for place in range(8):
        weight = cast(literal(16 ** (7 - place)), "bigint")
        number = exp.Add(this=number, expression=exp.Mul(this=_digit(place), expression=weight))
    rest = exp.Mod(this=exp.Paren(this=number), expression=literal(2 * days))
    back = exp.Sub(this=rest, expression=literal(days))
    before = exp.LT(this=rest.copy(), expression=literal(days))
    on = exp.Add(this=exp.Paren(this=back.copy()), expression=literal(1))
    return cast(exp.Case().when(before, back).else_(on), "int")


def pseudonym(form: str) -> exp.Expression:
    """A pseudonym as it is written, from the 64 hexadecimal digits of a hash."""

    def part(start: int, length: int) -> exp.Expression:
        return exp.Substring(this=column("hash"), start=literal(start), length=literal(length))

    match form:
        case "uuid":
            # Version 8 and variant 8: made by a scheme of one's own.
            return concat(part(1, 8), "-", part(9, 4), "-8", part(14, 3), "-8", part(18, 3), "-", part(21, 12))
        case "base32":
            return concat(*(_letter(place) for place in range(32)))
        case "integer":
            order = exp.Order(expressions=[exp.Ordered(this=column("hash"))])
            return cast(exp.Window(this=exp.RowNumber(), order=order), "bigint")
        case _:
            return column("hash")


def _letter(place: int) -> exp.Expression:
    """One letter of base32: five bits, which lie in two hexadecimal digits that follow each other."""
    first, within = divmod(5 * place, 4)
    table = "".join(LETTERS[(pair >> (3 - within)) & 31] for pair in range(256))
    high = exp.Mul(this=_digit(first), expression=literal(16))
    start = exp.Add(this=exp.Add(this=high, expression=_digit(first + 1)), expression=literal(1))
    return exp.Substring(this=literal(table), start=start, length=literal(1))
