"""The domain that the values of a column are measured against: what losses and estimates divide by.

A range of numbers or dates is a row of places 0, 1, ...: whole numbers, days and seconds one by one, everything else,
and what has more than a billion of them, in a billion equal steps. Reads the spec; makes SQL; asks no database.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
        raise _refused(
            name,
            "only csv, tree, table, and interval with min and max say which values there are, and search.model _TS, "
            "_AS and _CS ignore them; write min and max, or occurring",
        )
    if family is Family.INTEGER:
        return Measure("range", Decimal(ceil(first.minimum)), Decimal(ceil(first.maximum) - 1))
    return Measure("range", first.minimum, first.maximum, half_open=True)


def _of_range(name: str, declared: DomainRange, family: Family) -> Measure:
    low, high = declared.min, declared.max
    if family in NUMBERS:
        if not isinstance(low, Decimal) or not isinstance(high, Decimal):
            raise _refused(name, f"min and max are dates; the column holds {family.value} values")
        if max(abs(low), abs(high)) >= LARGEST_UNITS:
            raise _refused(name, "min and max have at most 18 digits before the point")
        if family is Family.INTEGER and (low != int(low) or high != int(high)):
            raise _refused(name, "the column holds integer values; give whole numbers")
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


def with_units(values: exp.Query, family: Family, traits: Traits) -> exp.Select:
    """Rows that have a `value`, with its `unit`: a number that differences are taken of, the value itself, its day or
    its second. NULL of what is not finite, and of years before 1, which are in no order that engines share.

    Of dates also `year`, `month`, `day`, the days `before_year`, and whether it is a `leap` year, 1 or 0.
    """
    value = column("value")
    if family is Family.INTEGER:
        most, least = literal(LARGEST_UNITS), literal(-LARGEST_UNITS)
        number = exp.Case().when(exp.LT(this=value, expression=least), cast(least, "bigint"))
        number = number.when(exp.GT(this=value.copy(), expression=most), cast(most, "bigint"))
        return _with(values, {"unit": number.else_(cast(value.copy(), "bigint"))})
    if family in CONTINUOUS:
        return _with(values, {"unit": _where_finite(value, family, cast(value, "double"))})
    moment = in_utc(value, family)
    parts = {name.lower(): _where_counted(family, traits, field_of(name, moment)) for name in ("YEAR", "MONTH", "DAY")}
    if family in MOMENTS:
        fraction = exp.Extract(this=exp.var("SECOND"), expression=moment.copy())
        second = expression(
            ":hour * 3600 + :minute * 60 + :second",
            hour=field_of("HOUR", moment),
            minute=field_of("MINUTE", moment),
            second=cast(exp.Floor(this=fraction), "bigint"),
        )
        parts["second"] = _where_counted(family, traits, second)
    leap = expression(
        "case when year is null then null when (year % 4 = 0 and year % 100 <> 0) or year % 400 = 0 then 1 else 0 end"
    )
    years = _with(_with(values, parts), {"before_year": _before_year(column("year")), "leap": leap})
    day = expression("before_year + :before + day", before=_before_month(column("month")))
    if family is Family.DATE:
        return _with(years, {"unit": day})
    return _with(years, {"unit": expression("(:day) * 86400 + second", day=day)})


def _with(rows: exp.Query, more: Mapping[str, exp.Expression]) -> exp.Select:
    """Rows with further columns, which later ones can read."""
    items = [named(value, name) for name, value in more.items()]
    return exp.select(exp.Star(), *items).from_(subquery(rows, "given"), copy=False)


def _where_finite(value: exp.Expression, family: Family, found: exp.Expression) -> exp.Expression:
    return exp.Case().when(any_of(label_sql.not_finite(value, family).values()), exp.Null()).else_(found)


def _where_counted(family: Family, traits: Traits, found: exp.Expression) -> exp.Expression:
    value, case = column("value"), exp.Case()
    for infinite in label_sql.infinite_dates(value, family, traits).values():
        case = case.when(infinite, exp.Null())
    year = field_of("YEAR", in_utc(value, family))
    return case.when(exp.GTE(this=year, expression=literal(1)), cast(found, "bigint"))


BEFORE_MONTH = (0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334, 365)


def _before_month(month: exp.Expression, least: int = 1, step: int = 1) -> exp.Expression:
    """The days of the year before a month; of those only that are `least`, `least` + `step` and so on."""
    before = exp.Case()
    for number in range(least, 14, step):
        days: exp.Expression = literal(BEFORE_MONTH[number - 1])
        if number > 2:
            days = expression(":days + leap", days=days)
        before = before.when(equal(month.copy(), literal(number)), days, copy=False)
    return exp.Paren(this=before)


def _before_year(year: exp.Expression) -> exp.Expression:
    """The days of the Gregorian calendar before a year; January 1 of year 1 is day 1."""
    last = expression("(:year - 1)", year=year)
    parts = [cast(expression("(:last - :last % :by) / :by", last=last, by=by), "bigint") for by in (4, 100, 400)]
    return expression(
        "(365 * :last + :four - :hundred + :rest)", last=last, four=parts[0], hundred=parts[1], rest=parts[2]
    )


Ends = tuple[exp.Expression, exp.Expression]
"""The first and the last unit of a label; NULL where it has no bound."""


def ends(level: Level, family: Family) -> Ends:
    """Where the label of a row's value at a level begins and ends; reads what `with_units` gives it."""
    if isinstance(level, IntervalLevel):
        value = column("value")
        first, last = _interval_ends(level, value, family)
        if family is Family.INTEGER:
            return first, last
        return _where_finite(value, family, first), _where_finite(value, family, last)
    if isinstance(level, DateLevel):
        return _period_ends(level, family)
    raise TypeError(f"labels of {type(level).__name__} tell no bounds")


def _interval_ends(level: IntervalLevel, value: exp.Expression, family: Family) -> Ends:
    whole = family is Family.INTEGER
    reach = reach_of(level)
    outermost = level.cuts or tuple(bound for bound in (level.minimum, level.maximum) if bound is not None)
    # Beyond the reach of arithmetic a value has the label of what lies outermost, or none, and then no bounds either.
    below = exp.LT(this=value.copy(), expression=label_sql.bound(-reach, family))
    above = exp.GTE(this=value.copy(), expression=label_sql.bound(reach, family))
    least = outermost[0] if outermost and (level.cuts is not None or level.minimum is not None) else None
    most = outermost[-1] if outermost and (level.cuts is not None or level.maximum is not None) else None
    beyond: list[tuple[exp.Expression, Decimal | None, Decimal | None]] = [(below, None, least), (above, most, None)]
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


def _period_ends(level: DateLevel, family: Family) -> Ends:
    if level.unit == "hour":
        return expression("unit - second % 3600"), expression("unit - second % 3600 + 3599")
    day = cast(expression("unit" if family is Family.DATE else "(unit - second) / 86400"), "bigint")
    first: exp.Expression = day
    last: exp.Expression = day
    match level.unit:
        case "day":
            pass
        case "week":
            # Day 1 is a Monday.
            first = expression("(:day - (:day - 1) % 7)", day=day)
            last = expression("(:first + 6)", first=first)
        case "year":
            low = expression("(year - year % :count)", count=level.count)
            after = expression("(:low + :count)", low=low, count=level.count)
            # The years 1 to 4 share a label with a year 0 that there is not: what is before year 1 is clipped away.
            first, last = expression("(:before + 1)", before=_before_year(low)), _before_year(after)
        case _:
            number = 1 if level.unit == "month" else 3
            start = expression("month - (month - 1) % :number", number=number)
            after = expression("month - (month - 1) % :number + :number", number=number)
            before, until = _before_month(start, 1, number), _before_month(after, 1 + number, number)
            first = expression("(before_year + :before + 1)", before=before)
            last = expression("(before_year + :until)", until=until)
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
    top = len(levels) + 1
    units: dict[str, exp.Expression] = {}
    found: dict[str, exp.Expression] = {"places": places(family), "own": _own_place(family, traits)}
    for number, level in enumerate(levels, start=1):
        units[f"first_{number}"], units[f"last_{number}"] = ends(level, family)
        found[f"from_{number}"] = place(column(f"first_{number}"), family, "first")
        found[f"upto_{number}"] = place(column(f"last_{number}"), family, "last")
    placed = _with(with_bounds(_with(with_units(labelled, family, traits), units), measure, family), found)
    items: list[exp.Expression] = [column("value"), *(column(f"label_{level}") for level in range(top + 1))]
    items += [named(column("own"), "start_0"), named(literal(1), "leaves_0")]
    for number in range(1, top):
        begins, stops = column(f"from_{number}"), column(f"upto_{number}")
        size = expression("case when unit is null then 1 else :stops - :begins + 1 end", stops=stops, begins=begins)
        beginning = expression("case when unit is null then own else :begins end", begins=begins)
        items += [named(beginning, f"start_{number}"), named(size, f"leaves_{number}")]
    beyond = exp.Case().when(_outside(measure), literal(1)).else_(literal(0)) if measure.declared else literal(0)
    items += [named(cast(literal(0), "bigint"), f"start_{top}"), named(column("places"), f"leaves_{top}")]
    return exp.select(*items, named(beyond, "outside")).from_(subquery(placed, "placed"), copy=False)


def with_bounds(values: exp.Query, measure: Measure, family: Family) -> exp.Select:
    """Rows that have a `unit`, with the `low` and `high` of their domain: declared, or the extremes of all rows."""
    select = exp.select(exp.Star())
    for name, bound, extreme in (("low", measure.low, exp.Min), ("high", measure.high, exp.Max)):
        value = exp.Window(this=extreme(this=column("unit"))) if bound is None else _literal(bound, family)
        select = select.select(named(value, name), copy=False)
    return select.from_(subquery(values, "units"), copy=False)


def _literal(bound: Decimal, family: Family) -> exp.Expression:
    return double(str(bound)) if family in CONTINUOUS else cast(literal(int(bound)), "bigint")


def _own_place(family: Family, traits: Traits) -> exp.Expression:
    """The place of a value; what is not finite stands at the ends."""
    value = column("value")
    known = label_sql.not_finite(value, family) if family in CONTINUOUS else {}
    if family in (Family.DATE, *MOMENTS):
        known = label_sql.infinite_dates(value, family, traits)
    case = exp.Case()
    for name, condition in known.items():
        if name.startswith("-"):
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
    if family is Family.DATE:
        return expression("(:of - low)", of=within)
    # Halves, because the range of all floats has no width that is a float.
    step = expression(
        "cast(floor((cast(:of as double) / 2 - cast(low as double) / 2)"
        " / (cast(high as double) / 2 - cast(low as double) / 2) * :steps) as bigint)",
        of=within,
        steps=double(str(STEPS - 1)),
    )
    if family in CONTINUOUS:
        return expression("case when high > low then :step else 0 end", step=step)
    return expression("case when high - low < :steps then :of - low else :step end", of=within, steps=STEPS, step=step)


def _outside(measure: Measure) -> exp.Expression:
    """Whether a value lies outside its declared domain; infinite ones do."""
    beyond = expression("unit >= high" if measure.half_open else "unit > high")
    return expression("unit is null or unit < low or :beyond", beyond=beyond)
