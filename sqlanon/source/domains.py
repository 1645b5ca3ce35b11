"""The domain that the values of a column are measured against: what losses and estimates divide by.

A range of numbers or dates is a row of places 0, 1, ...: whole numbers, days and seconds one by one, everything else,
and what has more than a billion of them, in a billion equal steps. Reads the spec; makes SQL; asks no database.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from itertools import pairwise
from math import ceil
from typing import Literal

from sqlglot import exp

from sqlanon.errors import SpecError
from sqlanon.hierarchies.base import Family, Formula, Level, Lookup, Reference, Rule
from sqlanon.hierarchies.levels import DateLevel, IntervalLevel
from sqlanon.source import label_statements as label_sql
from sqlanon.source.label_statements import LARGEST_UNITS, double, field_of, in_utc, reach_of, units_of
from sqlanon.spec.columns import Column, DomainRange
from sqlanon.sql.build import any_of, equal, expression, named, subquery
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.traits import Traits

STEPS = 10**9
"""Places of a domain that has more values than can be counted one by one."""

NUMBERS = (Family.INTEGER, Family.DECIMAL, Family.FLOAT)
MOMENTS = (Family.TIMESTAMP, Family.TIMESTAMP_TZ)
MEASURED = (*NUMBERS, Family.DATE, *MOMENTS)
CONTINUOUS = (Family.DECIMAL, Family.FLOAT)
DAY = 86_400

Kind = Literal["listed", "occurring", "range"]


@dataclass(frozen=True)
class Measure:
    """What the values of a column are counted among: those its hierarchy lists, those that occur, or a range.

    Where nothing is listed, as under a mask of texts, those of the hierarchy are those that occur.
    """

    kind: Kind = "listed"
    low: Decimal | None = None
    """The least of a declared range, as `unit` counts; None: the least that occurs."""
    high: Decimal | None = None
    half_open: bool = False
    """The greatest is the first value beyond."""

    @property
    def declared(self) -> bool:
        return self.low is not None


LISTED = Measure()


def measure_of(name: str, asked: Column | None, rule: Rule, family: Family) -> Measure:
    """The domain of a quasi-identifier; SpecError where what it declares does not fit its type or its hierarchy."""
    declared = None if asked is None else asked.domain
    listed = isinstance(rule, (Lookup, Reference))
    if declared == "occurring":
        return Measure("occurring")
    if declared == "hierarchy":
        return _of_hierarchy(name, rule, family)
    if declared is None:
        return Measure("range") if family in MEASURED and _has_bounds(rule) else LISTED
    if family not in MEASURED:
        raise _refused(name, f"min and max bound numbers and dates; the column holds {family.value} values")
    if listed:
        raise _refused(name, "the hierarchy lists the values; write hierarchy, or leave it out")
    if not _has_bounds(rule):
        raise _refused(
            name,
            "min and max need labels that tell their bounds, as those of interval, date and suppression do; "
            "write occurring, or another hierarchy",
        )
    return _of_range(name, declared, family)


def _refused(name: str, problem: str) -> SpecError:
    return SpecError(f"columns.{name}.domain: {problem}")


def _has_bounds(rule: Rule) -> bool:
    return isinstance(rule, Formula) and all(isinstance(level, (IntervalLevel, DateLevel)) for level in rule.levels)


def _of_hierarchy(name: str, rule: Rule, family: Family) -> Measure:
    if isinstance(rule, (Lookup, Reference)):
        return Measure("listed")
    first = rule.levels[0] if isinstance(rule, Formula) and rule.levels else None
    if not isinstance(first, IntervalLevel) or first.minimum is None or first.maximum is None:
        raise _refused(name, "only csv, tree, table, and interval with min and max say which values there are")
    if family is Family.INTEGER:
        return Measure("range", Decimal(ceil(first.minimum)), Decimal(ceil(first.maximum) - 1))
    return Measure("range", first.minimum, first.maximum, half_open=True)


def _of_range(name: str, declared: DomainRange, family: Family) -> Measure:
    low, high = declared.min, declared.max
    if family in NUMBERS:
        if not isinstance(low, Decimal) or not isinstance(high, Decimal):
            raise _refused(name, f"min and max are dates; the column holds {family.value} values")
        if family is Family.INTEGER and (low % 1 or high % 1):
            raise _refused(name, "the column holds integer values; give whole numbers")
        if max(abs(low), abs(high)) >= LARGEST_UNITS:
            raise _refused(name, "min and max have at most 18 digits before the point")
        return Measure("range", low, high)
    if isinstance(low, Decimal) or isinstance(high, Decimal):
        raise _refused(name, f"min and max are numbers; the column holds {family.value} values")
    if family is Family.DATE:
        if isinstance(low, datetime) or isinstance(high, datetime):
            raise _refused(name, "the column holds date values; leave out the time")
        return Measure("range", Decimal(low.toordinal()), Decimal(high.toordinal()))
    return Measure("range", Decimal(_second(low, time.min)), Decimal(_second(high, time(23, 59, 59))))


def _second(bound: date, otherwise: time) -> int:
    """The second of a moment; a day without a time begins or ends there."""
    moment = bound if isinstance(bound, datetime) else datetime.combine(bound, otherwise)
    if moment.tzinfo is not None:
        moment = moment.astimezone(UTC)
    return moment.toordinal() * DAY + moment.hour * 3600 + moment.minute * 60 + moment.second


def unit_of_text(text: str, family: Family) -> str | None:
    """A value written in a label, as `unit` counts; None where it is none.

    >>> unit_of_text("20", Family.INTEGER), unit_of_text("0001-01-02", Family.DATE), unit_of_text("x", Family.DATE)
    ('20', '2', None)
    """
    try:
        if family in NUMBERS:
            number = Decimal(text)
            return str(number) if number.is_finite() and abs(number) < Decimal("1e300") else None
        if family is Family.DATE:
            return str(date.fromisoformat(text).toordinal())
        if family in MOMENTS:
            return str(_second(datetime.fromisoformat(text), time.min))
    except (ArithmeticError, ValueError):
        return None
    return None


def unit(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """A value as a number that differences are taken of: itself, its day, its second. NULL of what is not finite."""
    if family is Family.INTEGER:
        most = literal(LARGEST_UNITS)
        least = literal(-LARGEST_UNITS)
        case = exp.Case().when(exp.LT(this=value.copy(), expression=least), cast(least.copy(), "bigint"))
        case = case.when(exp.GT(this=value.copy(), expression=most), cast(most.copy(), "bigint"))
        return case.else_(cast(value.copy(), "bigint"))
    if family in CONTINUOUS:
        return _where_finite(value, family, cast(value.copy(), "double"))
    return _where_counted(value, family, traits, _moment(value, family))


def _where_finite(value: exp.Expression, family: Family, found: exp.Expression) -> exp.Expression:
    return exp.Case().when(any_of(label_sql.not_finite(value, family).values()), exp.Null()).else_(found)


def _where_counted(value: exp.Expression, family: Family, traits: Traits, found: exp.Expression) -> exp.Expression:
    """What is found of a date; years before 1, and infinite dates, are in no order that engines share."""
    case = exp.Case()
    for infinite in label_sql.infinite_dates(value, family, traits).values():
        case = case.when(infinite, exp.Null())
    year = field_of("YEAR", in_utc(value, family))
    return case.when(exp.GTE(this=year, expression=literal(1)), found)


def _moment(value: exp.Expression, family: Family) -> exp.Expression:
    value = in_utc(value, family)
    day = _day(field_of("YEAR", value), field_of("MONTH", value), field_of("DAY", value))
    if family is Family.DATE:
        return day
    second = cast(exp.Floor(this=exp.Extract(this=exp.var("SECOND"), expression=value.copy())), "bigint")
    return expression(
        "(:day) * 86400 + :hour * 3600 + :minute * 60 + :second",
        day=day,
        hour=field_of("HOUR", value),
        minute=field_of("MINUTE", value),
        second=second,
    )


BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334)


def _day(year: exp.Expression, month: exp.Expression, day: exp.Expression) -> exp.Expression:
    """The number of a day of the Gregorian calendar; January 1 of year 1 is day 1."""
    before = exp.Case()
    for number, days in enumerate(BEFORE_MONTH, start=1):
        before = before.when(equal(month.copy(), literal(number)), literal(days))
    return expression(
        "(:year_start + :before + case when :month > 2 and ((:year % 4 = 0 and :year % 100 <> 0) or :year % 400 = 0)"
        " then 1 else 0 end + :day)",
        year_start=_before_year(year),
        before=before,
        month=month,
        year=year,
        day=day,
    )


def _before_year(year: exp.Expression) -> exp.Expression:
    """The days before a year."""
    last = expression("(:year - 1)", year=cast(year.copy(), "bigint"))
    parts = [cast(expression("(:last - :last % :by) / :by", last=last, by=by), "bigint") for by in (4, 100, 400)]
    return expression(
        "(365 * :last + :four - :hundred + :rest)", last=last, four=parts[0], hundred=parts[1], rest=parts[2]
    )


Ends = tuple[exp.Expression, exp.Expression]
"""The first and the last unit of a label; NULL where it has no bound."""


def ends(level: Level, value: exp.Expression, family: Family, traits: Traits) -> Ends:
    """Where the label of a value at a level begins and ends."""
    if isinstance(level, IntervalLevel):
        first, last = _interval_ends(level, value, family)
        if family is Family.INTEGER:
            return first, last
        return _where_finite(value, family, first), _where_finite(value, family, last)
    if isinstance(level, DateLevel):
        first, last = _period_ends(level, value, family)
        return _where_counted(value, family, traits, first), _where_counted(value, family, traits, last)
    raise TypeError(f"labels of {type(level).__name__} tell no bounds")


def _interval_ends(level: IntervalLevel, value: exp.Expression, family: Family) -> Ends:
    whole = family is Family.INTEGER
    reach = reach_of(level)
    outermost = level.cuts or tuple(bound for bound in (level.minimum, level.maximum) if bound is not None)
    beyond: list[tuple[exp.Expression, Decimal | None, Decimal | None]] = []
    if outermost and (level.cuts is not None or level.minimum is not None):
        below = exp.LT(this=value.copy(), expression=label_sql.bound(-reach, family))
        beyond.append((below, None, outermost[0]))
    if outermost and (level.cuts is not None or level.maximum is not None):
        above = exp.GTE(this=value.copy(), expression=label_sql.bound(reach, family))
        beyond.append((above, outermost[-1], None))
    units = units_of(value, family, level.scale)

    def below_cut(cut: Decimal) -> exp.Expression:
        return exp.LT(this=units.copy(), expression=literal(label_sql.scaled(cut, level.scale)))

    if level.cuts is not None:
        for low, high in pairwise((None, *level.cuts)):
            beyond.append((below_cut(high), low, high))  # type: ignore[arg-type]  # only the first is None
        return _chosen(beyond, whole, _first(level.cuts[-1], whole), _nothing(whole))
    if level.minimum is not None:
        beyond.append((below_cut(level.minimum), None, level.minimum))
    if level.maximum is not None:
        beyond.append((exp.Not(this=below_cut(level.maximum)), level.maximum, None))
    low_units, high_units = label_sql.width_ends(level, units)
    return _chosen(beyond, whole, _from_units(low_units, level.scale, whole), _up_to(high_units, level.scale, whole))


def _chosen(
    cases: list[tuple[exp.Expression, Decimal | None, Decimal | None]],
    whole: bool,
    first: exp.Expression,
    last: exp.Expression,
) -> Ends:
    if not cases:
        return first, last
    begins, stops = exp.Case(), exp.Case()
    for condition, low, high in cases:
        begins = begins.when(condition, _nothing(whole) if low is None else _first(low, whole))
        stops = stops.when(condition.copy(), _nothing(whole) if high is None else _last(high, whole))
    return begins.else_(first), stops.else_(last)


def _nothing(whole: bool) -> exp.Expression:
    return cast(exp.Null(), "bigint" if whole else "double")


def _first(bound: Decimal, whole: bool) -> exp.Expression:
    return cast(literal(ceil(bound)), "bigint") if whole else double(str(bound))


def _last(bound: Decimal, whole: bool) -> exp.Expression:
    """The last unit below a bound; of a continuous range, the bound itself."""
    return cast(literal(ceil(bound) - 1), "bigint") if whole else double(str(bound))


def _from_units(units: exp.Expression, scale: int, whole: bool) -> exp.Expression:
    if whole and not scale:
        return units
    ratio = expression("cast(:units as double) / cast(:by as double)", units=exp.Paren(this=units), by=10**scale)
    return cast(exp.Ceil(this=ratio), "bigint") if whole else ratio


def _up_to(units: exp.Expression, scale: int, whole: bool) -> exp.Expression:
    found = _from_units(units, scale, whole)
    return expression("(:found - 1)", found=exp.Paren(this=found)) if whole else found


def _period_ends(level: DateLevel, value: exp.Expression, family: Family) -> Ends:
    moment = in_utc(value, family)
    year, month, day = (cast(field_of(name, moment), "bigint") for name in ("YEAR", "MONTH", "DAY"))
    if level.unit == "hour":
        start = expression("((:day) * 86400 + :hour * 3600)", day=_day(year, month, day), hour=field_of("HOUR", moment))
        return start, expression("(:start + 3599)", start=start)
    one = literal(1)
    match level.unit:
        case "day":
            first = last = _day(year, month, day)
        case "week":
            own = _day(year, month, day)
            # Day 1 is a Monday.
            first = expression("(:own - (:own - 1) % 7)", own=own)
            last = expression("(:first + 6)", first=first)
        case "year":
            low = expression("(:year - :year % :count)", year=year, count=level.count)
            # The years 1 to 4 share a label with a year 0 that there is not: what is before year 1 is clipped away.
            first = expression("(:before + 1)", before=_before_year(low))
            last = _before_year(expression("(:low + :count)", low=low, count=level.count))
        case _:
            number = 1 if level.unit == "month" else 3
            start = expression("(:month - (:month - 1) % :number)", month=month, number=number)
            after = expression("(:start + :number)", start=start, number=number)
            first = _day(year, start, one)
            last = expression(
                "(case when :after > 12 then :next_year else :next end - 1)",
                after=after,
                next_year=_day(expression("(:year + 1)", year=year), one, one),
                next=_day(year, after, one),
            )
    if family is Family.DATE:
        return first, last
    return expression("(:first * 86400)", first=first), expression("(:last * 86400 + 86399)", last=last)


# -- places ------------------------------------------------------------------------------------------------------------


def measured(
    labelled: exp.Query, levels: Sequence[Level], measure: Measure, family: Family, traits: Traits
) -> exp.Select:
    """Labelled values with, for each level, the first place of the label, `start_l`, and its places, `leaves_l`.

    `outside` is 1 for a value that its declared domain does not have.
    """
    value, top = column("value"), len(levels) + 1
    kept: list[exp.Expression] = [value, *(column(f"label_{level}") for level in range(top + 1))]
    units = [named(unit(value, family, traits), "unit")]
    for number, level in enumerate(levels, start=1):
        first, last = ends(level, value, family, traits)
        units += [named(first, f"first_{number}"), named(last, f"last_{number}")]
    with_units = exp.select(*kept, *units).from_(subquery(labelled, "labelled"), copy=False)
    own = _own_place(value, family, traits)
    found = [named(own, "start_0"), named(literal(1), "leaves_0")]
    for number in range(1, top):
        first, last = (place(column(f"{end}_{number}"), family, end) for end in ("first", "last"))
        size = expression("case when unit is null then 1 else :last - :first + 1 end", last=last, first=first)
        beginning = expression("case when unit is null then :own else :first end", own=own, first=first)
        found += [named(beginning, f"start_{number}"), named(size, f"leaves_{number}")]
    found += [named(cast(literal(0), "bigint"), f"start_{top}"), named(places(family), f"leaves_{top}")]
    beyond = exp.Case().when(_outside(measure), literal(1)).else_(literal(0)) if measure.declared else literal(0)
    select = exp.select(*(item.copy() for item in kept), *found, named(beyond, "outside"))
    return select.from_(subquery(with_bounds(with_units, measure, family), "bounded"), copy=False)


def with_bounds(values: exp.Query, measure: Measure, family: Family) -> exp.Select:
    """Rows that have a `unit`, with the `low` and `high` of their domain: declared, or the extremes of all rows."""
    select = exp.select(exp.Star())
    for name, bound, extreme in (("low", measure.low, exp.Min), ("high", measure.high, exp.Max)):
        value = exp.Window(this=extreme(this=column("unit"))) if bound is None else _literal(bound, family)
        select = select.select(named(value, name), copy=False)
    return select.from_(subquery(values, "units"), copy=False)


def _literal(bound: Decimal, family: Family) -> exp.Expression:
    return double(str(bound)) if family in CONTINUOUS else cast(literal(int(bound)), "bigint")


def _own_place(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """The place of a value; what is not finite stands at the ends."""
    known = {**label_sql.not_finite(value, family)} if family in CONTINUOUS else {}
    if family in (Family.DATE, *MOMENTS):
        known = label_sql.infinite_dates(value, family, traits)
    least = [condition for name, condition in known.items() if name.startswith("-")]
    case = exp.Case()
    for condition in least:
        case = case.when(condition, cast(literal(0), "bigint"))
    case = case.when(expression("unit is null"), expression(":places - 1", places=places(family)))
    return case.else_(place(column("unit"), family, "first"))


def places(family: Family) -> exp.Expression:
    """How many places the domain from `low` to `high` has; 1 where no value is finite."""
    if family in CONTINUOUS:
        return expression("case when high > low then :steps else 1 end", steps=STEPS)
    return expression(
        "case when low is null then 1 when high - low < :steps then high - low + 1 else :steps end", steps=STEPS
    )


def place(of: exp.Expression, family: Family, end: Literal["first", "last"]) -> exp.Expression:
    """The place of a unit between `low` and `high`; NULL stands for no bound at this end."""
    within = expression(
        "case when :of is null then :otherwise when :of < low then low when :of > high then high else :of end",
        of=of,
        otherwise=column("low" if end == "first" else "high"),
    )
    # Halves, because the range of all floats has no width that is a float.
    step = cast(
        expression(
            "floor((cast(:of as double) / 2 - cast(low as double) / 2)"
            " / (cast(high as double) / 2 - cast(low as double) / 2) * :steps)",
            of=within,
            steps=double(str(STEPS - 1)),
        ),
        "bigint",
    )
    if family in CONTINUOUS:
        return expression("case when high > low then :step else 0 end", step=step)
    return expression(
        "case when high - low < :steps then :of - low else :step end",
        of=exp.Paren(this=within),
        steps=STEPS,
        step=step,
    )


def _outside(measure: Measure) -> exp.Expression:
    """Whether a value lies outside its declared domain; infinite ones do."""
    beyond = expression("unit >= high" if measure.half_open else "unit > high")
    return expression("unit is null or unit < low or :beyond", beyond=beyond)
