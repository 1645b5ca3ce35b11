"""Labels of formula hierarchies as SQL: each level rule becomes one expression over the value.

The same rules compute labels in Python (`hierarchies.levels`); tests hold the two against each other on every engine.
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

_LARGEST_UNITS = 4 * 10**18
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


def _scaled(number: Decimal, scale: int) -> int:
    return int(number.scaleb(scale).to_integral_exact())


def _interval(level: IntervalLevel, value: exp.Expression, family: Family) -> exp.Expression:
    """Whole-number arithmetic on the value times 10^scale: no division, so no rounding at a boundary.

    What would not fit the arithmetic is labelled first: every bound of a definition lies well inside its range.
    """
    case = _not_finite(exp.Case(), level, value, family)
    reach = _LARGEST_UNITS // 10**level.scale
    whole = exp.Floor(this=value.copy()) if family is Family.DECIMAL else value
    case = case.when(exp.LT(this=whole.copy(), expression=_bound(-reach, family)), literal(_outermost(level, -1)))
    case = case.when(exp.GTE(this=whole.copy(), expression=_bound(reach, family)), literal(_outermost(level, 1)))
    units = _units(value, family, level.scale)
    if level.cuts is not None:
        return _explicit_cuts(case, level, units)
    if level.minimum is not None:
        below = exp.LT(this=units.copy(), expression=literal(_scaled(level.minimum, level.scale)))
        case = case.when(below, literal(f"<{_plain(level.minimum, level.scale)}"))
    if level.maximum is not None:
        above = exp.GTE(this=units.copy(), expression=literal(_scaled(level.maximum, level.scale)))
        case = case.when(above, literal(f">={_plain(level.maximum, level.scale)}"))
    return case.else_(_equal_width(level, units))


def _not_finite(case: exp.Case, level: IntervalLevel, value: exp.Expression, family: Family) -> exp.Case:
    """Floats have NaN and infinities on every engine, decimals on some: those are told by their text."""
    if family is Family.INTEGER:
        return case
    for name in ("NaN", "Infinity", "-Infinity"):
        special = literal(name) if family is Family.DECIMAL else _double(name)
        known = cast(value.copy(), "text") if family is Family.DECIMAL else value.copy()
        case = case.when(equal(known, special), literal(level.label(float(name))))
    return case


def _bound(number: int, family: Family) -> exp.Expression:
    return _double(str(number)) if family is Family.FLOAT else literal(number)


def _outermost(level: IntervalLevel, sign: int) -> str | None:
    """The label of what lies beyond every number we compute with; None, so outside the hierarchy, where none is."""
    coded = level.cuts or (level.minimum if sign < 0 else level.maximum) is not None
    return level.label(Decimal(sign).scaleb(100)) if coded else None


def _explicit_cuts(case: exp.Case, level: IntervalLevel, units: exp.Expression) -> exp.Expression:
    cuts = level.cuts or ()
    texts = [_plain(cut, level.scale) for cut in cuts]
    labels = [f"<{texts[0]}", *(f"[{low}, {high})" for low, high in pairwise(texts))]
    for cut, name in zip(cuts, labels, strict=True):
        below = exp.LT(this=units.copy(), expression=literal(_scaled(cut, level.scale)))
        case = case.when(below, literal(name))
    return case.else_(literal(f">={texts[-1]}"))


def _equal_width(level: IntervalLevel, units: exp.Expression) -> exp.Expression:
    if level.width is None:
        raise TypeError("an interval level has a width or cut points")
    width = literal(_scaled(level.width, level.scale))
    offset = exp.Paren(this=exp.Sub(this=units.copy(), expression=literal(_scaled(level.origin, level.scale))))
    # The remainder takes the sign of the dividend on every engine; adding the width once makes it non-negative.
    remainder = exp.Mod(
        this=exp.Paren(this=exp.Add(this=exp.Mod(this=offset, expression=width), expression=width.copy())),
        expression=width.copy(),
    )
    low = exp.Paren(this=exp.Sub(this=units.copy(), expression=exp.Paren(this=remainder)))
    high: exp.Expression = exp.Paren(this=exp.Add(this=low.copy(), expression=width.copy()))
    if level.maximum is not None:
        high = exp.Least(this=high, expressions=[literal(_scaled(level.maximum, level.scale))])
    return concat("[", _unscaled(low, level.scale), ", ", _unscaled(high, level.scale), ")")


def _units(value: exp.Expression, family: Family, scale: int) -> exp.Expression:
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


def _double(text: str) -> exp.Expression:
    return cast(literal(text), "double")


def _date(level: DateLevel, value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """Infinite dates are labelled as such. Engines number years before 1 differently: those have no label."""
    case = exp.Case()
    for name in ("infinity", "-infinity") if traits.infinite_dates else ():
        case = case.when(equal(value.copy(), cast(literal(name), _DATE_TYPES[family])), literal(name))
    if family is Family.TIMESTAMP_TZ:
        value = exp.AtTimeZone(this=value, zone=literal("UTC"))
    counted = exp.GTE(this=_field("YEAR", value), expression=literal(1))
    return case.when(counted, _period(level, value, traits))


_DATE_TYPES = {Family.DATE: "date", Family.TIMESTAMP: "timestamp", Family.TIMESTAMP_TZ: "timestamptz"}


def _period(level: DateLevel, value: exp.Expression, traits: Traits) -> exp.Expression:
    year = _field("YEAR", value)
    match level.unit:
        case "hour":
            return concat(_day(value), " ", _padded(_field("HOUR", value), 2))
        case "day":
            return _day(value)
        case "week":
            week_year = cast(traits.iso_year(value.copy()), "int")
            return concat(_padded(week_year, 4), "-W", _padded(_field("WEEK", value), 2))
        case "month":
            return concat(_padded(year, 4), "-", _padded(_field("MONTH", value), 2))
        case "quarter":
            return concat(_padded(year, 4), "-Q", cast(_field("QUARTER", value), "text"))
        case _ if level.count == 1:
            return _padded(year, 4)
    low = exp.Paren(this=exp.Sub(this=year, expression=exp.Mod(this=year.copy(), expression=literal(level.count))))
    high = exp.Paren(this=exp.Add(this=low.copy(), expression=literal(level.count - 1)))
    return concat("[", _padded(low, 4), "-", _padded(high, 4), "]")


def _day(value: exp.Expression) -> exp.Expression:
    parts = (("YEAR", 4), ("MONTH", 2), ("DAY", 2))
    year, month, day = (_padded(_field(name, value), width) for name, width in parts)
    return concat(year, "-", month, "-", day)


def _field(name: str, value: exp.Expression) -> exp.Expression:
    return cast(exp.Extract(this=exp.var(name), expression=value.copy()), "int")


def _padded(number: exp.Expression, width: int) -> exp.Expression:
    """At least `width` digits: padding to less than a text's length would cut it."""
    text = cast(number, "text")
    wide = cast(exp.Greatest(this=literal(width), expressions=[exp.Length(this=text.copy())]), "int")
    return exp.Pad(this=text, expression=wide, fill_pattern=literal("0"), is_left=True)
