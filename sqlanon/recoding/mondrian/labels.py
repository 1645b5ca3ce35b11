"""Statements that name regions: the labels of ranges of ordinals, and the assignment of combinations to classes.

`nodes` are the labels of all hierarchies that cover one range each: `dim`, `first`, `last`, `label`, `quoted` (as a
member of a set), `leaves`, and the places of the domain from `lower` to `upper`. `ranges` are the bounds that regions
have: `dim`, `lo`, `hi`; named, they also have `label`, `leaves` and `rows`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.recoding.mondrian.regions import ValueSpace, when
from sqlanon.source.combination_statements import range_label
from sqlanon.sql.build import all_of, any_of, concat, count, equal, is_null, is_present, named, subquery
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import whole

NULL_TEXT = "NULL"
SPECIAL = (",", "{", "}", '"')
"""Characters for which a member of a set is put in quotes."""


@dataclass(frozen=True)
class OrderedDomain:
    """A column's domain as labels are made from it."""

    position: int
    table: Table
    height: int
    natural: bool
    null: int | None
    """The ordinal of NULL, the last."""
    of_labels: bool = False
    """Ordinals stand for labels, whose ends `low`, `high` and `half_open` the table has, not for values."""


def nodes(domains: Sequence[OrderedDomain]) -> exp.Query:
    """The labels that cover one range of ordinals; of several that cover the same, the lowest."""
    ends = any(domain.of_labels for domain in domains)
    parts = [_labels_of(domain, level, ends=ends) for domain in domains for level in range(domain.height + 1)]
    order = exp.Order(expressions=[exp.Ordered(this=column("level"))])
    keys: list[exp.Expression] = [column(name) for name in ("dim", "first", "last")]
    place = exp.Window(this=exp.RowNumber(), partition_by=keys, order=order)
    placed = exp.select(exp.Star(), named(place, "place")).from_(subquery(_all(parts), "labels"), copy=False)
    more = ("lower", "upper", *(("low", "high", "half_open") if ends else ()))
    names = [column(name) for name in ("dim", "first", "last", "level", "label", "leaves", *more)]
    select = exp.select(*names, named(_quoted(column("label")), "quoted")).from_(subquery(placed, "placed"), copy=False)
    return select.where(equal(column("place"), literal(1)))


def _labels_of(domain: OrderedDomain, level: int, *, ends: bool) -> exp.Select:
    first, last = exp.Min(this=column("o")), exp.Max(this=column("o"))
    gap = exp.Sub(this=last.copy(), expression=first.copy())
    label = exp.Max(this=cast(column(f"label_{level}"), "text"))
    items = [
        named(literal(domain.position), "dim"),
        named(literal(level), "level"),
        named(first, "first"),
        named(last, "last"),
        named(label, "label"),
        named(whole(exp.Max(this=column(f"leaves_{level}"))), "leaves"),
        named(exp.Min(this=column("lower")), "lower"),
        named(exp.Max(this=column("upper")), "upper"),
    ]
    if ends and domain.of_labels and level == 0:
        items += [named(exp.Max(this=column(name)), name) for name in ("low", "high", "half_open")]
    elif ends:
        items += [named(label.copy(), "low"), named(label.copy(), "high"), named(literal(0), "half_open")]
    return (
        exp.select(*items)
        .from_(table_expression(domain.table))
        .group_by(column(f"code_{level}"))
        .having(equal(count(), exp.Add(this=gap, expression=literal(1))))
    )


def _quoted(label: exp.Expression) -> exp.Expression:
    inside = exp.Anonymous(this="REPLACE", expressions=[label.copy(), literal('"'), literal('""')])
    special: list[exp.Expression] = [
        exp.Like(this=label.copy(), expression=literal(f"%{character}%")) for character in SPECIAL
    ]
    special += [equal(label.copy(), literal(text)) for text in ("", NULL_TEXT)]
    ifs = [when(is_null(label.copy()), literal(NULL_TEXT)), when(any_of(special), concat('"', inside, '"'))]
    return exp.Case(ifs=ifs, default=label)


def counted(domains: Sequence[OrderedDomain]) -> exp.Query:
    """Rows of the source up to each ordinal, and where some ordinals stand for labels, also leaves."""
    order = exp.Order(expressions=[exp.Ordered(this=column("o"))])
    sums = {"upto": "n", **({"leaves": "leaves_0"} if any(domain.of_labels for domain in domains) else {})}
    parts = [
        exp.select(
            named(literal(domain.position), "dim"),
            column("o"),
            *(
                named(whole(exp.Window(this=exp.Sum(this=column(summed)), order=order.copy())), name)
                for name, summed in sums.items()
            ),
        ).from_(table_expression(domain.table))
        for domain in domains
    ]
    return _all(parts)


def ranges(regions: Table, domains: Sequence[OrderedDomain], low: str, high: str) -> exp.Query:
    """The distinct bounds of regions; `present` is the last of them that is a value, -1 where there is none."""
    parts = []
    for domain in domains:
        last = column(f"{high}_{domain.position}")
        present: exp.Expression = last.copy()
        if domain.null is not None:
            before = exp.Case(
                ifs=[when(equal(column(f"{low}_{domain.position}"), literal(domain.null)), literal(-1))],
                default=literal(domain.null - 1),
            )
            present = exp.Case(ifs=[when(equal(last.copy(), literal(domain.null)), before)], default=last.copy())
        items = [
            named(literal(domain.position), "dim"),
            named(cast(column(f"{low}_{domain.position}"), "int"), "lo"),
            named(cast(last, "int"), "hi"),
            named(cast(present, "int"), "present"),
        ]
        parts.append(exp.select(*items).distinct().from_(table_expression(regions)))
    return _all(parts)


def simple_names(found: Table, node_table: Table, natural: Sequence[int], *, of_labels: bool = False) -> exp.Select:
    """Ranges that are a label's, or lie in a column with an order of its own; the others get no `label` and `named` is
    false. `of_labels`: some ranges are of labels, which end where these end; how many leaves they hold is left open."""
    within = exp.In(this=column("dim", "r"), expressions=[literal(position) for position in natural])
    in_order: exp.Expression = within if natural else exp.false()
    low, high = (column(end if of_labels else "label", end) for end in ("low", "high"))
    dash = exp.Case(
        ifs=[
            when(any_of(exp.Like(this=text.copy(), expression=literal("%-%")) for text in (low, high)), literal(" - "))
        ],
        default=literal("-"),
    )
    values = exp.Case(
        ifs=[
            when(is_present(column("label", "inner")), column("quoted", "inner")),
            when(equal(column("lo", "r"), column("present", "r")), column("quoted", "low")),
        ],
        default=range_label("low", "high", dash, "label") if of_labels else concat("[", low, dash, high, "]"),
    )
    complete = equal(column("present", "r"), column("hi", "r"))
    member: exp.Expression = values.copy()
    if of_labels:
        # [20, 40) has the comma that parts members.
        plain = all_of([_like(values, "%, %"), exp.Not(this=_like(values, '"%'))])
        member = exp.Case(ifs=[when(plain, concat('"', values.copy(), '"'))], default=member)
    with_null = exp.Case(ifs=[when(complete, values)], default=concat("{", member, f", {NULL_TEXT}}}"))
    exact = is_present(column("leaves", "whole"))
    # From the place of the first value to that of the last one; NULL is one leaf more.
    extent = exp.Sub(this=column("upper", "high"), expression=column("lower", "low"))
    absent = exp.Case(ifs=[when(complete.copy(), literal(1))], default=literal(2))
    length = exp.Case(ifs=[when(in_order.copy(), whole(exp.Add(this=exp.Paren(this=extent), expression=absent)))])
    items = [column(name, "r") for name in ("dim", "lo", "hi")]
    select = exp.select(
        *items,
        named(exp.Case(ifs=[when(exact, column("label", "whole")), when(in_order, with_null)]), "label"),
        named(exp.Case(ifs=[when(exact.copy(), column("leaves", "whole"))], default=length), "leaves"),
        named(any_of([exact.copy(), in_order.copy()]), "named"),
    ).from_(table_expression(found, "r"))
    for alias, first, last in (
        ("whole", "lo", "hi"),
        ("inner", "lo", "present"),
        ("low", "lo", "lo"),
        ("high", "present", "present"),
    ):
        on = [
            equal(column("dim", "r"), column("dim", alias)),
            equal(column(first, "r"), column("first", alias)),
            equal(column(last, "r"), column("last", alias)),
        ]
        select = select.join(table_expression(node_table, alias), on=all_of(on), join_type="left", copy=False)
    return select


def _like(text: exp.Expression, pattern: str) -> exp.Expression:
    return exp.Like(this=exp.Paren(this=text.copy()), expression=literal(pattern))


def first_members(named_ranges: Table) -> exp.Select:
    """Ranges that become sets: nothing listed yet, `at` the first ordinal that is not."""
    return (
        exp.select(
            column("dim"),
            column("lo"),
            column("hi"),
            named(column("lo"), "at"),
            named(cast(literal("{"), "text"), "label"),
            named(cast(literal(0), "bigint"), "leaves"),
        )
        .from_(table_expression(named_ranges))
        .where(exp.Not(this=column("named")))
    )


def next_members(sets: Table, node_table: Table) -> exp.Select:
    """Each set with one more member: the widest label whose range starts where the listing stands and fits."""
    fits = [
        equal(column("dim", "s"), column("dim", "n")),
        equal(column("at", "s"), column("first", "n")),
        exp.LTE(this=column("last", "n"), expression=column("hi", "s")),
    ]
    keys: list[exp.Expression] = [column(name, "s") for name in ("dim", "lo", "hi")]
    order = exp.Order(expressions=[exp.Ordered(this=column("last", "n"), desc=True)])
    complete = is_null(column("last", "n"))
    begun = exp.GT(this=column("at", "s"), expression=column("lo", "s"))
    comma = exp.Case(ifs=[when(begun, literal(", "))], default=literal(""))
    listed = concat(column("label", "s"), comma, column("quoted", "n"))
    following = exp.Add(this=column("last", "n"), expression=literal(1))
    more = exp.Coalesce(this=column("leaves", "n"), expressions=[literal(0)])
    inner = exp.select(
        *(column(name, "s") for name in ("dim", "lo", "hi")),
        named(exp.Coalesce(this=following, expressions=[column("at", "s")]), "at"),
        named(exp.Case(ifs=[when(complete, column("label", "s"))], default=listed), "label"),
        named(whole(exp.Add(this=column("leaves", "s"), expression=more)), "leaves"),
        named(exp.Window(this=exp.RowNumber(), partition_by=keys, order=order), "place"),
    ).from_(table_expression(sets, "s"))
    inner = inner.join(table_expression(node_table, "n"), on=all_of(fits), join_type="left", copy=False)
    names = [column(name) for name in ("dim", "lo", "hi", "at", "label", "leaves")]
    return exp.select(*names).from_(subquery(inner, "members"), copy=False).where(equal(column("place"), literal(1)))


def open_sets(sets: Table) -> exp.Select:
    """How many sets are not complete."""
    return exp.select(count()).from_(table_expression(sets)).where(exp.LTE(this=column("at"), expression=column("hi")))


def all_names(
    named_ranges: Table, sets: Table, node_table: Table, totals: Table, *, of_labels: bool = False
) -> exp.Select:
    """Every range with its label, the leaves it covers and the rows of the source whose value it covers."""
    items = [column(name) for name in ("dim", "lo", "hi", "label", "leaves")]
    found: exp.Query = exp.select(*items).from_(table_expression(named_ranges)).where(column("named"))
    found = exp.union(found, _closed(sets, node_table, of_labels=of_labels), distinct=False)
    leaves: exp.Expression = column("leaves", "r")
    if of_labels:
        leaves = named(exp.Coalesce(this=leaves, expressions=[_within("leaves")]), "leaves")
    select = exp.select(
        *(column(name, "r") for name in ("dim", "lo", "hi", "label")), leaves, named(_within("upto"), "rows")
    ).from_(subquery(found, "r"), copy=False)
    last = exp.Sub(this=column("lo", "r"), expression=literal(1))
    for alias, ordinal, side in (("up", column("hi", "r"), ""), ("below", last, "left")):
        on = all_of([equal(column("dim", "r"), column("dim", alias)), equal(ordinal, column("o", alias))])
        select = select.join(table_expression(totals, alias), on=on, join_type=side, copy=False)
    return select


def _within(name: str) -> exp.Expression:
    """What a range adds to a running sum."""
    before = exp.Coalesce(this=column(name, "below"), expressions=[literal(0)])
    return whole(exp.Sub(this=column(name, "up"), expression=before))


def _closed(sets: Table, node_table: Table, *, of_labels: bool) -> exp.Select:
    """Sets as labels; of one that is too long to list, the first members and the last."""
    left = exp.GT(this=column("at", "s"), expression=column("hi", "s"))
    rest = exp.Add(this=exp.Sub(this=column("hi", "s"), expression=column("at", "s")), expression=literal(1))
    long = concat(column("label", "s"), ", .. ", column("quoted", "n"), "}")
    label = exp.Case(ifs=[when(left, concat(column("label", "s"), "}"))], default=long)
    leaves = exp.Case(
        ifs=[when(left.copy(), column("leaves", "s"))],
        default=cast(exp.Null(), "bigint")
        if of_labels
        else whole(exp.Add(this=column("leaves", "s"), expression=exp.Paren(this=rest))),
    )
    select = exp.select(
        *(column(name, "s") for name in ("dim", "lo", "hi")), named(label, "label"), named(leaves, "leaves")
    ).from_(table_expression(sets, "s"))
    on = [equal(column("dim", "s"), column("dim", "n"))]
    on += [equal(column("hi", "s"), column(name, "n")) for name in ("first", "last")]
    return select.join(table_expression(node_table, "n"), on=all_of(on), join_type="left", copy=False)


def ambiguous(names: Table) -> exp.Select:
    """How many labels of a column stand for more than one range."""
    several = exp.select(column("dim")).from_(table_expression(names)).group_by(column("dim"), column("label"))
    return exp.select(count()).from_(
        subquery(several.having(exp.GT(this=count(), expression=literal(1))), "several"), copy=False
    )


def named_regions(regions: Table, names: Table, width: int, low: str, high: str, *, merge: bool) -> exp.Select:
    """Regions with the labels of their bounds, and their `class`: regions of the same labels are one.

    Where no two regions can have the same labels there is nothing to merge.
    """
    items: list[exp.Expression] = [column("region", "g")]
    select = exp.select().from_(table_expression(regions, "g"))
    for position in range(width):
        alias = f"n_{position}"
        items += [named(column(part, alias), f"{part}_{position}") for part in ("label", "leaves", "rows")]
        on = [
            equal(column("dim", alias), literal(position)),
            equal(column(f"{low}_{position}", "g"), column("lo", alias)),
            equal(column(f"{high}_{position}", "g"), column("hi", alias)),
        ]
        select = select.join(table_expression(names, alias), on=all_of(on), copy=False)
    if not merge:
        return select.select(*items, named(column("region", "g"), "class"), copy=False)
    labels: list[exp.Expression] = [column(f"label_{position}") for position in range(width)]
    lowest = exp.Window(this=exp.Min(this=column("region")), partition_by=labels)
    return exp.select(exp.Star(), named(lowest, "class")).from_(
        subquery(select.select(*items, copy=False), "named"), copy=False
    )


def written(regions: Table, named_table: Table, width: int) -> exp.Select:
    """The bounds and labels of every region, in order: for each column the first ordinal, the last and the label."""
    items: list[exp.Expression] = []
    for position in range(width):
        items += [column(f"lo_{position}", "g"), column(f"hi_{position}", "g"), column(f"label_{position}", "n")]
    select = exp.select(*items).from_(table_expression(regions, "g"))
    on = equal(column("region", "g"), column("region", "n"))
    select = select.join(table_expression(named_table, "n"), on=on, copy=False)
    return select.order_by(*(column(f"lo_{position}", "g") for position in range(width)))


def values_in_order(keys: Table) -> exp.Select:
    """The texts of a column's values with their ordinals, in their order."""
    names = [column("label_0"), column("o")]
    return exp.select(*names).from_(table_expression(keys)).order_by(column("o"), column("label_0"))


def labels(named_table: Table, width: int) -> exp.Select:
    """The labels of each class."""
    items: list[exp.Expression] = [column("class")]
    for position in range(width):
        items += [
            named(exp.Max(this=column(f"{part}_{position}")), f"{part}_{position}")
            for part in ("label", "leaves", "rows")
        ]
    return exp.select(*items).from_(table_expression(named_table)).group_by(column("class"))


def assignment(points: Table, named_table: Table, space: ValueSpace, coded: Sequence[str]) -> exp.Select:
    """The class of each combination, or of each part of its rows where these may be parted."""
    keys = [*space.ordinals, *([*coded, "first_row", "last_row"] if space.relaxed else [])]
    items: list[exp.Expression] = [
        named(cast(column(name, "p"), "int"), name) if name in space.ordinals else column(name, "p") for name in keys
    ]
    rows = column("n", "p") if space.relaxed or not space.others else whole(exp.Sum(this=column("n", "p")))
    select = exp.select(*items, named(rows, "n"), column("class", "g")).from_(table_expression(points, "p"))
    on = equal(column("region", "p"), column("region", "g"))
    select = select.join(table_expression(named_table, "g"), on=on, copy=False)
    if space.relaxed or not space.others:
        return select
    return select.group_by(*(column(name, "p") for name in keys), column("class", "g"))


def _all(parts: Sequence[exp.Query]) -> exp.Query:
    return parts[0] if len(parts) == 1 else exp.union(*parts, distinct=False)
