"""Amounts of a spec: the rows that may be suppressed, and the thresholds of privacy models.

Pure and exact: a percentage of N rows is rounded down, never through binary floats; thresholds are decimals small
enough for comparison by whole numbers. Equal thresholds are written alike, whatever their spelling, so that a spec has
one fingerprint.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Annotated

from pydantic import AfterValidator, Field, PlainSerializer, PlainValidator, WithJsonSchema

from sqlanon.hierarchies.definition import Exact, Whole

_PERCENT = re.compile(r"([0-9]{1,20}(?:\.[0-9]{1,20})?) ?%")
_ROWS = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True)
class Limit:
    """Rows that may be suppressed; exactly one of `count` and `percent` is set."""

    count: int | None = None
    percent: Decimal | None = None

    def __post_init__(self) -> None:
        if (self.count is None) == (self.percent is None):
            raise ValueError("a limit is a number of rows or a percentage")
        if self.count is not None and self.count < 0:
            raise ValueError("a limit must be at least 0 rows")
        if self.percent is not None and not 0 <= self.percent <= 100:
            raise ValueError("a limit must lie between 0% and 100%")

    @classmethod
    def parse(cls, value: object) -> Limit:
        """The limit that a spec writes.

        >>> Limit.parse("4%").rows(30162), Limit.parse(3).rows(30162)
        (1206, 3)
        """
        if isinstance(value, Limit):
            return value
        if isinstance(value, int) and not isinstance(value, bool):
            return cls(count=value)
        if isinstance(value, str):
            if percent := _PERCENT.fullmatch(value.strip()):
                return cls(percent=Decimal(percent[1]))
            if _ROWS.fullmatch(value.strip()):
                return cls(count=int(value))
        raise ValueError("a number of rows or a percentage like 2% is expected")

    def rows(self, total: int) -> int:
        """The most rows of a table of `total` rows that may be suppressed."""
        if self.percent is not None:
            return floor(Fraction(self.percent) * total / 100)
        return min(self.count or 0, total)

    @property
    def is_zero(self) -> bool:
        """Whether nothing may be suppressed, however many rows there are."""
        return not self.count and not self.percent

    def __str__(self) -> str:
        return str(self.count) if self.percent is None else f"{self.percent:f}%"


SuppressionLimit = Annotated[
    Limit,
    PlainValidator(Limit.parse),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%$", "examples": ["2%"]},
            ]
        }
    ),
]
"""The limit of a spec."""


def _percentage(value: object) -> Limit:
    """A limit that is a percentage.

    >>> str(_percentage("5%"))
    '5%'
    """
    found = Limit.parse(value)
    if found.percent is None:
        raise ValueError("a percentage like 5% is expected")
    return found


Percentage = Annotated[
    Limit,
    PlainValidator(_percentage),
    PlainSerializer(str, return_type=str),
    WithJsonSchema({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?%$", "examples": ["5%"]}),
]
"""A percentage, from 0% to 100%."""


DECIMALS = 9
LARGEST = 10**6


def normal(value: Decimal) -> Decimal:
    """The same number without trailing zeros; refused where it has more decimals than can be compared.

    >>> normal(Decimal("0.20")), normal(Decimal("1E+3"))
    (Decimal('0.2'), Decimal('1000'))
    """
    if not value:
        return Decimal(0)
    # The bounds of each threshold come before this; a tiny one would make the fraction enormous.
    if value.adjusted() < -DECIMALS or (Fraction(value) * 10**DECIMALS).denominator != 1:
        raise ValueError(f"at most {DECIMALS} decimals are allowed")
    shortest = value.normalize()
    return shortest.quantize(Decimal(1)) if shortest == shortest.to_integral_value() else shortest


def _described(**bounds: int) -> WithJsonSchema:
    """Numbers within bounds; text, for what a variable of the environment says."""
    return WithJsonSchema({"anyOf": [{"type": "number", **bounds}, {"type": "string"}]})


Count = Annotated[Whole, Field(ge=1, le=LARGEST)]
"""A number of values that a class must hold."""

Share = Annotated[Exact, Field(ge=0, le=1), AfterValidator(normal), _described(minimum=0, maximum=1)]
"""A share of a class or a distance, 0 and 1 included."""

PositiveShare = Annotated[Exact, Field(gt=0, le=1), AfterValidator(normal), _described(exclusiveMinimum=0, maximum=1)]
"""A share of a class, above 0."""

PositiveThreshold = Annotated[
    Exact,
    Field(gt=0, le=LARGEST),
    AfterValidator(normal),
    _described(exclusiveMinimum=0, maximum=LARGEST),
]
"""A bound without a natural upper end."""
