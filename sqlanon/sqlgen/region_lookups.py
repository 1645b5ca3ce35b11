"""Statements of a script that recodes by regions: rows find the place of each value, and the region around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sqlgen.build import all_of, any_of, count, equal, is_null, named, scalar
from sqlanon.sqlgen.relations import Table, cast, column, table_expression


@dataclass(frozen=True)
class Placed:
    """A quasi-identifier, its text, and the table of its texts `value` with their `place`."""

    name: str
    key: exp.Expression
    text: exp.Expression
    table: Table


def recoded(
    source: exp.Expression, columns: Sequence[Placed], regions: Table, names: Sequence[str], others: Sequence[str]
) -> exp.Select:
    """The rows of the source, quasi-identifiers as the labels of their region, other columns as they are."""
    labels = {item.name: column(f"label_{position}", "g") for position, item in enumerate(columns)}
    items = [
        named(labels[name] if name in labels else column(name, "source"), name)
        for name in names
        if name in labels or name in others
    ]
    select = exp.select(*items).from_(source)
    inside: list[exp.Expression] = []
    for position, item in enumerate(columns):
        alias = f"v_{position}"
        absent = all_of([is_null(item.key.copy()), is_null(column("value", alias))])
        on = any_of([equal(item.text.copy(), column("value", alias)), absent])
        select = select.join(table_expression(item.table, alias), on=on, copy=False)
        place = cast(column("place", alias), "int")
        inside.append(exp.GTE(this=place, expression=cast(column(f"lo_{position}", "g"), "int")))
        inside.append(exp.LTE(this=place.copy(), expression=cast(column(f"hi_{position}", "g"), "int")))
    return select.join(table_expression(regions, "g"), on=all_of(inside), copy=False)


def as_many_rows(source: exp.Expression, table: Table) -> exp.Select:
    """Whether two relations have equally many rows."""
    there, here = exp.select(count()).from_(source), exp.select(count()).from_(table_expression(table))
    return exp.select(equal(scalar(there), scalar(here)))
