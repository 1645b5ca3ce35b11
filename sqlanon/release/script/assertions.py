"""The audit's statements with names for what they measure, as tables of one row that a script makes and looks at.

What is measured is the audit's own (audit, audit_columns, audit_population); nothing here knows a model.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from sqlanon.auditor.statements.classes import classes, classes_of_persons
from sqlanon.auditor.statements.columns import ColumnStatement
from sqlanon.auditor.statements.values import Values, domain_counts
from sqlanon.sql.build import all_of, count, equal, named, subquery, total, total_where
from sqlanon.sql.relations import Table, column, literal, table_expression

DOMAIN = ("rows", "reference_rows", "distinct_values", "nulls", "outside_order", "outside_hierarchy")
"""What `domain_counts` counts, in its order."""


def named_sizes(
    relation: exp.Expression, keys: Sequence[exp.Expression], person: exp.Expression | None, k: int
) -> exp.Select:
    """One row: the rows of a table, its classes, the smallest of them, and how many are smaller than k."""
    found = classes(relation, keys) if person is None else classes_of_persons(relation, keys, person)
    smallest = exp.Coalesce(this=exp.Min(this=column("size")), expressions=[literal(0)])
    below = exp.LT(this=column("size"), expression=literal(k))
    figures = {
        "rows": total(column("size" if person is None else "rows")),
        "classes": count(),
        "smallest_class": smallest,
        "classes_failing_k": total_where(below, literal(1)),
    }
    return exp.select(*_named(figures)).from_(subquery(found, "classes"), copy=False)


def named_domain(values: Values) -> exp.Select:
    """One row: what there is to compare of a sensitive column, and what an order or a hierarchy leaves out."""
    select = domain_counts(values)
    select.set("expressions", [named(item, name) for name, item in zip(DOMAIN, select.expressions, strict=True)])
    return select


def named_tests(statement: ColumnStatement) -> exp.Select:
    """One row: the classes, those whose values were not all counted, and those that fail each test."""
    figures = {"classes": count(), "uncounted": statement.figures["uncounted"]}
    figures |= {name: value for name, value in statement.figures.items() if name.startswith("classes_failing_")}
    statement.figures = {name: named(value, name) for name, value in figures.items()}
    read = {item.name for value in figures.values() for item in value.find_all(exp.Column)}
    statement.aggregates = {name: value for name, value in statement.aggregates.items() if name in read}
    return statement.sql()


def named_figures(select: exp.Select, figures: Mapping[str, exp.Expression], wanted: Iterable[str]) -> exp.Select:
    """A select of figures with some of them left, and named."""
    select.set("expressions", _named({name: figures[name] for name in wanted}))
    return select


def nothing_fails(table: Table, zero: Sequence[str], positive: Sequence[str] = ()) -> exp.Select:
    """TRUE when the one row of a table has 0 in these columns, and more than 0 in those."""
    conditions = [equal(column(name), literal(0)) for name in zero]
    conditions += [exp.GT(this=column(name), expression=literal(0)) for name in positive]
    return exp.select(all_of(conditions)).from_(table_expression(table))


def _named(figures: Mapping[str, exp.Expression]) -> list[exp.Expression]:
    return [named(value, name) for name, value in figures.items()]
