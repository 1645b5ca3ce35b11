"""The values of sensitive columns as scratch tables: their codes, their distribution in the source, their labels.

Built twice: for the search from the frequency set, and at publish time from the source as it then stands.
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
from sqlanon.source import sensitive_statements as sensitive_sql
from sqlanon.source.binding import BoundSensitive
from sqlanon.source.hierarchies import StoredHierarchy, store_hierarchy
from sqlanon.source.hierarchy_statements import domain
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import named
from sqlanon.sql.relations import Table, column, explained, table_expression
from sqlanon.sql.traits import Traits
from sqlanon.sql.values import Counted, ValueTables


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
        return sensitive_sql.value_codes(values, text, text, item.flagged, item.order)
    # Numbers that are equal may be spelled with more zeros or fewer: 1.5 and 1.50 are one value, however it is named.
    shortest = traits.key(sensitive_sql.without_zeros(spelled), Family.TEXT)
    return sensitive_sql.value_codes(values, text, shortest, tuple(map(_shortest, item.flagged)), item.order)


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
        [(number,)] = engine.query(Statement(f"order of {item.name}", sensitive_sql.uncoded(table)))
        if number:
            raise SpecError(
                f"privacy.t_closeness: {number} values of column '{item.name}' are not in its order; list them all"
            )
    found: Sequence[Any] = ()
    if item.flagged:
        query = sensitive_sql.flagged_values(table, len(item.flagged))
        [found] = engine.query(Statement(f"named values of {item.name}", query))
    return ValueCodes(item, position, table, tuple(int(code) for code in found))


def store_values(
    engine: Engine, codes: ValueCodes, scratch: Scratch, counted: Counted, prefix: str = ""
) -> SensitiveValues:
    """The distribution of a column over all counted rows, and its labels where it has a hierarchy."""
    item, position = codes.item, codes.position
    place = _place(prefix, item.name, position)
    query = sensitive_sql.reference(counted, position, codes.table, len(item.flagged))
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
    labels = sensitive_sql.labels(values, codes.table, hierarchy.table.table, hierarchy.height)
    table = scratch.create(f"labels of {item.name}", f"labels_{place}", labels)
    made = (values, table, hierarchy.table.table)
    return SensitiveValues(item, ValueTables(values, table), codes.named, made, hierarchy)


def _place(prefix: str, name: str, position: int) -> str:
    """A name for what is made of a column, apart from all others: plain names have no two underscores in a row."""
    return f"{prefix}__{explained([name])[name]}_{position}"


def unread_values(codes: ValueCodes) -> SensitiveValues:
    """A column whose distribution no model reads."""
    return SensitiveValues(codes.item, ValueTables(codes.table), codes.named, ())
