"""The values of sensitive columns as scratch tables: their codes, their distribution in the source, their labels.

Built twice: for the search from the frequency set, and at publish time from the source as it then stands.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlanon.binding import BoundSensitive
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SpecError
from sqlanon.hierarchies.base import Family
from sqlanon.hierarchy_store import StoredHierarchy, store_hierarchy
from sqlanon.scratch import Scratch
from sqlanon.sqlgen import sensitive as sensitive_sql
from sqlanon.sqlgen.build import named
from sqlanon.sqlgen.hierarchy import domain
from sqlanon.sqlgen.relations import Table, column, table_expression
from sqlanon.sqlgen.traits import Traits
from sqlanon.sqlgen.values import Counted, ValueTables


@dataclass(frozen=True)
class ValueCodes:
    """The numbered values of a column."""

    item: BoundSensitive
    position: int
    table: Table
    absent: tuple[str, ...]
    """Values that models name and the source does not have."""


@dataclass(frozen=True)
class SensitiveValues:
    """A column's values as requirements read them."""

    item: BoundSensitive
    tables: ValueTables
    absent: tuple[str, ...]
    made: tuple[Table, ...]
    hierarchy: StoredHierarchy | None = None

    @property
    def height(self) -> int:
        return 0 if self.hierarchy is None else self.hierarchy.height


def codes_query(item: BoundSensitive, relation: exp.Expression, key: exp.Expression, traits: Traits) -> exp.Select:
    """The distinct values of a column, NULL among them, with their codes and flags."""
    values = exp.select(named(key, "value")).distinct().from_(relation)
    text = traits.key(traits.text(column("value"), item.family), Family.TEXT)
    return sensitive_sql.value_codes(values, text, item.flagged, item.order)


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
    table = scratch.create(f"values of {item.name}", f"{prefix}c{position}", query)
    if item.order:
        [(number,)] = engine.query(Statement(f"order of {item.name}", sensitive_sql.uncoded(table)))
        if number:
            raise SpecError(
                f"privacy.t_closeness: {number} values of column '{item.name}' are not in its order; list them all"
            )
    absent: tuple[str, ...] = ()
    if item.flagged:
        query = sensitive_sql.flagged_values(table, len(item.flagged))
        [found] = engine.query(Statement(f"named values of {item.name}", query))
        absent = tuple(value for value, number in zip(item.flagged, found, strict=True) if not number)
    return ValueCodes(item, position, table, absent)


def store_values(
    engine: Engine, codes: ValueCodes, scratch: Scratch, counted: Counted, prefix: str = ""
) -> SensitiveValues:
    """The distribution of a column over all counted rows, and its labels where it has a hierarchy."""
    item, position = codes.item, codes.position
    query = sensitive_sql.reference(counted, position, codes.table, len(item.flagged))
    values = scratch.create(f"distribution of {item.name}", f"{prefix}v{position}", query)
    if item.rule is None:
        return SensitiveValues(item, ValueTables(values), codes.absent, (values,))
    hierarchy = store_hierarchy(
        engine,
        item.hierarchy(),
        domain(table_expression(codes.table), column("value")),
        scratch,
        f"{prefix}s{position}",
        has_null=False,
    )
    labels = sensitive_sql.labels(values, codes.table, hierarchy.table.table, hierarchy.height)
    table = scratch.create(f"labels of {item.name}", f"{prefix}x{position}", labels)
    made = (values, table, hierarchy.table.table)
    return SensitiveValues(item, ValueTables(values, table), codes.absent, made, hierarchy)


def unread_values(codes: ValueCodes) -> SensitiveValues:
    """A column whose distribution no model reads."""
    return SensitiveValues(codes.item, ValueTables(codes.table), codes.absent, ())
