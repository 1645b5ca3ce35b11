"""Statements that answer count queries from a release under the uniform assumption (Xiao and Tao 2006, section 5.2).

A condition on a quasi-identifier is an interval of ordinals (`cond`, `lo`, `hi`), one on the sensitive column a set of
leaves (`cond`, `leaf`). A row of the release satisfies a condition with the share of its label that lies within.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.sql.build import equal, expression, named, query, union_all
from sqlanon.sql.relations import Table, cast, column, table_expression

ENDS = ("lo", "hi", "first", "last")
"""Of a condition or a label: the ordinals and the places of the domain that it begins and ends with."""


def interval_conditions(loaded: Table) -> exp.Select:
    """The loaded texts `cond` and ends as whole numbers."""
    return query(
        "select cast(cond as int) as cond, cast(lo as int) as lo, cast(hi as int) as hi,"
        " cast(first as bigint) as first, cast(last as bigint) as last from t",
        {"t": loaded},
    )


def leaf_conditions(loaded: Table) -> exp.Select:
    """The loaded texts `cond` and `label` of leaves."""
    return query("select cast(cond as int) as cond, label from t", {"t": loaded})


def queries(loaded: Table, columns: Sequence[str]) -> exp.Select:
    """The loaded queries: `query`, and for each column its condition, NULL where it has none."""
    items = [named(cast(column(name), "int"), name) for name in ("query", *columns)]
    return exp.select(*items).from_(table_expression(loaded), copy=False)


def span_shares(conditions: Table, spans: Table) -> exp.Select:
    """For each condition and span that meet, the share of the span that lies within: of its places, whoever has them;
    of the values that occur, where one of the two has no places."""
    by_places = query(
        "select c.cond, c.first as clo, c.last as chi, x.s, x.first as lo, x.last as hi from c join x"
        " on c.first <= x.last and c.last >= x.first",
        {"c": conditions, "x": spans},
    )
    by_ordinals = query(
        "select c.cond, c.lo as clo, c.hi as chi, x.s, x.lo, x.hi from c join x"
        " on (c.first is null or x.first is null) and c.lo <= x.hi and c.hi >= x.lo",
        {"c": conditions, "x": spans},
    )
    return query(
        "select cond, s, cast(least(chi, hi) - greatest(clo, lo) + 1 as double) / cast(hi - lo + 1 as double) as share"
        " from met",
        {"met": union_all([by_places, by_ordinals])},
    )


def ordinal_shares(conditions: Table, domain: Table) -> exp.Select:
    """The same for values as they are."""
    return query(
        "select c.cond, d.o as s, cast(1 as double) as share from c join d on d.o between c.lo and c.hi"
        " or (c.lo is null and d.lower between c.first and c.last)",
        {"c": conditions, "d": domain},
    )


def label_shares(conditions: Table, leaves: Table) -> exp.Select:
    """For each condition and published label, the share of the label's leaves that lie within.

    `leaves` has every node as the set of its leaves: `node` its label, `leaf`, and the node's `size`.
    """
    return query(
        "select c.cond, v.node as label, cast(count(*) as double) / cast(min(v.size) as double) as share"
        " from c join v on c.label = v.leaf group by c.cond, v.node",
        {"c": conditions, "v": leaves},
    )


def node_leaves(hierarchy: Table, height: int) -> exp.Select:
    """Every label of a taxonomy with its leaves; a label that names several nodes stands for the smallest."""
    parts: list[exp.Query] = [
        query(
            "select cast(:label as text) as node, cast(label_0 as text) as leaf, :l as l from h",
            {"h": hierarchy},
            label=column(f"label_{level}"),
            l=level,
        )
        for level in range(height + 1)
    ]
    nodes = exp.union(*parts, distinct=False, copy=False)
    return query(
        "select n.node, n.leaf, k.size from n join (select node, l, size from (select node, l, count(*) as size,"
        " row_number() over (partition by node order by l) as place from n group by node, l) as ranked where place = 1)"
        " as k on n.node = k.node and n.l = k.l",
        {"n": nodes},
    )


def answers(
    rows: Table, queries_table: Table, asked: Mapping[str, tuple[str, Table]], absent: Sequence[str], measure: str
) -> exp.Select:
    """The answers of all queries with conditions on exactly these columns.

    `asked` gives for each condition column of the queries the column of `rows`, and the shares by it; `absent` are the
    condition columns that these queries leave open.
    """
    keys = [key for key, _ in asked.values()]
    grouped = exp.select(*(column(key) for key in keys), named(expression("sum(n)"), "n"))
    grouped = grouped.from_(table_expression(rows), copy=False)
    if keys:
        grouped = grouped.group_by(*(column(key) for key in keys), copy=False)
    share: exp.Expression = cast(column("n", "r"), "double")
    select = exp.select(column("query", "q")).from_(table_expression(queries_table, "q"), copy=False)
    on: list[exp.Expression] = []
    for place, (condition, (key, shares)) in enumerate(asked.items()):
        alias = f"f_{place}"
        matched = equal(column(condition, "q"), column("cond", alias))
        select = select.join(table_expression(shares, alias), on=matched, copy=False)
        kind = "label" if key == "label" else "s"
        on.append(equal(column(kind, alias), column(key, "r")))
        share = exp.Mul(this=share, expression=column("share", alias))
    inner = exp.Subquery(this=grouped, alias=exp.TableAlias(this=exp.to_identifier("r", quoted=True)))
    select = select.join(inner, on=exp.and_(*on) if on else exp.true(), copy=False)
    for condition in absent:
        select = select.where(expression(":c is null", c=column(condition, "q")), copy=False)
    return select.select(named(exp.Sum(this=share), measure), copy=False).group_by(column("query", "q"), copy=False)


def leaf_rows(
    combinations: Table, codes: Table, code: str, text: exp.Expression, ordinals: Sequence[str]
) -> exp.Select:
    """The microdata as rows of a release that generalizes nothing: `s_i` its ordinals, `label` its value."""
    select = exp.select(
        *(named(column(name, "c"), f"s_{place}") for place, name in enumerate(ordinals)),
        named(text, "label"),
        column("n", "c"),
    ).from_(table_expression(combinations, "c"), copy=False)
    return select.join(
        table_expression(codes, "a"), on=equal(column(code, "c"), column("code", "a")), join_type="left", copy=False
    )


def compared(queries_table: Table, actual: exp.Query, estimated: exp.Query) -> exp.Select:
    """Each query with its actual and its estimated answer."""
    return query(
        "select q.query, coalesce(a.actual, 0) as actual, coalesce(e.estimate, 0) as estimate from q"
        " left join a on q.query = a.query left join e on q.query = e.query order by q.query",
        {"q": queries_table, "a": actual, "e": estimated},
    )
