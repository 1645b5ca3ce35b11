"""How many rows may be suppressed: a number of rows, or a percentage of the table.

Pure and exact: a percentage of N rows is rounded down, never through binary floats.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor
from typing import Annotated

from pydantic import PlainSerializer, PlainValidator, WithJsonSchema

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
