"""Statements that read labels by their form: parts of labels, found among the labels of a hierarchy.

A listing has each `label` with the number of its `part`, a `kind` (range, interval, label or null), and the labels
`low` and `high` that the part runs from and to; of an interval, the bounds.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.source.combination_statements import label_ends
from sqlanon.sql.build import union_all
from sqlanon.sql.relations import Table, column
from sqlanon.sql.template import query

LISTING = ("label", "part", "kind", "low", "high")

Texts = Sequence[exp.Expression]


def _nodes(labelled: Table, texts: Texts, value: exp.Expression) -> exp.Query:
    """Every value, as `x` and as its text, with each of its labels."""
    return union_all(
        [
            query(
                "select value as x, :value as value, :label as label from d where :label is not null",
                {"d": labelled},
                value=value,
                label=text,
            )
            for text in texts
        ]
    )


def ranges(listing: Table, labelled: Table, texts: Texts) -> exp.Select:
    """The ranges whose ends are labels that there are, with the values `lo` and `hi`, the least and the greatest.

    A range may also end where labels end: [1960-1969] where [1960-1964] begins, [20, 40) where [35, 40) ends. What is a
    label itself is not read as an interval.
    """
    nodes = query(
        "select label, min(x) as lo, max(x) as hi from n where x is not null group by label",
        {"n": _nodes(labelled, texts, texts[0])},
    )
    low, high, half_open = label_ends(column("label", "n"))
    ends = query(
        "select n.label, :low as low, :high as high, :half_open as half_open, n.lo, n.hi from n",
        {"n": nodes},
        low=low,
        high=high,
        half_open=half_open,
    )
    whole = query("select n.label as low, n.label as high, 0 as half_open, n.lo, n.hi from n", {"n": nodes})
    inner = "select low, high, half_open, lo, hi from e where low <> label or high <> label"
    every = union_all([whole, query(inner, {"e": ends})])
    starts = query("select half_open, low, min(lo) as lo from e group by half_open, low", {"e": every})
    stops = query("select half_open, high, max(hi) as hi from e group by half_open, high", {"e": every.copy()})
    return query(
        "select t.label, t.part, a.lo, b.hi from t join a on t.low = a.low join b on t.high = b.high"
        " and a.half_open = b.half_open left join w on t.kind = 'interval' and w.label = case when t.low = '' then"
        " '<' || t.high when t.high = '' then '>=' || t.low else '[' || t.low || ', ' || t.high || ')' end"
        " where ((t.kind = 'range' and a.half_open = 0)"
        " or (t.kind = 'interval' and a.half_open = 1 and w.label is null)) and a.lo <= b.hi",
        {"t": listing, "a": starts, "b": stops, "w": nodes.copy()},
    )


def members(listing: Table, labelled: Table, texts: Texts) -> exp.Query:
    """The members that are labels which there are, as `node`; NULL is one."""
    known = query("select distinct label from n", {"n": _nodes(labelled, texts, texts[0])})
    named = query(
        "select t.label, t.part, t.low as node from t join n on t.low = n.label where t.kind = 'label'",
        {"t": listing, "n": known},
    )
    absent = query("select t.label, t.part, cast(null as text) as node from t where t.kind = 'null'", {"t": listing})
    return union_all([named, absent])


def parts_read(tables: Sequence[Table]) -> exp.Select:
    """Each part of each label that was found, and in how many ways."""
    found = union_all([query("select label, part from f", {"f": table}) for table in tables])
    return query("select label, part, count(*) as ways from f group by label, part", {"f": found})


def pairs(
    range_table: Table | None, member_table: Table, labelled: Table, texts: Texts, value: exp.Expression
) -> exp.Select:
    """Each value with the labels that cover it."""
    nodes = _nodes(labelled, texts, value)
    found: list[exp.Query] = [
        query(
            "select n.value, m.label from m join n on m.node = n.label where n.value is not null",
            {"m": member_table, "n": nodes},
        ),
        query("select cast(null as text) as value, m.label from m where m.node is null", {"m": member_table}),
    ]
    if range_table is not None:
        values = query(
            "select value as x, :value as value from d where value is not null", {"d": labelled}, value=value
        )
        found.append(
            query(
                "select v.value, r.label from r join v on v.x >= r.lo and v.x <= r.hi where v.value is not null",
                {"r": range_table, "v": values},
            )
        )
    return query("select distinct value, label from f", {"f": union_all(found)})
