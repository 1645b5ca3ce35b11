"""Statements of a script that recodes by regions: rows find the place of each value, and the region around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sql.build import all_of, any_of, count, equal, is_null, named, scalar
from sqlanon.sql.relations import Table, cast, column, literal, table_expression


@dataclass(frozen=True)
class Placed:
    """A quasi-identifier, its text, and the table of its texts `value` with their `place`."""

    name: str
    key: exp.Expression
    text: exp.Expression
    table: Table


@dataclass(frozen=True)
class Nodes:
    """A sensitive column that regions publish as nodes: `paths` has `label_0` to the root for each value,
    `published` the `level` and `label` of the nodes of each `region`. The value itself is kept as `kept`.
    """

    name: str
    key: exp.Expression
    text: exp.Expression
    height: int
    has_null: bool
    paths: Table
    published: Table
    kept: str


def recoded(
    source: exp.Expression,
    columns: Sequence[Placed],
    regions: Table,
    names: Sequence[str],
    others: Sequence[str],
    nodes: Nodes | None = None,
) -> exp.Select:
    """The rows of the source, quasi-identifiers as the labels of their region, other columns as they are."""
    labels = {item.name: column(f"label_{position}", "g") for position, item in enumerate(columns)}
    if nodes is not None:
        labels[nodes.name] = column("label", "n")
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
    select = select.join(table_expression(regions, "g"), on=all_of(inside), copy=False)
    return select if nodes is None else _with_nodes(select, nodes)


def _with_nodes(select: exp.Select, nodes: Nodes) -> exp.Select:
    """Each row with the node that its region publishes above its value."""
    absent = all_of([is_null(nodes.key.copy()), is_null(column("label_0", "t"))])
    on = any_of([equal(nodes.text.copy(), column("label_0", "t")), absent])
    select = select.join(table_expression(nodes.paths, "t"), on=on, copy=False)
    above = [
        all_of([equal(column("level", "n"), literal(str(level))), _same(column("label", "n"), f"label_{level}")])
        for level in range(nodes.height + 1)
    ]
    same_region = equal(column("region", "g"), column("region", "n"))
    select = select.join(table_expression(nodes.published, "n"), on=all_of([same_region, any_of(above)]), copy=False)
    return select.select(named(column(nodes.name, "source"), nodes.kept), copy=False)


def _same(label: exp.Expression, name: str) -> exp.Expression:
    return any_of([equal(label, column(name, "t")), all_of([is_null(label.copy()), is_null(column(name, "t"))])])


def as_many_rows(source: exp.Expression, table: Table) -> exp.Select:
    """Whether two relations have equally many rows."""
    there, here = exp.select(count()).from_(source), exp.select(count()).from_(table_expression(table))
    return exp.select(equal(scalar(there), scalar(here)))
