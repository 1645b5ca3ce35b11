"""Statements of cell recoding: combinations as vertices, groups of vertices as classes, the labels that a class has.

A class has in each column the lowest step at which all its vertices are equal: the value, a label above it, or the top.
`vertices` is as in `neighbours`; `parts` tells which rows of a vertex are which rows of a combination; `closures` which
vertices the labels of group `g` must fit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlanon.recoding.cells.neighbours import Steps, code_names
from sqlanon.sql.build import all_of, equal, named, subquery, total
from sqlanon.sql.relations import Table, cast, column, literal, table_expression


@dataclass(frozen=True)
class CellColumn:
    """A column of a cell recoding: its domain, and which levels its steps are."""

    domain: Table
    levels: tuple[int, ...]
    """The level of each step but the top's, the value's or that of the attribute generalization first."""
    texts: tuple[exp.Expression, ...]
    """The label of each step as text, read from alias `d`; of the last step, the top."""
    top_leaves: int
    steps: Steps


def vertices(combinations: Table, columns: Sequence[CellColumn]) -> exp.Select:
    """The distinct combinations of the first steps, numbered so that like ones come together, with `o_i` of one."""
    coded = _coded(combinations, columns)
    names = code_names([item.steps for item in columns])
    firsts = [named(exp.Min(this=column(f"o_{i}")), f"o_{i}") for i in range(len(columns))]
    grouped = exp.select(*map(column, names), *firsts, named(cast(exp.Sum(this=column("n")), "bigint"), "n"))
    grouped = grouped.from_(subquery(coded, "coded")).group_by(*map(column, names))
    order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in names])
    number = cast(exp.Window(this=exp.RowNumber(), order=order), "int")
    kept = [column(name) for name in (*names, *(f"o_{i}" for i in range(len(columns))), "n")]
    return exp.select(named(number, "v"), *kept).from_(subquery(grouped, "grouped"))


def _coded(combinations: Table, columns: Sequence[CellColumn]) -> exp.Select:
    items: list[exp.Expression] = []
    select = exp.select().from_(table_expression(combinations, "made"))
    for i, item in enumerate(columns):
        alias = f"d_{i}"
        on = equal(column(f"o_{i}", "made"), column("o", alias))
        select = select.join(table_expression(item.domain, alias), on=on, copy=False)
        items.append(column(f"o_{i}", "made"))
        for step, level in enumerate(item.levels):
            items.append(named(column(f"code_{level}", alias), f"c_{i}_{step}"))
    return select.select(*items, column("n", "made"), copy=False)


def parts(combinations: Table, vertices_table: Table, columns: Sequence[CellColumn]) -> exp.Select:
    """The rows of each combination among those of its vertex: from `first` to `last`."""
    names = code_names([item.steps for item in columns])
    keys = [f"o_{i}" for i in range(len(columns))]
    order = exp.Order(expressions=[exp.Ordered(this=column(name, "coded")) for name in keys])
    until = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    last = exp.Window(
        this=exp.Sum(this=column("n", "coded")), partition_by=[column("v", "own")], order=order, spec=until
    )
    found = exp.select(
        *(column(name, "coded") for name in keys), column("v", "own"), column("n", "coded"), named(last, "last")
    )
    found = found.from_(subquery(_coded(combinations, columns), "coded")).join(
        table_expression(vertices_table, "own"),
        on=all_of(equal(column(name, "coded"), column(name, "own")) for name in names),
    )
    first = exp.Add(this=exp.Sub(this=column("last"), expression=column("n")), expression=literal(1))
    return exp.select(
        *(column(name) for name in (*keys, "v")),
        named(cast(first, "bigint"), "first"),
        named(cast(column("last"), "bigint"), "last"),
    ).from_(subquery(found, "found"))


def numbered(groups: exp.Query) -> exp.Select:
    """Groups with classes numbered from 1."""
    order = exp.Order(expressions=[exp.Ordered(this=column("g"))])
    number = cast(exp.Window(this=exp.DenseRank(), order=order), "int")
    names = [column(name) for name in ("v", "a", "b")]
    return exp.select(*names, named(number, "g")).from_(subquery(groups, "groups"))


def assignment(parts_table: Table, groups: Table, width: int) -> exp.Select:
    """Which rows of which combination are in which class."""
    early = exp.Greatest(this=column("a", "own"), expressions=[column("first", "part")], ignore_nulls=True)
    late = exp.Least(this=column("b", "own"), expressions=[column("last", "part")], ignore_nulls=True)
    overlap = [
        equal(column("v", "part"), column("v", "own")),
        exp.LTE(this=column("first", "part"), expression=column("b", "own")),
        exp.GTE(this=column("last", "part"), expression=column("a", "own")),
    ]
    start = column("first", "part")
    first = exp.Add(this=exp.Sub(this=early, expression=start), expression=literal(1))
    last = exp.Add(this=exp.Sub(this=late, expression=start.copy()), expression=literal(1))
    rows = exp.Add(this=exp.Sub(this=late.copy(), expression=early.copy()), expression=literal(1))
    return (
        exp.select(
            *(column(f"o_{i}", "part") for i in range(width)),
            named(cast(first, "bigint"), "first_row"),
            named(cast(last, "bigint"), "last_row"),
            named(cast(rows, "bigint"), "n"),
            named(column("g", "own"), "class"),
        )
        .from_(table_expression(parts_table, "part"))
        .join(table_expression(groups, "own"), on=all_of(overlap))
    )


def of_groups(groups: Table) -> exp.Select:
    """The closures of groups of rows: the vertices that have rows in them."""
    return exp.select(column("g"), column("v")).distinct().from_(table_expression(groups))


def reached(closures: exp.Query, vertices_table: Table, steps: Sequence[Steps]) -> exp.Select:
    """For each group `g`: the step `t_i` that it reaches in each column, and the ordinal `o_i` of a member."""
    items: list[exp.Expression] = []
    for i, item in enumerate(steps):
        case = exp.Case()
        for step in range(item.codes):
            code = column(f"c_{i}_{step}", "own")
            same = equal(exp.Min(this=code), exp.Max(this=code.copy()))
            case = case.when(same, literal(step), copy=False)
        items.append(named(case.else_(literal(item.codes), copy=False), f"t_{i}"))
        items.append(named(exp.Min(this=column(f"o_{i}", "own")), f"o_{i}"))
    return (
        exp.select(column("g", "part"), *items)
        .from_(subquery(closures, "part"))
        .join(table_expression(vertices_table, "own"), on=equal(column("v", "part"), column("v", "own")))
        .group_by(column("g", "part"))
    )


def coverage(item: CellColumn) -> exp.Select:
    """For each value of a column and each step: the label, its leaves and the rows of the source that it covers."""
    items: list[exp.Expression] = [column("o", "d")]
    top = len(item.levels)
    everything = exp.Window(this=exp.Sum(this=column("n", "d")))
    for step, level in enumerate(item.levels):
        covered = exp.Window(this=exp.Sum(this=column("n", "d")), partition_by=[column(f"code_{level}", "d")])
        items += [
            named(item.texts[step].copy(), f"label_{step}"),
            named(cast(column(f"leaves_{level}", "d"), "bigint"), f"leaves_{step}"),
            named(cast(covered, "bigint"), f"rows_{step}"),
        ]
    items += [
        named(item.texts[top].copy(), f"label_{top}"),
        named(cast(literal(item.top_leaves), "bigint"), f"leaves_{top}"),
        named(cast(everything, "bigint"), f"rows_{top}"),
    ]
    return exp.select(*items).from_(table_expression(item.domain, "d"))


def labels(reached_table: Table, coverages: Mapping[int, Table], columns: Sequence[CellColumn]) -> exp.Select:
    """The labels of each class."""
    select = exp.select(named(column("g", "group"), "class")).from_(table_expression(reached_table, "group"))
    for i, item in enumerate(columns):
        alias = f"d_{i}"
        on = equal(column(f"o_{i}", "group"), column("o", alias))
        select = select.join(table_expression(coverages[i], alias), on=on, copy=False)
        for part in ("label", "leaves", "rows"):
            case = exp.Case()
            for step in range(len(item.levels) + 1):
                case = case.when(
                    equal(column(f"t_{i}", "group"), literal(step)), column(f"{part}_{step}", alias), copy=False
                )
            select = select.select(named(case, f"{part}_{i}"), copy=False)
    return select


def cost(groups: Table, reached_table: Table, steps: Sequence[Steps]) -> exp.Select:
    """One row: what the rows of all classes cost, cells that are not released as they are, cells at the top."""
    rows = exp.Paren(this=exp.Add(this=exp.Sub(this=column("b"), expression=column("a")), expression=literal(1)))
    sizes = exp.select(column("g"), named(cast(exp.Sum(this=rows), "bigint"), "n")).from_(table_expression(groups))
    sizes = sizes.group_by(column("g"))
    figures = [
        reduce(
            lambda left, right: exp.Add(this=left, expression=right), [part(i, item) for i, item in enumerate(steps)]
        )
        for part in (_cost_of, _changed, _at_top)
    ]
    sums = [total(exp.Mul(this=column("n", "sizes"), expression=exp.Paren(this=figure))) for figure in figures]
    return (
        exp.select(*sums)
        .from_(subquery(sizes, "sizes"))
        .join(table_expression(reached_table, "group"), on=equal(column("g", "sizes"), column("g", "group")))
    )


def _cost_of(i: int, item: Steps) -> exp.Expression:
    case = exp.Case()
    for step, number in enumerate((0, *item.costs)):
        case = case.when(equal(column(f"t_{i}", "group"), literal(step)), literal(number), copy=False)
    return case


def _changed(i: int, item: Steps) -> exp.Expression:
    changed = exp.GT(this=column(f"t_{i}", "group"), expression=literal(0))
    return exp.Case().when(changed, literal(1)).else_(literal(0))


def _at_top(i: int, item: Steps) -> exp.Expression:
    return exp.Case().when(equal(column(f"t_{i}", "group"), literal(item.codes)), literal(1)).else_(literal(0))


def lower_bound(vertices_table: Table, near: Table) -> exp.Select:
    """What every k-anonymous recoding costs at least: each row the distance to the last of its neighbours."""
    farthest = exp.select(column("u"), named(exp.Max(this=column("d")), "d")).from_(table_expression(near))
    farthest = farthest.where(column("close")).group_by(column("u"))
    paid = exp.Mul(this=column("n", "own"), expression=column("d", "far"))
    return (
        exp.select(total(paid))
        .from_(table_expression(vertices_table, "own"))
        .join(subquery(farthest, "far"), on=equal(column("v", "own"), column("u", "far")))
    )


def each_vertex(vertices_table: Table) -> exp.Select:
    """Every vertex in a class of its own."""
    one = cast(literal(1), "bigint")
    return exp.select(
        column("v"), named(one, "a"), named(cast(column("n"), "bigint"), "b"), named(column("v"), "g")
    ).from_(table_expression(vertices_table))
