"""Statements that measure any table as it stands. They share nothing with the search: no codes, no frequency set.

Classes are grouped by the published values themselves, NULL equal to NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.sqlgen.build import all_of, count, named, subquery, total, total_where, with_queries
from sqlanon.sqlgen.relations import column, literal

BUCKETS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Lower ends of the class-size distribution's buckets."""


def classes(relation: exp.Expression, keys: Sequence[exp.Expression]) -> exp.Select:
    """The size of every class of the quasi-identifier."""
    select = exp.select(named(count(), "size")).from_(relation)
    return select.group_by(*(key.copy() for key in keys)) if keys else select


def k_anonymity(relation: exp.Expression, keys: Sequence[exp.Expression], k: int) -> exp.Select:
    """One row: rows, classes, smallest and largest class, classes below k, rows below k, then classes per bucket."""
    size = column("size")
    below = exp.LT(this=size.copy(), expression=literal(k))
    items: list[exp.Expression] = [
        total(size.copy()),
        count(),
        exp.Min(this=size.copy()),
        exp.Max(this=size.copy()),
        total_where(below, literal(1)),
        total_where(below.copy(), size.copy()),
    ]
    for low, high in zip(BUCKETS, (*BUCKETS[1:], None), strict=True):
        inside: exp.Expression = exp.GTE(this=size.copy(), expression=literal(low))
        if high is not None:
            inside = all_of([inside, exp.LT(this=size.copy(), expression=literal(high))])
        items.append(total_where(inside, literal(1)))
        items.append(total_where(inside.copy(), size.copy()))
    return exp.select(*items).from_(subquery(classes(relation, keys), "classes"))


def holds_k_anonymity(relation: exp.Expression, keys: Sequence[exp.Expression], k: int) -> exp.Select:
    """TRUE when the table has rows and no class below k; for the assertion in scripts."""
    smallest = exp.Coalesce(this=exp.Min(this=column("size")), expressions=[literal(0)])
    query = exp.select(exp.GTE(this=smallest, expression=literal(k))).from_("classes")
    return with_queries(query, {"classes": classes(relation, keys)})
