"""The frequency set of a source: the one scan, the hierarchies from its domains, and the packing.

Everything after it works on this table; its size is the number of distinct combinations, not of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source import sensitive as sensitive_sql
from sqlanon.source.binding import Binding
from sqlanon.source.frequency_statements import (
    MOST_VALUES,
    HierarchyTable,
    Shape,
    ValueSet,
    layout_of,
    value_set,
    with_sets,
)
from sqlanon.source.hierarchies import StoredHierarchy, store_hierarchy
from sqlanon.source.hierarchy_statements import domain
from sqlanon.source.scratch import Scratch
from sqlanon.source.sensitive import SensitiveValues, ValueCodes, store_codes, store_values, unread_values
from sqlanon.sql.build import row_count
from sqlanon.sql.relations import Table, cast, column, explained, table_expression
from sqlanon.sql.values import Counted

LARGEST_INT = 2**31 - 1

MANY = 2**31
"""How many combinations a population may have: nobody counts them."""


@dataclass(frozen=True)
class Base:
    """The scan's result: distinct combinations of the quasi-identifier, and of what models need, with their rows."""

    table: Table
    combinations: int
    rows: int
    domains: tuple[Table, ...]
    """For each column, its distinct values with their rows."""
    nulls: tuple[bool, ...]
    """For each column, whether the source or the population has NULL in it."""
    population: Table | None = None
    """The population's distinct combinations with their rows `population_rows`."""


@dataclass(frozen=True)
class FrequencySet:
    """The packed base, ready to evaluate nodes on."""

    table: Table
    combinations: int
    rows: int
    hierarchies: tuple[StoredHierarchy, ...]
    domains: tuple[Table, ...]
    shape: Shape
    """What node queries need to know of it."""
    fingerprint: str
    """Changes when anything that a verdict depends on does: combinations, their rows, the hierarchies' codes."""
    sensitive: tuple[SensitiveValues, ...] = ()

    @property
    def hierarchy_tables(self) -> tuple[HierarchyTable, ...]:
        return tuple(hierarchy.table for hierarchy in self.hierarchies)


def scan(engine: Engine, binding: Binding, scratch: Scratch) -> Base:
    """Read the source once. An empty source is an error, never a safe release."""
    width = len(binding.quasi_identifiers)
    source = engine.traits.relation(binding.source, "source")
    table = scratch.create("scan source", "base", frequency_sql.base_groups(source, _keys(engine, binding)))
    [(combinations, rows, *nulls)] = engine.query(Statement("count rows", frequency_sql.base_totals(table, width)))
    if not rows:
        raise InfeasibleError(f"{binding.source} has no rows: nothing to release")
    domains = [
        scratch.create("read domains", f"d{position}", frequency_sql.domain_counts(table, f"q_{position}"))
        for position in range(width)
    ]
    found = [bool(number) for number in nulls]
    population = None
    if binding.population is not None:
        population, elsewhere = _scan_population(engine, binding, scratch)
        found = [here or there for here, there in zip(found, elsewhere, strict=True)]
    return Base(table, int(combinations), int(rows), tuple(domains), tuple(found), population)


def _keys(engine: Engine, binding: Binding) -> dict[str, exp.Expression]:
    traits, respondent = engine.traits, binding.respondent
    return frequency_sql.base_keys(
        [item.key("source", traits) for item in binding.quasi_identifiers],
        [item.key("source", traits) for item in binding.sensitive],
        None if respondent is None else respondent.key("source", traits),
    )


def _scan_population(engine: Engine, binding: Binding, scratch: Scratch) -> tuple[Table, list[bool]]:
    if binding.population is None:
        raise ValueError("no population is bound")
    columns = [item.key("population", engine.traits) for item in binding.population.columns]
    keys = frequency_sql.base_keys(columns)
    relation = engine.traits.relation(binding.population.relation, "population")
    table = scratch.create(
        "scan population", "people", frequency_sql.base_groups(relation, keys, count_as="population_rows")
    )
    totals = frequency_sql.base_totals(table, len(columns), counted="population_rows")
    [(_, rows, *nulls)] = engine.query(Statement("count population", totals))
    if not rows:
        raise InfeasibleError("privacy.population: it has no rows, so nobody could be in the release")
    return table, [bool(number) for number in nulls]


def store_hierarchies(
    engine: Engine, binding: Binding, base: Base, scratch: Scratch, *, show_values: bool = False, prefix: str = ""
) -> tuple[StoredHierarchy, ...]:
    """Build and validate the hierarchy of every quasi-identifier from the values of source and population.

    A second set of hierarchies in one run is told from the first by its prefix.
    """
    plain = explained(binding.names)
    people = 0 if base.population is None else MANY
    with engine.few_rows(max(base.combinations, people)):
        return tuple(
            store_hierarchy(
                engine,
                item,
                _domain(base, position),
                scratch,
                f"{prefix}__{plain[item.name]}" if prefix else plain[item.name],
                has_null=base.nulls[position],
                show_values=show_values,
            )
            for position, item in enumerate(binding.quasi_identifiers)
        )


def _domain(base: Base, position: int) -> exp.Query:
    own = domain(table_expression(base.domains[position]), column("value"))
    if base.population is None:
        return own
    return exp.union(own, domain(table_expression(base.population), column(f"q_{position}")), distinct=True)


def pack(
    engine: Engine,
    binding: Binding,
    base: Base,
    hierarchies: Sequence[StoredHierarchy],
    scratch: Scratch,
    *,
    again: bool = False,
) -> FrequencySet:
    """Join the base once to every hierarchy and pack each combination; the base is dropped then, unless it is to be
    packed again."""
    tables = tuple(hierarchy.table for hierarchy in hierarchies)
    coded = [
        store_codes(engine, item, scratch, position, table_expression(base.table), column(f"v_{position}"))
        for position, item in enumerate(binding.sensitive)
    ]
    shape = Shape(
        tables,
        "int" if base.rows <= LARGEST_INT else "bigint",
        persons=binding.persons,
        population=_pack_population(base, tables, scratch),
        sets=_sets(engine, coded),
        sensitive=len(coded),
    )
    query = _packed_query(base, shape, [item.table for item in coded])
    table, combinations = scratch.create_counted("pack frequency set", "frequency", query)
    if not again:
        scratch.drop(base.table)
    everything = Counted(exp.select().from_(table_expression(table)), (), binding.persons)
    sensitive = tuple(
        unread_values(item) if position in shape.sets else store_values(engine, item, scratch, everything)
        for position, item in enumerate(coded)
    )
    shape = replace(shape, tables=tuple(item.tables for item in sensitive))
    return FrequencySet(
        table,
        combinations,
        base.rows,
        tuple(hierarchies),
        base.domains,
        shape,
        _fingerprint(engine, table, base, [*hierarchies, *_own_hierarchies(sensitive)], sensitive, shape),
        sensitive,
    )


def _sets(engine: Engine, coded: Sequence[ValueCodes]) -> dict[int, ValueSet]:
    """The columns that are held as sets of values: where that is enough, and they have few."""
    found: dict[int, ValueSet] = {}
    for item in coded:
        if item.item.only_number:
            query = row_count(table_expression(item.table))
            [(values,)] = engine.query(Statement(f"count values of {item.item.name}", query))
            if values < MOST_VALUES:
                found[item.position] = value_set(item.position, int(values), engine.traits)
    return found


def _packed_query(base: Base, shape: Shape, codes: Sequence[Table]) -> exp.Select:
    counts = {"n": cast(column("n", "base"), shape.count_type)}
    more = ["who"] if shape.persons else []
    query = frequency_sql.packed(base.table, shape.hierarchies, shape.layout, counts, codes, more)
    words = [f"p_{word}" for word in range(shape.layout.words)]
    if shape.persons:
        return sensitive_sql.respondents(query, [*words, *(f"s_{position}" for position in range(len(codes)))])
    if shape.sets:
        query = with_sets(query, [*words, *shape.others], dict(shape.sets), shape.count_type)
        return query.order_by(*(column(word) for word in words), copy=False)
    return query


def _own_hierarchies(sensitive: Sequence[SensitiveValues]) -> list[StoredHierarchy]:
    return [item.hierarchy for item in sensitive if item.hierarchy is not None]


def _pack_population(base: Base, tables: Sequence[HierarchyTable], scratch: Scratch) -> Table | None:
    if base.population is None:
        return None
    query = frequency_sql.packed(
        base.population, tables, layout_of(tables), {"population_rows": column("population_rows", "base")}
    )
    table = scratch.create("pack population", "population", query)
    scratch.drop(base.population)
    return table


def _fingerprint(
    engine: Engine,
    table: Table,
    base: Base,
    hierarchies: Sequence[StoredHierarchy],
    sensitive: Sequence[SensitiveValues],
    shape: Shape,
) -> str:
    """Values are in it by their codes: which of them a model names has to be in it too."""
    [sums] = engine.query(Statement("fingerprint", frequency_sql.frequency_checksum(table, shape.columns), fresh=True))
    content = [base.combinations, base.rows, *(int(number) for number in sums)]
    content += [number for hierarchy in hierarchies for number in (hierarchy.height, *hierarchy.checksum)]
    content += [code for item in sensitive for code in item.named]
    if shape.population is not None:
        words = [f"p_{word}" for word in range(shape.layout.words)]
        query = frequency_sql.frequency_checksum(shape.population, [*words, "population_rows"])
        [people] = engine.query(Statement("fingerprint", query))
        content += [int(number) for number in people]
    return sha256(repr(content).encode()).hexdigest()[:32]
