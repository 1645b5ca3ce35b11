"""Statements that build and check hierarchy tables.

A hierarchy table has one row per value: `value` (as a grouping key; NULL for listed values that the source lacks),
`label_0` (its text), `label_1` ... `label_h`, and for levels below the top `code_l` (a small integer per label, from 1;
0 is kept for NULL), `index_l` (the label's number among its siblings, from 0; from 1 under the top, where 0 is NULL)
and `leaves_l` (values of the domain under that label).

A lookup has one level: each value with its label and the code of the label. It is for hierarchies that nobody validates
when they are read, in a script, a view or a dbt model: what cannot be relied on is left out, and counts as not covered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from sqlglot import exp

from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import (
    all_of,
    checksum,
    count,
    equal,
    is_null,
    is_present,
    named,
    scalar,
    subquery,
    text_values,
    total,
    with_mix,
    with_queries,
)
from sqlanon.sql.relations import Table, cast, column, identifier, literal, table_expression
from sqlanon.sql.traits import Traits
from sqlanon.sql.values import relation


def narrowed(listing: exp.Select, levels: Sequence[int]) -> exp.Select:
    """A listing with some of its levels."""
    wanted = [f"label_{level}" for level in levels]
    items = [item for item in listing.expressions if item.alias_or_name in wanted]
    found = listing.copy()
    if items:
        found.set("expressions", [item.copy() for item in items])
    return found


def narrowed_by_formula(
    domain_query: exp.Query, text: exp.Expression, labels: Mapping[int, exp.Expression], level: int
) -> exp.Select:
    """Values with computed labels of some levels, and where the level is 0 with their text."""
    items = [named(value.copy(), f"label_{number}") for number, value in labels.items()]
    if level == 0:
        items.insert(0, named(text.copy(), "label_0"))
    return exp.select(column("value"), *items).from_(subquery(domain_query.copy(), "domain"), copy=False)


def narrowed_by_list(
    domain_query: exp.Query,
    text: exp.Expression,
    listing: exp.Query | Table,
    labels: Mapping[int, exp.Expression],
    level: int,
) -> exp.Select:
    """Listed values of the domain with their labels of some levels, and where the level is 0 with their text."""
    items: list[exp.Expression] = [
        value.copy() if isinstance(value, exp.Column) else named(value.copy(), f"label_{number}")
        for number, value in labels.items()
    ]
    if level == 0:
        items.insert(0, column("label_0", "listed"))
    same = equal(_of_domain(text), column("label_0", "listed"))
    select = exp.select(column("value", "domain"), *items).from_(subquery(domain_query.copy(), "domain"), copy=False)
    return select.join(relation(listing, "listed"), on=same, join_type="inner", copy=False)


def _of_domain(text: exp.Expression) -> exp.Expression:
    """The text of a value, read from `domain`."""
    found = text.copy()
    for item in found.find_all(exp.Column):
        item.set("table", identifier("domain"))
    return found


def lookup(
    labelled: exp.Select, level: int, family: Family, traits: Traits, *, once: bool = False, certain: bool = False
) -> exp.Select:
    """Labelled values with the code of one level.

    `once`: without values that occur several times. `certain`: every value has its label, in `listed`.
    """
    name = f"label_{level}"
    key = traits.key(column(name, "listed" if certain else None), family)
    rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=key)]))
    code = named(cast(rank, "int"), f"code_{level}")
    if certain:
        return labelled.select(code)
    present = [item.alias_or_name for item in labelled.expressions if item.alias_or_name not in ("value", "label_0")]
    conditions = [is_present(column(name)) for name in present]
    if once:
        occurrences = exp.Window(this=count(), partition_by=[column("value", "domain")])
        labelled = labelled.select(named(occurrences, "occurrences"))
        conditions.append(equal(column("occurrences"), literal(1)))
    items: list[exp.Expression] = [column("value"), *([one_of_equals(level, family, traits)] if level else []), code]
    return exp.select(*items).from_(subquery(labelled, "labelled"), copy=False).where(*conditions, copy=False)


def uncovered(domain_query: exp.Query, covered: exp.Expression) -> exp.Select:
    """How many values, or rows with such a value, do not satisfy a condition on column `value`."""
    fails = exp.Not(this=covered.copy())
    if not isinstance(domain_query, exp.Select) or len(domain_query.expressions) > 1:
        return exp.select(count()).from_(subquery(domain_query.copy(), "domain"), copy=False).where(fails, copy=False)
    # The values of one table: its rows tell as well, without a list of the values.
    query = domain_query.copy()
    [value] = query.expressions
    key = value.this
    query.set("distinct", None)
    query.set("expressions", [count()])
    return query.where(fails.transform(lambda node: key.copy() if _is_value(node) else node), copy=False)


def _is_value(node: exp.Expr) -> bool:
    return isinstance(node, exp.Column) and node.name == "value" and not node.table


def shared_top(domain_query: exp.Query, label: exp.Expression, star: str) -> exp.Select:
    """One row, `label`: the label that all values have, else the star."""
    labels = exp.select(named(label, "label")).from_(subquery(domain_query, "domain"), copy=False)
    one = equal(exp.Count(this=exp.Distinct(expressions=[column("label")])), literal(1))
    everybody = equal(exp.Count(this=column("label")), count())
    top = exp.Case().when(all_of([one, everybody]), exp.Min(this=column("label"))).else_(literal(star))
    return exp.select(named(top, "label")).from_(subquery(labels, "labels"), copy=False)


def listed(text: exp.Expression, known: exp.Query | Sequence[exp.Expression]) -> exp.Expression:
    """Whether the text of a value is one of a listing."""
    if isinstance(known, exp.Query):
        return exp.In(this=text.copy(), query=scalar(known))
    return exp.In(this=text.copy(), expressions=list(known))


def taxonomy_paths(hierarchy: Table, height: int) -> exp.Select:
    """Every leaf of a taxonomy with the labels above it."""
    labels = [named(cast(column(f"label_{level}"), "text"), f"label_{level}") for level in range(height + 1)]
    return exp.select(*labels).from_(table_expression(hierarchy), copy=False)


def sound(coded_query: exp.Select, height: int) -> exp.Select:
    """The coded values that can be relied on without validation: in the source, labelled at every level, listed once.

    For hierarchies that nobody validates when they are read, in a view or a script. What is left out is not covered.
    """
    occurrences = exp.Window(this=count(), partition_by=[column("value")])
    counted = exp.select(exp.Star(), named(occurrences, "occurrences")).from_(subquery(coded_query, "coded"))
    labelled = [is_present(column(f"label_{level}")) for level in range(1, height + 1)]
    once = equal(column("occurrences"), literal(1))
    return (
        exp.select(exp.Star()).from_(subquery(counted, "counted")).where(is_present(column("value")), once, *labelled)
    )


CODES = 2**32
"""More than any code of a label."""

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
    # Windows over all labels gather them anyway.
    return with_queries(exp.select(*items).from_(source, copy=False), {source: traits.gathered(labelled)})


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


def validation(table: Table, height: int, traits: Traits, leaves: Leaves = "listed") -> exp.Select:
    """One row: missing labels per level 1..h, parents too many per level 0..h-2, tops, leaves, values, values outside a
    declared domain, the top, two checksums of the codes, the greatest index per level 0..h-1.

    A label with two parents and a label shared by two branches are one thing seen from below and from above. Below the
    top several parents are several tops.
    """
    present = is_present(column("value"))
    items: list[exp.Expression] = []
    for level in range(1, height + 1):
        items.append(exp.Count(this=exp.Case().when(is_null(column(f"label_{level}")), literal(1))))
    for level in range(height - 1):
        items.append(_parents_too_many(level))
    items.append(exp.Count(this=exp.Distinct(expressions=[column(f"label_{height}")])))
    present_values = exp.Count(this=exp.Case().when(present, literal(1)))
    if leaves == "places":
        items += [exp.Max(this=column(f"leaves_{height}")), present_values, total(column("outside"))]
    else:
        items += [count() if leaves == "listed" else present_values.copy(), present_values, literal(0)]
    items.append(exp.Min(this=cast(column(f"label_{height}"), "text")))
    items += checksum()
    items += [exp.Max(this=column(f"index_{level}")) for level in range(height)]
    rows = with_mix(table_expression(table), [column(name) for name in _told_apart(height, leaves)])
    return exp.select(*items).from_(subquery(traits.gathered(rows.this), rows.alias), copy=False)


def _parents_too_many(level: int) -> exp.Expression:
    """The different pairs of a label and its parent, less the labels that have one; counted by their codes."""
    code, parent = column(f"code_{level}"), column(f"code_{level + 1}")
    present = is_present(column(f"label_{level + 1}"))
    pair = exp.Add(
        this=exp.Mul(this=cast(code, "bigint"), expression=literal(CODES)), expression=cast(parent, "bigint")
    )
    pairs, labels = (
        exp.Count(this=exp.Distinct(expressions=[exp.Case().when(present.copy(), item)]))
        for item in (pair, code.copy())
    )
    return exp.Sub(this=pairs, expression=labels)


def _told_apart(height: int, leaves: Leaves) -> list[str]:
    parts = {"listed": ("code",), "occurring": ("code", "leaves"), "places": ("code", "leaves", "start")}
    names = [f"{part}_{level}" for part in parts[leaves] for level in range(height)]
    return [*names, f"leaves_{height}"] if leaves == "places" else names


def several_parents(table: Table, level: int, height: int) -> exp.Select:
    """How many labels of a level have more than one parent."""
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
