"""Statements of local recoding: rows by the labels of a node, the classes that satisfy, and what is left of the rest.

`rows` are combinations (`o_0`..., codes, counts). Keyed, they also have `k_i`, the code of their label in column i.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.recoding.mondrian.cuts import CutQuestion
from sqlanon.sql.build import all_of, equal, named, subquery
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import whole


@dataclass(frozen=True)
class LevelOf:
    """A column at the level that a node gives it."""

    position: int
    domain: Table
    level: int

    @property
    def key(self) -> str:
        return f"k_{self.position}"


def as_base(rows: Table, domains: Sequence[Table], codes: Sequence[Table], counts: Sequence[str]) -> exp.Select:
    """Rows with their values again, as the scan has them."""
    items: list[exp.Expression] = []
    select = exp.select().from_(table_expression(rows, "r"))
    for position, domain in enumerate(domains):
        items.append(named(column("value", f"d_{position}"), f"q_{position}"))
        on = equal(column(f"o_{position}", "r"), column("o", f"d_{position}"))
        select = select.join(table_expression(domain, f"d_{position}"), on=on, copy=False)
    for position, table in enumerate(codes):
        items.append(named(column("value", f"c_{position}"), f"v_{position}"))
        on = equal(column(f"s_{position}", "r"), column("code", f"c_{position}"))
        select = select.join(table_expression(table, f"c_{position}"), on=on, copy=False)
    return select.select(*items, *(column(name, "r") for name in counts), copy=False)


def keyed(rows: Table, levels: Sequence[LevelOf], carried: Sequence[str]) -> exp.Select:
    """Rows with the codes of their labels."""
    items: list[exp.Expression] = [column(name, "r") for name in carried]
    select = exp.select().from_(table_expression(rows, "r"))
    for item in levels:
        alias = f"d_{item.position}"
        items.append(named(column(f"code_{item.level}", alias), item.key))
        on = equal(column(f"o_{item.position}", "r"), column("o", alias))
        select = select.join(table_expression(item.domain, alias), on=on, copy=False)
    return select.select(*items, copy=False)


def classes_of(keyed_rows: Table, levels: Sequence[LevelOf], asked: CutQuestion, first: int) -> exp.Select:
    """The classes of keyed rows: `class` numbers those that satisfy and is NULL for the others."""
    keys = [item.key for item in levels]
    verdicts = asked.satisfied_sides(exp.select().from_(table_expression(keyed_rows)), keys)
    order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in keys])
    number = exp.Window(this=exp.RowNumber(), partition_by=[column("kept")], order=order)
    numbered = exp.Add(this=number, expression=literal(first - 1))
    ifs = [exp.If(this=column("kept"), true=cast(exp.Paren(this=numbered), "int"))]
    items = [column(name) for name in keys]
    return exp.select(*items, named(exp.Case(ifs=ifs), "class")).from_(subquery(verdicts, "verdicts"), copy=False)


def placed(keyed_rows: Table, found: Table, levels: Sequence[LevelOf], ordinals: Sequence[str]) -> exp.Select:
    """The combinations of the classes that satisfy."""
    keys = [column(name, "r") for name in ordinals]
    rows = named(whole(exp.Sum(this=column("n", "r"))), "n")
    select = _with_classes(exp.select(*keys, rows, column("class", "c")), keyed_rows, found, levels)
    select = select.where(exp.Not(this=exp.Is(this=column("class", "c"), expression=exp.Null())))
    return select.group_by(*(key.copy() for key in keys), column("class", "c"))


def left_over(keyed_rows: Table, found: Table, levels: Sequence[LevelOf], carried: Sequence[str]) -> exp.Select:
    """The rows of the other classes."""
    select = _with_classes(exp.select(*(column(name, "r") for name in carried)), keyed_rows, found, levels)
    return select.where(exp.Is(this=column("class", "c"), expression=exp.Null()))


def _with_classes(select: exp.Select, keyed_rows: Table, found: Table, levels: Sequence[LevelOf]) -> exp.Select:
    on = all_of([equal(column(item.key, "r"), column(item.key, "c")) for item in levels])
    return select.from_(table_expression(keyed_rows, "r")).join(table_expression(found, "c"), on=on, copy=False)


def labels_of(found: Table, levels: Sequence[LevelOf]) -> exp.Select:
    """The labels of the classes that satisfy, with the leaves and the rows of the source that each covers."""
    items: list[exp.Expression] = [column("class", "c")]
    select = exp.select().from_(table_expression(found, "c"))
    for item in levels:
        alias = f"l_{item.position}"
        code = column(f"code_{item.level}")
        names = exp.select(
            named(code, "code"),
            named(exp.Max(this=cast(column(f"label_{item.level}"), "text")), "label"),
            named(whole(exp.Max(this=column(f"leaves_{item.level}"))), "leaves"),
            named(whole(exp.Sum(this=column("n"))), "rows"),
        ).from_(table_expression(item.domain))
        names = names.group_by(code.copy())
        items += [named(column(part, alias), f"{part}_{item.position}") for part in ("label", "leaves", "rows")]
        on = equal(column(item.key, "c"), column("code", alias))
        select = select.join(subquery(names, alias), on=on, copy=False)
    select = select.select(*items, copy=False)
    return select.where(exp.Not(this=exp.Is(this=column("class", "c"), expression=exp.Null())))


def suppressed(rows: Table, ordinals: Sequence[str]) -> exp.Select:
    """Rows that no node keeps, as a part of an assignment."""
    keys = [column(name) for name in ordinals]
    select = exp.select(*keys, named(whole(exp.Sum(this=column("n"))), "n"), named(cast(exp.Null(), "int"), "class"))
    return select.from_(table_expression(rows)).group_by(*(key.copy() for key in keys))


def merged(labels: Table, width: int) -> exp.Select:
    """Classes with the one that they are released as: those of the same labels are one."""
    names: list[exp.Expression] = [column(f"label_{position}") for position in range(width)]
    lowest = exp.Window(this=exp.Min(this=column("class")), partition_by=names)
    return exp.select(exp.Star(), named(lowest, "released")).from_(table_expression(labels))


def released_labels(merged_labels: Table) -> exp.Select:
    """The labels of every released class, once."""
    return (
        exp.select(exp.Star()).from_(table_expression(merged_labels)).where(equal(column("class"), column("released")))
    )


def released_parts(parts: Table, merged_labels: Table, ordinals: Sequence[str]) -> exp.Select:
    """The assignment by released classes."""
    items = [column(name, "a") for name in (*ordinals, "n")]
    select = exp.select(*items, named(column("released", "m"), "class")).from_(table_expression(parts, "a"))
    on = equal(column("class", "a"), column("class", "m"))
    return select.join(table_expression(merged_labels, "m"), on=on, join_type="left", copy=False)


def domain_of(rows: Table, position: int, domain: Table) -> exp.Select:
    """The values of a column among these rows, with their rows."""
    value = column("value", "d")
    select = exp.select(named(value, "value"), named(whole(exp.Sum(this=column("n", "r"))), "n"))
    select = select.from_(table_expression(rows, "r"))
    on = equal(column(f"o_{position}", "r"), column("o", "d"))
    select = select.join(table_expression(domain, "d"), on=on, copy=False)
    return select.group_by(value.copy())


def total_rows(rows: Table) -> exp.Select:
    """One row: combinations and rows."""
    counted = whole(exp.Coalesce(this=exp.Sum(this=column("n")), expressions=[literal(0)]))
    return exp.select(exp.Count(this=exp.Star()), counted).from_(table_expression(rows))
