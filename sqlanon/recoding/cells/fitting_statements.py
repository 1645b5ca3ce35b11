"""Statements that widen labels until rows fit each other (Gionis, Mazza and Tassa 2008): (1,k), (k,1), global (1,k).

`state` has for each vertex the step `t_i` that its label has in each column. `pairs` has vertices that may come to fit,
both ways: `u`, `v` with its rows `n`, and `e_i`, the step at which they are equal. A label fits what it is equal to.

Where rows of one vertex may have different labels, `pieces` stand in the place of vertices: rows `a` to `b` of vertex
`w`, of `held` rows together. Most are single rows; their number is `v`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import Literal

from sqlglot import exp

from sqlanon.recoding.cells.statements import Steps
from sqlanon.sql.build import all_of, equal, named, subquery, union_all
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

Mode = Literal["own", "other", "mutual"]
"""Which label has to fit: that of `u` the row of `v`, the other way round, or both."""


def pairs(vertices: Table, near: Table, steps: Sequence[Steps]) -> exp.Select:
    """Neighbours, and those whose neighbour one is, with the steps at which they are equal."""
    there = exp.select(column("u"), column("v")).from_(table_expression(near))
    back = exp.select(named(column("v"), "u"), named(column("u"), "v")).from_(table_expression(near))
    both = exp.union(there, back, distinct=True, copy=False)
    items = [named(_step(i, item), f"e_{i}") for i, item in enumerate(steps)]
    return (
        exp.select(column("u", "pair"), column("v", "pair"), column("n", "other"), *items)
        .from_(subquery(both, "pair"))
        .join(table_expression(vertices, "one"), on=equal(column("u", "pair"), column("v", "one")))
        .join(table_expression(vertices, "other"), on=equal(column("v", "pair"), column("v", "other")))
    )


def _step(i: int, item: Steps) -> exp.Expression:
    case = exp.Case()
    for step in range(item.codes):
        same = equal(column(f"c_{i}_{step}", "one"), column(f"c_{i}_{step}", "other"))
        case = case.when(same, literal(step), copy=False)
    return case.else_(literal(item.codes), copy=False)


def as_they_are(vertices: Table, steps: Sequence[Steps]) -> exp.Select:
    """Every label the value itself."""
    items = [named(cast(literal(0), "int"), f"t_{i}") for i in range(len(steps))]
    return exp.select(column("v"), cast(column("n"), "bigint").as_("n", quoted=True), *items).from_(
        table_expression(vertices)
    )


def pieces(vertices: Table, width: int, most: int) -> exp.Select:
    """The first rows of each vertex, so many, one by one, and the others together; every label the value itself."""
    places = exp.Values(
        expressions=[exp.Tuple(expressions=[literal(place)]) for place in range(1, most + 1)],
        alias=exp.TableAlias(
            this=exp.to_identifier("places", quoted=True), columns=[exp.to_identifier("place", quoted=True)]
        ),
    )
    held = named(cast(column("n", "own"), "bigint"), "held")
    single = exp.select(
        named(column("v", "own"), "w"),
        held,
        named(cast(column("place", "places"), "bigint"), "a"),
        named(cast(column("place", "places"), "bigint"), "b"),
    ).from_(table_expression(vertices, "own"))
    within = exp.LTE(this=column("place", "places"), expression=column("n", "own"))
    others = exp.select(
        named(column("v", "own"), "w"),
        held.copy(),
        named(cast(literal(most + 1), "bigint"), "a"),
        named(cast(column("n", "own"), "bigint"), "b"),
    ).from_(table_expression(vertices, "own"))
    others = others.where(exp.GT(this=column("n", "own"), expression=literal(most)))
    every = union_all([single.join(places, on=within), others])
    order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in ("w", "a")])
    number = named(cast(exp.Window(this=exp.RowNumber(), order=order), "int"), "v")
    rows = exp.Add(this=exp.Sub(this=column("b"), expression=column("a")), expression=literal(1))
    items = [named(cast(literal(0), "int"), f"t_{i}") for i in range(width)]
    names = [column(name) for name in ("w", "held", "a", "b")]
    return exp.select(number, *names, named(rows, "n"), *items).from_(subquery(every, "every"))


def pairs_of_pieces(vertex_pairs: Table, state: Table, width: int, most: int, k: int) -> exp.Select:
    """Pairs of single rows of different vertices, of which the first vertex has fewer than k rows: as `pairs`."""
    conditions: list[exp.Expression] = [
        exp.LT(this=column("held", "one"), expression=literal(k)),
        exp.LTE(this=column("a", "other"), expression=literal(most)),
    ]
    return (
        exp.select(
            named(column("v", "one"), "u"),
            column("v", "other"),
            column("n", "other"),
            *(column(f"e_{i}", "pair") for i in range(width)),
        )
        .from_(table_expression(vertex_pairs, "pair"))
        .join(table_expression(state, "one"), on=equal(column("u", "pair"), column("w", "one")))
        .join(table_expression(state, "other"), on=equal(column("v", "pair"), column("w", "other")))
        .where(all_of(conditions))
    )


def of_pieces(state: Table, width: int) -> exp.Select:
    """Rows `a` to `b` of vertex `v` with the steps of their label."""
    names = [named(column("w"), "v"), column("a"), column("b"), *(column(f"t_{i}") for i in range(width))]
    return exp.select(*names).from_(table_expression(state))


def of_groups(groups: Table, reached_table: Table, width: int) -> exp.Select:
    """The same of the rows of groups."""
    return (
        exp.select(
            *(column(name, "own") for name in ("v", "a", "b")), *(column(f"t_{i}", "group") for i in range(width))
        )
        .from_(table_expression(groups, "own"))
        .join(table_expression(reached_table, "group"), on=equal(column("g", "own"), column("g", "group")))
    )


def in_order(labelled: Table, width: int) -> exp.Select:
    """Rows `a` to `b` of each vertex, and the steps of their label."""
    names = [column(name) for name in ("v", "a", "b", *(f"t_{i}" for i in range(width)))]
    order = [exp.Ordered(this=column(name)) for name in ("v", "a")]
    return exp.select(*names).from_(table_expression(labelled)).order_by(*order)


def by_label(labelled: Table, vertices: Table, steps: Sequence[Steps]) -> exp.Select:
    """Rows `a` to `b` of vertex `v` with the steps `t_i` of their label and its class `g`, one for each label."""
    keys: list[exp.Expression] = []
    for i, item in enumerate(steps):
        code = exp.Case()
        for step in range(item.codes):
            same = equal(column(f"t_{i}", "own"), literal(step))
            code = code.when(same, column(f"c_{i}_{step}", "there"), copy=False)
        keys += [column(f"t_{i}", "own"), code.else_(literal(0), copy=False)]
    order = exp.Order(expressions=[exp.Ordered(this=key) for key in keys])
    number = named(cast(exp.Window(this=exp.DenseRank(), order=order), "int"), "g")
    return (
        exp.select(
            *(column(name, "own") for name in ("v", "a", "b", *(f"t_{i}" for i in range(len(steps))))),
            *(column(f"o_{i}", "there") for i in range(len(steps))),
            number,
        )
        .from_(table_expression(labelled, "own"))
        .join(table_expression(vertices, "there"), on=equal(column("v", "own"), column("v", "there")))
    )


def groups_by_label(classed: Table) -> exp.Select:
    return exp.select(*(column(name) for name in ("v", "a", "b", "g"))).from_(table_expression(classed))


def reached_by_label(classed: Table, width: int) -> exp.Select:
    """The steps of each class, and the ordinals of one of its rows."""
    items = [named(exp.Min(this=column(f"{part}_{i}")), f"{part}_{i}") for i in range(width) for part in ("t", "o")]
    return exp.select(column("g"), *items).from_(table_expression(classed)).group_by(column("g"))


def picked(state: Table, pairs_table: Table, steps: Sequence[Steps], k: int, mode: Mode, held: str = "n") -> exp.Select:
    """For each vertex that fits too few rows, the pair whose labels cost least to widen: `u`, `v` and its `e_i`.

    `held` names the rows that it fits because they are its own, or equal to it.
    """
    fits = {
        "own": [_within(steps, "own")],
        "other": [_within(steps, "other")],
        "mutual": [_within(steps, "own"), _within(steps, "other")],
    }[mode]
    widened = {"own": ["own"], "other": ["other"], "mutual": ["own", "other"]}[mode]
    gained = reduce(
        lambda left, right: exp.Add(this=left, expression=right), [_widening(steps, alias) for alias in widened]
    )
    known = exp.Case().when(all_of(fits), column("n", "pair")).else_(literal(0))
    rows = exp.Window(this=exp.Sum(this=known), partition_by=[column("u", "pair")])
    steps_of = [column(f"e_{i}", "pair") for i in range(len(steps))]
    found = (
        exp.select(
            column("u", "pair"),
            column("v", "pair"),
            *steps_of,
            named(exp.Case().when(all_of(fits), literal(1)).else_(literal(0)), "fits"),
            named(exp.Add(this=rows, expression=column(held, "own")), "rows"),
            named(gained, "cost"),
        )
        .from_(table_expression(pairs_table, "pair"))
        .join(table_expression(state, "own"), on=equal(column("u", "pair"), column("v", "own")))
        .join(table_expression(state, "other"), on=equal(column("v", "pair"), column("v", "other")))
        .where(exp.LT(this=column(held, "own"), expression=literal(k)))
    )
    order = exp.Order(expressions=[exp.Ordered(this=column("cost")), exp.Ordered(this=column("v"))])
    choice = exp.Window(this=exp.RowNumber(), partition_by=[column("u")], order=order)
    names = ["u", "v", *(f"e_{i}" for i in range(len(steps)))]
    wanting = exp.select(*(column(name) for name in names), named(choice, "choice")).from_(subquery(found, "found"))
    wanting = wanting.where(
        all_of([equal(column("fits"), literal(0)), exp.LT(this=column("rows"), expression=literal(k))])
    )
    chosen = exp.select(*(column(name) for name in names)).from_(subquery(wanting, "wanting"))
    return chosen.where(equal(column("choice"), literal(1)))


def _within(steps: Sequence[Steps], alias: str) -> exp.Expression:
    return all_of(exp.LTE(this=column(f"e_{i}", "pair"), expression=column(f"t_{i}", alias)) for i in range(len(steps)))


def _widening(steps: Sequence[Steps], alias: str) -> exp.Expression:
    """What the rows of a vertex pay more when its label comes to fit the pair."""
    parts: list[exp.Expression] = []
    for i, item in enumerate(steps):
        reached, has = column(f"e_{i}", "pair"), column(f"t_{i}", alias)
        more = exp.Sub(this=_cost(item, reached), expression=_cost(item, has))
        parts.append(
            exp.Case().when(exp.GT(this=reached.copy(), expression=has.copy()), exp.Paren(this=more)).else_(literal(0))
        )
    summed = reduce(lambda left, right: exp.Add(this=left, expression=right), parts)
    return exp.Mul(this=column("n", alias), expression=exp.Paren(this=summed))


def _cost(item: Steps, step: exp.Expression) -> exp.Expression:
    case = exp.Case()
    for number, paid in enumerate((0, *item.costs)):
        case = case.when(equal(step.copy(), literal(number)), literal(paid), copy=False)
    return case


def widened(state: Table, picks: Table, width: int, mode: Mode, more: Sequence[str] = ()) -> exp.Select:
    """The labels after a round: as far up as the picks ask. `more` are further columns of the state."""
    sides = {"own": ["u"], "other": ["v"], "mutual": ["u", "v"]}[mode]
    steps_of = [column(f"e_{i}") for i in range(width)]
    queries: list[exp.Query] = [
        exp.select(named(column(side), "v"), *(item.copy() for item in steps_of)).from_(table_expression(picks))
        for side in sides
    ]
    asked = reduce(lambda left, right: exp.union(left, right, distinct=False, copy=False), queries)
    most = [named(exp.Max(this=column(f"e_{i}")), f"e_{i}") for i in range(width)]
    needed = exp.select(column("v"), *most).from_(subquery(asked, "asked")).group_by(column("v"))
    items = []
    for i in range(width):
        higher = exp.GT(this=column(f"e_{i}", "needed"), expression=column(f"t_{i}", "own"))
        step = exp.Case().when(higher, column(f"e_{i}", "needed")).else_(column(f"t_{i}", "own"))
        items.append(named(step, f"t_{i}"))
    return (
        exp.select(*(column(name, "own") for name in ("v", "n", *more)), *items)
        .from_(table_expression(state, "own"))
        .join(subquery(needed, "needed"), on=equal(column("v", "own"), column("v", "needed")), join_type="left")
    )


def reached(state: Table, vertices: Table, width: int) -> exp.Select:
    """The labels of each vertex as those of a class of its own."""
    return (
        exp.select(
            named(column("v", "own"), "g"),
            *(column(f"t_{i}", "own") for i in range(width)),
            *(column(f"o_{i}", "there") for i in range(width)),
        )
        .from_(table_expression(state, "own"))
        .join(table_expression(vertices, "there"), on=equal(column("v", "own"), column("v", "there")))
    )
