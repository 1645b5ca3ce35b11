"""Values of a sensitive column as an audit sees them: numbered, with their share of the reference and their holders.

Steps by name, to stand in one WITH clause. `domain`: value, code (from 1 in value order, NULL first). `reference`: what
else a model reads of a value, `reference` being how many of `total` have it. Where persons are counted instead of rows,
`<prefix>_cells` tells who holds which value in each class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor.statements.classes import AuditQuestion, Steps, step, wide
from sqlanon.sql.build import count, equal, is_null, is_present, named, scalar, subquery, total
from sqlanon.sql.relations import cast, column, literal


def holdings(
    prefix: str, rows: exp.Select, keys: Sequence[exp.Expression], person: exp.Expression, code: exp.Expression
) -> Steps:
    """The queries up to `<prefix>_cells`; `rows` is a select without items over which keys, person and code read.

    A cell has class, code, held (persons of the class that hold the value), members (persons that count for it: each
    once, for the value of theirs that most of the class hold, the first in value order among equals), rows, and sole
    (persons counted here that alone hold some value).
    """
    names = [f"key_{position}" for position in range(len(keys))]
    return {
        f"{prefix}_holdings": _holdings(rows, dict(zip(names, keys, strict=True)), person, code),
        f"{prefix}_placed": _placed(f"{prefix}_holdings", names),
        f"{prefix}_chosen": _chosen(f"{prefix}_placed"),
        f"{prefix}_cells": _cells(f"{prefix}_chosen"),
    }


def sized(prefix: str) -> exp.Select:
    """The cells with what is true of their whole class: size in persons, rows, and `sole` persons."""
    by_class = [column("class")]
    items: list[exp.Expression] = [column(name) for name in ("class", "code", "held", "members")]
    for name, of in (("size", "members"), ("rows", "rows"), ("sole", "sole")):
        whole = exp.Window(this=exp.Sum(this=column(of)), partition_by=[item.copy() for item in by_class])
        items.append(named(cast(whole, "bigint"), name))
    return exp.select(*items).from_(step(f"{prefix}_cells"), copy=False)


def _holdings(
    rows: exp.Select, keys: dict[str, exp.Expression], person: exp.Expression, code: exp.Expression
) -> exp.Select:
    """Each person's values in each class, once; numbered."""
    grouped = {**keys, "person": person, "code": code}
    items = [named(value.copy(), name) for name, value in grouped.items()]
    number = exp.Window(this=exp.RowNumber())
    select = rows.select(*items, named(count(), "rows"), named(number, "number"))
    return select.group_by(*(value.copy() for value in grouped.values()), copy=False)


def _placed(name: str, keys: Sequence[str]) -> exp.Select:
    held = exp.Window(this=count(), partition_by=[column(key) for key in (*keys, "code")])
    return exp.select(
        named(class_number(keys), "class"), column("person"), column("code"), column("rows"), named(held, "held")
    ).from_(step(name), copy=False)


def class_number(keys: Sequence[str]) -> exp.Expression:
    """A whole number for the class of numbered rows, so that its keys are compared once."""
    least = exp.Min(this=column("number"))
    return exp.Window(this=least, partition_by=[column(key) for key in keys]) if keys else literal(1)


def _chosen(name: str) -> exp.Select:
    own: list[exp.Expression] = [column("class"), column("person")]
    order = exp.Order(expressions=[exp.Ordered(this=column("held"), desc=True), exp.Ordered(this=column("code"))])
    place = exp.Window(this=exp.RowNumber(), partition_by=own, order=order)
    least = exp.Window(this=exp.Min(this=column("held")), partition_by=[item.copy() for item in own])
    items = [column(item) for item in ("class", "code", "rows", "held")]
    return exp.select(*items, named(place, "place"), named(least, "least")).from_(step(name), copy=False)


def _cells(name: str) -> exp.Select:
    first = equal(column("place"), literal(1))
    alone = exp.And(this=first.copy(), expression=equal(column("least"), literal(1)))
    return (
        exp.select(
            column("class"),
            column("code"),
            named(count(), "held"),
            named(exp.Count(this=exp.Case().when(first, literal(1))), "members"),
            named(cast(exp.Sum(this=column("rows")), "bigint"), "rows"),
            named(exp.Count(this=exp.Case().when(alone, literal(1))), "sole"),
        )
        .from_(step(name), copy=False)
        .group_by(column("class"), column("code"))
    )


@dataclass(frozen=True)
class CountedSide:
    """A relation with the sensitive column as a grouping key, and the person's where persons are counted."""

    relation: exp.Expression
    value: exp.Expression
    person: exp.Expression | None = None


@dataclass(frozen=True)
class Taxonomy:
    """The sensitive column's own hierarchy: a relation `taxonomy` whose key `value` has labels label_1 ... label_H."""

    relation: exp.Expression
    value: exp.Expression
    height: int


@dataclass(frozen=True)
class AuditedValues:
    """What is read of a sensitive column's values."""

    audited: CountedSide
    source: CountedSide | None
    text: exp.Expression
    """The text of column `value`, byte-wise."""
    flagged: tuple[str, ...] = ()
    """Values that models name, as texts."""
    ordered: bool = False
    order: tuple[str, ...] = ()
    """The declared order; empty: the order of the values themselves."""
    taxonomy: Taxonomy | None = None

    @property
    def persons(self) -> bool:
        return self.audited.person is not None

    @property
    def reference(self) -> CountedSide:
        """Where shares of the whole come from: the source, or the table itself."""
        return self.audited if self.source is None else self.source


def domain_question(name: str, values: AuditedValues) -> AuditQuestion:
    """What there is to compare of a column: the rows of the table and of the reference, distinct values, whether NULL
    is one of them, how many values the declared order does not list, how many the taxonomy does not cover.
    """
    outside_order = exp.GT(this=_rank(values), expression=literal(len(values.order)))
    uncovered = exp.And(this=is_null(column("covered")), expression=is_present(column("value")))
    figures: dict[str, exp.Expression] = {
        "rows": scalar(exp.select(count()).from_(values.audited.relation.copy(), copy=False)),
        "reference_rows": scalar(exp.select(count()).from_(values.reference.relation.copy(), copy=False)),
        "distinct_values": count(),
        "nulls": _number(is_null(column("value"))),
        "outside_order": _number(outside_order) if values.order else literal(0),
        "outside_hierarchy": _number(uncovered) if values.taxonomy else literal(0),
    }
    known = subquery(_distinct_values(values), "domain")
    if values.taxonomy is not None:
        items = [column("value", "domain"), named(values.taxonomy.value.copy(), "covered")]
        known = subquery(_with_taxonomy(exp.select(*items).from_(known, copy=False), values.taxonomy), "known")
    return AuditQuestion(f"values of {name}", exp.select().from_(known, copy=False), figures)


def reference_queries(values: AuditedValues) -> Steps:
    """The queries up to `reference`."""
    queries = _person_counts(values) if values.persons else _row_counts(values)
    held = column("held_reference" if values.persons else "reference")
    occurs = exp.GT(this=held, expression=literal(0))
    select = exp.select(
        exp.Star(),
        named(cast(_over(exp.Sum(this=column("reference"))), "bigint"), "total"),
        named(_over(exp.Count(this=exp.Case().when(occurs, literal(1)))), "reference_values"),
        named(exp.Case().when(occurs.copy(), cast(held.copy(), "double")), "divisor"),
    )
    for position, value in enumerate(values.flagged):
        flag = exp.Case().when(equal(values.text.copy(), literal(value)), literal(1)).else_(literal(0))
        select = select.select(named(flag, f"flag_{position}"), copy=False)
    name = "counted"
    if values.taxonomy is not None:
        queries["labelled"] = _labelled(values.taxonomy)
        name = "labelled"
    if values.ordered:
        queries["ranked"] = _ranked(values, name)
        queries["placed"] = _values_placed()
        name = "placed"
    queries["reference"] = select.from_(step(name), copy=False)
    return queries


def code_of(value: exp.Expression) -> exp.Expression:
    """The code of a value, beside `domain` joined by it: NULL, where there is one, is the first value."""
    return exp.Case().when(is_null(value.copy()), literal(1)).else_(column("code", "domain"))


def with_domain(select: exp.Select, value: exp.Expression) -> exp.Select:
    """A select with each row's value looked up."""
    on = equal(value.copy(), column("value", "domain"))
    return select.join(step("domain"), on=on, join_type="left", copy=False)


def _distinct_values(values: AuditedValues) -> exp.Query:
    sides = [values.audited] if values.source is None else [values.audited, values.source]
    queries = [
        exp.select(named(side.value.copy(), "value")).distinct(copy=False).from_(side.relation.copy(), copy=False)
        for side in sides
    ]
    return queries[0] if len(queries) == 1 else exp.union(queries[0], queries[1], distinct=True)


def _numbered(relation: exp.Expression, *items: exp.Expression) -> exp.Select:
    order = exp.Order(expressions=[exp.Ordered(this=column("value"), nulls_first=True)])
    code = exp.Window(this=exp.RowNumber(), order=order)
    return exp.select(column("value"), *items, named(code, "code")).from_(relation, copy=False)


def _row_counts(values: AuditedValues) -> Steps:
    """`domain` with its rows of the reference; values that only the table has are none of its rows."""
    side = values.reference
    found: exp.Query = (
        exp.select(named(side.value.copy(), "value"), named(count(), "reference"))
        .from_(side.relation.copy(), copy=False)
        .group_by(side.value.copy())
    )
    if values.source is not None:
        more = exp.select(named(values.audited.value.copy(), "value"), named(cast(literal(0), "bigint"), "reference"))
        more = more.distinct(copy=False).from_(values.audited.relation.copy(), copy=False)
        reference = cast(exp.Sum(this=column("reference")), "bigint")
        both = subquery(exp.union(found, more, distinct=False), "both")
        found = (
            exp.select(column("value"), named(reference, "reference")).from_(both, copy=False).group_by(column("value"))
        )
    domain = _numbered(subquery(found, "found"), column("reference"))
    return {"domain": domain, "counted": exp.select(exp.Star()).from_(step("domain"), copy=False)}


def _person_counts(values: AuditedValues) -> Steps:
    """`domain`, and for each of its values how many persons of the reference hold it and how many it stands for."""
    side = values.reference
    if side.person is None:
        raise ValueError("persons are counted on both sides or on none")
    rows = with_domain(exp.select().from_(side.relation.copy(), copy=False), side.value)
    queries: Steps = {"domain": _numbered(subquery(_distinct_values(values), "found"))}
    queries |= holdings("source", rows, [], side.person, code_of(side.value))
    held = exp.Coalesce(this=column("held", "source_cells"), expressions=[literal(0)])
    members = exp.Coalesce(this=column("members", "source_cells"), expressions=[literal(0)])
    queries["counted"] = (
        exp.select(
            column("value", "domain"),
            column("code", "domain"),
            named(members, "reference"),
            named(held, "held_reference"),
        )
        .from_(step("domain"), copy=False)
        .join(
            step("source_cells"),
            on=equal(column("code", "domain"), column("code", "source_cells")),
            join_type="left",
        )
    )
    return queries


def _with_taxonomy(select: exp.Select, taxonomy: Taxonomy, alias: str = "domain") -> exp.Select:
    on = equal(column("value", alias), taxonomy.value.copy())
    return select.join(taxonomy.relation.copy(), on=on, join_type="left", copy=False)


def _labelled(taxonomy: Taxonomy) -> exp.Select:
    """Each value with its node of every level between the leaves and the top, and that node's reference.

    A node is named by the least code under it. The label of NULL is NULL up to the top: a node of its own.
    """
    items: list[exp.Expression] = [exp.Column(this=exp.Star(), table=exp.to_identifier("counted", quoted=True))]
    for level in range(1, taxonomy.height):
        label = column(f"label_{level}", "taxonomy")
        node = exp.Window(this=exp.Min(this=column("code", "counted")), partition_by=[label])
        reference = exp.Window(this=exp.Sum(this=column("reference", "counted")), partition_by=[label.copy()])
        items += [named(node, f"node_{level}"), named(cast(reference, "bigint"), f"reference_{level}")]
    return _with_taxonomy(exp.select(*items).from_(step("counted"), copy=False), taxonomy, "counted")


def _rank(values: AuditedValues) -> exp.Expression:
    """The place of column `value` in the declared order, from 1; NULL before all, what is not listed after all."""
    rank = exp.Case().when(is_null(column("value")), literal(0))
    for place, text in enumerate(values.order, start=1):
        rank = rank.when(equal(values.text.copy(), literal(text)), literal(place), copy=False)
    return rank.else_(literal(len(values.order) + 1))


def _ranked(values: AuditedValues, name: str) -> exp.Select:
    rank = _rank(values) if values.order else column("code")
    return exp.select(exp.Star(), named(rank, "rank")).from_(step(name), copy=False)


def _values_placed() -> exp.Select:
    """Values in order: `place` from 1, `below` the reference up to and with it, `before` the sum of `below` up to but
    without it, `places` and `work` the place and the sum of the last.
    """
    order = [column("rank"), column("code")]
    first = exp.select(
        exp.Star(),
        named(_over(exp.RowNumber(), order), "place"),
        named(cast(_over(exp.Sum(this=column("reference")), order), "bigint"), "below"),
    ).from_(step("ranked"), copy=False)
    upto = exp.Sub(this=_over(_wide_sum("below"), [column("place")]), expression=wide(column("below")))
    return exp.select(
        exp.Star(),
        named(upto, "before"),
        named(_over(count()), "places"),
        named(_over(_wide_sum("below")), "work"),
    ).from_(subquery(first, "first"), copy=False)


def _wide_sum(name: str) -> exp.Expression:
    return exp.Sum(this=wide(column(name)))


def _over(value: exp.Expression, order: Sequence[exp.Expression] = ()) -> exp.Window:
    ordered = exp.Order(expressions=[exp.Ordered(this=item.copy()) for item in order]) if order else None
    return exp.Window(this=value, order=ordered)


def _number(condition: exp.Expression) -> exp.Expression:
    return total(exp.Case().when(condition, literal(1)).else_(literal(0)))
