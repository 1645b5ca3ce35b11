"""Statements that read the labels of any release as intervals of a domain's ordinals, and link rows to classes by them.

A span is a label of a released column with the ordinals `lo` to `hi` that it covers. Labels are read as nodes of the
column's hierarchy, else as intervals of its values. `absent` is 1 for NULL. Where the domain is laid out in places, a
span also has those that it covers, `first` to `last`: values that nobody has among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.hierarchies.base import TOP, Family
from sqlanon.source.combination_statements import label_ends
from sqlanon.source.domains import CONTINUOUS, NUMBERS, place
from sqlanon.sql.build import equal, expression, named, query, union_all, with_queries
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

LISTING = ("label", "low", "high", "low_open", "high_open", "number", "with_null", "low_unit", "high_unit")
"""What is loaded of each label: its text, its bounds where it looks like an interval, and whether NULL is in it; where
the column has an order, also the bounds as numbers."""
MEMBERS = ("label", "member", "members")
"""What is loaded of each set: its label, one of its members, and how many these are."""


@dataclass(frozen=True)
class SpanColumn:
    """A released column and where its labels lead."""

    label: exp.Expression
    """The column of alias `release` as text."""
    spans: Table
    covers: Table | None
    """Each ordinal with the spans that cover it, where these are few; None: intervals are compared."""


@dataclass(frozen=True)
class SpanDomain:
    """The domain of a column as labels are read."""

    table: Table
    height: int
    null: int | None
    """The ordinal of NULL, where labels can be NULL."""
    units: exp.Select | None
    """Of a column of numbers or dates: its ordinals `o` with their values as numbers, `unit`."""
    laid_out: bool = False
    """Each level has `start_l`, the first place of the label."""
    bounds: exp.Select | None = None
    """One row, `low` and `high`: the range that is laid out in places."""
    family: Family = Family.TEXT


def distinct_labels(release: exp.Expression, label: exp.Expression) -> exp.Select:
    """The labels of a column, NULL left out."""
    select = exp.select(named(label, "label")).distinct().from_(release, copy=False)
    return (
        exp.select(column("label"))
        .from_(_sub(select, "labels"), copy=False)
        .where(expression("label is not null"), copy=False)
    )


def spans(listing: Table, members: Table | None, domain: SpanDomain) -> exp.Select:
    """The span of every listed label, `s` its number; `lo` NULL where it cannot be read.

    A set has one where its members are neighbours: as far apart as they hold values. What it holds are these values and
    no others, so it has no places but a `size`, neighbours or not, as every label has where the domain is laid out.
    """
    null = domain.null
    # Read several times: by its name the statement has it once.
    nodes = Table(("nodes",))
    found: list[exp.Query] = [
        query(
            "select label, place, lo, hi, first, last, last - first + 1 as size from n where hi - lo + 1 = held",
            {"n": nodes},
        ),
        query(
            "select t.label, 1000 + a.place + b.place as place, a.lo, b.hi, a.first, b.last,"
            " b.last - a.first + 1 as size from t join n as a on t.low = a.label"
            " join n as b on t.high = b.label where t.low_open = '0' and t.high_open = '0' and a.lo <= b.hi"
            # What is no interval has no bounds: the empty text, which may be a value, is not meant.
            " and (t.low <> '' or t.high <> '')",
            {"t": listing, "n": nodes},
        ),
        _between_ends(listing),
        # A suppressed cell, whatever the top of the hierarchy is called.
        query(
            "select :top as label, 3000 as place, lo, hi, first, last, last - first + 1 as size from n"
            " where place = :height",
            {"n": nodes},
            top=TOP,
            height=domain.height,
        ),
    ]
    if members is not None:
        found.append(
            query(
                "select label, 2000 as place, case when max(hi) - min(lo) + 1 = sum(held) then min(lo) end as lo,"
                " case when max(hi) - min(lo) + 1 = sum(held) then max(hi) end as hi, :none as first, :none as last,"
                " cast(sum(last - first + 1) as bigint) as size from"
                " (select m.label, m.members, n.lo, n.hi, n.held, n.first, n.last,"
                " row_number() over (partition by m.label, m.member order by n.place) as k"
                " from m join n on m.member = n.label) as held_by where k = 1"
                " group by label having count(*) = max(cast(members as int))",
                {"m": members, "n": nodes},
                none=_no_place(),
            )
        )
    if domain.units is not None:
        found.append(_within_bounds(listing, domain, domain.units))
    ranked = query(
        "select label, lo, hi, first, last, size from"
        " (select f.*, row_number() over (partition by label order by place, lo) as k from f) as ranked where k = 1",
        {"f": union_all(found)},
    )
    # NULL is the last ordinal: with it, an interval has to end just before.
    listed = query(
        "select t.label, 0 as absent, case when t.with_null = '0' or r.hi + 1 = :null then r.lo end as lo,"
        " case when t.with_null = '0' then r.hi else :null end as hi,"
        " case when t.with_null = '0' then r.first end as first, case when t.with_null = '0' then r.last end as last,"
        " case when t.with_null = '0' then r.size else r.size + 1 end as size from t left join r on t.label = r.label",
        {"t": listing, "r": ranked},
        null=literal(-1 if null is None else null),
    )
    absent = query(
        "select '' as label, 1 as absent, :o as lo, :o as hi, :none as first, :none as last, cast(1 as bigint) as size",
        o=literal(null),
        none=_no_place(),
    )
    numbered_spans = query(
        "select label, absent, cast(lo as int) as lo, cast(hi as int) as hi, first, last, size,"
        " row_number() over (order by absent, label) as s from f",
        {"f": union_all([listed, absent] if null is not None else [listed])},
    )
    return with_queries(numbered_spans, {"nodes": _nodes(domain), "ends": _ends(nodes)})


def _no_place() -> exp.Expression:
    return cast(exp.Null(), "bigint")


def _nodes(domain: SpanDomain) -> exp.Query:
    """The labels of all levels with the ordinals that they cover."""
    found: list[exp.Query] = []
    for level in range(domain.height + 1):
        first = last = _no_place()
        if domain.laid_out:
            first = expression("cast(min(:start) as bigint)", start=column(f"start_{level}"))
            last = expression(
                "cast(min(:start) + max(:leaves) - 1 as bigint)",
                start=column(f"start_{level}"),
                leaves=column(f"leaves_{level}"),
            )
        found.append(
            query(
                "select cast(:label as text) as label, :l as place, min(o) as lo, max(o) as hi, count(*) as held,"
                " :first as first, :last as last from d where :label is not null group by :label",
                {"d": domain.table},
                label=column(f"label_{level}"),
                l=level,
                first=first,
                last=last,
            )
        )
    return union_all(found)


def _within_bounds(listing: Table, domain: SpanDomain, units: exp.Select) -> exp.Select:
    """Intervals of numbers or dates by the values that lie within, whoever wrote their bounds."""
    bounds = query(
        "select label, low_open, high_open, cast(low_unit as double) as low_at, cast(high_unit as double) as high_at"
        " from t where :readable",
        {"t": listing},
        readable=expression(
            "number = '1'" if domain.family in NUMBERS else "low_unit is not null and high_unit is not null"
        ),
    )
    within = expression(
        "(t.low_at is null or v.x > t.low_at or (v.x = t.low_at and t.low_open = '0'))"
        " and (t.high_at is null or v.x < t.high_at or (v.x = t.high_at and t.high_open = '0'))"
    )
    values = query("select u.o, cast(u.unit as double) as x from u", {"u": units})
    held = query(
        "select t.label, 5000 as place, min(v.o) as lo, max(v.o) as hi, min(t.low_at) as low_at,"
        " min(t.high_at) as high_at, min(t.low_open) as low_open, min(t.high_open) as high_open"
        " from t join v on :within group by t.label",
        {"t": bounds, "v": values},
        within=within,
    )
    first = last = _no_place()
    if domain.bounds is not None:
        held = query("select h.*, s.low, s.high from h cross join s", {"h": held, "s": domain.bounds})
        low: exp.Expression = column("low_at")
        high: exp.Expression = column("high_at")
        if domain.family not in CONTINUOUS:
            low = expression("case when low_open = '1' then floor(low_at) + 1 else ceil(low_at) end")
            high = expression("case when high_open = '1' then ceil(high_at) - 1 else floor(high_at) end")
        first, last = place(low, domain.family, "first"), place(high, domain.family, "last")
    placed = query(
        "select label, place, lo, hi, cast(:first as bigint) as first, cast(:last as bigint) as last from h",
        {"h": held},
        first=first,
        last=last,
    )
    return query("select p.*, p.last - p.first + 1 as size from p", {"p": placed})


def _ends(nodes: Table) -> exp.Select:
    """The labels of all levels by where they begin and end."""
    low, high, half_open = label_ends(column("label", "n"))
    return query(
        "select n.label, :low as low, :high as high, :half_open as half_open, n.lo, n.hi, n.first, n.last from n",
        {"n": nodes},
        low=low,
        high=high,
        half_open=half_open,
    )


def _between_ends(listing: Table) -> exp.Select:
    """Ranges that begin and end where labels do: [1960-1969], where [1960-1964] and [1965-1969] are labels."""
    ends = Table(("ends",))
    starts = "select low, min(lo) as lo, min(first) as first from e where half_open = 0 and low <> label group by low"
    stops = "select high, max(hi) as hi, max(last) as last from e where half_open = 0 and high <> label group by high"
    return query(
        "select t.label, 3000 as place, a.lo, b.hi, a.first, b.last, b.last - a.first + 1 as size from t"
        " join a on t.low = a.low join b on t.high = b.high"
        " where t.low_open = '0' and t.high_open = '0' and a.lo <= b.hi",
        {"t": listing, "a": query(starts, {"e": ends}), "b": query(stops, {"e": ends})},
    )


def unread(spans_table: Table) -> exp.Select:
    """How many labels could not be read, and how many there are."""
    return query("select count(*) - count(lo), count(*) from s", {"s": spans_table})


def covers(spans_table: Table, domain: Table) -> exp.Select:
    """Each ordinal with the spans that cover it."""
    return query(
        "select d.o, s.s, s.lo, s.hi from s join d on d.o between s.lo and s.hi", {"s": spans_table, "d": domain}
    )


def released_rows(release: exp.Expression, columns: Sequence[SpanColumn], label: exp.Expression) -> exp.Select:
    """The rows of a release by the spans of their labels, `s_i`, and the sensitive `label`, counted."""
    select = exp.select().from_(release, copy=False)
    keys: list[exp.Expression] = []
    for position, item in enumerate(columns):
        alias = f"x_{position}"
        on = exp.and_(
            equal(exp.Coalesce(this=item.label.copy(), expressions=[literal("")]), column("label", alias)),
            equal(_absent(item.label), column("absent", alias)),
        )
        select = select.join(table_expression(item.spans, alias), on=on, join_type="left", copy=False)
        key = column("s", alias)
        keys.append(key)
        select = select.select(named(key.copy(), f"s_{position}"), copy=False)
    select = select.select(named(label, "label"), named(expression("count(*)"), "n"), copy=False)
    return select.group_by(*keys, label.copy(), copy=False)


def _absent(value: exp.Expression) -> exp.Expression:
    return expression("case when :value is null then 1 else 0 end", value=value)


def classes(rows: Table, columns: Sequence[SpanColumn]) -> exp.Select:
    """The classes of a release, numbered, with their spans and intervals."""
    names = [f"s_{position}" for position in range(len(columns))]
    distinct = exp.select(*(column(name) for name in names), named(expression("sum(n)"), "n"))
    distinct = distinct.from_(table_expression(rows), copy=False).group_by(
        *(column(name) for name in names), copy=False
    )
    order = exp.Order(expressions=[exp.Ordered(this=column(name, "k")) for name in names])
    select = exp.select(named(exp.Window(this=exp.RowNumber(), order=order), "class"), column("n", "k"))
    select = select.from_(_sub(distinct, "k"), copy=False)
    for position, item in enumerate(columns):
        alias = f"x_{position}"
        on = equal(column(f"s_{position}", "k"), column("s", alias))
        select = select.join(table_expression(item.spans, alias), on=on, copy=False)
        select = select.select(
            column(f"s_{position}", "k"),
            named(column("lo", alias), f"lo_{position}"),
            named(column("hi", alias), f"hi_{position}"),
            copy=False,
        )
    return select


def covered(rows: Table, classes_table: Table, columns: Sequence[SpanColumn]) -> exp.Select:
    """The rows given by `id` and ordinals `o_i`, with each `class` whose labels cover all their values."""
    select = exp.select(column("id", "c"), column("class", "k")).from_(table_expression(rows, "c"), copy=False)
    on: list[exp.Expression] = []
    for position, item in enumerate(columns):
        own = column(f"o_{position}", "c")
        if item.covers is None:
            low, high = column(f"lo_{position}", "k"), column(f"hi_{position}", "k")
            on += [exp.GTE(this=own, expression=low), exp.LTE(this=own.copy(), expression=high)]
            continue
        alias = f"v_{position}"
        select = select.join(table_expression(item.covers, alias), on=equal(own, column("o", alias)), copy=False)
        on.append(equal(column("s", alias), column(f"s_{position}", "k")))
    return select.join(table_expression(classes_table, "k"), on=exp.and_(*on), copy=False)


def published(rows: Table, classes_table: Table, columns: int) -> exp.Select:
    """The rows of each class by sensitive label."""
    on = exp.and_(*(equal(column(f"s_{place}", "r"), column(f"s_{place}", "k")) for place in range(columns)))
    select = exp.select(column("class", "k"), column("label", "r"), column("n", "r"))
    return select.from_(table_expression(rows, "r"), copy=False).join(
        table_expression(classes_table, "k"), on=on, copy=False
    )


def targets(
    rows: Table, linked: Table, codes: tuple[str, Table, exp.Expression], guards: tuple[str, Table, exp.Expression]
) -> exp.Select:
    """The rows of the microdata by class, sensitive `value` and `guard`; class NULL where none covers them."""
    return query(
        "select l.class, :value as value, :guard as guard, sum(c.n) as n from c left join l on c.id = l.id"
        " left join a on :s = a.code left join b on :t = b.code group by l.class, :value, :guard",
        {"c": rows, "l": linked, "a": codes[1], "b": guards[1]},
        value=codes[2],
        guard=guards[2],
        s=column(codes[0], "c"),
        t=column(guards[0], "c"),
    )


def persons(rows: Table, linked: Table, number: str) -> exp.Select:
    """For each class, how many there are among the rows that it covers: of persons, or the sum of a column."""
    return query(
        "select l.class, :number as persons from c join l on c.id = l.id group by l.class",
        {"c": rows, "l": linked},
        number=expression(number),
    )


def numbered(rows: exp.Query) -> exp.Select:
    """Rows with an `id`."""
    return query("select r.*, row_number() over (order by o_0) as id from r", {"r": rows})


def with_others(domain: Table, population: Table, position: int) -> exp.Select:
    """The values of a column with their rows, and those that only the population has, with none."""
    return query(
        "select value, sum(n) as n from"
        " (select value, n from d union all select distinct :q as value, 0 as n from p) as b group by value",
        {"d": domain, "p": population},
        q=column(f"q_{position}"),
    )


def no_fewer(people: exp.Query, external: exp.Query) -> exp.Select:
    """The people that an external table has of each class, and no fewer than are known to be in it (Inequality 2)."""
    return query(
        "select known.class, case when external.persons > known.persons then external.persons else known.persons end"
        " as persons from known left join external on known.class = external.class",
        {"known": people, "external": external},
    )


def _sub(select: exp.Query, alias: str) -> exp.Subquery:
    return exp.Subquery(this=select, alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
