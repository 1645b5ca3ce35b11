"""The levels whose labels follow from the value: masks, intervals and dates.

Pure. `label()` is the independent truth that the generated SQL is tested against.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from sqlanon.hierarchies.definition import written

Side = Literal["left", "right"]
DateUnit = Literal["hour", "day", "week", "month", "quarter", "year"]


@dataclass(frozen=True)
class MaskLevel:
    """The value's text with `masked` characters hidden at one side.

    Texts are read as `length` characters wide. `length` None is the longest value of the column: the database says.
    """

    masked: int
    length: int | None
    side: Side = "right"
    character: str = "*"

    def with_length(self, length: int) -> MaskLevel:
        """The same level for a column whose longest value has this length."""
        return replace(self, length=length)

    def label(self, value: object) -> str:
        """
        >>> MaskLevel(2, 5).label("94139"), MaskLevel(2, 5, "left", "x").label("94139")
        ('941**', 'xx139')
        """
        if self.length is None:
            raise ValueError("the length of the mask is not known yet")
        text = str(value)
        if len(text) > self.length:
            raise ValueError("a value is longer than the mask")
        kept = max(self.length - self.masked, 0)
        hidden = self.character * self.masked
        if self.side == "right":
            return text[:kept] + hidden
        return hidden + text[max(len(text) - kept, 0) :]


@dataclass(frozen=True)
class IntervalLevel:
    """Half-open intervals: of one `width` from `origin` on, or between explicit `cuts`; exactly one of the two.

    `minimum` and `maximum` go with `width`: values below the one and at or above the other share a label each.
    A binary float counts as the shortest decimal that reads back as it (0.3 is 0.3).
    """

    cuts: tuple[Decimal, ...] | None
    width: Decimal | None
    origin: Decimal = Decimal(0)
    minimum: Decimal | None = None
    maximum: Decimal | None = None
    scale: int = 0

    def label(self, value: object) -> str:
        """
        >>> IntervalLevel(None, Decimal(5)).label(23), IntervalLevel((Decimal(18), Decimal(65)), None).label(70)
        ('[20, 25)', '>=65')
        """
        number = Decimal(repr(value)) if isinstance(value, float) else Decimal(str(value))
        if math.isnan(number):
            return "NaN"
        if self.cuts is not None:
            return self._between_cuts(self.cuts, number)
        if self.minimum is not None and number < self.minimum:
            return f"<{self._written(self.minimum)}"
        if self.maximum is not None and number >= self.maximum:
            return f">={self._written(self.maximum)}"
        if math.isinf(number):
            return "Infinity" if number > 0 else "-Infinity"
        return self._of_width(Fraction(number))

    def _between_cuts(self, cuts: tuple[Decimal, ...], number: Decimal) -> str:
        position = bisect_right(cuts, number)
        if position == 0:
            return f"<{self._written(cuts[0])}"
        if position == len(cuts):
            return f">={self._written(cuts[-1])}"
        return f"[{self._written(cuts[position - 1])}, {self._written(cuts[position])})"

    def _of_width(self, number: Fraction) -> str:
        if self.width is None:
            raise ValueError("an interval level has cuts or a width")
        width, origin = Fraction(self.width), Fraction(self.origin)
        low = origin + (number - origin) // width * width
        high = low + width if self.maximum is None else min(low + width, Fraction(self.maximum))
        return f"[{written(low, self.scale)}, {written(high, self.scale)})"

    def _written(self, number: Decimal) -> str:
        return written(Fraction(number), self.scale)


@dataclass(frozen=True)
class DateLevel:
    """Dates cut to a unit; `count` years share a label where the unit is year. Years have at least four digits."""

    unit: DateUnit
    count: int = 1

    def label(self, value: object) -> str:
        """
        >>> DateLevel("week").label(date(1964, 9, 27)), DateLevel("year", 5).label(date(1964, 9, 27))
        ('1964-W39', '[1960-1964]')
        """
        moment = _in_utc(value)
        year = f"{moment.year:04d}"
        match self.unit:
            case "hour":
                return f"{year}-{moment.month:02d}-{moment.day:02d} {moment.hour:02d}"
            case "day":
                return f"{year}-{moment.month:02d}-{moment.day:02d}"
            case "week":
                iso = moment.isocalendar()
                return f"{iso.year:04d}-W{iso.week:02d}"
            case "month":
                return f"{year}-{moment.month:02d}"
            case "quarter":
                return f"{year}-Q{(moment.month + 2) // 3}"
            case "year":
                return year if self.count == 1 else self._years(moment.year)

    def _years(self, year: int) -> str:
        first = year // self.count * self.count
        return f"[{first:04d}-{first + self.count - 1:04d}]"


def _in_utc(value: object) -> datetime:
    if isinstance(value, datetime):
        return value if value.tzinfo is None else value.astimezone(UTC)
    if isinstance(value, date):
        return datetime(value.year, value.month, value.day)
    raise ValueError("a date or a timestamp is expected")
