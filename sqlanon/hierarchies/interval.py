"""The interval builder: numbers into wider and wider half-open intervals.

Pure. Bounds are exact decimals; levels nest by construction or the definition is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from itertools import pairwise
from typing import Annotated, Self

from pydantic import BeforeValidator, Field, StrictBool, WithJsonSchema, model_validator

from sqlanon.hierarchies.base import Ending, Family, Formula
from sqlanon.hierarchies.definition import Definition, Exact, decimals, require_family, require_few_levels
from sqlanon.hierarchies.levels import IntervalLevel

MOST_DECIMALS = 9
MOST_DIGITS = 18
"""Scaled to whole numbers, the bounds of a definition fit the 64-bit integers that labels are computed with."""

Bound = Annotated[Exact, WithJsonSchema({"type": "number"})]


def _one_level(value: object) -> object:
    """A flat list of cuts is one level."""
    if isinstance(value, list | tuple) and value and not any(isinstance(item, list | tuple) for item in value):
        return [value]
    return value


Cuts = Annotated[
    tuple[tuple[Bound, ...], ...],
    BeforeValidator(_one_level),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "array", "items": {"type": "number"}, "minItems": 1},
                {"type": "array", "items": {"type": "array", "items": {"type": "number"}, "minItems": 1}},
            ]
        }
    ),
]


class Interval(Definition):
    """Numbers in half-open intervals like [20, 25): of nested widths, or between explicit cut points."""

    widths: tuple[Bound, ...] | None = Field(
        None, description="Width of the intervals at each level; each a multiple of the one before."
    )
    cuts: Cuts | None = Field(
        None, description="Cut points of each level, finest first; each level keeps some cuts of the one before."
    )
    min: Bound | None = Field(
        None, description="With widths: where intervals start; all values below share the label <min."
    )
    max: Bound | None = Field(None, description="With widths: values at or above it share the label >=max.")
    top: StrictBool = Field(
        True,
        description="Whether * stands above the widest intervals. false: one holds all values, others are refused.",
    )

    @model_validator(mode="after")
    def _check_levels(self) -> Self:
        if (self.widths is None) == (self.cuts is None):
            raise ValueError("give either widths or cuts")
        _check_digits(self._numbers())
        require_few_levels(len(self.widths or self.cuts or ()))
        if self.widths is not None:
            _check_widths(self.widths)
        if self.cuts is not None:
            _check_cuts(self.cuts)
            if self.min is not None or self.max is not None:
                raise ValueError("min and max go with widths; the outermost cuts already bound the intervals")
        if self.min is not None and self.max is not None and self.min >= self.max:
            raise ValueError("min must lie below max")
        return self

    def rule(self, family: Family) -> Formula:
        """One level per width or list of cuts."""
        fitting = (Family.INTEGER, Family.DECIMAL, Family.FLOAT)
        require_family("interval", family, fitting, "it needs numbers")
        return Formula(tuple(self._levels()), None if self.top else Ending.LAST)

    def _levels(self) -> list[IntervalLevel]:
        scale = max(decimals(number) for number in self._numbers())
        if self.cuts is not None:
            return [IntervalLevel(cuts, None, scale=scale) for cuts in self.cuts]
        origin = self.min if self.min is not None else Decimal(0)
        return [IntervalLevel(None, width, origin, self.min, self.max, scale) for width in self.widths or ()]

    def _numbers(self) -> list[Decimal]:
        bounds = [bound for bound in (self.min, self.max) if bound is not None]
        return [*(self.widths or ()), *(cut for cuts in self.cuts or () for cut in cuts), *bounds]


def _check_digits(numbers: Sequence[Decimal]) -> None:
    scale = max(map(decimals, numbers), default=0)
    if scale > MOST_DECIMALS or any(number.adjusted() + scale >= MOST_DIGITS for number in numbers):
        raise ValueError(f"numbers have at most {MOST_DECIMALS} decimals, and with these at most {MOST_DIGITS} digits")


def _check_widths(widths: Sequence[Decimal]) -> None:
    if not widths or widths[0] <= 0:
        raise ValueError("widths must be numbers above 0")
    if any(wide <= narrow or Fraction(wide) % Fraction(narrow) != 0 for narrow, wide in pairwise(widths)):
        raise ValueError("widths must nest: each a multiple of the one before")


def _check_cuts(cuts: Sequence[Sequence[Decimal]]) -> None:
    if not cuts or not all(cuts):
        raise ValueError("cuts must name at least one number for each level")
    if any(high <= low for level in cuts for low, high in pairwise(level)):
        raise ValueError("the cuts of a level must increase")
    if any(not set(coarse) < set(fine) for fine, coarse in pairwise(cuts)):
        raise ValueError("cuts must nest: each level keeps some, not all, cuts of the one before and adds none")
