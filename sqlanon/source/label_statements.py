"""The labels of masks, intervals and dates as SQL: one expression over the value for each level, and what bounds it.

`hierarchies.levels` computes the same labels in Python; tests hold the two against each other on every engine.
"""

from __future__ import annotations

from decimal import Decimal
from itertools import pairwise

from sqlglot import exp

from sqlanon.hierarchies.base import Family, Level
from sqlanon.hierarchies.levels import DateLevel, IntervalLevel, MaskLevel
from sqlanon.sql.build import concat, equal
from sqlanon.sql.relations import cast, literal
from sqlanon.sql.traits import Traits

_DECIMAL = "DECIMAL(28, 9)"
"""Wide enough for 19 integer digits, and still within 38 digits after scaling by up to 10^9."""

LARGEST_UNITS = 4 * 10**18
"""Beyond this, sums with a definition's bounds (below 10^18 each) would leave 64 bits."""


def label(level: Level, value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """The label of `value` at this level. NULL for a value outside the rule's domain."""
    match level:
        case MaskLevel():
            return _mask(level, traits.text(value, family))
        case IntervalLevel():
            return _interval(level, value, family)
        case DateLevel():
            return _date(level, value, family, traits)
        case _:
            raise TypeError(f"no SQL for level rule {type(level).__name__}")


def text_length(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """The number of characters of a value's text."""
    return exp.Length(this=traits.text(value, family))


def _mask(level: MaskLevel, text: exp.Expression) -> exp.Expression:
    if level.length is None:
        raise TypeError("a mask needs its length before it becomes SQL")
    visible = literal(level.length - level.masked)
    stars = level.character * level.masked
    if level.side == "right":
        masked = concat(exp.Substring(this=text, start=literal(1), length=visible), stars)
    else:
        masked = concat(stars, exp.Right(this=text, expression=visible))
    fits = exp.LTE(this=exp.Length(this=text.copy()), expression=literal(level.length))
    return exp.Case().when(fits, masked)


def scaled(number: Decimal, scale: int) -> int:
    return int(number.scaleb(scale).to_integral_exact())


def _interval(level: IntervalLevel, value: exp.Expression, family: Family) -> exp.Expression:
    """Whole-number arithmetic on the value times 10^scale: no division, so no rounding at a boundary.

    What would not fit the arithmetic is labelled first: every bound of a definition lies well inside its range.
    """
    case = _not_finite(exp.Case(), level, value, family)
    reach = reach_of(level)
    whole = exp.Floor(this=value.copy()) if family is Family.DECIMAL else value
    case = case.when(exp.LT(this=whole.copy(), expression=bound(-reach, family)), literal(_outermost(level, -1)))
    case = case.when(exp.GTE(this=whole.copy(), expression=bound(reach, family)), literal(_outermost(level, 1)))
    units = units_of(value, family, level.scale)
    if level.cuts is not None:
        return _explicit_cuts(case, level, units)
    if level.minimum is not None:
        below = exp.LT(this=units.copy(), expression=literal(scaled(level.minimum, level.scale)))
        case = case.when(below, literal(f"<{_plain(level.minimum, level.scale)}"))
    if level.maximum is not None:
        above = exp.GTE(this=units.copy(), expression=literal(scaled(level.maximum, level.scale)))
        case = case.when(above, literal(f">={_plain(level.maximum, level.scale)}"))
    return case.else_(_equal_width(level, units))


def _not_finite(case: exp.Case, level: IntervalLevel, value: exp.Expression, family: Family) -> exp.Case:
    for name, condition in not_finite(value, family).items():
        case = case.when(condition, literal(level.label(float(name))))
    return case


def not_finite(value: exp.Expression, family: Family) -> dict[str, exp.Expression]:
    """Floats have NaN and infinities on every engine, decimals on some: those are recognized by their text."""
    if family is Family.INTEGER:
        return {}
    special = {name: literal(name) if family is Family.DECIMAL else double(name) for name in NOT_FINITE}
    known = cast(value.copy(), "text") if family is Family.DECIMAL else value
    return {name: equal(known.copy(), found) for name, found in special.items()}


def reach_of(level: IntervalLevel) -> int:
    """Numbers below this, and not below its opposite, are labelled by arithmetic."""
    return LARGEST_UNITS // int(10**level.scale)


def bound(number: int, family: Family) -> exp.Expression:
    return double(str(number)) if family is Family.FLOAT else literal(number)


def _outermost(level: IntervalLevel, sign: int) -> str | None:
    """The label of what lies beyond every number we compute with; None, so outside the hierarchy, where none is."""
    coded = level.cuts or (level.minimum if sign < 0 else level.maximum) is not None
    return level.label(Decimal(sign).scaleb(100)) if coded else None


def _explicit_cuts(case: exp.Case, level: IntervalLevel, units: exp.Expression) -> exp.Expression:
    cuts = level.cuts or ()
    texts = [_plain(cut, level.scale) for cut in cuts]
    labels = [f"<{texts[0]}", *(f"[{low}, {high})" for low, high in pairwise(texts))]
    for cut, name in zip(cuts, labels, strict=True):
        below = exp.LT(this=units.copy(), expression=literal(scaled(cut, level.scale)))
        case = case.when(below, literal(name))
    return case.else_(literal(f">={texts[-1]}"))


def _equal_width(level: IntervalLevel, units: exp.Expression) -> exp.Expression:
    low, high = width_ends(level, units)
    return concat("[", _unscaled(low, level.scale), ", ", _unscaled(high, level.scale), ")")


def width_ends(level: IntervalLevel, units: exp.Expression) -> tuple[exp.Expression, exp.Expression]:
    """Where the interval of a value begins, and the first value beyond it, both times 10^scale."""
    if level.width is None:
        raise TypeError("an interval level has a width or cut points")
    width = literal(scaled(level.width, level.scale))
    offset = exp.Paren(this=exp.Sub(this=units.copy(), expression=literal(scaled(level.origin, level.scale))))
    # The remainder takes the sign of the dividend on every engine; adding the width once makes it non-negative.
    remainder = exp.Mod(
        this=exp.Paren(this=exp.Add(this=exp.Mod(this=offset, expression=width), expression=width.copy())),
        expression=width.copy(),
    )
    low = exp.Sub(this=units.copy(), expression=remainder)
    high: exp.Expression = exp.Add(this=low.copy(), expression=width.copy())
    if level.maximum is not None:
        most = literal(scaled(level.maximum, level.scale))
        high = exp.Case().when(exp.GT(this=high.copy(), expression=most), most.copy()).else_(high)
    return low, high


def units_of(value: exp.Expression, family: Family, scale: int) -> exp.Expression:
    """The value times 10^scale, rounded down to a whole number."""
    if scale > 9:
        raise TypeError("an interval has at most 9 decimals")
    if family is Family.INTEGER:
        whole: exp.Expression = cast(value, "bigint")
        return whole if scale == 0 else exp.Paren(this=exp.Mul(this=whole, expression=literal(10**scale)))
    exact = _rounded_down(value, family)
    if scale:
        exact = exp.Mul(this=exact, expression=cast(literal(10**scale), f"DECIMAL({scale + 1}, 0)"))
    return cast(exp.Floor(this=exact), "bigint")


def _rounded_down(value: exp.Expression, family: Family) -> exp.Expression:
    """The value with nine decimals. A cast rounds to the nearest: what it rounded up goes one step back.

    A float counts as the shortest decimal that reads back as it, so it goes through its text. Nine decimals that read
    back as the same float are that shortest decimal, or it would have been shorter itself.
    """
    original: exp.Expression = value.copy()
    rounded: exp.Expression = cast(value.copy(), _DECIMAL)
    compared = rounded
    if family is Family.FLOAT:
        text = cast(value.copy(), "text")
        original = cast(text, "double")
        rounded = cast(text.copy(), _DECIMAL)
        compared = cast(rounded.copy(), "double")
    step = cast(literal("0.000000001"), "DECIMAL(10, 9)")
    went_up = exp.GT(this=compared.copy(), expression=original)
    correction = exp.Case().when(went_up, step).else_(cast(literal("0"), "DECIMAL(10, 9)"))
    return exp.Paren(this=exp.Sub(this=rounded.copy(), expression=correction))


def _unscaled(units: exp.Expression, scale: int) -> exp.Expression:
    if scale == 0:
        return cast(units, "text")
    unit = cast(exp.Literal.string(_plain(Decimal(1).scaleb(-scale), scale)), f"DECIMAL({scale + 1}, {scale})")
    return cast(exp.Mul(this=cast(units, "DECIMAL(19, 0)"), expression=unit), "text")


def _plain(number: Decimal, scale: int) -> str:
    return f"{number:.{scale}f}"


def double(text: str) -> exp.Expression:
    return cast(literal(text), "double")


def _date(level: DateLevel, value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """Infinite dates are labelled as such. Engines number years before 1 differently: those have no label."""
    case = exp.Case()
    for name, condition in infinite_dates(value, family, traits).items():
        case = case.when(condition, literal(name))
    value = in_utc(value, family)
    counted = exp.GTE(this=field_of("YEAR", value), expression=literal(1))
    return case.when(counted, _period(level, value, traits))


def infinite_dates(value: exp.Expression, family: Family, traits: Traits) -> dict[str, exp.Expression]:
    """Whether a date is beyond all others, where the engine has such dates."""
    names = ("infinity", "-infinity") if traits.infinite_dates else ()
    return {name: equal(value.copy(), cast(literal(name), DATE_TYPES[family])) for name in names}


def in_utc(value: exp.Expression, family: Family) -> exp.Expression:
    return exp.AtTimeZone(this=value, zone=literal("UTC")) if family is Family.TIMESTAMP_TZ else value


NOT_FINITE = ("NaN", "Infinity", "-Infinity")
DATE_TYPES = {Family.DATE: "date", Family.TIMESTAMP: "timestamp", Family.TIMESTAMP_TZ: "timestamptz"}


def _period(level: DateLevel, value: exp.Expression, traits: Traits) -> exp.Expression:
    year = field_of("YEAR", value)
    match level.unit:
        case "hour":
            return concat(_day(value), " ", _padded(field_of("HOUR", value), 2))
        case "day":
            return _day(value)
        case "week":
            week_year = cast(traits.iso_year(value.copy()), "int")
            return concat(_padded(week_year, 4), "-W", _padded(field_of("WEEK", value), 2))
        case "month":
            return concat(_padded(year, 4), "-", _padded(field_of("MONTH", value), 2))
        case "quarter":
            return concat(_padded(year, 4), "-Q", cast(field_of("QUARTER", value), "text"))
        case _ if level.count == 1:
            return _padded(year, 4)
    low = exp.Sub(this=year, expression=exp.Mod(this=year.copy(), expression=literal(level.count)))
    high = exp.Add(this=low.copy(), expression=literal(level.count - 1))
    return concat("[", _padded(low, 4), "-", _padded(high, 4), "]")


def _day(value: exp.Expression) -> exp.Expression:
    parts = (("YEAR", 4), ("MONTH", 2), ("DAY", 2))
    year, month, day = (_padded(field_of(name, value), width) for name, width in parts)
    return concat(year, "-", month, "-", day)


def field_of(name: str, value: exp.Expression) -> exp.Expression:
    return cast(exp.Extract(this=exp.var(name), expression=value.copy()), "int")


def _padded(number: exp.Expression, width: int) -> exp.Expression:
    """At least `width` digits: only a year can have more, and padding to less than a text's length would cut it."""
    text = cast(number, "text")
    padded = exp.Pad(this=text, expression=literal(width), fill_pattern=literal("0"), is_left=True)
    if width < 4:
        return padded
    long = exp.GT(this=number.copy(), expression=literal(10**width - 1))
    return exp.Case().when(long, text.copy()).else_(padded)
