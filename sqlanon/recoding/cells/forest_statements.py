"""Statements that grow a forest of trees of at least k rows and cut large trees (chapter, section 3.2.3).

Growing (Aggarwal et al.): `components` has vertex `v` and its component `c`, the number of its root. In a round every
component below k rows may move, by an edge from its root to the nearest vertex elsewhere; `moved` has `c`, `target`,
`parent`, `d`. Cutting, from the leaves up: `bundles` are rows on their way to the root: `g`, the vertex `x` where they
are, their `size`, and `hint`, a group that was cut off below. Two bundles that come to k rows are cut off as a group;
every edge is used by one group.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from sqlglot import exp

from sqlanon.sql.build import all_of, any_of, count, equal, is_null, is_present, mixed, named, subquery
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


def large(vertices: Table, sizes: Table, k: int) -> exp.Select:
    """The components that are cut: above 3k - 3 rows, or with a root of k rows that is not alone."""
    too_large = exp.GT(this=column("rows", "part"), expression=literal(3 * k - 3))
    big_root = exp.GTE(this=column("n", "root"), expression=literal(k))
    with_others = exp.GT(this=column("rows", "part"), expression=column("n", "root"))
    return (
        exp.select(column("c", "part"), named(big_root, "big"), named(column("n", "root"), "root_rows"))
        .from_(table_expression(sizes, "part"))
        .join(table_expression(vertices, "root"), on=equal(column("c", "part"), column("v", "root")))
        .where(any_of([all_of([big_root.copy(), with_others]), all_of([exp.Not(this=big_root.copy()), too_large])]))
    )


def bundles_at_start(vertices: Table, components: Table, large_table: Table) -> exp.Select:
    """Every vertex of a tree that is cut, where it is; the rows of a root with k of its own stay out of it."""
    own_root = all_of([column("big", "tree"), equal(column("v", "part"), column("c", "part"))])
    size = exp.Case().when(own_root, literal(0)).else_(column("n", "own"))
    return (
        exp.select(
            named(column("v", "part"), "g"),
            named(column("v", "part"), "x"),
            named(cast(size, "bigint"), "size"),
            named(cast(literal(None), "int"), "hint"),
        )
        .from_(table_expression(components, "part"))
        .join(table_expression(large_table, "tree"), on=equal(column("c", "part"), column("c", "tree")))
        .join(table_expression(vertices, "own"), on=equal(column("v", "part"), column("v", "own")))
    )


def members_at_start(bundles: Table) -> exp.Select:
    """Every vertex in a bundle of its own; `group` is NULL until the bundle becomes one."""
    return exp.select(named(column("g"), "v"), column("g"), named(cast(literal(None), "int"), "cut")).from_(
        table_expression(bundles)
    )


def paired(bundles: Table, k: int) -> exp.Select:
    """The bundles at each place two by two: which `g` each becomes, and whether the pair is cut off as a group."""
    order = exp.Order(expressions=[exp.Ordered(this=column("g"))])
    number = exp.Window(this=exp.RowNumber(), partition_by=[column("x")], order=order)
    half = exp.IntDiv(this=exp.Paren(this=exp.Add(this=number, expression=literal(1))), expression=literal(2))
    numbered = exp.select(*_columns("g", "x", "size", "hint"), named(cast(half, "bigint"), "pair")).from_(
        table_expression(bundles)
    )
    pair = [column("x"), column("pair")]
    both = exp.Window(this=exp.Sum(this=column("size")), partition_by=pair)
    return exp.select(
        *_columns("g", "x", "size", "hint"),
        named(exp.Window(this=exp.Min(this=column("g")), partition_by=[item.copy() for item in pair]), "together"),
        named(exp.GTE(this=both, expression=literal(k)), "full"),
    ).from_(subquery(numbered, "numbered"))


def members_after(members: Table, paired_table: Table) -> exp.Select:
    """The members with their bundle after pairing; those of full pairs are cut off. A cut group keeps its number."""
    cut = (
        exp.Case()
        .when(is_present(column("cut", "own")), column("cut", "own"))
        .when(column("full", "pair"), column("together", "pair"))
    )
    bundle = exp.Coalesce(this=column("together", "pair"), expressions=[column("g", "own")])
    on = all_of([equal(column("g", "own"), column("g", "pair")), is_null(column("cut", "own"))])
    return (
        exp.select(column("v", "own"), named(bundle, "g"), named(cut, "cut"))
        .from_(table_expression(members, "own"))
        .join(table_expression(paired_table, "pair"), on=on, join_type="left")
    )


def bundles_after(paired_table: Table) -> exp.Select:
    """The bundles after pairing; a full pair leaves an empty one, which knows the group.

    The group has the lower number of the pair, the empty bundle the other one: no number means two things.
    """
    full = exp.Max(this=exp.Case().when(column("full"), literal(1)).else_(literal(0)))
    is_full = equal(full, literal(1))
    size = exp.Case().when(is_full, literal(0)).else_(exp.Sum(this=column("size")))
    number = exp.Case().when(is_full.copy(), exp.Max(this=column("g"))).else_(column("together"))
    hint = exp.Case().when(is_full.copy(), column("together")).else_(exp.Min(this=column("hint")))
    return (
        exp.select(named(number, "g"), column("x"), named(cast(size, "bigint"), "size"), named(hint, "hint"))
        .from_(table_expression(paired_table))
        .group_by(column("together"), column("x"))
    )


def passed(bundles: Table, edges_table: Table) -> exp.Select:
    """Every bundle that is the last at its vertex, with nothing at the children, goes to the parent."""
    alone = exp.select(column("x")).from_(table_expression(bundles)).group_by(column("x"))
    alone = alone.having(equal(count(), literal(1)))
    waiting = (
        exp.select(column("p", "edge"))
        .distinct()
        .from_(table_expression(edges_table, "edge"))
        .join(table_expression(bundles, "below"), on=equal(column("u", "edge"), column("x", "below")))
    )
    goes = all_of([is_present(column("x", "alone")), is_null(column("p", "waiting")), is_present(column("p", "up"))])
    place = exp.Case().when(goes, column("p", "up")).else_(column("x", "own"))
    return (
        exp.select(column("g", "own"), named(place, "x"), column("size", "own"), column("hint", "own"))
        .from_(table_expression(bundles, "own"))
        .join(subquery(alone, "alone"), on=equal(column("x", "own"), column("x", "alone")), join_type="left")
        .join(subquery(waiting, "waiting"), on=equal(column("x", "own"), column("p", "waiting")), join_type="left")
        .join(table_expression(edges_table, "up"), on=equal(column("x", "own"), column("u", "up")), join_type="left")
    )


def unfinished(bundles: Table, large_table: Table) -> exp.Select:
    """How many bundles are left beside one at each root."""
    trees = exp.select(count()).from_(table_expression(large_table))
    left = exp.select(count()).from_(table_expression(bundles))
    return exp.select(exp.Sub(this=exp.Subquery(this=left), expression=exp.Subquery(this=trees)))


def groups(vertices: Table, components: Table, large_table: Table, members: Table, bundles: Table, k: int) -> exp.Query:
    """What becomes one class: vertex `v`, its rows from `a` to `b`, group `g`.

    Small trees whole. Of trees that were cut: the groups cut off, with what was left at the root in the group that it
    was told of; or, at a root of k rows, in a group with as many of the root's rows as it needs, the root's other rows
    by themselves.
    """
    parts = [
        _whole_trees(vertices, components, large_table),
        _cut_groups(vertices, components, large_table, members, bundles),
        _big_roots(large_table, bundles, k, rest=False),
        _big_roots(large_table, bundles, k, rest=True),
    ]
    return reduce(lambda left, right: exp.union(left, right, distinct=False, copy=False), parts)


def _whole_trees(vertices: Table, components: Table, large_table: Table) -> exp.Query:
    return (
        exp.select(
            column("v", "part"),
            named(cast(literal(1), "bigint"), "a"),
            named(column("n", "own"), "b"),
            named(column("c", "part"), "g"),
        )
        .from_(table_expression(components, "part"))
        .join(table_expression(vertices, "own"), on=equal(column("v", "part"), column("v", "own")))
        .join(
            table_expression(large_table, "tree"), on=equal(column("c", "part"), column("c", "tree")), join_type="left"
        )
        .where(is_null(column("c", "tree")))
    )


def _cut_groups(vertices: Table, components: Table, large_table: Table, members: Table, bundles: Table) -> exp.Query:
    """Members of groups that were cut off, and of what is left at the roots."""
    last = exp.Case().when(column("big", "tree"), _left_over("tree")).else_(column("hint", "left"))
    group = exp.Coalesce(this=column("cut", "own"), expressions=[last])
    of_root = all_of([column("big", "tree"), equal(column("v", "own"), column("c", "tree"))])
    return (
        exp.select(
            column("v", "own"),
            named(cast(literal(1), "bigint"), "a"),
            named(column("n", "vertex"), "b"),
            named(group, "g"),
        )
        .from_(table_expression(members, "own"))
        .join(table_expression(vertices, "vertex"), on=equal(column("v", "own"), column("v", "vertex")))
        .join(table_expression(components, "part"), on=equal(column("v", "own"), column("v", "part")))
        .join(table_expression(large_table, "tree"), on=equal(column("c", "part"), column("c", "tree")))
        .join(table_expression(bundles, "left"), on=equal(column("x", "left"), column("c", "tree")))
        .where(exp.Not(this=exp.Paren(this=of_root)))
    )


def _big_roots(large_table: Table, bundles: Table, k: int, *, rest: bool) -> exp.Query:
    """The rows of a root of k rows: those that go with what is left, and the rest."""
    needed = exp.Sub(this=literal(k), expression=column("size", "left"))
    enough = exp.GTE(
        this=column("root_rows", "tree"), expression=exp.Add(this=literal(k), expression=exp.Paren(this=needed))
    )
    taken = (
        exp.Case()
        .when(equal(column("size", "left"), literal(0)), literal(0))
        .when(enough, exp.Paren(this=needed.copy()))
        .else_(column("root_rows", "tree"))
    )
    rows = exp.select(
        column("c", "tree"),
        named(cast(column("root_rows", "tree"), "bigint"), "root_rows"),
        named(cast(taken, "bigint"), "taken"),
    )
    rows = rows.from_(table_expression(large_table, "tree")).join(
        table_expression(bundles, "left"), on=equal(column("x", "left"), column("c", "tree"))
    )
    rows = rows.where(column("big", "tree"))
    one = cast(literal(1), "bigint")
    if rest:
        first = exp.Add(this=column("taken"), expression=one)
        items = [column("c"), named(first, "a"), named(column("root_rows"), "b"), named(_rest(), "g")]
        return (
            exp.select(*items)
            .from_(subquery(rows, "roots"))
            .where(exp.LT(this=column("taken"), expression=column("root_rows")))
        )
    items = [column("c"), named(one, "a"), named(column("taken"), "b"), named(_left_over(), "g")]
    return exp.select(*items).from_(subquery(rows, "roots")).where(exp.GT(this=column("taken"), expression=literal(0)))


def _left_over(alias: str | None = None) -> exp.Expression:
    """The number of the group of what is left at a big root: no vertex has it."""
    return exp.Mul(this=column("c", alias), expression=literal(-2))


def _rest(alias: str | None = None) -> exp.Expression:
    """The number of the group of a big root's other rows."""
    return exp.Sub(this=exp.Mul(this=column("c", alias), expression=literal(-2)), expression=literal(1))


def _columns(*names: str) -> list[exp.Expression]:
    return [column(name) for name in names]
