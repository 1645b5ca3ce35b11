"""The frequency set of a source: the one scan, the hierarchies from its domains, and the packing.

Everything after it works on this table; its size is the number of distinct combinations, not of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from sqlanon.binding import Binding
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError
from sqlanon.hierarchy_store import StoredHierarchy, store_hierarchy
from sqlanon.scratch import Scratch
from sqlanon.sqlgen import frequency as frequency_sql
from sqlanon.sqlgen.frequency import HierarchyTable
from sqlanon.sqlgen.hierarchy import domain
from sqlanon.sqlgen.nodes import layout_of
from sqlanon.sqlgen.packing import Layout
from sqlanon.sqlgen.relations import Table, column, table_expression

LARGEST_INT = 2**31 - 1


@dataclass(frozen=True)
class Base:
    """The scan's result: distinct combinations of the quasi-identifier with their rows."""

    table: Table
    combinations: int
    rows: int
    domains: tuple[Table, ...]
    """For each column, its distinct values with their rows."""
    nulls: tuple[bool, ...]
    """For each column, whether the source has NULL in it."""


@dataclass(frozen=True)
class FrequencySet:
    """The packed base, ready to evaluate nodes on."""

    table: Table
    combinations: int
    rows: int
    hierarchies: tuple[StoredHierarchy, ...]
    domains: tuple[Table, ...]
    layout: Layout
    count_type: str
    """The type of a combination's rows: narrow while all rows together fit, because sums of it are faster."""
    fingerprint: str
    """Changes when anything that a verdict depends on does: combinations, their rows, the hierarchies' codes."""

    @property
    def hierarchy_tables(self) -> tuple[HierarchyTable, ...]:
        return tuple(hierarchy.table for hierarchy in self.hierarchies)


def scan(engine: Engine, binding: Binding, scratch: Scratch) -> Base:
    """Read the source once. An empty source is an error, never a safe release."""
    keys = [item.key("source", engine.traits) for item in binding.quasi_identifiers]
    source = engine.traits.relation(binding.source, "source")
    table = scratch.create("scan source", "base", frequency_sql.base_groups(source, keys))
    [(combinations, rows, *nulls)] = engine.query(Statement("count rows", frequency_sql.base_totals(table, len(keys))))
    if not rows:
        raise InfeasibleError(f"{binding.source} has no rows: nothing to release")
    domains = [
        scratch.create("read domains", f"d{position}", frequency_sql.domain_counts(table, position))
        for position in range(len(keys))
    ]
    return Base(table, int(combinations), int(rows), tuple(domains), tuple(bool(number) for number in nulls))


def store_hierarchies(
    engine: Engine, binding: Binding, base: Base, scratch: Scratch, *, show_values: bool = False
) -> tuple[StoredHierarchy, ...]:
    """Build and validate the hierarchy of every quasi-identifier from the base's domains."""
    return tuple(
        store_hierarchy(
            engine,
            item,
            domain(table_expression(base.domains[position]), column("value")),
            scratch,
            position,
            has_null=base.nulls[position],
            show_values=show_values,
        )
        for position, item in enumerate(binding.quasi_identifiers)
    )


def pack(engine: Engine, base: Base, hierarchies: Sequence[StoredHierarchy], scratch: Scratch) -> FrequencySet:
    """Join the base once to every hierarchy and pack each combination; the base is no longer needed then."""
    tables = [hierarchy.table for hierarchy in hierarchies]
    layout = layout_of(tables)
    count_type = "int" if base.rows <= LARGEST_INT else "bigint"
    query = frequency_sql.packed(base.table, tables, layout, count_type)
    table = scratch.create("pack frequency set", "frequency", query)
    scratch.drop(base.table)
    return FrequencySet(
        table,
        base.combinations,
        base.rows,
        tuple(hierarchies),
        base.domains,
        layout,
        count_type,
        _fingerprint(engine, table, base, hierarchies, layout),
    )


def _fingerprint(
    engine: Engine, table: Table, base: Base, hierarchies: Sequence[StoredHierarchy], layout: Layout
) -> str:
    [sums] = engine.query(Statement("fingerprint", frequency_sql.frequency_checksum(table, layout.words)))
    content = [base.combinations, base.rows, *(int(number) for number in sums)]
    content += [number for hierarchy in hierarchies for number in (hierarchy.height, *hierarchy.checksum)]
    return sha256(repr(content).encode()).hexdigest()[:32]
