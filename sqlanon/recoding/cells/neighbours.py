"""Statements that find, for each vertex of a cell recoding, the vertices nearest to it.

`vertices` has a row per distinct combination: its number `v` (like ones side by side), rows `n`, and for each column
i its codes `c_<i>_<step>` from the value itself up to the step below the top, where all are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlanon.sql.build import count, equal, named, subquery, total
from sqlanon.sql.relations import Table, cast, column, literal, table_expression


@dataclass(frozen=True)
class Steps:
    """A column's way up: the cost of each step above the value itself, in whole numbers; the last is the top's."""

    costs: tuple[int, ...]

    @property
    def codes(self) -> int:
        """How many steps have codes: all below the top."""
        return len(self.costs)


def code_names(steps: Sequence[Steps]) -> list[str]:
    """The codes of all columns, each from the top down: in this order like combinations come together."""
    return [f"c_{i}_{step}" for i, item in enumerate(steps) for step in reversed(range(item.codes))]


def distance(steps: Sequence[Steps], one: str, other: str) -> exp.Expression:
    """What it costs a row to become equal to another, summed over the columns (chapter, section 3.2.3)."""
    return reduce(
        lambda left, right: exp.Add(this=left, expression=right),
        [_of_column(i, item, one, other) for i, item in enumerate(steps)],
    )


def _of_column(i: int, item: Steps, one: str, other: str) -> exp.Expression:
    case = exp.Case()
    for step, cost in enumerate((0, *item.costs[:-1])):
        same = equal(column(f"c_{i}_{step}", one), column(f"c_{i}_{step}", other))
        case = case.when(same, literal(cost), copy=False)
    return case.else_(literal(item.costs[-1]), copy=False)


def sizes(vertices: Table, k: int) -> exp.Select:
    """One row: vertices, those below k rows, rows."""
    small = exp.Count(this=exp.Case().when(exp.LT(this=column("n"), expression=literal(k)), literal(1)))
    return exp.select(count(), small, total(column("n"))).from_(table_expression(vertices))


def every_pair(vertices: Table, steps: Sequence[Steps], k: int) -> exp.Select:
    """Each vertex below k rows with every other one, and their distance."""
    other = exp.NEQ(this=column("v", "one"), expression=column("v", "other"))
    return _pairs(vertices, steps, k).join(table_expression(vertices, "other"), on=other, copy=False)


def _pairs(vertices: Table, steps: Sequence[Steps], k: int) -> exp.Select:
    return (
        exp.select(
            named(column("v", "one"), "u"),
            named(column("v", "other"), "v"),
            named(column("n", "other"), "n"),
            named(exp.Sub(this=literal(k), expression=column("n", "one")), "needed"),
            named(distance(steps, "one", "other"), "d"),
        )
        .from_(table_expression(vertices, "one"))
        .where(exp.LT(this=column("n", "one"), expression=literal(k)))
    )


def positions(vertices: Table, steps: Sequence[Steps]) -> exp.Select:
    """The place of each vertex in as many orders as there are columns, each beginning with another column."""
    items: list[exp.Expression] = []
    for first in range(len(steps)):
        rotated = [*range(first, len(steps)), *range(first)]
        names = [f"c_{i}_{step}" for i in rotated for step in reversed(range(steps[i].codes))]
        order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in names])
        items.append(named(cast(exp.Window(this=exp.RowNumber(), order=order), "int"), f"place_{first}"))
    return exp.select(exp.Column(this=exp.Star(), table=exp.to_identifier("vertices", quoted=True)), *items).from_(
        table_expression(vertices, "vertices")
    )


def neighbours_in_orders(placed: Table, steps: Sequence[Steps], k: int, window: int) -> exp.Query:
    """Each vertex below k rows with those within `window` places of it in some order, and their distance."""
    queries = [_in_order(placed, steps, k, window, first) for first in range(len(steps))]
    return reduce(lambda left, right: exp.union(left, right, distinct=True, copy=False), queries)


def _in_order(placed: Table, steps: Sequence[Steps], k: int, window: int, first: int) -> exp.Query:
    offsets = [*range(-window, 0), *range(1, window + 1)]
    away = exp.Values(
        expressions=[exp.Tuple(expressions=[literal(offset)]) for offset in offsets],
        alias=exp.TableAlias(
            this=exp.to_identifier("away", quoted=True), columns=[exp.to_identifier("places", quoted=True)]
        ),
    )
    there = exp.Add(this=column(f"place_{first}", "one"), expression=column("places", "away"))
    return (
        _pairs(placed, steps, k)
        .join(away, join_type="cross", copy=False)
        .join(table_expression(placed, "other"), on=equal(column(f"place_{first}", "other"), there), copy=False)
    )


def nearest(pairs: exp.Query, times: int = 1) -> exp.Select:
    """Of each vertex's pairs the nearest: `u`, `v`, `d`, `place` from 1, and `close` until it has k rows with them.

    With `times`, further ones that are not close follow until there are so many times the rows that it needs.
    """
    order = exp.Order(expressions=[exp.Ordered(this=column("d")), exp.Ordered(this=column("v"))])
    rows_to = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
    before = exp.Window(this=exp.Sum(this=column("n")), partition_by=[column("u")], order=order, spec=rows_to)
    place = exp.Window(this=exp.RowNumber(), partition_by=[column("u")], order=order.copy())
    ranked = exp.select(
        *_columns("u", "v", "n", "d", "needed"),
        named(exp.Sub(this=before, expression=column("n")), "before"),
        named(cast(place, "int"), "place"),
    ).from_(subquery(pairs, "pairs"))
    close = exp.LT(this=column("before"), expression=column("needed"))
    wanted = exp.LT(this=column("before"), expression=exp.Mul(this=column("needed"), expression=literal(times)))
    found = exp.select(*_columns("u", "v", "d", "place"), named(close, "close"))
    return found.from_(subquery(ranked, "ranked")).where(wanted)


def _columns(*names: str) -> Iterator[exp.Expression]:
    return (column(name) for name in names)
