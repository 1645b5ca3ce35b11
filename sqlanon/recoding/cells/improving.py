"""Better groups for a cell recoding: two groups, or one that is large enough, are put together and parted anew.

A split looks at rows from one combination outwards: the nearest ones become one group and the others the second,
wherever both have k rows and the price of all is least. Groups are tried in pairs, all of few combinations, else those
that neighbours link, which moves rows, exchanges them and parts what was merged; of splits that share a group the one
that saves most is made. Rounds go on until nothing is saved, a constant number of statements each, all in the
database. The cost only falls.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.recoding.cells.statements import Steps, distance
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import all_of, any_of, count, equal, named, row_count, subquery, total, union_all
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

MOST_ROUNDS = 100
MOST_LOOKED_AT = 3_000_000
"""Combinations seen from combinations, over all pairs of groups and rounds: beyond, groups stay as they are."""


MOST_FOR_ALL_PAIRS = 200
"""Combinations in groups of which every two are tried: neighbours of a row are most often in its own group already."""


class Improvement:
    """The groups of a recoding while they become better."""

    def __init__(self, engine: Engine, scratch: Scratch, vertices: Table, steps: Sequence[Steps], k: int) -> None:
        self._engine, self._scratch, self._vertices = engine, scratch, vertices
        self._steps, self._k = steps, k
        self.rounds = 0
        self._looked_at = 0

    def of(self, groups: Table, near: Table) -> Table:
        """Groups that cost as much as the given ones or less: `v`, its rows `a` to `b`, group `g`, and `changed`."""
        better: Table | None = self._create("groups", _as_given(groups))
        while better is not None:
            groups = better
            better = self._round(groups, near) if self.rounds < MOST_ROUNDS else None
        return groups

    def _round(self, groups: Table, near: Table) -> Table | None:
        """Groups that cost less, in place of the given ones; None where nothing is saved, or too much to look at."""
        pieces = self._create("pieces", _pieces(groups, self._vertices, self._steps))
        [(number,)] = self._engine.query(Statement("improve", row_count(table_expression(pieces))))
        pairs = _all_pairs(pieces) if number <= MOST_FOR_ALL_PAIRS else _linked_pairs(pieces, near)
        together = self._create("together", _together(pairs, pieces, self._k))
        [(looked_at,)] = self._engine.query(Statement("improve", _looked_at(pieces, together)))
        self._looked_at += int(looked_at or 0)
        if not looked_at or self._looked_at > MOST_LOOKED_AT:
            self._scratch.drop(pieces, together)
            return None
        self.rounds += 1
        prices = self._create("prices", _prices(pieces, self._steps))
        members = self._create("members", _members(pieces, together, self._steps))
        splits = self._create("splits", _splits(members, prices, self._steps, self._k))
        made, number = self._scratch.create_counted("improve", "i_made", _made(splits))
        better = None
        if number:
            parted = self._create("parted", _parted(members, made, self._steps))
            better = self._create("groups", _regrouped(groups, parted))
            self._scratch.drop(parted, groups)
        self._scratch.drop(pieces, together, members, prices, splits, made)
        return better

    def _create(self, name: str, query: exp.Query) -> Table:
        return self._scratch.create("improve", f"i_{name}", query)


def _as_given(groups: Table) -> exp.Select:
    given = [column(name) for name in ("v", "a", "b", "g")]
    return exp.select(*given, named(literal(1), "changed")).from_(table_expression(groups))


def _codes(steps: Sequence[Steps]) -> list[str]:
    return [f"c_{i}_{step}" for i, item in enumerate(steps) for step in range(item.codes)]


def _pieces(groups: Table, vertices: Table, steps: Sequence[Steps]) -> exp.Select:
    """Rows of one combination in one group, numbered `p`, with the codes of the combination."""
    order = exp.Order(expressions=[exp.Ordered(this=column(name, "own")) for name in ("g", "v", "a")])
    rows = exp.Add(this=exp.Sub(this=column("b", "own"), expression=column("a", "own")), expression=literal(1))
    return (
        exp.select(
            named(cast(exp.Window(this=exp.RowNumber(), order=order), "int"), "p"),
            *(column(name, "own") for name in ("a", "b", "g", "changed")),
            named(cast(rows, "bigint"), "rows_of_piece"),
            *(column(name, "vertex") for name in ("v", *_codes(steps))),
        )
        .from_(table_expression(groups, "own"))
        .join(table_expression(vertices, "vertex"), on=equal(column("v", "own"), column("v", "vertex")))
    )


def _all_pairs(pieces: Table) -> exp.Select:
    """Every two groups of which one has changed."""
    groups = exp.select(column("g"), named(exp.Max(this=column("changed")), "changed"))
    groups = groups.from_(table_expression(pieces)).group_by(column("g"))
    changed = any_of(equal(column("changed", alias), literal(1)) for alias in ("here", "there"))
    return (
        exp.select(named(column("g", "here"), "one"), named(column("g", "there"), "other"))
        .from_(subquery(groups, "here"))
        .join(subquery(groups.copy(), "there"), on=exp.LT(this=column("g", "here"), expression=column("g", "there")))
        .where(changed)
    )


def _linked_pairs(pieces: Table, near: Table) -> exp.Select:
    """Two groups that neighbours link, of which one has changed."""
    first = exp.Least(this=column("g", "here"), expressions=[column("g", "there")], ignore_nulls=True)
    second = exp.Greatest(this=column("g", "here"), expressions=[column("g", "there")], ignore_nulls=True)
    apart = exp.NEQ(this=column("g", "here"), expression=column("g", "there"))
    changed = any_of(equal(column("changed", alias), literal(1)) for alias in ("here", "there"))
    return (
        exp.select(named(first, "one"), named(second, "other"))
        .distinct()
        .from_(table_expression(near, "near"))
        .join(table_expression(pieces, "here"), on=equal(column("u", "near"), column("v", "here")))
        .join(table_expression(pieces, "there"), on=equal(column("v", "near"), column("v", "there")))
        .where(all_of([apart, changed]))
    )


def _together(pairs: exp.Select, pieces: Table, k: int) -> exp.Query:
    """What is parted anew: `one` and `other` are groups that are tried in pairs, or one group of 2k rows and more."""
    large = exp.GTE(this=exp.Sum(this=column("rows_of_piece")), expression=literal(2 * k))
    fresh = equal(exp.Max(this=column("changed")), literal(1))
    alone = exp.select(named(column("g"), "one"), named(column("g"), "other")).from_(table_expression(pieces))
    alone = alone.group_by(column("g")).having(all_of([large, fresh]))
    return union_all([pairs, alone])


def _members(pieces: Table, together: Table, steps: Sequence[Steps]) -> exp.Query:
    """The pieces of all that is parted anew, with the groups `one` and `other` that are together."""
    names = ["p", "v", "a", "g", "rows_of_piece", *_codes(steps)]
    parts = []
    for side in ("one", "other"):
        part = exp.select(*(column(n, "tried") for n in ("one", "other")), *(column(n, "piece") for n in names))
        part = part.from_(table_expression(together, "tried"))
        part = part.join(table_expression(pieces, "piece"), on=equal(column("g", "piece"), column(side, "tried")))
        parts.append(part)
    twice = exp.NEQ(this=column("one", "tried"), expression=column("other", "tried"))
    return union_all([parts[0], parts[1].where(twice)])


def _looked_at(pieces: Table, together: Table) -> exp.Select:
    """How many combinations are seen from how many: the sum of the squares of pieces that are together."""
    numbers = exp.select(column("g"), named(count(), "n")).from_(table_expression(pieces)).group_by(column("g"))
    both = exp.Paren(this=exp.Add(this=column("n", "first"), expression=column("n", "second")))
    select = exp.select(total(exp.Mul(this=both, expression=both.copy()))).from_(table_expression(together, "tried"))
    for alias, name in (("first", "one"), ("second", "other")):
        select = select.join(subquery(numbers.copy(), alias), on=equal(column(name, "tried"), column("g", alias)))
    return select


def _sum(parts: Sequence[exp.Expression]) -> exp.Expression:
    return reduce(lambda left, right: exp.Add(this=left, expression=right), parts)


def _price(steps: Sequence[Steps], least: str, most: str) -> exp.Expression:
    """What a row pays in a group whose least and greatest codes are known by prefix."""
    prices: list[exp.Expression] = []
    for i, item in enumerate(steps):
        case = exp.Case()
        for step, cost in enumerate((0, *item.costs[:-1])):
            same = equal(column(f"{least}_{i}_{step}"), column(f"{most}_{i}_{step}"))
            case = case.when(same, literal(cost), copy=False)
        prices.append(case.else_(literal(item.costs[-1]), copy=False))
    return exp.Paren(this=_sum(prices))


def _prices(pieces: Table, steps: Sequence[Steps]) -> exp.Select:
    """What all rows of each group pay."""
    ends: list[exp.Expression] = []
    for name in _codes(steps):
        ends.append(named(exp.Min(this=column(name)), f"least{name[1:]}"))
        ends.append(named(exp.Max(this=column(name)), f"most{name[1:]}"))
    inner = exp.select(column("g"), named(exp.Sum(this=column("rows_of_piece")), "n"), *ends)
    inner = inner.from_(table_expression(pieces)).group_by(column("g"))
    paid = exp.Mul(this=column("n"), expression=_price(steps, "least", "most"))
    return exp.select(column("g"), named(cast(paid, "bigint"), "paid")).from_(subquery(inner, "groups"))


def _seen(members: Table, steps: Sequence[Steps], *more: exp.Expression) -> exp.Select:
    """All pieces of what is together, from each of its pieces `seed` outwards, by distance `d`."""
    same = [equal(column(n, "seed"), column(n, "seen")) for n in ("one", "other")]
    return (
        exp.select(
            *(column(n, "seen") for n in ("one", "other", "p", "v", "rows_of_piece")),
            named(column("p", "seed"), "seed"),
            named(distance(steps, "seed", "seen"), "d"),
            *more,
        )
        .from_(table_expression(members, "seed"))
        .join(table_expression(members, "seen"), on=all_of(same))
    )


def _window(this: exp.Expression, start: tuple[str, str], end: tuple[str, str] | None) -> exp.Window:
    """Over the pieces of one split, from its seed outwards."""
    order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in ("d", "v", "p")])
    ended = {"end": "CURRENT ROW"} if end is None else {"end": end[0], "end_side": end[1]}
    spec = exp.WindowSpec(kind="ROWS", start=start[0], start_side=start[1], **ended)
    return exp.Window(this=this, partition_by=[column(n) for n in ("one", "other", "seed")], order=order, spec=spec)


_UP_TO_HERE = (("UNBOUNDED", "PRECEDING"), None)
_AFTER = (("1", "FOLLOWING"), ("UNBOUNDED", "FOLLOWING"))
_ALL = (("UNBOUNDED", "PRECEDING"), ("UNBOUNDED", "FOLLOWING"))


def _splits(members: Table, prices: Table, steps: Sequence[Steps], k: int) -> exp.Select:
    """The best split of each pair that saves something: from which seed, after how many rows, and what it saves."""
    codes = _codes(steps)
    seen = _seen(members, steps, *(column(name, "seen") for name in codes))
    ends: list[exp.Expression] = []
    for name in codes:
        for prefix, kind, reach in (
            ("least", exp.Min, _UP_TO_HERE),
            ("most", exp.Max, _UP_TO_HERE),
            ("rest_least", exp.Min, _AFTER),
            ("rest_most", exp.Max, _AFTER),
        ):
            ends.append(named(_window(kind(this=column(name)), *reach), f"{prefix}{name[1:]}"))
    keys = [column(name) for name in ("one", "other", "seed")]
    far = exp.select(
        *keys,
        named(cast(_window(exp.Sum(this=column("rows_of_piece")), *_UP_TO_HERE), "bigint"), "inside"),
        named(cast(_window(exp.Sum(this=column("rows_of_piece")), *_ALL), "bigint"), "n"),
        *ends,
    ).from_(subquery(seen, "seen"))
    outside = exp.Paren(this=exp.Sub(this=column("n"), expression=column("inside")))
    paid = exp.Add(
        this=exp.Mul(this=column("inside"), expression=_price(steps, "least", "most")),
        expression=exp.Mul(this=outside, expression=_price(steps, "rest_least", "rest_most")),
    )
    enough = [
        exp.GTE(this=column("inside"), expression=literal(k)),
        exp.GTE(this=outside.copy(), expression=literal(k)),
    ]
    split = exp.select(*(key.copy() for key in keys), column("inside"), named(cast(paid, "bigint"), "paid"))
    split = split.from_(subquery(far, "far")).where(all_of(enough))
    order = exp.Order(expressions=[exp.Ordered(this=column(name)) for name in ("paid", "seed", "inside")])
    best = exp.Window(this=exp.RowNumber(), partition_by=[column("one"), column("other")], order=order)
    ranked = exp.select(exp.Star(), named(best, "rank")).from_(subquery(split, "split"))
    twice = exp.NEQ(this=column("one", "ranked"), expression=column("other", "ranked"))
    second = exp.Case().when(twice, column("paid", "second")).else_(literal(0))
    before = exp.Paren(this=exp.Add(this=column("paid", "first"), expression=second))
    saved = exp.Sub(this=before, expression=column("paid", "ranked"))
    found = exp.select(*(column(n, "ranked") for n in ("one", "other", "seed", "inside")), named(saved, "saved"))
    found = found.from_(subquery(ranked, "ranked"))
    for alias, name in (("first", "one"), ("second", "other")):
        found = found.join(table_expression(prices, alias), on=equal(column(name, "ranked"), column("g", alias)))
    wanted = [equal(column("rank", "ranked"), literal(1)), exp.GT(this=saved.copy(), expression=literal(0))]
    return found.where(all_of(wanted))


def _made(splits: Table) -> exp.Select:
    """The splits that are the best of both their groups: none of them share one."""
    sides = union_all(
        [
            exp.select(*(column(n) for n in ("one", "other", "saved")), named(column(side), "g")).from_(
                table_expression(splits)
            )
            for side in ("one", "other")
        ]
    )
    order = exp.Order(
        expressions=[
            exp.Ordered(this=column("saved"), desc=True),
            *(exp.Ordered(this=column(n)) for n in ("one", "other")),
        ]
    )
    place = exp.Window(this=exp.RowNumber(), partition_by=[column("g")], order=order)
    # A group that is parted by itself stands here twice, and is its own first and second.
    distinct = exp.select(exp.Star()).distinct().from_(subquery(sides, "sides"))
    ranked = exp.select(exp.Star(), named(place, "place")).from_(subquery(distinct, "distinct_sides"))
    chosen = exp.select(column("one"), column("other")).from_(subquery(ranked, "ranked"))
    chosen = chosen.where(equal(column("place"), literal(1))).group_by(column("one"), column("other"))
    needed = exp.Case().when(equal(column("one"), column("other")), literal(1)).else_(literal(2))
    chosen = chosen.having(equal(count(), needed))
    on = [equal(column(n, "split"), column(n, "chosen")) for n in ("one", "other")]
    return (
        exp.select(*(column(n, "split") for n in ("one", "other", "seed", "inside", "saved")))
        .from_(table_expression(splits, "split"))
        .join(subquery(chosen, "chosen"), on=all_of(on))
    )


def _parted(members: Table, made: Table, steps: Sequence[Steps]) -> exp.Select:
    """The pieces of groups that are parted: `part` 1 from the seed on, 2 after it."""
    seen = _seen(members, steps, column("g", "seen"), column("a", "seen"))
    on = [equal(column(n, "seen"), column(n, "made")) for n in ("one", "other")]
    on.append(equal(column("p", "seed"), column("seed", "made")))
    seen = seen.join(table_expression(made, "made"), on=all_of(on), copy=False)
    seen = seen.select(named(column("inside", "made"), "inside"), copy=False)
    rows = cast(_window(exp.Sum(this=column("rows_of_piece")), *_UP_TO_HERE), "bigint")
    placed = exp.select(exp.Star(), named(rows, "upto")).from_(subquery(seen, "seen"))
    within = exp.LTE(this=column("upto"), expression=column("inside"))
    part = exp.Case().when(within, literal(1)).else_(literal(2))
    names = [column(n) for n in ("one", "other", "g", "v", "a")]
    return exp.select(*names, named(part, "part")).from_(subquery(placed, "placed"))


def _regrouped(groups: Table, parted: Table) -> exp.Select:
    """All groups numbered anew; those that were parted are marked as changed."""
    on = [equal(column(n, "own"), column(n, "parted")) for n in ("g", "v", "a")]
    joined = (
        exp.select(
            *(column(n, "own") for n in ("v", "a", "b", "g")),
            *(
                named(exp.Coalesce(this=column(n, "parted"), expressions=[literal(0)]), n)
                for n in ("one", "other", "part")
            ),
        )
        .from_(table_expression(groups, "own"))
        .join(exp.Join(this=table_expression(parted, "parted"), side="LEFT", on=all_of(on)), copy=False)
    )
    stays = equal(column("part"), literal(0))
    before = exp.Case().when(stays, column("g")).else_(literal(0))
    order = [column("one"), column("other"), column("part"), before]
    number = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=item) for item in order]))
    changed = exp.Case().when(stays.copy(), literal(0)).else_(literal(1))
    names = [column(n) for n in ("v", "a", "b")]
    return exp.select(*names, named(cast(number, "int"), "g"), named(changed, "changed")).from_(
        subquery(joined, "joined")
    )
