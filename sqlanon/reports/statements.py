"""Statements of the report: labels of hierarchies and shares of sensitive values, those with too few rows left out.

A label or value with fewer than k rows behind it never leaves the database: it is counted, not named.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.source.frequency_statements import HierarchyTable
from sqlanon.sql.build import count, equal, named, subquery, total, total_where, union_all, with_queries
from sqlanon.sql.relations import Table, cast, column, literal, table_expression


def some_columns(relation: exp.Expression, alias: str, names: Sequence[str]) -> exp.Select:
    """The named columns of a relation, row by row."""
    return exp.select(*(column(name, alias) for name in names)).from_(relation, copy=False)


def value_counts(base: Table, domain: Table, position: int, *, persons: bool) -> exp.Select:
    """The values of a column with their rows `n`, and with `m`, what is held against k: rows, or distinct persons."""
    if not persons:
        items = [column("value"), column("n"), named(column("n"), "m")]
        return exp.select(*items).from_(table_expression(domain))
    key = column(f"q_{position}")
    several = exp.Count(this=exp.Distinct(expressions=[column("who")]))
    items = [named(key, "value"), named(exp.Sum(this=column("n")), "n"), named(several, "m")]
    return exp.select(*items).from_(table_expression(base)).group_by(key.copy())


def tree_rows(values: exp.Query, hierarchy: HierarchyTable, k: int, most: int, *, persons: bool) -> exp.Query:
    """For each level its most frequent labels, only those with k rows or more: `kind` 0, level, label, the label above,
    rows. And for each label above level 0 `kind` 1, the level of its children, the label as the one above, how many
    children it has, how many of them are rare; of labels that are rare themselves nothing is told."""
    parts: list[exp.Query] = []
    for level in range(hierarchy.height + 1):
        parts.append(_labels_of(_grouped(level, hierarchy.height, persons), level, k, most))
    for level in range(hierarchy.height):
        parts.append(_totals_of(_grouped(level, hierarchy.height, persons), level, k, most, persons))
    return union_all(parts).with_("labelled", as_=_labelled(values, hierarchy), copy=False)


def _labelled(values: exp.Query, hierarchy: HierarchyTable) -> exp.Select:
    """Each value that the source has with its labels as texts; NULL has none below the top."""
    labels = [
        named(cast(column(f"label_{level}", "h"), "text"), f"label_{level}") for level in range(hierarchy.height + 1)
    ]
    on = equal(column("value", "v"), column("value", "h"))
    return (
        exp.select(*labels, column("n", "v"), column("m", "v"))
        .from_(subquery(values, "v"))
        .join(table_expression(hierarchy.table, "h"), on=on, join_type="left")
    )


def _grouped(level: int, height: int, persons: bool) -> exp.Select:
    """The labels of a level with the label above them; one label has one above it.

    Persons may stand behind several values of a label: those behind the most frequent one are certainly different.
    """
    label = column(f"label_{level}")
    keys = [label] if level == height else [label, column(f"label_{level + 1}")]
    items = [named(label.copy(), "label"), named(keys[-1].copy(), "parent")]
    if level == height:
        keys, items = [], [named(exp.Max(this=label.copy()), "label"), named(exp.Max(this=label.copy()), "parent")]
    several = exp.Max(this=column("m")) if persons else exp.Sum(this=column("m"))
    select = exp.select(*items, named(exp.Sum(this=column("n")), "n"), named(several, "m"))
    return select.from_(exp.to_table("labelled")).group_by(*(key.copy() for key in keys))


def _labels_of(labels: exp.Select, level: int, k: int, most: int) -> exp.Query:
    order = exp.Order(expressions=[_descending("n"), exp.Ordered(this=column("label"))])
    place = named(exp.Window(this=exp.RowNumber(), order=order), "place")
    enough = exp.GTE(this=column("m"), expression=literal(k))
    ranked = exp.select(column("label"), column("parent"), column("n"), place)
    ranked = ranked.from_(subquery(labels, "labels")).where(enough)
    items = [_number(0, "kind"), _number(level, "level"), column("label"), column("parent"), column("n")]
    first = exp.LTE(this=column("place"), expression=literal(most))
    return exp.select(*items, _number(0, "rare")).from_(subquery(ranked, "ranked")).where(first)


def _totals_of(labels: exp.Select, level: int, k: int, most: int, persons: bool) -> exp.Query:
    rare = total_where(exp.LT(this=column("m"), expression=literal(k)), literal(1))
    order = exp.Order(expressions=[exp.Ordered(this=exp.Sum(this=column("n")), desc=True)])
    place = exp.Window(this=exp.RowNumber(), order=order)
    found = exp.select(
        named(column("parent"), "parent"), named(count(), "labels"), named(rare, "rare"), named(place, "place")
    )
    found = found.from_(subquery(labels, "labels")).group_by(column("parent"))
    several = exp.Max(this=column("m")) if persons else exp.Sum(this=column("m"))
    found = found.having(exp.GTE(this=several, expression=literal(k)))
    items = [_number(1, "kind"), _number(level, "level"), named(cast(exp.Null(), "text"), "label"), column("parent")]
    items += [named(column("labels"), "n"), column("rare")]
    first = exp.LTE(this=column("place"), expression=literal(most))
    return exp.select(*items).from_(subquery(found, "totals")).where(first)


def shares(
    relation: exp.Expression, text: exp.Expression, person: exp.Expression | None, k: int, most: int
) -> exp.Select:
    """The most frequent values of a sensitive column that have k rows or more: the value's text and its rows."""
    several = count() if person is None else exp.Count(this=exp.Distinct(expressions=[person]))
    values = exp.select(named(text, "value"), named(count(), "n"), named(several, "m")).from_(relation)
    values = values.group_by(text.copy())
    enough = exp.GTE(this=column("m"), expression=literal(k))
    select = exp.select(column("value"), column("n")).from_(subquery(values, "shares")).where(enough)
    return select.order_by(_descending("n"), exp.Ordered(this=column("value"))).limit(most)


def share_totals(relation: exp.Expression, text: exp.Expression, person: exp.Expression | None, k: int) -> exp.Select:
    """One row: how many values there are, how many of them are rare, and all rows."""
    several = count() if person is None else exp.Count(this=exp.Distinct(expressions=[person]))
    values = exp.select(named(count(), "n"), named(several, "m")).from_(relation).group_by(text)
    rare = total_where(exp.LT(this=column("m"), expression=literal(k)), literal(1))
    return exp.select(count(), rare, total(column("n"))).from_(subquery(values, "shares"))


def worst_classes(
    relation: exp.Expression,
    keys: Sequence[exp.Expression],
    text: exp.Expression,
    person: exp.Expression | None,
    k: int,
    most: int,
) -> exp.Select:
    """The classes in which one value has the largest share: place, the value, its rows and those of the class.

    Values with fewer than k rows (persons, where these are counted) in a class are summed up under NULL with `named` 0.
    """
    several = count() if person is None else exp.Count(this=exp.Distinct(expressions=[person]))
    names = [f"k_{position}" for position in range(len(keys))]
    items = [named(key, name) for name, key in zip(names, keys, strict=True)]
    cells = exp.select(*items, named(text, "value"), named(count(), "n"), named(several, "m")).from_(relation)
    cells = cells.group_by(*(key.copy() for key in keys), text.copy())
    order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in names])
    numbered = exp.select(
        column("value"), column("n"), column("m"), named(exp.Window(this=exp.DenseRank(), order=order), "class")
    ).from_("cells")
    sizes = exp.select(
        column("class"), named(exp.Sum(this=column("n")), "size"), named(exp.Max(this=column("n")), "most")
    )
    sizes = sizes.from_("numbered").group_by(column("class"))
    share = exp.Div(this=cast(column("most"), "double"), expression=column("size"))
    worst_first = [exp.Ordered(this=share, desc=True), _descending("size"), exp.Ordered(this=column("class"))]
    place = named(exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=worst_first)), "place")
    placed = exp.select(column("class"), column("size"), place).from_("sizes")
    enough = exp.GTE(this=column("m", "numbered"), expression=literal(k))
    shown = exp.Case().when(enough, column("value", "numbered"))
    is_named = exp.Case().when(enough.copy(), literal(1)).else_(literal(0))
    select = exp.select(
        column("place", "placed"),
        named(shown, "value"),
        named(is_named, "named"),
        named(exp.Sum(this=column("n", "numbered")), "n"),
        column("size", "placed"),
    )
    on = equal(column("class", "placed"), column("class", "numbered"))
    select = select.from_(exp.to_table("placed")).join(exp.to_table("numbered"), on=on)
    select = select.where(exp.LTE(this=column("place", "placed"), expression=literal(most)))
    select = select.group_by(column("place", "placed"), shown.copy(), is_named.copy(), column("size", "placed"))
    return with_queries(select, {"cells": cells, "numbered": numbered, "sizes": sizes, "placed": placed})


def _number(value: int, name: str) -> exp.Expression:
    return named(literal(value), name)


def _descending(name: str) -> exp.Ordered:
    return exp.Ordered(this=column(name), desc=True)
