"""Statements of cell recoding by matchings: which pairs of single rows save something, and groups from a table."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.recoding.cells.neighbours import Steps, distance
from sqlanon.sql.build import all_of, count, equal, is_null, is_present, named, subquery
from sqlanon.sql.relations import Table, cast, column, literal, table_expression


def nearest_of_singles(near: Table) -> exp.Select:
    """The nearest vertex of each that is a single row."""
    found = exp.select(column("u"), column("v")).from_(table_expression(near))
    return found.where(equal(column("place"), literal(1))).order_by(column("u"))


def saving(vertices: Table, steps: Sequence[Steps], near: Table) -> exp.Select:
    """Pairs of single rows that are nearer to each other than to their nearest together, and by how much."""
    apart = exp.Add(this=column("d", "near_one"), expression=column("d", "near_other"))
    gain = exp.Sub(this=apart, expression=exp.Paren(this=distance(steps, "one", "other")))
    later = exp.LT(this=column("v", "one"), expression=column("v", "other"))
    single = [equal(column("n", alias), literal(1)) for alias in ("one", "other")]
    select = (
        exp.select(named(column("v", "one"), "u"), named(column("v", "other"), "v"), named(gain, "gain"))
        .from_(table_expression(vertices, "one"))
        .join(table_expression(vertices, "other"), on=all_of([later, *single]))
    )
    for alias in ("one", "other"):
        nearest = f"near_{alias}"
        on = [equal(column("u", nearest), column("v", alias)), equal(column("place", nearest), literal(1))]
        select = select.join(table_expression(near, nearest), on=all_of(on))
    kept = exp.select(*(column(name) for name in ("u", "v", "gain"))).from_(subquery(select, "pairs"))
    return kept.where(exp.GT(this=column("gain"), expression=literal(0))).order_by(column("u"), column("v"))


def saving_count(vertices: Table, steps: Sequence[Steps], near: Table) -> exp.Select:
    return exp.select(count()).from_(subquery(saving(vertices, steps, near), "saving"))


def groups(vertices: Table, given: Table) -> exp.Query:
    """Groups of a table of texts `v` and `g`, and every vertex that is in none of them by itself.

    A vertex of several rows gives one to each group that has it and keeps the others, if two are left; else it goes
    whole to its only group.
    """
    number, group = cast(column("v", "given"), "int"), cast(column("g", "given"), "int")
    own = exp.select(named(number, "v"), named(group, "g")).from_(table_expression(given, "given"))
    held = (
        exp.select(column("v", "own"), column("n", "own"), column("g", "held"))
        .from_(table_expression(vertices, "own"))
        .join(subquery(own, "held"), on=equal(column("v", "own"), column("v", "held")), join_type="left")
    )
    gives = exp.GTE(this=column("n"), expression=literal(3))
    last = exp.Case().when(gives, literal(1)).else_(column("n"))
    one = cast(literal(1), "bigint")
    given_rows = exp.select(column("v"), named(one, "a"), named(cast(last, "bigint"), "b"), column("g"))
    given_rows = given_rows.from_(subquery(held, "held")).where(is_present(column("g")))
    first = exp.Case().when(is_present(column("g")), cast(literal(2), "bigint")).else_(one.copy())
    by_itself = exp.Neg(this=column("v"))
    rest = exp.select(
        column("v"), named(first, "a"), named(cast(column("n"), "bigint"), "b"), named(by_itself, "g")
    ).from_(subquery(held.copy(), "held"))
    alone = exp.Or(this=is_null(column("g")), expression=gives.copy())
    return exp.union(given_rows, rest.where(alone), distinct=False, copy=False)
