"""Statements that hold a release against its source, combination by combination (Gionis, Mazza and Tassa 2008).

A released label fits an original value when it is the value or one of its ancestors. Labels are numbered for each
column, 0 is NULL. `originals` has a row per distinct combination: `o`, its labels `c_<column>_<level>`, rows `n`;
`released`: `r`, its labels `x_<column>`, rows `n`; `pairs`: which of them fit, `o` and `r`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlanon.sql.build import (
    all_of,
    any_of,
    count,
    equal,
    is_null,
    is_present,
    named,
    scalar,
    subquery,
    total,
    total_where,
)
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

NULL_LABEL = 0


@dataclass(frozen=True)
class Chain:
    """The labels of a column: numbers of texts, and for each value the numbers of its labels, level 0 first."""

    labels: Table
    """`label` and its number `id`, from 1."""
    values: Table
    """`value` and `id_0` ... `id_<height>`."""
    height: int


def labels(texts: Sequence[exp.Expression], hierarchy: exp.Expression, top: exp.Expression) -> exp.Select:
    """The distinct texts of all levels of a hierarchy, numbered; its top is among them also where it has no values."""
    every: exp.Query = exp.select(named(top, "label"))
    for text in texts:
        of_level = exp.select(named(text, "label")).from_(hierarchy.copy()).where(is_present(text.copy()))
        every = exp.union(every, of_level, distinct=True)
    order = exp.Order(expressions=[exp.Ordered(this=column("label"))])
    number = cast(exp.Window(this=exp.RowNumber(), order=order), "int")
    return exp.select(column("label"), named(number, "id")).from_(subquery(every, "labels"))


def chains(
    texts: Sequence[exp.Expression], hierarchy: exp.Expression, numbered: Table, *, empty_is_null: bool = False
) -> exp.Select:
    """Each value of a hierarchy with the numbers of its labels; `texts` read alias `hierarchy`.

    Where an empty text and NULL are one field, one column more has NULL's number for a value with the label ''.
    """
    select = exp.select(column("value", "hierarchy")).from_(hierarchy)
    for level, text in enumerate(texts):
        alias = f"l_{level}"
        on = equal(text, column("label", alias))
        select = select.join(table_expression(numbered, alias), on=on, copy=False)
        select = select.select(named(column("id", alias), f"id_{level}"), copy=False)
    if empty_is_null:
        is_empty = any_of(equal(text.copy(), literal("")) for text in texts)
        number = exp.Case().when(is_empty, literal(NULL_LABEL)).else_(column("id", f"l_{len(texts) - 1}"))
        select = select.select(named(number, f"id_{len(texts)}"), copy=False)
    return select.where(is_present(column("value", "hierarchy")))


def originals(
    source: exp.Expression, keys: Sequence[exp.Expression], chain: Sequence[Chain], tops: Sequence[exp.Expression]
) -> exp.Select:
    """The distinct combinations of the source, with the numbers of all their labels."""
    grouped = exp.select(*(named(key, f"q_{i}") for i, key in enumerate(keys)), named(count(), "n"))
    grouped = grouped.from_(source).group_by(*(key.copy() for key in keys))
    numbers: list[exp.Expression] = []
    select = exp.select().from_(subquery(grouped, "grouped"))
    for i, item in enumerate(chain):
        alias, key = f"h_{i}", column(f"q_{i}", "grouped")
        on = equal(key, column("value", alias))
        select = select.join(table_expression(item.values, alias), on=on, join_type="left", copy=False)
        for level in range(item.height + 1):
            of_null = _number_of(item.labels, tops[i]) if level == item.height else literal(NULL_LABEL)
            value = exp.Case().when(is_null(key.copy()), of_null).else_(column(f"id_{level}", alias))
            numbers.append(named(value, f"c_{i}_{level}"))
    return select.select(_row_number("o"), *numbers, column("n", "grouped"), copy=False)


def released(
    relation: exp.Expression,
    keys: Sequence[exp.Expression],
    chain: Sequence[Chain],
    tops: Sequence[exp.Expression],
    blanks: Sequence[bool],
    star: exp.Expression,
) -> exp.Select:
    """The distinct combinations of a release; the label of a text that no hierarchy has is NULL.

    `*` stands for every value where the hierarchy has no such label; `blanks` are columns where NULL does too.
    """
    grouped = exp.select(*(named(key, f"q_{i}") for i, key in enumerate(keys)), named(count(), "n"))
    grouped = grouped.from_(relation).group_by(*(key.copy() for key in keys))
    select = exp.select(_row_number("r")).from_(subquery(grouped, "grouped"))
    for i, (item, top, blank) in enumerate(zip(chain, tops, blanks, strict=True)):
        alias, key = f"l_{i}", column(f"q_{i}", "grouped")
        on = equal(key, column("label", alias))
        select = select.join(table_expression(item.labels, alias), on=on, join_type="left", copy=False)
        everything = _number_of(item.labels, top)
        number = exp.Case().when(is_null(key.copy()), everything.copy() if blank else literal(NULL_LABEL))
        number = number.when(is_present(column("id", alias)), column("id", alias))
        number = number.when(equal(key.copy(), star.copy()), everything)
        select = select.select(named(number, f"x_{i}"), copy=False)
    return select.select(column("n", "grouped"), copy=False)


def _number_of(numbered: Table, label: exp.Expression) -> exp.Expression:
    own = exp.select(exp.Max(this=column("id"))).from_(table_expression(numbered))
    return scalar(own.where(equal(column("label"), label.copy())))


def _row_number(name: str) -> exp.Expression:
    order = exp.Order(expressions=[exp.Ordered(this=literal(None))])
    return named(cast(exp.Window(this=exp.RowNumber(), order=order), "int"), name)


def covers(originals_table: Table, released_table: Table, i: int, height: int) -> exp.Select:
    """For a column, which of the labels in the release fit a value: its number `leaf`, and the `label`'s."""
    levels = [column(f"c_{i}_{level}") for level in range(height + 1)]
    values = exp.select(*levels).distinct().from_(table_expression(originals_table))
    present = exp.select(named(column(f"x_{i}"), "label")).distinct().from_(table_expression(released_table))
    fits = exp.In(this=column("label", "present"), expressions=[item.copy() for item in levels])
    return (
        exp.select(named(column(f"c_{i}_0"), "leaf"), column("label", "present"))
        .from_(subquery(values, "originals"))
        .join(subquery(present, "present"), on=fits)
    )


def totals(originals_table: Table, released_table: Table, cover: Sequence[Table]) -> exp.Select:
    """One row: combinations and rows of both, then for each column the released rows whose label no hierarchy has,
    the labels that fit an original combination on average."""
    from_originals = table_expression(originals_table)
    from_released = table_expression(released_table)
    items: list[exp.Expression] = []
    for relation in (from_originals, from_released):
        items.append(scalar(exp.select(count()).from_(relation.copy())))
        items.append(scalar(exp.select(total(column("n"))).from_(relation.copy())))
    for i, table in enumerate(cover):
        unknown = total_where(is_null(column(f"x_{i}")), column("n"))
        items.append(scalar(exp.select(unknown).from_(from_released.copy())))
        fitting = exp.select(count()).from_(table_expression(originals_table, "original"))
        on = equal(column(f"c_{i}_0", "original"), column("leaf", "cover"))
        items.append(scalar(fitting.join(table_expression(table, "cover"), on=on)))
    return exp.select(*items)


def candidates(originals_table: Table, released_table: Table, cover: dict[int, Table]) -> exp.Select:
    """How many pairs agree in the columns that are joined by equality."""
    keys = [named(column("label", f"v_{i}"), f"x_{i}") for i in cover]
    expanded = _expanded(exp.select(*keys, named(count(), "m")), originals_table, cover)
    expanded = expanded.group_by(*(column("label", f"v_{i}") for i in cover))
    names = [f"x_{i}" for i in cover]
    there = exp.select(*(column(name) for name in names), named(count(), "m")).from_(table_expression(released_table))
    there = there.group_by(*(column(name) for name in names))
    product = exp.Mul(this=cast(column("m", "one"), "double"), expression=cast(column("m", "other"), "double"))
    return (
        exp.select(total(product))
        .from_(subquery(expanded, "one"))
        .join(subquery(there, "other"), on=all_of(equal(column(n, "one"), column(n, "other")) for n in names))
    )


def pairs(originals_table: Table, released_table: Table, cover: dict[int, Table], heights: Sequence[int]) -> exp.Select:
    """Which combinations of the release fit which of the source: `cover` columns by equality, the others by test."""
    select = exp.select(column("o", "original"), column("r", "released"))
    conditions: list[exp.Expression] = [equal(column(f"x_{i}", "released"), column("label", f"v_{i}")) for i in cover]
    for i, height in enumerate(heights):
        if i not in cover:
            levels = [column(f"c_{i}_{level}", "original") for level in range(height + 1)]
            conditions.append(exp.In(this=column(f"x_{i}", "released"), expressions=levels))
    return _expanded(select, originals_table, cover).join(
        table_expression(released_table, "released"), on=all_of(conditions), copy=False
    )


def _expanded(select: exp.Select, originals_table: Table, cover: dict[int, Table]) -> exp.Select:
    select = select.from_(table_expression(originals_table, "original"))
    return reduce(
        lambda query, item: query.join(
            table_expression(item[1], f"v_{item[0]}"),
            on=equal(column(f"c_{item[0]}_0", "original"), column("leaf", f"v_{item[0]}")),
            copy=False,
        ),
        cover.items(),
        select,
    )


def fitting(own: Table, key: str, others: Table, other_key: str, pairs_table: Table, k: int) -> exp.Select:
    """One row of figures: fewest rows of the others that a row of `own` fits, fitting at least one; rows that fit fewer
    than k, but one; rows that fit none; the same three as combinations; most combinations that one fits."""
    fits = (
        exp.select(column(key, "pair"), named(exp.Sum(this=column("n", "other")), "fits"), named(count(), "degree"))
        .from_(table_expression(pairs_table, "pair"))
        .join(table_expression(others, "other"), on=equal(column(other_key, "pair"), column(other_key, "other")))
        .group_by(column(key, "pair"))
    )
    number = column("fits", "found")
    alone = is_null(number.copy())
    few = all_of([is_present(number.copy()), exp.LT(this=number.copy(), expression=literal(k))])
    return (
        exp.select(
            exp.Min(this=number),
            total_where(few, column("n", "own")),
            total_where(alone, column("n", "own")),
            total_where(few.copy(), literal(1)),
            total_where(alone.copy(), literal(1)),
            exp.Coalesce(this=exp.Max(this=column("degree", "found")), expressions=[literal(0)]),
        )
        .from_(table_expression(own, "own"))
        .join(subquery(fits, "found"), on=equal(column(key, "own"), column(key, "found")), join_type="left")
    )


def short_releases(originals_table: Table, released_table: Table, pairs_table: Table) -> exp.Select:
    """How many released combinations have more rows than the original rows that fit them."""
    found = (
        exp.select(column("r", "pair"), named(exp.Sum(this=column("n", "original")), "fits"))
        .from_(table_expression(pairs_table, "pair"))
        .join(table_expression(originals_table, "original"), on=equal(column("o", "pair"), column("o", "original")))
        .group_by(column("r", "pair"))
    )
    few = exp.LT(
        this=exp.Coalesce(this=column("fits", "found"), expressions=[literal(0)]), expression=column("n", "own")
    )
    return (
        exp.select(count())
        .from_(table_expression(released_table, "own"))
        .join(subquery(found, "found"), on=equal(column("r", "own"), column("r", "found")), join_type="left")
        .where(few)
    )


def counted(table: Table, key: str) -> exp.Select:
    """Every combination with its rows, by number."""
    return exp.select(column(key), column("n")).from_(table_expression(table)).order_by(column(key))


def all_pairs(table: Table) -> exp.Select:
    return exp.select(column("o"), column("r")).from_(table_expression(table)).order_by(column("o"), column("r"))
