"""Statements of Mondrian's rounds: all regions are looked at, cut and parted by a few statements.

`points` are combinations with their `region`. A region has bounds `lo_i`, `hi_i`; as bits, `failed`, the columns that
have no allowable cut, and `tried`, those whose first choice failed; `top`, the greatest number of any region. Looked
at, it also has its rows `n`, the least and greatest value that occurs, `a_i` and `b_i`, and `dim`, the column to cut;
NULL: the region is final. `cuts` has for regions with candidates `dim`; for those that are cut also `cut`, the last
ordinal on the left, `next`, the first on the right, and `other`, the number of the right part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlglot import exp

from sqlanon.sql.build import all_of, any_of, count, equal, is_null, is_present, named, scalar, subquery, total_where
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import whole

NARROW = ((2**7, "tinyint"), (2**15, "smallint"), (2**31, "int"), (2**63, "bigint"))
"""Types by the numbers they hold: the narrower, the faster all rows are read and summed."""
FIRST_CHOICE = 4
"""Added to the width of columns whose first choice of a cut was not tried yet; widths are at most 1."""


@dataclass(frozen=True)
class Dimension:
    """A column as Mondrian sees it."""

    position: int
    steps: int
    """Ordinals less one."""
    weight: float
    """How much the column counts when columns are compared; at most 1."""
    levels: int = 0
    """Levels between 0 and the top whose branches are cut apart first; 0: nothing guides cuts."""

    @property
    def ordinal(self) -> str:
        return f"o_{self.position}"


@dataclass(frozen=True)
class ValueSpace:
    """The columns, what else points carry, and what is known of classes."""

    dimensions: tuple[Dimension, ...]
    others: tuple[str, ...]
    """Further columns of points: codes of sensitive values, respondents, the rows of a combination."""
    rows: int
    least: int
    """Rows that any class must have."""
    plain: bool
    """Counts of rows decide: a column whose most even cut is not allowable has no other."""
    inherits: bool
    """Where no cut of a region is allowable, none of a part of it is."""
    relaxed: bool
    """Rows of one value may be parted."""
    ladder: Table | None = None
    """Where hierarchies guide: for `dim` and ordinal `o` the last ordinal `last_l` under the same label of level l."""

    @cached_property
    def ordinals(self) -> list[str]:
        return [item.ordinal for item in self.dimensions]

    @cached_property
    def levels(self) -> int:
        return max(item.levels for item in self.dimensions)

    @cached_property
    def preferred(self) -> list[Dimension]:
        """Of equally wide columns those of fewer values come first, then the order of the spec decides."""
        return sorted(self.dimensions, key=lambda item: (item.steps, item.position))

    @cached_property
    def known(self) -> list[str]:
        """What is known of the cuts of a region."""
        return ["failed"] if self.plain else ["failed", "tried"]

    def ranges(self, *sides: str) -> list[str]:
        """Columns of a region such as its bounds `lo` and `hi`."""
        return [f"{side}_{item.position}" for item in self.dimensions for side in sides]

    def chosen(self, alias: str, of: str) -> exp.Expression:
        """The ordinal of a point in the column that its region is cut at."""
        ifs = [when(_is(of, "dim", item.position), column(item.ordinal, alias)) for item in self.dimensions]
        return exp.Case(ifs=ifs)


def ladder(domains: Sequence[tuple[Dimension, Table]], levels: int) -> exp.Query:
    """Of each ordinal of a guided column the last ordinal under the same label, level by level."""
    parts: list[exp.Query] = []
    for item, domain in domains:
        items: list[exp.Expression] = [named(literal(item.position), "dim"), column("o")]
        for level in range(1, levels + 1):
            last: exp.Expression = cast(exp.Null(), "int")
            if level <= item.levels:
                last = exp.Window(this=exp.Max(this=column("o")), partition_by=[column(f"code_{level}")])
            items.append(named(last, f"last_{level}"))
        parts.append(exp.select(*items).from_(table_expression(domain)))
    return parts[0] if len(parts) == 1 else exp.union(*parts, distinct=False)


def first_points(combinations: Table, space: ValueSpace) -> exp.Select:
    """All combinations, in region 0."""
    rows = {"first_row": literal(1), "last_row": column("n"), "n": column("n")}
    items: list[exp.Expression] = [
        named(cast(column(item.ordinal), _narrow(item.steps, 0)), item.ordinal) for item in space.dimensions
    ]
    region = named(cast(literal(0), "int"), "region")
    if space.others:
        items += [named(whole(rows[name]), name) if name in rows else column(name) for name in (*space.others, "n")]
        return exp.select(*items, region).from_(table_expression(combinations))
    items.append(named(cast(exp.Sum(this=column("n")), _narrow(space.rows, 2)), "n"))
    select = exp.select(*items, region).from_(table_expression(combinations))
    return select.group_by(*(column(name) for name in space.ordinals))


def _narrow(most: int, first: int) -> str:
    return next(kind for end, kind in NARROW[first:] if most < end)


def first_region(space: ValueSpace) -> exp.Select:
    """Region 0, the whole space."""
    items: list[exp.Expression] = [named(cast(literal(0), "int"), name) for name in ("region", "top")]
    items += [named(cast(literal(0), "bigint"), name) for name in space.known]
    for item in space.dimensions:
        items += [named(literal(0), f"lo_{item.position}"), named(literal(item.steps), f"hi_{item.position}")]
    return exp.select(*items)


def regions_again(regions: Table, space: ValueSpace) -> exp.Select:
    """Final regions as regions of which nothing is known yet."""
    highest = exp.Window(this=exp.Max(this=column("region")))
    known = [named(cast(literal(0), "bigint"), name) for name in space.known]
    bounds = [column(name) for name in space.ranges("lo", "hi")]
    return exp.select(column("region"), named(cast(highest, "int"), "top"), *known, *bounds).from_(
        table_expression(regions)
    )


def points_again(points: Table, space: ValueSpace) -> exp.Select:
    """The points of final regions, to be cut further."""
    names = (*space.ordinals, *space.others, "n", "region")
    return exp.select(*(column(name) for name in names)).from_(table_expression(points))


def looked_at(points: Table, regions: Table, space: ValueSpace) -> exp.Select:
    """The regions with their rows, the values that occur in them and the column to cut: the widest."""
    sizes: list[exp.Expression] = [column("region"), named(whole(exp.Sum(this=column("n"))), "n")]
    for item in space.dimensions:
        sizes.append(named(exp.Min(this=column(item.ordinal)), f"a_{item.position}"))
        sizes.append(named(exp.Max(this=column(item.ordinal)), f"b_{item.position}"))
    measured = exp.select(*sizes).from_(table_expression(points)).group_by(column("region"))
    held = [column(name, "r") for name in ("region", "top", *space.known, *space.ranges("lo", "hi"))]
    seen = [column(name, "s") for name in ("n", *space.ranges("a", "b"))]
    widths = [named(_width(item, space), f"w_{item.position}") for item in space.dimensions]
    joined = exp.select(*held, *seen, *widths).from_(table_expression(regions, "r"))
    joined = joined.join(subquery(measured, "s"), on=equal(column("region", "r"), column("region", "s")), copy=False)
    names = [f"w_{item.position}" for item in space.dimensions]
    widest = exp.Greatest(this=_double("-1"), expressions=[column(name) for name in names])
    ranked = exp.select(exp.Star(), named(widest, "widest")).from_(subquery(joined, "joined"), copy=False)
    kept = [column(name) for name in ("region", "top", "n", *space.known, *space.ranges("lo", "hi", "a", "b"))]
    return exp.select(*kept, named(cast(_dimension(space), "int"), "dim")).from_(subquery(ranked, "ranked"), copy=False)


def _width(item: Dimension, space: ValueSpace) -> exp.Expression:
    """The range of the values that occur, of the range of all, times the weight; -1 where there is no cut."""
    low, high = column(f"a_{item.position}", "s"), column(f"b_{item.position}", "s")
    extent = cast(exp.Paren(this=exp.Sub(this=high, expression=low)), "double")
    width: exp.Expression = exp.Div(this=extent, expression=_double(str(max(item.steps, 1))))
    if item.weight != 1:
        width = exp.Mul(this=width, expression=_double(repr(item.weight)))
    ifs = [
        when(any_of([equal(high.copy(), low.copy()), _has("failed", item)]), _double("-1")),
        *([] if space.plain else [when(_has("tried", item), width.copy())]),
    ]
    more = width if space.plain else exp.Add(this=width, expression=_double(str(FIRST_CHOICE)))
    return exp.Case(ifs=ifs, default=more)


def _has(names: str, item: Dimension) -> exp.Expression:
    """A set of columns holds this one."""
    bit = exp.Paren(this=exp.BitwiseAnd(this=column(names, "r"), expression=literal(1 << item.position)))
    return exp.NEQ(this=bit, expression=literal(0))


def _dimension(space: ValueSpace) -> exp.Expression:
    ifs = [when(exp.LT(this=column("n"), expression=literal(2 * space.least)), exp.Null())]
    none = exp.LT(this=column("widest"), expression=literal(0))
    if space.relaxed:
        # Rows that are alike can be parted too, at whichever column.
        first = space.preferred[0]
        alike = [equal(column(f"a_{item.position}"), column(f"b_{item.position}")) for item in space.dimensions]
        ifs.append(when(all_of([*alike, equal(column("failed"), literal(0))]), literal(first.position)))
    ifs.append(when(none, exp.Null()))
    ifs += [
        when(equal(column(f"w_{item.position}"), column("widest")), literal(item.position)) for item in space.preferred
    ]
    return exp.Case(ifs=ifs)


def progress(looked: Table) -> exp.Select:
    """One row: regions that are final, and regions to cut."""
    final = is_null(column("dim"))
    return exp.select(total_where(final, literal(1)), total_where(exp.Not(this=final.copy()), literal(1))).from_(
        table_expression(looked)
    )


def sizes(regions: Table) -> exp.Select:
    """One row: the rows of the largest region, and how many regions there are."""
    return exp.select(exp.Max(this=column("n")), count()).from_(table_expression(regions))


def numbers(table: Table, name: str) -> exp.Select:
    """One row: how many rows a table has, and the greatest number in one of its columns."""
    return exp.select(count(), exp.Max(this=column(name))).from_(table_expression(table))


def final_regions(looked: Table, space: ValueSpace) -> exp.Select:
    """The final regions with their bounds and values."""
    names = ("region", "n", *space.ranges("lo", "hi", "a", "b"))
    return exp.select(*(column(name) for name in names)).from_(table_expression(looked)).where(is_null(column("dim")))


def final_points(points: Table, looked: Table, space: ValueSpace) -> exp.Select:
    """The points of the final regions."""
    items = [column(name, "p") for name in (*space.ordinals, *space.others, "n", "region")]
    return with_regions(points, looked, items, is_null(column("dim", "r")))


def with_regions(points: Table, regions: Table, items: Sequence[exp.Expression], which: exp.Expression) -> exp.Select:
    """Points `p` with some of the regions `r`."""
    on = all_of([equal(column("region", "p"), column("region", "r")), which])
    select = exp.select(*items).from_(table_expression(points, "p"))
    return select.join(table_expression(regions, "r"), on=on, copy=False)


def active() -> exp.Expression:
    """A region `r` is to be cut."""
    return is_present(column("dim", "r"))


def numbered(cuts: exp.Query, looked: Table) -> exp.Select:
    """Cuts with the number of the right part of each."""
    order = exp.Order(expressions=[exp.Ordered(this=column("region"))])
    highest = scalar(exp.select(exp.Max(this=column("top"))).from_(table_expression(looked)))
    number = exp.Add(this=highest, expression=exp.Window(this=exp.RowNumber(), order=order))
    items = [column(name) for name in ("region", "dim", "cut", "next")]
    return exp.select(*items, named(cast(exp.Paren(this=number), "int"), "other")).from_(
        subquery(cuts, "cuts"), copy=False
    )


def next_regions(looked: Table, cuts: Table, space: ValueSpace, *, only_active: bool) -> exp.Select:
    """The regions after a round: both parts of those that were cut; of the others, what is known of their cuts."""
    cut = is_present(column("cut", "c"))
    right = _is("s", "side", 1)
    left = all_of([_is("s", "side", 0), cut.copy()])
    numbers = scalar(exp.select(count()).from_(table_expression(cuts)))
    items: list[exp.Expression] = [
        named(exp.Case(ifs=[when(right, column("other", "c"))], default=column("region", "r")), "region"),
        named(cast(exp.Add(this=column("top", "r"), expression=numbers), "int"), "top"),
    ]
    items += [named(_known(name, space), name) for name in space.known]
    for item in space.dimensions:
        for name, side, bound in (("lo", right, "next"), ("hi", left, "cut")):
            own = f"{name}_{item.position}"
            moved = when(all_of([_is("c", "dim", item.position), side.copy()]), column(bound, "c"))
            items.append(named(exp.Case(ifs=[moved], default=column(own, "r")), own))
    sides = exp.union(exp.select(named(literal(0), "side")), exp.select(named(literal(1), "side")), distinct=False)
    select = exp.select(*items).from_(table_expression(looked, "r"))
    on = equal(column("region", "r"), column("region", "c"))
    select = select.join(table_expression(cuts, "c"), on=on, join_type="left", copy=False)
    select = select.join(subquery(sides, "s"), join_type="cross", copy=False)
    conditions = [exp.Paren(this=any_of([_is("s", "side", 0), cut.copy()])), *([active()] if only_active else [])]
    return select.where(*conditions, copy=False)


def _known(name: str, space: ValueSpace) -> exp.Expression:
    """What is known of a region's cuts after a round: a first choice failed, or everything at its column."""
    own = column(name, "r")
    kept = own.copy() if name == "failed" and space.inherits else cast(literal(0), "bigint")
    bit = exp.BitwiseLeftShift(this=cast(literal(1), "bigint"), expression=column("dim", "r"))
    more = exp.Add(this=own.copy(), expression=exp.Paren(this=bit))
    ifs = [when(is_present(column("cut", "c")), kept), when(is_null(column("dim", "r")), own)]
    if space.plain:
        return exp.Case(ifs=ifs, default=more)
    untried = exp.Paren(this=exp.BitwiseAnd(this=column("tried", "r"), expression=exp.Paren(this=bit.copy())))
    only_first = all_of([is_present(column("region", "c")), equal(untried, literal(0))])
    changes = {"failed": (own.copy(), more), "tried": (more, own.copy())}[name]
    return exp.Case(ifs=[*ifs, when(only_first, changes[0])], default=changes[1])


def next_points(points: Table, looked: Table, cuts: Table, space: ValueSpace, *, only_active: bool) -> exp.Select:
    """The points after a round of strict cuts."""
    beyond = exp.GT(this=space.chosen("p", "c"), expression=column("cut", "c"))
    moved = when(all_of([is_present(column("cut", "c")), beyond]), column("other", "c"))
    region = named(exp.Case(ifs=[moved], default=column("region", "p")), "region")
    items = [*(column(name, "p") for name in (*space.ordinals, *space.others, "n")), region]
    if only_active:
        select = with_regions(points, looked, items, active())
    else:
        select = exp.select(*items).from_(table_expression(points, "p"))
    on = equal(column("region", "p"), column("region", "c"))
    return select.join(table_expression(cuts, "c"), on=on, join_type="left", copy=False)


def appended(table: Table, query: exp.Query) -> exp.Insert:
    """INSERT of a query's rows."""
    return exp.Insert(this=table_expression(table), expression=query)


def when(condition: exp.Expression, value: exp.Expression) -> exp.If:
    """A branch of CASE; built at once, where adding branch by branch copies the whole expression each time."""
    return exp.If(this=condition, true=value)


def _is(alias: str, name: str, number: int) -> exp.Expression:
    return equal(column(name, alias), literal(number))


def _double(number: str) -> exp.Expression:
    return cast(exp.Literal.number(number), "double")
