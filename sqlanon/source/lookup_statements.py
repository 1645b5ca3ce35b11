"""Lookups of one level of a hierarchy: each value with its label and the code of the label, and nothing else.

For hierarchies that nobody validates when they are read, in a script, a view or a dbt model: what cannot be relied on
is left out, and counts as not covered.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.hierarchies.base import Family
from sqlanon.source.hierarchy_statements import one_of_equals
from sqlanon.sql.build import all_of, count, equal, is_present, named, scalar, subquery
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
