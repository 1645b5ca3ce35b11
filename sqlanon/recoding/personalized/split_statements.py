"""Statements of Xiao and Tao's greedy framework (Figure 4): all single splits of a round, on the groups they touch.

A trial is a group divided in one column: after a value that occurs (`cut`), or into the children of its least node
(`cut` -1). Its parts are groups like any other, numbered by `part`. An outcome says what the parts of a trial lose.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.recoding.divisions import Attribute
from sqlanon.sql.build import equal, expression, named, query, union_all
from sqlanon.sql.relations import Table, column, literal, table_expression


def trial_cells(rows: Table, groups: Table, attributes: Sequence[Attribute]) -> exp.Query:
    """The cells of the parts of every trial of these groups: `g` is the part, `trial` the group.

    A group as it stands is one trial more, of the column after the last.
    """
    whole = query(
        "select :part as g, w.g as trial, :a as a, -1 as cut, w.v, w.gl, w.gs, sum(w.n) as n from w"
        " group by w.g, w.v, w.gl, w.gs",
        {"w": rows},
        part=_whole(attributes),
        a=len(attributes),
    )
    return union_all([whole, *(_cells(rows, groups, item, attributes) for item in attributes)])


def _cells(rows: Table, groups: Table, item: Attribute, attributes: Sequence[Attribute]) -> exp.Select:
    held = query(
        "select w.g, :o as o, w.v, w.gl, w.gs, sum(w.n) as n from w join e on w.g = e.g where :lo < :hi"
        " group by w.g, :o, w.v, w.gl, w.gs",
        {"w": rows, "e": groups},
        o=column(item.ordinal, "w"),
        lo=column(f"lo_{item.position}", "e"),
        hi=column(f"hi_{item.position}", "e"),
    )
    if item.natural:
        return query(
            "select :part as g, h.g as trial, :a as a, c.o as cut, h.v, h.gl, h.gs, sum(h.n) as n"
            " from h join cuts as c on h.g = c.g group by :part, h.g, c.o, h.v, h.gl, h.gs",
            {"h": held, "cuts": _cuts(rows, groups, item)},
            part=_part(item.position, attributes, column("g", "h"), column("o", "c"), _side()),
            a=item.position,
        )
    return query(
        "select :part as g, h.g as trial, :a as a, -1 as cut, h.v, h.gl, h.gs, sum(h.n) as n"
        " from h join e on h.g = e.g join r on h.o = r.o group by :part, h.g, h.v, h.gl, h.gs",
        {"h": held, "e": groups, "r": item.reach},
        part=_branch(item, attributes, "h"),
        a=item.position,
    )


def _cuts(rows: Table, groups: Table, item: Attribute) -> exp.Select:
    """Every value of a group but its last."""
    return query(
        "select distinct w.g, :o as o from w join e on w.g = e.g where :o < :hi",
        {"w": rows, "e": groups},
        o=column(item.ordinal, "w"),
        hi=column(f"hi_{item.position}", "e"),
    )


def _side() -> exp.Expression:
    return expression("case when h.o <= c.o then 0 else 1 end")


def _branch(item: Attribute, attributes: Sequence[Attribute], alias: str) -> exp.Expression:
    child = item.child(column(f"level_{item.position}", "e"), "r")
    return _part(item.position, attributes, column("g", alias), child, literal(0))


def _whole(attributes: Sequence[Attribute]) -> exp.Expression:
    return _part(len(attributes), attributes, column("g", "w"), literal(0), literal(0))


def _part(
    position: int,
    attributes: Sequence[Attribute],
    group: exp.Expression,
    place: exp.Expression,
    side: exp.Expression,
) -> exp.Expression:
    """One number for a part: unique among all parts of all trials."""
    return expression(
        "((cast(:group as bigint) * :columns + :a) * :width + :place) * 2 + :side",
        group=group,
        columns=len(attributes) + 1,
        a=position,
        width=max(item.last for item in attributes) + 1,
        place=place,
        side=side,
    )


def trial_people(rows: Table, groups: Table, attributes: Sequence[Attribute]) -> exp.Query:
    """The distinct persons of every part, `m`. On a side of a cut is who has a row there: by first and last row."""
    whole = query(
        "select :part as g, count(distinct w.respondent) + sum(w.lone_respondents) as m from w group by w.g",
        {"w": rows},
        part=_whole(attributes),
    )
    return union_all([whole, *(_people(rows, groups, item, attributes) for item in attributes)])


def _people(rows: Table, groups: Table, item: Attribute, attributes: Sequence[Attribute]) -> exp.Select:
    own = column(item.ordinal, "w")
    if not item.natural:
        return query(
            "select :part as g, count(distinct w.respondent) + sum(w.lone_respondents) as m from w"
            " join e on w.g = e.g join r on :o = r.o where :lo < :hi group by :part",
            {"w": rows, "e": groups, "r": item.reach},
            part=_branch(item, attributes, "w"),
            o=own,
            lo=column(f"lo_{item.position}", "e"),
            hi=column(f"hi_{item.position}", "e"),
        )
    persons = query(
        "select w.g, w.respondent, min(:o) as low, max(:o) as high from w"
        " where w.respondent is not null group by w.g, w.respondent",
        {"w": rows},
        o=own,
    )
    ends = query(
        "select g, low as o, 0 as side, count(*) as m from p group by g, low"
        " union all select g, high as o, 1 as side, count(*) as m from p group by g, high"
        " union all select w.g, :o as o, 0 as side, sum(w.lone_respondents) as m from w group by w.g, :o"
        " union all select w.g, :o as o, 1 as side, sum(w.lone_respondents) as m from w group by w.g, :o",
        {"p": persons, "w": rows},
        o=own,
    )
    return query(
        "select :part as g, sum(h.m) as m from h join cuts as c on h.g = c.g"
        " where (h.side = 0 and h.o <= c.o) or (h.side = 1 and h.o > c.o) group by :part",
        {"h": ends, "cuts": _cuts(rows, groups, item)},
        part=_part(item.position, attributes, column("g", "h"), column("o", "c"), column("side", "h")),
    )


def outcomes(cells: Table, lost: Table) -> exp.Select:
    """What the parts of each trial lose together, and how many of them are beyond help."""
    return query(
        "select t.trial as g, t.a, t.cut, sum(coalesce(s.lost, 0)) as lost, sum(coalesce(s.hopeless, 0)) as hopeless"
        " from (select distinct g, trial, a, cut from t) as t left join s on t.g = s.g group by t.trial, t.a, t.cut",
        {"t": cells, "s": lost},
    )


def as_they_stand(outcome: Table, attributes: Sequence[Attribute]) -> exp.Select:
    """What the groups of these outcomes lose undivided, and how many of them are beyond help."""
    return query(
        "select coalesce(sum(x.lost), 0), coalesce(sum(x.hopeless), 0) from x where x.a = :a",
        {"x": outcome},
        a=len(attributes),
    )


def steps(outcome: Table, groups: Table, attributes: Sequence[Attribute]) -> exp.Query:
    """What trials change, group by group: by column `a`, `level` and ordinal `o`, `lost` and `hopeless`; no zeros.

    Of intervals (`level` -1) these are steps: a cut after o changes the loss by the sum of all steps up to o.
    """
    return query(
        "select f.g, f.a, f.level, f.o, f.lost, f.hopeless from f where f.lost <> 0 or f.hopeless <> 0",
        {"f": union_all([_steps(outcome, groups, item, len(attributes)) for item in attributes])},
    )


def _steps(outcome: Table, groups: Table, item: Attribute, whole: int) -> exp.Select:
    if not item.natural:
        first = exp.Case()
        for level in range(1, item.height + 1):
            at = equal(column(f"level_{item.position}", "e"), literal(level))
            first = first.when(at, column(f"first_{level}", "r"))
        return query(
            "select x.g, :a as a, :level as level, :first as o, x.lost - s.lost as lost, x.hopeless"
            " from x join s on x.g = s.g and s.a = :whole join e on x.g = e.g join r on :lo = r.o where x.a = :a",
            {"x": outcome, "e": groups, "r": item.reach, "s": outcome},
            a=item.position,
            whole=whole,
            level=column(f"level_{item.position}", "e"),
            first=first,
            lo=column(f"lo_{item.position}", "e"),
        )
    tried = query(
        "select x.g, x.cut, x.lost - s.lost as lost, x.hopeless, :hi as hi,"
        " lag(x.lost) over (partition by x.g order by x.cut) - s.lost as lost_before,"
        " lag(x.hopeless) over (partition by x.g order by x.cut) as hopeless_before,"
        " lead(x.cut) over (partition by x.g order by x.cut) as following"
        " from x join s on x.g = s.g and s.a = :whole join e on x.g = e.g where x.a = :a",
        {"x": outcome, "e": groups, "s": outcome},
        a=item.position,
        whole=whole,
        hi=column(f"hi_{item.position}", "e"),
    )
    return query(
        "select g, :a as a, -1 as level, cut as o, lost - coalesce(lost_before, 0) as lost,"
        " hopeless - coalesce(hopeless_before, 0) as hopeless from t"
        " union all select g, :a as a, -1 as level, hi as o, -lost as lost, -hopeless as hopeless"
        " from t where following is null",
        {"t": tried},
        a=item.position,
    )


def effects(new: Table, past: Table | None, chosen: Table | None) -> exp.Select:
    """How the steps of all groups together change: those of new groups come, those of the chosen ones go."""
    everything: exp.Query = query("select s.a, s.level, s.o, s.lost, s.hopeless from s", {"s": new})
    if past is not None and chosen is not None:
        gone = query(
            "select p.a, p.level, p.o, -p.lost as lost, -p.hopeless as hopeless from p join c on p.g = c.g",
            {"p": past, "c": chosen},
        )
        everything = union_all([everything, gone])
    return query(
        "select f.a, f.level, f.o, sum(f.lost), sum(f.hopeless) from f group by f.a, f.level, f.o"
        " having sum(f.lost) <> 0 or sum(f.hopeless) <> 0",
        {"f": everything},
    )


def touched(rows: Table, item: Attribute, low: int, high: int, cut: int) -> exp.Select:
    """The groups that a split of the interval from `low` to `high` divides."""
    return query(
        "select g from w where :o between :low and :high group by g having min(:o) <= :cut and max(:o) > :cut",
        {"w": rows},
        o=column(item.ordinal),
        low=low,
        high=high,
        cut=cut,
    )


def touched_node(rows: Table, item: Attribute, low: int, high: int, level: int) -> exp.Select:
    """The groups that a split of a node into its children divides."""
    return query(
        "select w.g from w join r on :o = r.o where :o between :low and :high group by w.g"
        " having min(:child) < max(:child)",
        {"w": rows, "r": item.reach},
        o=column(item.ordinal, "w"),
        low=low,
        high=high,
        child=column(f"first_{level - 1}", "r"),
    )


def split_rows(
    rows: Table, chosen: Table, held: Sequence[str], item: Attribute, cut: int | None, level: int, after: int
) -> exp.Select:
    """The rows of divided groups in their parts, which are numbered from there on."""
    select = exp.select().from_(table_expression(rows, "w"), copy=False)
    select = select.join(table_expression(chosen, "e"), on=equal(column("g", "w"), column("g", "e")), copy=False)
    own = column(item.ordinal, "w")
    if cut is not None:
        side = expression("case when :o <= :cut then 0 else 1 end", o=own, cut=cut)
    else:
        select = select.join(table_expression(item.reach, "r"), on=equal(own.copy(), column("o", "r")), copy=False)
        side = column(f"first_{level - 1}", "r")
    number = expression(":after + dense_rank() over (order by w.g, :side)", after=after, side=side)
    return select.select(named(number, "g"), *(column(name, "w") for name in held if name != "g"), copy=False)


def all_rows(rows: Table, chosen: Table, parts: Table, held: Sequence[str]) -> exp.Query:
    """The rows of groups that stay, and those of the parts of the others."""
    names = [column(name, "w") for name in held]
    stay = exp.select(*names).from_(table_expression(rows, "w"), copy=False)
    stay = stay.join(
        table_expression(chosen, "e"), on=equal(column("g", "w"), column("g", "e")), join_type="left", copy=False
    )
    stay = stay.where(expression("e.g is null"), copy=False)
    return union_all(
        [stay, exp.select(*(column(name, "w") for name in held)).from_(table_expression(parts, "w"), copy=False)]
    )


def insert(table: Table, rows: exp.Query) -> exp.Insert:
    """Add the rows of a query to a table of the same columns."""
    return exp.Insert(this=table_expression(table), expression=rows)


def partition_extents(rows: Table, attributes: Sequence[Attribute], bounds: Table) -> exp.Select:
    """The groups with the partitions that they lie in as their extents; `bounds` has `a`, `o`, `lo` and `hi`."""
    inner = query("select g, sum(n) as m from w group by g", {"w": rows})
    for item in attributes:
        inner = inner.select(named(exp.Min(this=column(item.ordinal)), f"o_{item.position}"), copy=False)
    select = exp.select(column("g", "e"), column("m", "e")).from_(
        exp.Subquery(this=inner, alias=exp.TableAlias(this=exp.to_identifier("e", quoted=True))), copy=False
    )
    for item in attributes:
        alias = f"p_{item.position}"
        on = exp.and_(
            equal(column("a", alias), literal(item.position)), equal(column("o", alias), column(item.ordinal, "e"))
        )
        select = select.join(table_expression(bounds, alias), on=on, copy=False)
        select = select.select(
            named(column("lo", alias), f"lo_{item.position}"),
            named(column("hi", alias), f"hi_{item.position}"),
            copy=False,
        )
    return select


def bounds_of(table: Table, attributes: Sequence[Attribute]) -> exp.Query:
    """The partition of every ordinal, from the loaded texts `a`, `lo` and `hi`."""
    return union_all(
        [
            query(
                "select :a as a, r.o, cast(b.lo as int) as lo, cast(b.hi as int) as hi from b join r"
                " on r.o between cast(b.lo as int) and cast(b.hi as int) where cast(b.a as int) = :a",
                {"b": table, "r": item.reach},
                a=item.position,
            )
            for item in attributes
        ]
    )
