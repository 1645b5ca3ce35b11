"""Statements that grow the forest of Aggarwal et al. (chapter, section 3.2.3): trees of at least k rows.

`components`: vertex `v`, its component `c`, the number of its root. In a round every component below k rows may
move, by an edge from its root to the nearest vertex elsewhere; `moved` has `c`, `target`, `parent`, `d`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.sql.build import all_of, any_of, equal, mixed, named, subquery
from sqlanon.sql.relations import Table, cast, column, literal, table_expression


def every_vertex_alone(vertices: Table) -> exp.Select:
    """The forest without edges."""
    return exp.select(column("v"), named(column("v"), "c")).from_(table_expression(vertices))


def component_rows(vertices: Table, components: Table) -> exp.Select:
    """The rows of each component."""
    return (
        exp.select(column("c", "part"), named(cast(exp.Sum(this=column("n", "own")), "bigint"), "rows"))
        .from_(table_expression(components, "part"))
        .join(table_expression(vertices, "own"), on=equal(column("v", "part"), column("v", "own")))
        .group_by(column("c", "part"))
    )


def wishes(components: Table, sizes: Table, near: Table, k: int, round_: int) -> exp.Select:
    """Where the root of each component below k rows wants to go: the nearest vertex of another component.

    `turn` and `their_turn` are numbers that change in every round; `closed`: the other component has k rows.
    """
    order = exp.Order(expressions=[exp.Ordered(this=column("place", "near"))])
    first = exp.Window(this=exp.RowNumber(), partition_by=[column("c", "own")], order=order)
    elsewhere = exp.NEQ(this=column("c", "there"), expression=column("c", "own"))
    found = (
        exp.select(
            named(column("c", "own"), "c"),
            named(column("c", "there"), "target"),
            named(column("v", "near"), "parent"),
            column("d", "near"),
            named(exp.GTE(this=column("rows", "other"), expression=literal(k)), "closed"),
            named(first, "choice"),
        )
        .from_(table_expression(sizes, "own"))
        .join(table_expression(near, "near"), on=equal(column("u", "near"), column("c", "own")))
        .join(
            table_expression(components, "there"),
            on=all_of([equal(column("v", "near"), column("v", "there")), elsewhere]),
        )
        .join(table_expression(sizes, "other"), on=equal(column("c", "there"), column("c", "other")))
        .where(exp.LT(this=column("rows", "own"), expression=literal(k)))
    )
    names = ("c", "target", "parent", "d", "closed")
    turns = [named(_turn(name, round_), alias) for name, alias in (("c", "turn"), ("target", "their_turn"))]
    chosen = exp.select(*(column(name) for name in names), *turns).from_(subquery(found, "found"))
    return chosen.where(equal(column("choice"), literal(1)))


def _turn(name: str, round_: int) -> exp.Expression:
    once = mixed([literal(round_), column(name)])
    return mixed([once, column(name), literal(round_ + 1)])


def moved(wished: Table) -> exp.Select:
    """The wishes that are granted: into a closed component, or into one that stays in this round.

    A component stays when its own wish is not granted. A wish into an open component is granted when it goes to a
    lower turn and the wish of that component to a higher one: never two in a row, never in a circle, and in every
    round at least one.
    """
    lower = _before("their_turn", "target", "turn", "c", "own", "own")
    stays = all_of(
        [
            exp.Not(this=column("closed", "there")),
            _before("turn", "c", "their_turn", "target", "there", "there"),
        ]
    )
    granted = any_of([column("closed", "own"), all_of([lower, stays])])
    names = ("c", "target", "parent", "d")
    return (
        exp.select(*(column(name, "own") for name in names))
        .from_(table_expression(wished, "own"))
        .join(
            table_expression(wished, "there"),
            on=equal(column("target", "own"), column("c", "there")),
            join_type="left",
        )
        .where(granted)
    )


def _before(turn: str, number: str, other_turn: str, other_number: str, one: str, other: str) -> exp.Expression:
    """Whether a turn comes before another; equal turns go by the numbers of the components."""
    mine, theirs = column(turn, one), column(other_turn, other)
    tie = all_of(
        [
            equal(mine.copy(), theirs.copy()),
            exp.LT(this=column(number, one), expression=column(other_number, other)),
        ]
    )
    return any_of([exp.LT(this=mine, expression=theirs), tie])


def merged(components: Table, moved_table: Table) -> exp.Select:
    """The components after a round."""
    target = exp.Coalesce(this=column("target", "moved"), expressions=[column("c", "part")])
    return (
        exp.select(column("v", "part"), named(target, "c"))
        .from_(table_expression(components, "part"))
        .join(
            table_expression(moved_table, "moved"),
            on=equal(column("c", "part"), column("c", "moved")),
            join_type="left",
        )
    )


def edges(rounds: Sequence[Table], vertices: Table) -> exp.Query:
    """All edges: `u`, its parent `p`, their distance `d`."""
    none = exp.select(named(column("v"), "u"), named(column("v"), "p"), named(literal(0), "d"))
    query: exp.Query = none.from_(table_expression(vertices)).where(exp.false())
    for table in rounds:
        found = exp.select(named(column("c"), "u"), named(column("parent"), "p"), column("d"))
        query = exp.union(query, found.from_(table_expression(table)), distinct=False, copy=False)
    return query
