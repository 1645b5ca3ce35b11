"""Statements of cell recoding: combinations as vertices, their nearest, groups of them as classes, the labels of these.

`vertices` has a row per distinct combination: its number `v` (like ones side by side), rows `n`, and for each column i
its codes `c_<i>_<step>` from the value itself up to the step below the top, where all are equal. `parts` tells which
rows of a vertex are which rows of a combination; `closures` which vertices the labels of group `g` must fit. A class
has in each column the lowest step at which all its vertices are equal: the value, a label above it, or the top.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlanon.sql.build import all_of, count, equal, is_null, is_present, named, subquery, total
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


def codes_of(vertices_table: Table, steps: Sequence[Steps]) -> exp.Select:
    """The number, the rows and all codes of every combination, each column's from its first step up."""
    codes = [column(f"c_{i}_{step}") for i, item in enumerate(steps) for step in range(item.codes)]
    return exp.select(column("v"), column("n"), *codes).from_(table_expression(vertices_table)).order_by(column("v"))


def numbers(texts: Table, names: Sequence[str]) -> exp.Select:
    """A table of texts as one of whole numbers."""
    kinds = {"v": "int", "g": "int"}
    items = [named(cast(column(name), kinds.get(name, "bigint")), name) for name in names]
    return exp.select(*items).from_(table_expression(texts))


def each_vertex(vertices_table: Table) -> exp.Select:
    """Every vertex in a class of its own."""
    one = cast(literal(1), "bigint")
    return exp.select(
        column("v"), named(one, "a"), named(cast(column("n"), "bigint"), "b"), named(column("v"), "g")
    ).from_(table_expression(vertices_table))


def nearest_of_singles(near: Table) -> exp.Select:
    """The nearest vertex of each that is a single row."""
    found = exp.select(column("u"), column("v")).from_(table_expression(near))
    return found.where(equal(column("place"), literal(1))).order_by(column("u"))


def saving(vertices: Table, steps: Sequence[Steps], near: Table) -> exp.Select:
    """For matchings: pairs of single rows nearer to each other than to their nearest together, and by how much."""
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
