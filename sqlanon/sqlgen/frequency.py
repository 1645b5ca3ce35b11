"""Statements of the frequency set: the one scan of the source, and its widening by the hierarchies.

`base` holds each distinct combination of quasi-identifier values (columns `q_0`, `q_1`, ...) with its number of rows
`n`. `frequency` holds the same combinations with one small integer per column and level below the top (`c{i}_{l}`),
and the leaves under it for the levels in between (`w{i}_{l}`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sqlgen.build import checksum, count, equal, is_null, mixed, named, subquery, total
from sqlanon.sqlgen.relations import Table, column, literal, table_expression


@dataclass(frozen=True)
class HierarchyTable:
    """Where a column's hierarchy lies and how high it is."""

    table: Table
    height: int
    leaves: int
    """Values the hierarchy knows, NULL included when the source has one."""


def base_groups(source: exp.Expression, keys: Sequence[exp.Expression]) -> exp.Select:
    """The scan: one GROUP BY of the whole quasi-identifier."""
    items = [named(key, f"q_{position}") for position, key in enumerate(keys)]
    return exp.select(*items, named(count(), "n")).from_(source).group_by(*(key.copy() for key in keys))


def base_totals(base: Table, columns: int) -> exp.Select:
    """One row: combinations, rows, and for each column how many combinations have NULL there."""
    nulls = [exp.Count(this=exp.Case().when(is_null(column(f"q_{i}")), literal(1))) for i in range(columns)]
    return exp.select(count(), total(column("n")), *nulls).from_(table_expression(base))


def widened(base: Table, hierarchies: Sequence[HierarchyTable]) -> exp.Select:
    """The base joined once to every hierarchy."""
    items: list[exp.Expression] = [column("n", "base")]
    select = exp.select().from_(table_expression(base, "base"))
    for position, hierarchy in enumerate(hierarchies):
        alias = f"h_{position}"
        key = column(f"q_{position}", "base")
        select = select.join(
            table_expression(hierarchy.table, alias),
            on=equal(key, column("value", alias)),
            join_type="left",
            copy=False,
        )
        for level in range(hierarchy.height):
            items.append(named(code(key, alias, level), f"c{position}_{level}"))
        for level in range(1, hierarchy.height):
            leaves = exp.Case().when(is_null(key.copy()), literal(1)).else_(column(f"leaves_{level}", alias))
            items.append(named(leaves, f"w{position}_{level}"))
    return select.select(*items, copy=False)


def frequency_checksum(frequency: Table, columns: Sequence[int]) -> exp.Select:
    """Two checksums of the combinations and their rows; `columns` are those with a level below the top."""
    values = [column("n"), *(column(f"c{position}_0") for position in columns)]
    return exp.select(*checksum(mixed(values))).from_(table_expression(frequency))


def code(key: exp.Expression, alias: str, level: int) -> exp.Expression:
    """The code of a joined value: 0 for NULL, NULL for a value that the hierarchy does not cover."""
    return exp.Case().when(is_null(key.copy()), literal(0)).else_(column(f"code_{level}", alias))


def level_figures(frequency: Table, position: int, hierarchy: HierarchyTable) -> exp.Query:
    """For each level from 0 to the top: share, f log2 f, HDM and number of values, over all rows.

    One row per level: level, sum of n*leaves, non-uniform entropy, HDM, distinct generalized values, most leaves.
    """
    codes = [f"c{position}_{level}" for level in range(hierarchy.height)]
    weights = [f"w{position}_{level}" for level in range(1, hierarchy.height)]
    values = (
        exp.select(*(column(name) for name in (*codes, *weights)), named(exp.Sum(this=column("n")), "n"))
        .from_(table_expression(frequency))
        .group_by(*(column(name) for name in (*codes, *weights)))
    )
    queries = [_figures_of_level(values, position, level, hierarchy) for level in range(hierarchy.height + 1)]
    result: exp.Query = queries[0]
    for query in queries[1:]:
        result = exp.union(result, query, distinct=False)
    return result


def _figures_of_level(values: exp.Select, position: int, level: int, hierarchy: HierarchyTable) -> exp.Select:
    at_top = level == hierarchy.height
    partition = [] if at_top else [column(f"c{position}_{level}")]
    group_rows = exp.Window(this=exp.Sum(this=column("n")), partition_by=partition)
    all_rows = exp.Window(this=exp.Sum(this=column("n")))
    if level == 0:
        leaves: exp.Expression = literal(1)
    elif at_top:
        leaves = literal(hierarchy.leaves)
    else:
        leaves = column(f"w{position}_{level}")
    grouped = exp.select(
        named(_double(column("n")), "f"),
        named(_double(group_rows), "g"),
        named(_double(all_rows), "total"),
        named(_double(leaves), "leaves"),
        named(literal(0) if at_top else column(f"c{position}_{level}"), "x"),
    ).from_(subquery(values.copy(), "by_value"))
    own, group, everything = column("f"), column("g"), column("total")
    log_ratio = exp.Div(this=exp.Ln(this=exp.Div(this=group, expression=own)), expression=exp.Ln(this=literal(2)))
    penalty = (
        exp.Case()
        .when(equal(everything, own), _double(literal(0)))
        .else_(
            exp.Div(
                this=exp.Mul(
                    this=own.copy(), expression=exp.Paren(this=exp.Sub(this=group.copy(), expression=own.copy()))
                ),
                expression=exp.Paren(this=exp.Sub(this=everything.copy(), expression=own.copy())),
            )
        )
    )
    return exp.select(
        named(literal(level), "level"),
        exp.Sum(this=exp.Mul(this=own.copy(), expression=column("leaves"))),
        exp.Sum(this=exp.Mul(this=own.copy(), expression=log_ratio)),
        exp.Sum(this=penalty),
        exp.Count(this=exp.Distinct(expressions=[column("x")])),
        exp.Max(this=column("leaves")),
    ).from_(subquery(grouped, "grouped"))


def _double(value: exp.Expression) -> exp.Expression:
    return exp.cast(value, "double")
