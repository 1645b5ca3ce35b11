"""The values of sensitive columns as scratch tables: their codes, their distribution in the source, their labels.

Built twice: for the search from the frequency set, and at publish time from the source as it then stands.
Codes number the values in order, from 1; NULL is 0. They are what counted rows hold in place of values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SpecError
from sqlanon.hierarchies.base import Family
from sqlanon.source.binding import BoundSensitive
from sqlanon.source.frequency_statements import code
from sqlanon.source.hierarchies import StoredHierarchy, store_hierarchy
from sqlanon.source.hierarchy_statements import domain
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import count, equal, is_null, named, subquery, total, total_where
from sqlanon.sql.relations import Table, cast, column, explained, identifier, literal, table_expression
from sqlanon.sql.traits import Traits
from sqlanon.sql.values import Counted, Values, ValueTables, joined, relation, whole


@dataclass(frozen=True)
class SensitiveColumn:
    """A sensitive column as counted rows hold it: by codes."""

    key: exp.Expression
    """The column as a grouping key, read from alias `source`."""
    codes: Table | exp.Query
    plain: str = ""
    """A plain name of the column."""

    @property
    def alias(self) -> str:
        return f"values_{self.plain}"

    @property
    def code(self) -> str:
        """What counted rows call the code of the column's value."""
        return f"{self.plain}_code"


def value_codes(
    domain: exp.Query, text: exp.Expression, name: exp.Expression, flagged: Sequence[str], order: Sequence[str] = ()
) -> exp.Select:
    """The distinct `value`s of a domain with their `code`, and for each text in `flagged` whether it is that one.

    `text` spells the value, `name` as models name it. With a declared order, codes follow it; a value outside it has
    no code.
    """
    flags = [named(_is(name.copy(), wanted), f"is_{index}") for index, wanted in enumerate(flagged)]
    select = exp.select(column("value"), named(_position(text.copy(), order), "code"), *flags)
    return select.from_(subquery(domain, "domain"))


def _is(text: exp.Expression, wanted: str) -> exp.Expression:
    return exp.Coalesce(this=equal(text, literal(wanted)), expressions=[exp.false()])


def _position(text: exp.Expression, order: Sequence[str]) -> exp.Expression:
    absent = is_null(column("value"))
    if order:
        declared = exp.Case().when(absent, literal(0))
        for position, wanted in enumerate(order, start=1):
            declared = declared.when(equal(text.copy(), literal(wanted)), literal(position))
        return declared
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[absent],
        order=exp.Order(expressions=[exp.Ordered(this=column("value"))]),
    )
    return exp.Case().when(absent.copy(), literal(0)).else_(cast(number, "int"))


def without_zeros(text: exp.Expression) -> exp.Expression:
    """The text of a number without zeros at the end of its fraction."""
    has_fraction = exp.Like(this=text, expression=literal("%.%"))
    shorter = _without_trailing(_without_trailing(text.copy(), "0"), ".")
    return exp.Case().when(has_fraction, shorter).else_(text.copy())


def _without_trailing(text: exp.Expression, character: str) -> exp.Expression:
    return exp.Trim(this=text, expression=literal(character), position="TRAILING")


def uncoded(codes: Table) -> exp.Select:
    """How many values a declared order leaves out."""
    return exp.select(total_where(is_null(column("code")), literal(1))).from_(relation(codes, "codes"))


def flagged_values(codes: Table, flags: int) -> exp.Select:
    """For each flag, the code of the value that has it: 0 where the source has no such value."""
    found = [total_where(column(f"is_{index}"), column("code")) for index in range(flags)]
    return exp.select(*found).from_(relation(codes, "codes"))


def reference(counted: Counted, position: int, codes: Table | exp.Query, flags: int, code_name: str = "") -> exp.Select:
    """How the whole source, as one class, distributes a column; what `ValueTables.values` names."""
    everything = Counted(counted.rows, (), counted.persons)
    values = Values(everything, position, ValueTables(codes, code=code_name))
    held = everything.grouped(
        named(everything.size(), "members"), by=[("code_held", column(code_name or f"s_{position}"))]
    )
    both = exp.select(
        named(column("code_held", "held"), "code"),
        named(column("members", "held"), "reference_held"),
        named(exp.Coalesce(this=column("members", "assigned"), expressions=[literal(0)]), "reference_assigned"),
    ).from_(subquery(held, "held"))
    both = joined(both, subquery(values.assigned(), "assigned"), ["code_held"], "held", "assigned", "left")
    running = exp.select(exp.Star(), named(_upto(column("reference_assigned")), "reference_below")).from_(
        subquery(both, "both")
    )
    whole_source = exp.Window(this=exp.Sum(this=column("reference_assigned", "running")))
    everywhere = exp.Window(this=exp.Sum(this=column("reference_below", "running")))
    steps = exp.Sub(this=exp.Window(this=count()), expression=literal(1))
    items = [column(name, "running") for name in ("code", "reference_held", "reference_assigned", "reference_below")]
    items += [column(f"is_{index}", "codes") for index in range(flags)]
    select = exp.select(
        *items,
        named(whole(whole_source), "total"),
        named(cast(everywhere, "decimal(38, 0)"), "reference_everywhere"),
        named(whole(steps), "steps"),
    ).from_(subquery(running, "running"))
    return select.join(relation(codes, "codes"), on=equal(column("code", "running"), column("code", "codes")))


def _upto(value: exp.Expression) -> exp.Expression:
    order = exp.Order(expressions=[exp.Ordered(this=column("code"))])
    return whole(exp.Window(this=exp.Sum(this=value), order=order))


def labels(
    values: Table | exp.Query, codes: Table | exp.Query, hierarchy: Table | exp.Query, height: int
) -> exp.Select:
    """What `ValueTables.labels` names: for each level below the top, the label of each value and the label's rows."""
    result: exp.Query | None = None
    for level in range(height):
        key = column("value", "codes")
        label = column("code", "codes") if level == 0 else code(key, "hierarchy", level)
        select = exp.select(
            named(literal(level), "level"),
            named(column("code", "codes"), "code"),
            named(cast(label, "bigint"), "label"),
            named(column("reference_assigned", "reference"), "reference_of_value"),
            named(column("total", "reference"), "total"),
        ).from_(relation(codes, "codes"))
        select = select.join(
            relation(values, "reference"), on=equal(column("code", "codes"), column("code", "reference"))
        )
        select = select.join(
            relation(hierarchy, "hierarchy"),
            on=equal(column("value", "codes"), column("value", "hierarchy")),
            join_type="left",
        )
        result = select if result is None else exp.union(result, select, distinct=False, copy=False)
    if result is None:
        raise ValueError("a hierarchy has at least one level below its top")
    shared = exp.Window(
        this=exp.Sum(this=column("reference_of_value")), partition_by=[column("level"), column("label")]
    )
    items: list[exp.Expression] = [column(name) for name in ("level", "code", "label", "total")]
    items.append(named(literal(height), "levels"))
    return exp.select(*items, named(whole(shared), "reference_members")).from_(subquery(result, "labelled"))


def respondents(rows: exp.Select, keys: Sequence[str]) -> exp.Select:
    """Rows with `who` as counted rows.

    `respondent` numbers respondents that have several of them, `lone_respondents` counts the others.
    """
    who = column("who")
    several = exp.GT(this=exp.Window(this=count(), partition_by=[who]), expression=literal(1))
    rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=who.copy())]))
    numbered = exp.select(
        *(column(name) for name in keys),
        column("n"),
        named(exp.Case().when(several, cast(rank, "bigint")), "respondent"),
        named(exp.Case().when(several.copy(), literal(0)).else_(literal(1)), "lone_respondents"),
    ).from_(subquery(rows, "rows"))
    names = [identifier(name) for name in (*keys, "respondent")]
    columns = [exp.Column(this=name) for name in names]
    return (
        exp.select(
            *columns,
            named(whole(total(column("n"))), "n"),
            named(whole(total(column("lone_respondents"))), "lone_respondents"),
        )
        .from_(subquery(numbered, "numbered"))
        .group_by(*(item.copy() for item in columns))
    )


@dataclass(frozen=True)
class ValueCodes:
    """The numbered values of a column."""

    item: BoundSensitive
    position: int
    table: Table
    named: tuple[int, ...]
    """Codes of the values that models name; 0 for one that the source does not have."""


@dataclass(frozen=True)
class SensitiveValues:
    """A column's values as requirements read them."""

    item: BoundSensitive
    tables: ValueTables
    named: tuple[int, ...]
    """Codes of the values that models name; 0 for one that the source does not have."""
    made: tuple[Table, ...]
    hierarchy: StoredHierarchy | None = None

    @property
    def absent(self) -> tuple[str, ...]:
        """Values that models name and the source does not have."""
        return tuple(value for value, code in zip(self.item.flagged, self.named, strict=True) if not code)

    @property
    def height(self) -> int:
        return 0 if self.hierarchy is None else self.hierarchy.height


def codes_query(item: BoundSensitive, relation: exp.Expression, key: exp.Expression, traits: Traits) -> exp.Select:
    """The distinct values of a column, NULL among them, with their codes and flags."""
    values = exp.select(named(key, "value")).distinct().from_(relation)
    spelled = traits.text(column("value"), item.family)
    text = traits.key(spelled, Family.TEXT)
    if item.family is not Family.DECIMAL:
        return value_codes(values, text, text, item.flagged, item.order)
    # Numbers that are equal may be spelled with more zeros or fewer: 1.5 and 1.50 are one value, however it is named.
    shortest = traits.key(without_zeros(spelled), Family.TEXT)
    return value_codes(values, text, shortest, tuple(map(_shortest, item.flagged)), item.order)


def _shortest(text: str) -> str:
    """A number in its shortest spelling; other texts as they are.

    >>> _shortest("1.50"), _shortest("1e2"), _shortest("-0"), _shortest("NaN")
    ('1.5', '100', '0', 'NaN')
    """
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    return f"{number.normalize() + 0:f}" if number.is_finite() else text


def store_codes(
    engine: Engine,
    item: BoundSensitive,
    scratch: Scratch,
    position: int,
    relation: exp.Expression,
    key: exp.Expression,
    prefix: str = "",
) -> ValueCodes:
    """Number the values of a column. A declared order must name all of them."""
    query = codes_query(item, relation, key, engine.traits)
    table = scratch.create(f"values of {item.name}", f"values_{_place(prefix, item.name, position)}", query)
    if item.order:
        [(number,)] = engine.query(Statement(f"order of {item.name}", uncoded(table)))
        if number:
            raise SpecError(
                f"privacy.t_closeness: {number} values of column '{item.name}' are not in its order; list them all"
            )
    found: Sequence[Any] = ()
    if item.flagged:
        query = flagged_values(table, len(item.flagged))
        [found] = engine.query(Statement(f"named values of {item.name}", query))
    return ValueCodes(item, position, table, tuple(int(code) for code in found))


def store_values(
    engine: Engine, codes: ValueCodes, scratch: Scratch, counted: Counted, prefix: str = ""
) -> SensitiveValues:
    """The distribution of a column over all counted rows, and its labels where it has a hierarchy."""
    item, position = codes.item, codes.position
    place = _place(prefix, item.name, position)
    query = reference(counted, position, codes.table, len(item.flagged))
    values = scratch.create(f"distribution of {item.name}", f"distribution_{place}", query)
    if item.rule is None:
        return SensitiveValues(item, ValueTables(values), codes.named, (values,))
    hierarchy = store_hierarchy(
        engine,
        item.hierarchy(),
        domain(table_expression(codes.table), column("value")),
        scratch,
        f"s{place}",
        has_null=False,
    )
    shown = labels(values, codes.table, hierarchy.table.table, hierarchy.height)
    table = scratch.create(f"labels of {item.name}", f"labels_{place}", shown)
    made = (values, table, hierarchy.table.table)
    return SensitiveValues(item, ValueTables(values, table), codes.named, made, hierarchy)


def _place(prefix: str, name: str, position: int) -> str:
    """A name for what is made of a column, apart from all others: plain names have no two underscores in a row."""
    return f"{prefix}__{explained([name])[name]}_{position}"


def unread_values(codes: ValueCodes) -> SensitiveValues:
    """A column whose distribution no model reads."""
    return SensitiveValues(codes.item, ValueTables(codes.table), codes.named, ())
