"""Statements that say what a release keeps: labels and their leaves, associations, group means, a decision stump.

`labels`: one row for each leaf of a hierarchy and level, its text `leaf` and its `label` there. `base`: combinations of
a table with their rows `n`. Aggregates only.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.statements.classes import double
from sqlanon.insight.adversary.people import TableSide
from sqlanon.insight.adversary.statements import same
from sqlanon.sql.build import count, equal, is_null, is_present, named, scalar, subquery, total, total_where, union_all
from sqlanon.sql.relations import Table, cast, column, literal, table_expression


def labels(labelled: Table, texts: Sequence[exp.Expression], *, has_null: bool, occurring: bool = False) -> exp.Query:
    """The leaves of a hierarchy with their labels at every level; NULL stays NULL below the top.

    `occurring`: without those that the hierarchy lists and nobody has.
    """
    result: exp.Query | None = None
    for level, text in enumerate(texts):
        items = [named(texts[0].copy(), "leaf"), named(literal(level), "level"), named(text.copy(), "label")]
        query = exp.select(*items).from_(table_expression(labelled)).where(is_present(text.copy()))
        if occurring:
            query = query.where(is_present(column("value")), copy=False)
        result = query if result is None else exp.union(result, query, distinct=False, copy=False)
        if has_null:
            top = exp.Max(this=text.copy()) if level == len(texts) - 1 else cast(exp.Null(), "text")
            nothing = cast(exp.Null(), "text")
            more = exp.select(named(nothing, "leaf"), named(literal(level), "level"), named(top, "label"))
            if level == len(texts) - 1:
                more = more.from_(table_expression(labelled))
            result = exp.union(result, more, distinct=False, copy=False)
    if result is None:
        raise ValueError("a hierarchy has a level at least")
    return result


def unknown_labels(labels_table: Table, released: TableSide) -> exp.Select:
    """The released labels that the hierarchy has at no level."""
    known = exp.select(column("label")).distinct().from_(table_expression(labels_table))
    known = known.where(is_present(column("label")))
    outside = exp.Not(this=exp.In(this=column("label"), query=scalar(known)))
    select = exp.select(column("label")).from_(subquery(_released(released), "released"), copy=False)
    return select.where(is_present(column("label")), outside)


def with_read(labels_table: Table, read: Table) -> exp.Query:
    """The labels with those that were read by their form, which are of no level: -1."""
    items = [named(column("value"), "leaf"), named(literal(-1), "level"), column("label")]
    known = exp.select(column("leaf"), column("level"), column("label")).from_(table_expression(labels_table))
    return exp.union(known, exp.select(*items).from_(table_expression(read)), distinct=False, copy=False)


def leaf_count(labels_table: Table) -> exp.Select:
    """The number of leaves, NULL among them where it is one."""
    return exp.select(count()).from_(table_expression(labels_table)).where(equal(column("level"), literal(0)))


def levels_that_fit(labels_table: Table, released: TableSide) -> exp.Select:
    """Each level with the number of released labels that it has, and how many labels are released."""
    distinct = _released(released)
    known = exp.select(column("level"), column("label")).distinct().from_(table_expression(labels_table))
    select = exp.select(
        column("level", "known"), count(), scalar(exp.select(count()).from_(subquery(distinct.copy(), "every")))
    ).from_(subquery(distinct, "released"), copy=False)
    on = same(column("label", "released"), column("label", "known"))
    return select.join(subquery(known, "known"), on=on, copy=False).group_by(column("level", "known"), copy=False)


def _released(released: TableSide) -> exp.Select:
    """Released labels with their rows `r`."""
    [key] = released.keys
    select = exp.select(named(key.copy(), "label"), named(count(), "r")).from_(released.relation.copy(), copy=False)
    return select.group_by(key.copy(), copy=False)


def leaves_listed(labels_table: Table, level: int | None) -> exp.Select:
    """Each `label` of a level, or of any, with the `leaves` that it has."""
    pairs = exp.select(column("leaf"), column("label")).distinct().from_(table_expression(labels_table))
    if level is not None:
        pairs = pairs.where(equal(column("level"), literal(level)))
    covered = exp.select(column("label"), named(count(), "leaves")).from_(subquery(pairs, "pairs"), copy=False)
    return covered.group_by(column("label"), copy=False)


def leaves_placed(
    labelled: Table, texts: Sequence[exp.Expression], level: int | None, spans: Table | None, *, leaves: int
) -> exp.Select:
    """The same of a column that is measured by places; `spans` are labels that are read by their form."""
    top = len(texts) - 1
    parts: list[exp.Query] = []
    for number, text in enumerate(texts):
        if level in (None, number):
            size = literal(leaves) if number == top else column(f"leaves_{number}")
            parts.append(
                exp.select(named(text.copy(), "label"), named(cast(size, "bigint"), "leaves"))
                .from_(table_expression(labelled))
                .where(is_present(text.copy()))
            )
    if level != top:
        parts.append(exp.select(named(cast(exp.Null(), "text"), "label"), named(cast(literal(1), "bigint"), "leaves")))
    if spans is not None:
        read = exp.select(column("label"), named(column("size"), "leaves")).from_(table_expression(spans))
        parts.append(read.where(is_present(column("size")), equal(column("absent"), literal(0))))
    select = exp.select(column("label"), named(exp.Max(this=column("leaves")), "leaves"))
    return select.from_(subquery(union_all(parts), "sizes"), copy=False).group_by(column("label"), copy=False)


def in_order(labelled: Table) -> exp.Select:
    """The values of the source with their ordinals `o`."""
    place = exp.Window(this=exp.RowNumber(), order=exp.Order(expressions=[exp.Ordered(this=column("value"))]))
    select = exp.select(exp.Star(), named(exp.Sub(this=place, expression=literal(1)), "o"))
    return select.from_(table_expression(labelled)).where(is_present(column("value")))


def leaves_covered(covered: exp.Select, everything: exp.Expression, released: TableSide) -> exp.Select:
    """One row: released rows times the leaves that their label covers, released rows, labels, rows of unknown labels.

    A label that no hierarchy knows may cover every leaf.
    """
    known = column("leaves", "covered")
    leaves = exp.Coalesce(this=known, expressions=[everything])
    product = exp.Mul(this=cast(column("r", "released"), "bigint"), expression=leaves)
    unknown = total_where(is_null(known.copy()), column("r", "released"))
    select = exp.select(total(product), total(column("r", "released")), count(), unknown)
    select = select.from_(subquery(_released(released), "released"), copy=False)
    on = same(column("label", "released"), column("label", "covered"))
    return select.join(subquery(covered, "covered"), on=on, join_type="left", copy=False)


def entropy(labels_table: Table, source: TableSide, released: TableSide, level: int) -> exp.Select:
    """One row: bits lost by the rows of the source at a level, and by the rows of each label that are missing."""
    [key] = source.keys
    values = exp.select(named(key.copy(), "leaf"), named(count(), "f")).from_(source.relation.copy(), copy=False)
    values = values.group_by(key.copy(), copy=False)
    chosen = exp.select(column("leaf"), column("label")).from_(table_expression(labels_table))
    chosen = chosen.where(equal(column("level"), literal(level)))
    shared = exp.Window(this=exp.Sum(this=column("f", "source_values")), partition_by=[column("label", "chosen")])
    placed = exp.select(
        column("label", "chosen"), named(double(column("f", "source_values")), "f"), named(double(shared), "g")
    ).from_(subquery(values, "source_values"), copy=False)
    on = same(column("leaf", "source_values"), column("leaf", "chosen"))
    placed = placed.join(subquery(chosen, "chosen"), on=on, join_type="left", copy=False)
    own = exp.Sum(this=exp.Mul(this=column("f"), expression=_bits(column("g"), column("f"))))
    by_label = exp.select(column("label"), named(own, "bits"), named(exp.Sum(this=column("f")), "g"))
    by_label = by_label.from_(subquery(placed, "placed"), copy=False).group_by(column("label"), copy=False)
    kept = exp.Coalesce(this=double(column("r", "released")), expressions=[double(literal(0))])
    missing = exp.Sub(this=column("g", "by_label"), expression=kept)
    each = exp.select(column("bits", "by_label"), named(missing, "missing")).from_(
        subquery(by_label, "by_label"), copy=False
    )
    on = same(column("label", "by_label"), column("label", "released"))
    each = each.join(subquery(_released(released), "released"), on=on, join_type="left", copy=False)
    everything = exp.Window(this=exp.Sum(this=column("missing")))
    with_total = exp.select(exp.Star(), named(everything, "suppressed")).from_(subquery(each, "each"), copy=False)
    positive = exp.GT(this=column("missing"), expression=double(literal(0)))
    lost = exp.Mul(this=column("missing"), expression=_bits(column("suppressed"), column("missing")))
    return exp.select(total(column("bits")), total_where(positive, lost)).from_(
        subquery(with_total, "labels"), copy=False
    )


def _bits(whole: exp.Expression, part: exp.Expression) -> exp.Expression:
    ratio = exp.Ln(this=exp.Div(this=whole, expression=part))
    return exp.Div(this=ratio, expression=exp.Ln(this=double(literal(2))))


def class_figures(base: Table, width: int) -> exp.Select:
    """One row: classes, rows, and the sum of squares of their rows."""
    keys = [column(f"q_{position}") for position in range(width)]
    classes = exp.select(named(exp.Sum(this=column("n")), "n")).from_(table_expression(base)).group_by(*keys)
    wide = cast(column("n"), "decimal(38, 0)")
    square = exp.Mul(this=wide, expression=wide.copy())
    return exp.select(count(), total(column("n")), total(square)).from_(subquery(classes, "classes"))


def associations(base: Table, pairs: Sequence[tuple[str, str]]) -> exp.Query:
    """For each pair of columns: its number, rows, values of either, and the sum of n_ij^2 / (n_i * n_j)."""
    result: exp.Query | None = None
    for index, (one, other) in enumerate(pairs):
        query = _association(index, base, one, other)
        result = query if result is None else exp.union(result, query, distinct=False, copy=False)
    if result is None:
        raise ValueError("no pair of columns")
    return result


def _association(index: int, base: Table, one: str, other: str) -> exp.Select:
    keys = [column(one), column(other)]
    cells = exp.select(named(keys[0], "a"), named(keys[1], "b"), named(exp.Sum(this=column("n")), "m"))
    cells = cells.from_(table_expression(base)).group_by(*(key.copy() for key in keys), copy=False)
    sides = [
        named(double(exp.Window(this=exp.Sum(this=column("m")), partition_by=[column(name)])), f"of_{name}")
        for name in ("a", "b")
    ]
    firsts = [
        named(
            exp.Window(
                this=exp.RowNumber(),
                partition_by=[column(name)],
                order=exp.Order(expressions=[exp.Ordered(this=column("m"))]),
            ),
            f"first_{name}",
        )
        for name in ("a", "b")
    ]
    placed = exp.select(named(double(column("m")), "m"), *sides, *firsts).from_(subquery(cells, "cells"), copy=False)
    part = exp.Div(
        this=exp.Mul(this=column("m"), expression=column("m")),
        expression=exp.Paren(this=exp.Mul(this=column("of_a"), expression=column("of_b"))),
    )
    values = [total_where(equal(column(f"first_{name}"), literal(1)), literal(1)) for name in ("a", "b")]
    return exp.select(named(literal(index), "pair"), total(column("m")), *values, exp.Sum(this=part)).from_(
        subquery(placed, "placed"), copy=False
    )


def group_means(
    source: TableSide, value: exp.Expression, released: TableSide, there: exp.Expression, pairs: Table
) -> exp.Select:
    """One row: groups, rows, the mean and greatest difference of group means, the source's deviation and both means.

    A group is a released label; in the source it is everybody whom the label covers.
    """
    [key] = source.keys
    before = exp.select(column("label", "pairs"), named(exp.Avg(this=double(value)), "mean"))
    before = before.from_(source.relation.copy(), copy=False)
    before = before.join(table_expression(pairs, "pairs"), on=same(key, column("value", "pairs")), copy=False)
    before = before.group_by(column("label", "pairs"), copy=False)
    [label] = released.keys
    after = exp.select(
        named(label.copy(), "label"), named(exp.Avg(this=double(there)), "mean"), named(count(), "r")
    ).from_(released.relation.copy(), copy=False)
    after = after.group_by(label.copy(), copy=False)
    apart = exp.Abs(this=exp.Sub(this=column("mean", "after"), expression=column("mean", "before")))
    each = exp.select(named(apart, "apart"), named(double(column("r", "after")), "r")).from_(
        subquery(after, "after"), copy=False
    )
    on = same(column("label", "after"), column("label", "before"))
    each = each.join(subquery(before, "before"), on=on, copy=False)
    known = is_present(column("apart"))
    whole = [
        scalar(exp.select(figure).from_(side.relation.copy(), copy=False))
        for figure, side in (
            (exp.StddevPop(this=double(value)), source),
            (exp.Avg(this=double(value)), source),
            (exp.Avg(this=double(there)), released),
        )
    ]
    weighted = exp.Sum(this=exp.Mul(this=column("apart"), expression=column("r")))
    rows = exp.Sum(this=exp.Case().when(known, column("r")))
    return exp.select(count(), rows, weighted, exp.Max(this=column("apart")), *whole).from_(
        subquery(each, "each"), copy=False
    )


def stump(base: Table, keys: Sequence[str], target: str) -> exp.Select:
    """One row: the rows, and those whose target is guessed right from the other rows of their group (leave one out).

    The guess is the most frequent value of a group, if there is exactly one; for a row alone, that of all rows.
    """
    group = [column(name) for name in keys]
    cells = exp.select(
        *(column(name) for name in keys), named(column(target), "y"), named(exp.Sum(this=column("n")), "m")
    )
    cells = cells.from_(table_expression(base)).group_by(*group, column(target), copy=False)
    overall = exp.select(named(column(target), "y"), named(exp.Sum(this=column("n")), "m")).from_(
        table_expression(base)
    )
    overall = overall.group_by(column(target), copy=False)
    order = exp.Order(
        expressions=[exp.Ordered(this=column("m"), desc=True), exp.Ordered(this=column("y"), nulls_first=True)]
    )
    ranked = exp.select(column("y"), named(exp.Window(this=exp.RowNumber(), order=order), "place"))
    ranked = ranked.from_(subquery(overall, "overall"), copy=False)
    usual = exp.select(column("y")).from_(subquery(ranked, "ranked")).where(equal(column("place"), literal(1)))
    by: list[exp.Expression] = [column(name) for name in keys]
    descending = exp.Order(expressions=[exp.Ordered(this=column("m"), desc=True)])

    def windowed(aggregate: exp.Expression) -> exp.Window:
        return exp.Window(this=aggregate, partition_by=[item.copy() for item in by])

    second = exp.Window(this=exp.Lead(this=column("m")), partition_by=[item.copy() for item in by], order=descending)
    place = exp.Window(this=exp.RowNumber(), partition_by=[item.copy() for item in by], order=descending.copy())
    judged = exp.select(
        column("y", "cells"),
        column("m"),
        named(windowed(exp.Sum(this=column("m"))), "size"),
        named(place, "place"),
        named(exp.Coalesce(this=second, expressions=[literal(0)]), "next"),
    ).from_(subquery(cells, "cells"), copy=False)
    alone = equal(column("size", "judged"), literal(1))
    both_null = exp.And(this=is_null(column("y", "judged")), expression=is_null(column("y", "usual")))
    is_usual = exp.Paren(
        this=exp.Or(this=equal(column("y", "judged"), column("y", "usual")), expression=exp.Paren(this=both_null))
    )
    clear = exp.And(
        this=equal(column("place", "judged"), literal(1)),
        expression=exp.GT(
            this=exp.Sub(this=column("m", "judged"), expression=literal(1)), expression=column("next", "judged")
        ),
    )
    right = (
        exp.Case()
        .when(alone, exp.Case().when(is_usual, literal(1)).else_(literal(0)))
        .when(clear, column("m", "judged"))
        .else_(literal(0))
    )
    usual_rows = total_where(is_usual.copy(), column("m", "judged"))
    select = exp.select(total(column("m", "judged")), total(right), usual_rows)
    select = select.from_(subquery(judged, "judged"), copy=False)
    return select.join(subquery(usual, "usual"), join_type="cross", copy=False)
