"""Statements that find and judge the cuts of all active regions of a Mondrian round.

Strict cuts go between two values: the first choice, then all others where that one is not allowable. Relaxed cuts part
the rows in half. Counts alone decide k; whatever else a requirement asks is asked of both sides as of any class.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.recoding.mondrian.regions import ValueSpace, active, when, with_regions
from sqlanon.sql.build import all_of, any_of, equal, is_null, is_present, named, subquery, total_where
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import Counted, Measures, ValueTables, classes, whole

LARGEST = 2**63 - 1
MOST_CUTS = 1_000
"""Cuts of a region at one column that are judged: the most even ones."""


@dataclass(frozen=True)
class CutQuestion:
    """What both sides of a cut must satisfy."""

    measures: Sequence[Measures]
    satisfied: exp.Expression
    tables: Mapping[int, ValueTables]
    persons: bool

    def satisfied_sides(self, rows: exp.Select, keys: Sequence[str]) -> exp.Select:
        """The classes of counted rows by these keys, each with `kept`."""
        # Under names of their own: the views that models read have columns such as `place` and `level` too.
        counted = Counted(rows, [(f"g_{name}", column(name)) for name in keys], self.persons)
        found = classes(counted, self.measures, self.tables)
        items = [named(column(f"g_{name}"), name) for name in keys]
        return exp.select(*items, named(self.satisfied.copy(), "kept")).from_(subquery(found, "found"))


def satisfies(points: Table, asked: CutQuestion) -> exp.Select:
    """Whether all points together, as one class, satisfy."""
    rows = exp.select().from_(table_expression(points))
    found = classes(Counted(rows, (), asked.persons), asked.measures, asked.tables)
    return exp.select(asked.satisfied.copy()).from_(subquery(found, "found"))


# -- strict ------------------------------------------------------------------------------------------------------------


def strict_cuts(points: Table, looked: Table, space: ValueSpace) -> exp.Select:
    """The first choice of each active region, where both sides have the least rows that a class must have."""
    best = exp.select(
        column("region"), named(exp.Min(this=column("dim")), "dim"), named(exp.Min(this=column("choice")), "choice")
    ).from_(subquery(_choices(points, looked, space), "choices"), copy=False)
    cut = cast(exp.Mod(this=column("choice"), expression=literal(_ordinals(space))), "int")
    found = exp.select(column("region"), column("dim"), named(cut, "cut"))
    return _with_next(found.from_(subquery(best.group_by(column("region")), "best"), copy=False))


def _with_next(cuts: exp.Select) -> exp.Select:
    following = named(exp.Add(this=column("cut"), expression=literal(1)), "next")
    return exp.select(exp.Star(), following).from_(subquery(cuts, "found"), copy=False)


def candidates(points: Table, looked: Table, space: ValueSpace) -> exp.Select:
    """The cuts to judge: the first choice at a column; where that is known to fail, all."""
    order = exp.Order(expressions=[exp.Ordered(this=column("choice"))])
    place = exp.Window(this=exp.RowNumber(), partition_by=[column("region")], order=order)
    choices = subquery(_choices(points, looked, space), "choices")
    placed = exp.select(exp.Star(), named(place, "place")).from_(choices, copy=False)
    bit = exp.BitwiseLeftShift(this=cast(literal(1), "bigint"), expression=column("dim"))
    known = exp.Paren(this=exp.BitwiseAnd(this=column("tried"), expression=exp.Paren(this=bit)))
    several = exp.LTE(this=column("place"), expression=literal(MOST_CUTS))
    again = all_of([exp.NEQ(this=known, expression=literal(0)), several])
    names = [column(name) for name in ("region", "dim", "cut", "place")]
    wanted = any_of([equal(column("place"), literal(1)), again])
    return exp.select(*names).from_(subquery(placed, "placed"), copy=False).where(wanted)


def judged_cuts(points: Table, tried: Table, space: ValueSpace, asked: CutQuestion) -> exp.Select:
    """For each region with candidates the first allowable one; `cut` is NULL where there is none."""
    left = when(exp.LTE(this=space.chosen("p", "r"), expression=column("cut", "r")), literal(0))
    side = named(exp.Case(ifs=[left], default=literal(1)), "side")
    items = [*(column(name, "p") for name in (*space.others, "n", "region")), column("place", "r"), side]
    sided = with_regions(points, tried, items, active())
    verdicts = asked.satisfied_sides(exp.select().from_(subquery(sided, "sided")), ["region", "place", "side"])
    by_cut = exp.select(column("region"), column("place"), named(_failing(), "failing"))
    by_cut = by_cut.from_(subquery(verdicts, "verdicts"), copy=False).group_by(column("region"), column("place"))
    allowable = exp.Case(ifs=[when(equal(column("failing"), literal(0)), column("place"))])
    best = exp.select(column("region"), named(exp.Min(this=allowable), "place"))
    best = best.from_(subquery(by_cut, "by_cut"), copy=False).group_by(column("region"))
    dims = exp.select(column("region"), column("dim")).from_(table_expression(tried))
    dims = dims.where(equal(column("place"), literal(1)))
    found = exp.select(column("region", "d"), column("dim", "d"), column("cut", "k")).from_(subquery(dims, "d"))
    found = found.join(subquery(best, "b"), on=equal(column("region", "d"), column("region", "b")), copy=False)
    on = all_of([equal(column(name, "b"), column(name, "k")) for name in ("region", "place")])
    return _with_next(found.join(table_expression(tried, "k"), on=on, join_type="left", copy=False))


def _failing() -> exp.Expression:
    return total_where(exp.Not(this=column("kept")), literal(1))


def _choices(points: Table, looked: Table, space: ValueSpace) -> exp.Select:
    """Where the chosen column of each active region can be cut. `choice` is less the better a cut is: between branches
    of the hierarchy, the higher the better, then even, then left; the last digits are the cut's ordinal."""
    carried = ["top", "dim", *(["tried"] if "tried" in space.known else [])]
    values = with_regions(
        points,
        looked,
        [
            column("region", "p"),
            named(space.chosen("p", "r"), "v"),
            named(column("n", "p"), "m"),
            named(column("n", "r"), "rows"),
            *(column(name, "r") for name in carried),
        ],
        active(),
    )
    keys, kept = ["region", "v"], ["rows", *carried[1:]]
    by_value = exp.select(
        *(column(name) for name in keys),
        *(named(exp.Max(this=column(name)), name) for name in kept),
        named(whole(exp.Sum(this=column("m"))), "m"),
    ).from_(subquery(values, "values"), copy=False)
    by_value = by_value.group_by(*(column(name) for name in keys))
    running = exp.select(
        *(column(name) for name in (*keys, *kept)),
        named(whole(_over(exp.Sum(this=column("m")))), "below"),
        *([] if space.ladder is None else [named(_over(exp.Lead(this=column("v"))), "following")]),
    ).from_(subquery(by_value, "by_value"), copy=False)
    above = exp.Sub(this=column("rows", "c"), expression=column("below", "c"))
    enough = [exp.GTE(this=side, expression=literal(space.least)) for side in (column("below", "c"), above)]
    items: list[exp.Expression] = [column(name, "c") for name in ("region", *kept)]
    items += [named(column("v", "c"), "cut"), named(_choice(space), "choice")]
    select = exp.select(*items).from_(subquery(running, "c"), copy=False).where(*enough)
    if space.ladder is None:
        return select
    on = all_of([equal(column("dim", "c"), column("dim", "l")), equal(column("v", "c"), column("o", "l"))])
    return select.join(table_expression(space.ladder, "l"), on=on, join_type="left", copy=False)


def _over(function: exp.Expression) -> exp.Expression:
    order = exp.Order(expressions=[exp.Ordered(this=column("v"))])
    return exp.Window(this=function, partition_by=[column("region")], order=order)


def _ordinals(space: ValueSpace) -> int:
    return max(item.steps for item in space.dimensions) + 1


def _choice(space: ValueSpace) -> exp.Expression:
    below, rows = column("below", "c"), column("rows", "c")
    difference = exp.Sub(this=exp.Mul(this=literal(2), expression=below), expression=rows)
    uneven: exp.Expression = exp.Abs(this=exp.Paren(this=difference))
    # Beyond this many rows, which no number of 63 bits could hold beside the rest, sides count as equally uneven.
    most = min(space.rows, LARGEST // (_ordinals(space) * (space.levels + 1)) - 1)
    if most < space.rows:
        uneven = exp.Least(this=uneven, expressions=[literal(most)])
    for level in range(1, space.levels + 1) if space.ladder is not None else ():
        within = exp.GTE(this=column(f"last_{level}", "l"), expression=column("following", "c"))
        penalty = exp.Case(ifs=[when(within, cast(literal(most + 1), "bigint"))], default=literal(0))
        uneven = exp.Add(this=uneven, expression=penalty)
    return exp.Add(
        this=exp.Mul(this=exp.Paren(this=uneven), expression=literal(_ordinals(space))), expression=column("v", "c")
    )


# -- relaxed -----------------------------------------------------------------------------------------------------------


def parted(points: Table, looked: Table, space: ValueSpace) -> exp.Query:
    """The points of active regions by `side`: rows in the order of the chosen column, the first half on side 0.

    A combination that lies across the middle is parted: some of its rows here, some there.
    """
    value = space.chosen("p", "r")
    keys = [name for name in (*space.ordinals, *space.others) if name != "last_row"]
    order = exp.Order(expressions=[exp.Ordered(this=value), *(exp.Ordered(this=column(name, "p")) for name in keys)])
    upto = exp.Window(this=exp.Sum(this=column("n", "p")), partition_by=[column("region", "p")], order=order)
    half = exp.Sub(
        this=column("n", "r"), expression=exp.Paren(this=exp.IntDiv(this=column("n", "r"), expression=literal(2)))
    )
    carried = [column(name, "p") for name in (*space.ordinals, *space.others, "n", "region")]
    more = [named(whole(half), "half"), named(whole(upto), "upto"), named(value.copy(), "v"), column("dim", "r")]
    inner = with_regions(points, looked, [*carried, *more], active())
    before = exp.Paren(this=exp.Sub(this=column("upto", "p"), expression=column("n", "p")))
    room = exp.Sub(this=column("half", "p"), expression=before)
    left = whole(exp.Least(this=column("n", "p"), expressions=[exp.Greatest(this=room, expressions=[literal(0)])]))
    kept = [name for name in (*space.ordinals, *space.others) if name not in ("first_row", "last_row")]
    names = [*kept, "first_row", "last_row", "region", "dim", "v", "n"]
    measured = exp.select(*(column(name, "p") for name in names), named(left, "taken")).from_(subquery(inner, "p"))
    return exp.union(_side(measured, kept, 0), _side(measured.copy(), kept, 1), distinct=False)


def _side(measured: exp.Select, kept: Sequence[str], side: int) -> exp.Select:
    first, last, taken = column("first_row"), column("last_row"), column("taken")
    middle = exp.Add(this=first.copy(), expression=taken.copy())
    rows: list[exp.Expression]
    if side == 0:
        rows = [first, exp.Sub(this=middle, expression=literal(1)), taken.copy()]
        some: exp.Expression = exp.GT(this=taken.copy(), expression=literal(0))
    else:
        rows = [middle, last, exp.Sub(this=column("n"), expression=taken.copy())]
        some = exp.LT(this=taken.copy(), expression=column("n"))
    items: list[exp.Expression] = [column(name) for name in kept]
    items += [named(value, name) for value, name in zip(rows, ("first_row", "last_row", "n"), strict=True)]
    items += [column("region"), column("dim"), column("v"), named(literal(side), "side")]
    return exp.select(*items).from_(subquery(measured, "measured")).where(some)


def relaxed_cuts(sides: Table, asked: CutQuestion | None) -> exp.Select:
    """The cut of each parted region; where something beyond k is asked, `cut` is NULL unless both sides satisfy."""
    left, right = (exp.Case(ifs=[when(equal(column("side"), literal(side)), column("v"))]) for side in (0, 1))
    ends = exp.select(
        column("region"),
        named(exp.Min(this=column("dim")), "dim"),
        named(exp.Max(this=left), "last"),
        named(exp.Min(this=right), "first"),
    ).from_(table_expression(sides))
    ends = ends.group_by(column("region"))
    # Values between both sides that do not occur belong to the right one.
    following = exp.Add(this=column("last", "e"), expression=literal(1))
    next_one = named(exp.Least(this=column("first", "e"), expressions=[following]), "next")
    known = [column("region", "e"), column("dim", "e")]
    if asked is None:
        return exp.select(*known, named(column("last", "e"), "cut"), next_one).from_(subquery(ends, "e"))
    verdicts = asked.satisfied_sides(exp.select().from_(table_expression(sides)), ["region", "side"])
    by_region = exp.select(column("region"), named(_failing(), "failing"))
    by_region = by_region.from_(subquery(verdicts, "verdicts"), copy=False).group_by(column("region"))
    allowable = exp.Case(ifs=[when(equal(column("failing", "b"), literal(0)), column("last", "e"))])
    select = exp.select(*known, named(allowable, "cut"), next_one).from_(subquery(ends, "e"))
    return select.join(subquery(by_region, "b"), on=equal(column("region", "e"), column("region", "b")))


def parted_points(
    points: Table, looked: Table, sides: Table, cuts: Table, space: ValueSpace, *, only_active: bool
) -> exp.Query:
    """The points after a round of relaxed cuts; regions that were not cut keep theirs as they were."""
    carried = [*space.ordinals, *space.others, "n"]
    moved = exp.Case(
        ifs=[when(equal(column("side", "p"), literal(1)), column("other", "c"))], default=column("region", "p")
    )
    cut = exp.select(*(column(name, "p") for name in carried), named(moved, "region"))
    cut = _with_cuts(cut.from_(table_expression(sides, "p")), cuts).where(is_present(column("cut", "c")))
    items = [column(name, "p") for name in (*carried, "region")]
    if only_active:
        kept = with_regions(points, looked, items, active())
    else:
        kept = exp.select(*items).from_(table_expression(points, "p"))
    return exp.union(cut, _with_cuts(kept, cuts).where(is_null(column("cut", "c"))), distinct=False)


def _with_cuts(select: exp.Select, cuts: Table) -> exp.Select:
    on = equal(column("region", "p"), column("region", "c"))
    return select.join(table_expression(cuts, "c"), on=on, join_type="left", copy=False)
