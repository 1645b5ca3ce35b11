"""Small words of the audit's arithmetic: wide products, floating point, extremes of a few expressions."""

from __future__ import annotations

from functools import reduce

from sqlglot import exp

from sqlanon.sql.relations import cast

NARROW, WIDE = "bigint", "decimal(38, 0)"


def wide(value: exp.Expression) -> exp.Expression:
    """A whole number in 38 digits."""
    return cast(value, WIDE)


def product(*factors: exp.Expression) -> exp.Expression:
    """A product of counts in 38 digits; an engine that needs more fails, and nothing passes."""
    return times(*(wide(factor.copy()) for factor in factors))


def times(*factors: exp.Expression) -> exp.Expression:
    return reduce(lambda left, right: exp.Mul(this=left, expression=right), factors)


def double(value: exp.Expression) -> exp.Expression:
    return cast(value.copy(), "double")


def greatest(first: exp.Expression, *others: exp.Expression) -> exp.Expression:
    """The greatest that is not NULL."""
    # Without the flag, sqlglot tests every operand for NULL first.
    return exp.Greatest(this=first, expressions=list(others), ignore_nulls=True) if others else first


def least(first: exp.Expression, *others: exp.Expression) -> exp.Expression:
    """The least that is not NULL."""
    return exp.Least(this=first, expressions=list(others), ignore_nulls=True) if others else first
