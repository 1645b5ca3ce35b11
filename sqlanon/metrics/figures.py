"""The few shapes of aggregates that metrics ask for, over the relation `classes`.

Makes expressions only. Products are taken in types wide enough that every engine returns the same number.
"""

from __future__ import annotations

from sqlglot import exp

from sqlanon.sql.relations import Table, column, identifier, literal, table_expression

CLASSES = "classes"
ROWS = "n"
KEPT = "kept"


def code_name(position: int) -> str:
    return f"code_{position}"


def leaves_name(position: int) -> str:
    return f"leaves_{position}"


def suppressed_leaves(position: int) -> exp.Expression:
    """Sum over suppressed rows of the leaves under their generalized value. Within 64 bits up to rows * leaves."""
    return _sum(_when_suppressed(exp.Mul(this=column(ROWS), expression=column(leaves_name(position)))))


def squares() -> exp.Expression:
    """Sum of n * n over all classes."""
    return _sum(_square())


def squares_of_kept() -> exp.Expression:
    """Sum of n * n over the classes that satisfy the requirement."""
    return _sum(exp.Case(ifs=[exp.If(this=column(KEPT), true=_square())], default=literal(0)))


def all_classes() -> exp.Expression:
    """The number of classes, suppressed ones included."""
    return exp.Count(this=exp.Star())


def suppressed_logarithms(position: int) -> exp.Expression:
    """Sum of c * ln(c) over the generalized values of the suppressed rows, c the suppressed rows of a value."""
    count = exp.cast(exp.Sum(this=column(ROWS)), "double")
    counts = (
        exp.Select()
        .select(exp.alias_(count, identifier("c")))
        .from_(table_expression(Table((CLASSES,))))
        .where(exp.Not(this=column(KEPT)))
        .group_by(column(code_name(position)))
    )
    terms = exp.Mul(this=column("c"), expression=exp.Ln(this=column("c")))
    total = exp.Select().select(_sum(terms)).from_(counts.subquery(identifier("suppressed_values")))
    return exp.Subquery(this=total)


def _sum(value: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=exp.Sum(this=value), expressions=[literal(0)])


def _square() -> exp.Expression:
    # Nineteen digits hold any 64-bit count, and twice nineteen is the widest decimal engines agree on.
    wide = exp.cast(column(ROWS), "decimal(19, 0)")
    return exp.Mul(this=wide, expression=wide.copy())


def _when_suppressed(value: exp.Expression) -> exp.Expression:
    return exp.Case(ifs=[exp.If(this=column(KEPT), true=literal(0))], default=value)
