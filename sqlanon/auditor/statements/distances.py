"""What a model needs of the order among a class's cells: their rank by size, their place in an order, their taxonomy.

Steps on `weighed` that end in `sorted`. The work of an ordered distance is taken in stretches between the values that
a class has, so its cost is that of the cells, not of classes times values.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.statements.steps import Steps, step
from sqlanon.auditor.statements.words import greatest, least, times, wide
from sqlanon.sql.build import equal, is_null, named, subquery
from sqlanon.sql.relations import cast, column, identifier, literal


def sorted_cells(*, ranked: bool, ordered: bool, height: int) -> Steps:
    """The steps from `weighed` to `sorted`: with `ranked` the rank of a cell by its members, with `ordered` its stretch
    of work, with a height above 0 the members of its nodes.
    """
    items: list[exp.Expression] = [exp.Star()]
    if ranked:
        most = [exp.Ordered(this=column("members"), desc=True), exp.Ordered(this=column("code"))]
        items.append(named(_by_class(exp.RowNumber(), most), "rank_by_members"))
    for level in range(1, height):
        items += _node(level)
    if not ordered:
        return {"sorted": exp.select(*items).from_(step("weighed"), copy=False)}
    by_place = [exp.Ordered(this=column("place"))]
    items += [
        named(cast(_by_class(exp.Sum(this=column("members")), by_place), "bigint"), "reached"),
        named(_by_class(exp.Lag(this=column("place")), by_place), "last_place"),
        named(_by_class(exp.Lead(this=column("place")), by_place), "next_place"),
        named(_by_class(exp.Lead(this=column("before")), by_place), "next_before"),
    ]
    return {
        "spread": exp.select(*items).from_(step("weighed"), copy=False),
        "walked": exp.select(exp.Star(), named(_level_mark(), "mark")).from_(step("spread"), copy=False),
        "marks": _marks(),
        "crossings": _crossings(),
        "sorted": _stretches(),
    }


def _by_class(value: exp.Expression, order: Sequence[exp.Expression] = (), *more: exp.Expression) -> exp.Window:
    ordered = exp.Order(expressions=[item.copy() for item in order]) if order else None
    return exp.Window(this=value, partition_by=[column("class"), *more], order=ordered)


def _node(level: int) -> list[exp.Expression]:
    """The members under a cell's node of a level, and whether the cell is the one that speaks for the node."""
    node = column(f"node_{level}")
    members = _by_class(exp.Sum(this=column("members")), (), node)
    first = equal(column("code"), _by_class(exp.Min(this=column("code")), (), node.copy()))
    return [named(cast(members, "bigint"), f"members_{level}"), named(first, f"first_{level}")]


def _level_mark() -> exp.Expression:
    """floor(reached * total / size): references up to it lie below what the class has reached, all others above.

    Taken in two parts, so that no product exceeds the square of a class.
    """
    whole = _divided(column("total"), column("size"))
    rest = exp.Mod(this=column("total"), expression=column("size"))
    share = _divided(times(column("reached"), exp.Paren(this=rest)), column("size"))
    return exp.Add(this=times(column("reached"), whole), expression=share)


def _divided(value: exp.Expression, by: exp.Expression) -> exp.Expression:
    return cast(exp.IntDiv(this=value, expression=by), "bigint")


def _marks() -> exp.Select:
    """Every mark once, with the last place of the reference that lies exactly there and its work."""
    upto = exp.Add(this=column("before"), expression=wide(column("below")))
    reference = exp.select(named(column("below"), "mark"), column("place"), named(upto, "upto"))
    asked = exp.select(column("mark"), named(literal(0), "place"), named(wide(literal(0)), "upto")).distinct(copy=False)
    both = exp.union(
        reference.from_(step("reference"), copy=False), asked.from_(step("walked"), copy=False), distinct=False
    )
    place, work = exp.Max(this=column("place")), exp.Max(this=column("upto"))
    select = exp.select(column("mark"), named(place, "place"), named(work, "upto")).from_(
        subquery(both, "both"), copy=False
    )
    return select.group_by(column("mark"))


def _crossings() -> exp.Select:
    """For every mark, the last place of the reference that lies not above it; 0 before the first."""

    def so_far(name: str) -> exp.Expression:
        order = exp.Order(expressions=[exp.Ordered(this=column("mark"))])
        return exp.Window(this=exp.Max(this=column(name)), order=order)

    items = [named(so_far("place"), "crossing"), named(so_far("upto"), "crossing_upto")]
    return exp.select(column("mark"), *items).from_(step("marks"), copy=False)


def _stretches() -> exp.Select:
    """The sum of |reached * total - size * below| over the places from a cell's to the next one's.

    With c the last place of the stretch [a, b] where the reference is not above the class, and S the sum of `below` up
    to a place, it is reached * total * (2c - a + 1 - b) + size * (S(a - 1) + S(b) - 2 S(c)). Before its first value the
    class has reached nothing: size * S(a - 1) more.
    """
    before_next = exp.Sub(this=column("next_place"), expression=literal(1))
    end = exp.Coalesce(this=before_next, expressions=[column("places")])
    work_at_end = exp.Coalesce(this=column("next_before"), expressions=[column("work")])
    before_place = exp.Paren(this=exp.Sub(this=column("place"), expression=literal(1)))
    crossing = _between(column("crossing"), before_place, end)
    work_at_crossing = _between(column("crossing_upto"), column("before"), work_at_end)
    places = exp.Sub(
        this=exp.Sub(this=times(literal(2), wide(crossing)), expression=wide(before_place.copy())),
        expression=wide(end.copy()),
    )
    level = times(wide(column("reached")), wide(column("total")), exp.Paren(this=places))
    works = exp.Sub(
        this=exp.Add(this=wide(column("before")), expression=wide(work_at_end.copy())),
        expression=times(literal(2), wide(work_at_crossing)),
    )
    slope = times(wide(column("size")), exp.Paren(this=works))
    nothing_yet = times(wide(column("size")), wide(column("before")))
    start = exp.Case().when(is_null(column("last_place")), nothing_yet).else_(wide(literal(0)))
    stretch = exp.Add(this=exp.Add(this=level, expression=slope), expression=start)
    on = equal(column("mark", "walked"), column("mark", "crossings"))
    everything = exp.Column(this=exp.Star(), table=identifier("walked"))
    select = exp.select(everything, named(stretch, "stretch")).from_(step("walked"), copy=False)
    return select.join(step("crossings"), on=on)


def _between(value: exp.Expression, low: exp.Expression, high: exp.Expression) -> exp.Expression:
    return least(greatest(value, low.copy()), high.copy())
