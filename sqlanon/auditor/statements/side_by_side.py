"""The fast way to measure a class: all values of the sensitive column counted side by side in the scan's one GROUP BY.

Nothing is grouped twice and no class needs a number. An aggregate over the cells of a class becomes an expression over
its columns members_1, members_2, ...: a sum of terms for SUM and COUNT, GREATEST and LEAST for MAX and MIN.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from sqlglot import exp

from sqlanon.auditor.statements.steps import Steps, step
from sqlanon.auditor.statements.values import Side, with_domain
from sqlanon.auditor.statements.words import greatest, least
from sqlanon.sql.build import count, equal, is_null, is_present, named
from sqlanon.sql.relations import column, literal

MOST_VALUES = 32
"""More values than these would make a class too wide."""

OF_CLASS = frozenset({"size", "total", "reference_values"})
"""What is the same for every value."""


def classes(audited: Side, keys: Sequence[exp.Expression], values: int, *, has_null: bool) -> exp.Select:
    """The size of each class and, as members_<code>, how many have each value.

    A value that appeared after the values were numbered is in none of them: the sums tell.
    """
    items = [named(count(), "size")]
    for code in range(1, values + 1):
        is_value = equal(column("code", "domain"), literal(code))
        if has_null and code == 1:
            is_value = is_null(audited.value.copy())
        items.append(named(exp.Count(this=exp.Case().when(is_value, literal(1))), f"members_{code}"))
    select = with_domain(exp.select(*items).from_(audited.relation.copy(), copy=False), audited.value)
    return select.group_by(*(key.copy() for key in keys), copy=False) if keys else select


def reference_in_one_row(columns: Sequence[str], values: int) -> exp.Select:
    """The columns of `reference` with one column for each value."""
    items = [named(exp.Max(this=column(name)), name) for name in columns if name in OF_CLASS]
    for name in columns:
        if name in OF_CLASS:
            continue
        for code in range(1, values + 1):
            of_value = exp.Case().when(equal(column("code"), literal(code)), column(name))
            items.append(named(exp.Max(this=of_value), f"{name}_{code}"))
    return exp.select(*items).from_(step("reference"), copy=False)


def steps(
    audited: Side, keys: Sequence[exp.Expression], columns: Sequence[str], values: int, *, has_null: bool
) -> Steps:
    """The steps from `domain` and `reference` to `side_by_side`: a row for each class."""
    both = exp.select(exp.Star()).from_(step("classes"), copy=False).join(step("whole"), join_type="cross", copy=False)
    return {
        "classes": classes(audited, keys, values, has_null=has_null),
        "whole": reference_in_one_row(columns, values),
        "side_by_side": both,
    }


def in_columns(aggregate: exp.Expression, values: int) -> exp.Expression:
    """An aggregate over the cells of a class as an expression over the columns of its row."""

    def replaced(node: exp.Expr) -> exp.Expr:
        return _combined(node, values) if isinstance(node, exp.AggFunc) else node

    return _expression(aggregate.transform(replaced))


def _combined(aggregate: exp.AggFunc, values: int) -> exp.Expression:
    value: exp.Expression = aggregate.this
    if not isinstance(value, exp.Star) and not any(_is_of_value(item) for item in value.find_all(exp.Column)):
        return value
    codes = range(1, values + 1)
    match aggregate:
        case exp.Sum():
            return _sum(_of(value, code) for code in codes)
        case exp.Count() if isinstance(value, exp.Star):
            return _sum(_one_if(exp.GT(this=column(f"members_{code}"), expression=literal(0))) for code in codes)
        case exp.Count():
            return _sum(_one_if(is_present(_of(value, code))) for code in codes)
        case exp.Max():
            return greatest(*(_of(value, code) for code in codes))
        case exp.Min():
            return least(*(_of(value, code) for code in codes))
    raise TypeError(f"no expression in columns for {type(aggregate).__name__}")


def _is_of_value(item: exp.Column) -> bool:
    return item.name not in OF_CLASS


def _of(value: exp.Expression, code: int) -> exp.Expression:
    """An expression over a cell as one over the columns of its value."""

    def renamed(node: exp.Expr) -> exp.Expr:
        return column(f"{node.name}_{code}") if isinstance(node, exp.Column) and _is_of_value(node) else node

    return _expression(value.transform(renamed))


def _sum(terms: Iterator[exp.Expression]) -> exp.Expression:
    return exp.Paren(this=reduce(lambda left, right: exp.Add(this=left, expression=right), terms))


def _one_if(condition: exp.Expression) -> exp.Expression:
    return exp.Case().when(condition, literal(1), copy=False).else_(literal(0), copy=False)


def _expression(node: exp.Expr) -> exp.Expression:
    """What a transformation of an expression yields."""
    if not isinstance(node, exp.Expression):
        raise TypeError(f"{type(node).__name__} is no expression")
    return node
