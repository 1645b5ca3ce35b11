"""Exact comparison of counts with decimal thresholds: whole numbers throughout, wide enough for their products.

Pure SQL expressions. A class that lies exactly on a threshold must pass, the least step beyond it must not.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from sqlanon.sql.relations import cast, column, literal

NARROW = "bigint"
WIDE = "decimal(38, 0)"
LARGEST = 2**62


@dataclass(frozen=True)
class Threshold:
    """A decimal threshold as a fraction of whole numbers."""

    value: Decimal

    @property
    def fraction(self) -> Fraction:
        return Fraction(self.value)

    @property
    def numerator(self) -> exp.Expression:
        return literal(self.fraction.numerator)

    @property
    def denominator(self) -> exp.Expression:
        return literal(self.fraction.denominator)

    @property
    def largest(self) -> int:
        return max(self.fraction.numerator, self.fraction.denominator)

    def __str__(self) -> str:
        return f"{self.value.normalize():f}"

    def double(self) -> exp.Expression:
        """The threshold where only floating point will do."""
        return cast(exp.Literal.number(str(self)), "double")


def product(kind: str, *factors: exp.Expression | str) -> exp.Expression:
    """The product of counts and whole numbers in a type that holds it; texts name columns."""
    operands = [cast(column(item) if isinstance(item, str) else item, kind) for item in factors]
    result: exp.Expression = operands[0]
    for operand in operands[1:]:
        result = exp.Mul(this=result, expression=operand)
    return exp.Paren(this=result)


def kind_for(largest: int) -> str:
    """The type that holds products up to `largest`."""
    return NARROW if largest < LARGEST else WIDE


def ratio(numerator: tuple[str, str], denominator: tuple[str, str]) -> exp.Expression:
    """(a * b) / (c * d) in floating point; exactly 1 where the products are equal."""
    above = exp.Mul(this=_double(numerator[0]), expression=_double(numerator[1]))
    below = exp.Mul(this=_double(denominator[0]), expression=_double(denominator[1]))
    return exp.Div(this=exp.Paren(this=above), expression=exp.Paren(this=below))


def _double(name: str) -> exp.Expression:
    return cast(column(name), "double")
