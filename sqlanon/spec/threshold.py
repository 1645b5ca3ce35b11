"""The thresholds of privacy models: exact decimals, small enough for comparison by whole numbers.

Pure. Equal thresholds are written alike, whatever their spelling, so that a spec has one fingerprint.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Annotated

from pydantic import AfterValidator, Field, WithJsonSchema

from sqlanon.hierarchies.definition import Exact, Whole

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
