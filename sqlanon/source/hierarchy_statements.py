"""Statements that build and check hierarchy tables.

A hierarchy table has one row per value: `value` (as a grouping key; NULL for listed values that the source lacks),
`label_0` (its text), `label_1` ... `label_h`, and for levels below the top `code_l` (a small integer per label, from 1;
0 is kept for NULL), `index_l` (the label's number among its siblings, from 0; from 1 under the top, where 0 is NULL)
and `leaves_l` (values of the domain under that label).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sqlglot import exp

from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import (
    checksum,
    count,
    equal,
    is_null,
    is_present,
    mixed,
    named,
    scalar,
    subquery,
    text_values,
    total,
    with_queries,
)
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.traits import Traits

Leaves = Literal["listed", "occurring", "places"]
"""What counts as the leaves of a label: every value that is listed, only those that occur, or places of a range."""


def domain(relation: exp.Expression, key: exp.Expression) -> exp.Select:
    """The distinct values of a column, NULL left out."""
    return exp.select(named(key, "value")).distinct().from_(relation).where(is_present(key.copy()))


def longest(domain_query: exp.Query, length: exp.Expression) -> exp.Select:
    """The length of the longest value's text; `length` reads column `value`."""
    return exp.select(exp.Max(this=length)).from_(subquery(domain_query, "domain"))


def labelled_by_formula(domain_query: exp.Query, text: exp.Expression, labels: Sequence[exp.Expression]) -> exp.Select:
    """Values with labels computed from them; `text` and `labels` read column `value`."""
    items = [column("value"), named(text, "label_0"), *_numbered(labels)]
    return exp.select(*items).from_(subquery(domain_query, "domain"), copy=False)


def listed_labels(height: int, constant_top: str | None) -> list[exp.Expression]:
    """The labels of a listed value above level 0, and the top above them where there is one."""
    known: list[exp.Expression] = [column(f"label_{level}", "listed") for level in range(1, height + 1)]
    if constant_top is not None:
        present = is_present(column("label_0", "listed"))
        known.append(exp.Case().when(present, literal(constant_top)))
    return known


def labelled_by_list(
    domain_query: exp.Query, text: exp.Expression, listing: exp.Query, labels: Sequence[exp.Expression]
) -> exp.Select:
    """Values matched by their text to a listing; listed values that the source lacks stay as leaves."""
    own_text = exp.Coalesce(this=column("label_0", "listed"), expressions=[text.copy()])
    return (
        exp.select(column("value", "domain"), named(own_text, "label_0"), *_numbered(labels))
        .from_(subquery(listing, "listed"))
        .join(subquery(domain_query, "domain"), on=equal(text, column("label_0", "listed")), join_type="full outer")
    )


def labelled_by_groups(labelled: exp.Query, level: int, listing: exp.Query, constant_top: str | None) -> exp.Select:
    """Values of the source with their text and the group that a listing has for their label at a level."""
    known: list[exp.Expression] = [column("label_1", "listed")]
    if constant_top is not None:
        known.append(exp.Case().when(is_present(column("label_0", "listed")), literal(constant_top)))
    label = cast(column(f"label_{level}", "under"), "text")
    return (
        exp.select(column("value", "under"), column("label_0", "under"), *_numbered(known))
        .from_(subquery(labelled, "under"))
        .join(subquery(listing, "listed"), on=equal(label, column("label_0", "listed")), join_type="left")
        .where(is_present(column("value", "under")))
    )


def listing_of_table(table: exp.Expression, texts: exp.Expression, labels: Sequence[exp.Expression]) -> exp.Select:
    """The distinct rows of a reference table: level 0 as text, then the labels."""
    present = is_present(texts.copy())
    return exp.select(named(texts, "label_0"), *_numbered(labels)).distinct().from_(table).where(present)


def listing_of_rows(rows: Table | Sequence[Sequence[str]], height: int) -> exp.Select:
    """The distinct rows of a definition: loaded into a table, or written out."""
    names = [f"label_{level}" for level in range(height + 1)]
    if not isinstance(rows, Table):
        return text_values(names, rows)
    return exp.select(*(column(name) for name in names)).distinct().from_(table_expression(rows))


def coded(
    labelled: exp.Query, height: int, families: Sequence[Family], traits: Traits, leaves: Leaves = "listed"
) -> exp.Select:
    """The labelled values with codes and leaf counts for every level below the top.

    Of measured values (`source.domains`) leaves are the places of their labels, and `start_l` is the first of them.
    """
    source = "labelled"
    labels = [one_of_equals(level, families[level], traits) for level in range(height)]
    items: list[exp.Expression] = [column("value"), *labels, column(f"label_{height}")]
    for level in range(height):
        key = traits.key(column(f"label_{level}"), families[level])
        rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=key)]))
        items.append(named(cast(rank, "int"), f"code_{level}"))
        covered = exp.Window(this=_leaves(level, leaves), partition_by=[key])
        items.append(named(cast(covered, "int"), f"leaves_{level}"))
        items.append(named(cast(_index(level, height, key, families, traits), "int"), f"index_{level}"))
        if leaves == "places":
            first = exp.Window(this=exp.Min(this=column(f"start_{level}")), partition_by=[key])
            items.append(named(first, f"start_{level}"))
    if leaves == "places":
        items += [column(name) for name in (f"leaves_{height}", f"start_{height}", "outside")]
    return with_queries(exp.select(*items).from_(source, copy=False), {source: labelled})


def _leaves(level: int, leaves: Leaves) -> exp.Expression:
    if leaves == "places":
        return exp.Max(this=column(f"leaves_{level}"))
    return count() if leaves == "listed" else exp.Count(this=column("value"))


def one_of_equals(level: int, family: Family, traits: Traits) -> exp.Expression:
    """The label of a level. Of labels that are equal and yet can be told apart, the same one everywhere."""
    label = column(f"label_{level}")
    if family.exact:
        return label
    first = exp.Window(this=exp.FirstValue(this=label), partition_by=[traits.key(label.copy(), family)])
    return named(first, f"label_{level}")


def taxonomy(table: Table, height: int) -> exp.Select:
    """The values of the source with their labels above level 0."""
    labels = [column(f"label_{level}") for level in range(1, height + 1)]
    select = exp.select(column("value"), *labels).from_(table_expression(table))
    return select.where(is_present(column("value")))


def _index(level: int, height: int, key: exp.Expression, families: Sequence[Family], traits: Traits) -> exp.Expression:
    """The number of a label among the labels that share its parent."""
    siblings = [] if level + 1 == height else [traits.key(column(f"label_{level + 1}"), families[level + 1])]
    order = exp.Order(expressions=[exp.Ordered(this=key.copy())])
    rank: exp.Expression = exp.Window(this=exp.DenseRank(), partition_by=siblings, order=order)
    return exp.Sub(this=rank, expression=literal(1)) if siblings else rank


def validation(table: Table, height: int, leaves: Leaves = "listed") -> exp.Select:
    """One row: missing labels per level 1..h, labels with two parents per level 0..h-1, tops, leaves, values, values
    outside a declared domain, the top, two checksums of the codes, the greatest index per level 0..h-1.

    A label with two parents and a label shared by two branches are one thing seen from below and from above.
    """
    present = is_present(column("value"))
    items: list[exp.Expression] = []
    for level in range(1, height + 1):
        items.append(exp.Count(this=exp.Case().when(is_null(column(f"label_{level}")), literal(1))))
    for level in range(height):
        items.append(scalar(_several_parents(table, level, height)))
    items.append(exp.Count(this=exp.Distinct(expressions=[column(f"label_{height}")])))
    present_values = exp.Count(this=exp.Case().when(present, literal(1)))
    if leaves == "places":
        items += [exp.Max(this=column(f"leaves_{height}")), present_values, total(column("outside"))]
    else:
        items += [count() if leaves == "listed" else present_values.copy(), present_values, literal(0)]
    items.append(exp.Min(this=cast(column(f"label_{height}"), "text")))
    items += checksum(mixed([column(name) for name in _told_apart(height, leaves)]))
    items += [exp.Max(this=column(f"index_{level}")) for level in range(height)]
    return exp.select(*items).from_(table_expression(table), copy=False)


def _told_apart(height: int, leaves: Leaves) -> list[str]:
    parts = {"listed": ("code",), "occurring": ("code", "leaves"), "places": ("code", "leaves", "start")}
    names = [f"{part}_{level}" for part in parts[leaves] for level in range(height)]
    return [*names, f"leaves_{height}"] if leaves == "places" else names


def _several_parents(table: Table, level: int, height: int) -> exp.Select:
    return exp.select(count()).from_(subquery(_codes_with_several_parents(table, level, height), "labels"))


def offenders(table: Table, level: int, height: int, *, missing: bool, most: int) -> exp.Select:
    """A few labels of `level` without a label above (`missing`) or with two parents, where they may be shown."""
    label = column(f"label_{level}")
    parent = column(f"label_{level + 1}")
    select = exp.select(label).distinct().from_(table_expression(table)).order_by(label.copy()).limit(most)
    if missing:
        return select.where(is_null(parent))
    codes = scalar(_codes_with_several_parents(table, level, height))
    return select.where(exp.In(this=column(f"code_{level}"), query=codes))


def last_level(labelled: exp.Query, height: int, star: str) -> exp.Select:
    """How many labels the last given level has, how many rows carry the label `star` there, and the first label."""
    label = cast(column(f"label_{height}"), "text")
    stars = exp.Count(this=exp.Case().when(equal(label.copy(), literal(star)), literal(1)))
    distinct = exp.Count(this=exp.Distinct(expressions=[label]))
    return exp.select(distinct, stars, exp.Min(this=label.copy())).from_(subquery(labelled, "labelled"))


def _codes_with_several_parents(table: Table, level: int, height: int) -> exp.Select:
    """Counted by the codes of the parents: not every type of label has a least and a greatest."""
    parent = column(f"label_{level + 1}")
    code_of_parent = column(f"code_{level + 1}") if level + 1 < height else parent.copy()
    several = exp.GT(this=exp.Count(this=exp.Distinct(expressions=[code_of_parent])), expression=literal(1))
    return (
        exp.select(column(f"code_{level}"))
        .from_(table_expression(table), copy=False)
        .where(is_present(parent), copy=False)
        .group_by(column(f"code_{level}"), copy=False)
        .having(several, copy=False)
    )


def labels_in_cycles(table: Table, height: int, traits: Traits) -> exp.Select:
    """How many labels are, by some rows, their own ancestor, up to level `height`."""
    edges: exp.Query = _edges_of(table, 0)
    for level in range(1, height):
        edges = exp.union(edges, _edges_of(table, level), distinct=True)
    if not traits.recursive_union:
        return _starts_of_walks(edges, height + 1)
    start = exp.select(column("child"), column("parent")).from_(exp.to_table("edges"))
    onward = (
        exp.select(column("child", "reach"), column("parent", "edges"))
        .from_(exp.to_table("reach"))
        .join(exp.to_table("edges"), on=equal(column("parent", "reach"), column("child", "edges")))
    )
    reach = exp.union(start, onward, distinct=True)
    query = exp.select(exp.Count(this=exp.Distinct(expressions=[column("child")]))).from_(exp.to_table("reach"))
    query = query.where(equal(column("child"), column("parent")))
    return query.with_("edges", as_=edges, copy=False).with_("reach", as_=reach, recursive=True, copy=False)


def _starts_of_walks(edges: exp.Query, steps: int) -> exp.Select:
    """How many labels have a walk of so many steps above them.

    More steps than there are levels are possible only where a label stands at two levels and not above itself: in every
    cycle, and beyond that where a refusal is what the rule asks for too.
    """
    select = exp.select(exp.Count(this=exp.Distinct(expressions=[column("child", "e_1")])))
    select = select.from_(exp.to_table("edges", alias="e_1"))
    for step in range(2, steps + 1):
        on = equal(column("parent", f"e_{step - 1}"), column("child", f"e_{step}"))
        select = select.join(exp.to_table("edges", alias=f"e_{step}"), on=on)
    return with_queries(select, {"edges": edges})


def _edges_of(table: Table, level: int) -> exp.Select:
    child, parent = column(f"label_{level}"), column(f"label_{level + 1}")
    return (
        exp.select(named(cast(child, "text"), "child"), named(cast(parent, "text"), "parent"))
        .distinct()
        .from_(table_expression(table))
        .where(exp.NEQ(this=cast(child.copy(), "text"), expression=cast(parent.copy(), "text")))
    )


def label_counts(table: Table, height: int) -> exp.Select:
    """The number of distinct labels of each level."""
    counts = [exp.Count(this=exp.Distinct(expressions=[column(f"code_{level}")])) for level in range(height)]
    top = exp.Count(this=exp.Distinct(expressions=[column(f"label_{height}")]))
    return exp.select(*counts, top).from_(table_expression(table))


def rows(table: Table, height: int, first: int, last: int) -> exp.Select:
    """The labels of the values whose codes lie between two numbers, in the order of their codes."""
    labels = [cast(column(f"label_{level}"), "text") for level in range(height + 1)]
    page = exp.Between(this=column("code_0"), low=literal(first), high=literal(last))
    return exp.select(*labels).from_(table_expression(table)).where(page).order_by(column("code_0"))


def _numbered(labels: Sequence[exp.Expression]) -> list[exp.Alias]:
    return [named(label, f"label_{level}") for level, label in enumerate(labels, start=1)]
