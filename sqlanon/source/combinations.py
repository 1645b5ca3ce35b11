"""The combinations of a source by ordinals: what class-wise recoders assign to classes, and the ordered domains.

Made from the scan's base; sizes are those of distinct combinations and values, not of rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.hierarchies.base import Formula, Lookup
from sqlanon.source import combination_statements as combinations_sql
from sqlanon.source import sensitive as sensitive_sql
from sqlanon.source.binding import ORDERED, Binding
from sqlanon.source.combination_statements import Listing, Ordinals
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.scratch import Scratch
from sqlanon.source.sensitive import SensitiveColumn, SensitiveValues, store_codes, store_values
from sqlanon.sql.build import row_count
from sqlanon.sql.relations import Table, column, table_expression
from sqlanon.sql.values import Counted, ValueTables


@dataclass(frozen=True)
class Domain:
    """The values of a quasi-identifier in their order, as a table; or its labels at the least level that may be
    released, which take the place of values: levels are counted from there."""

    table: Table
    values: int
    """Ordinals there are, that of NULL included."""
    has_null: bool
    natural: bool
    """The order is that of the values themselves: numbers, dates. Otherwise branches of the hierarchy lie together."""
    hierarchy: StoredHierarchy
    keys: Table
    """Every value of the source with its ordinal."""
    least: int = 0
    """The level of the hierarchy that ordinals stand for."""
    laid_out: bool = False
    """The table has `start_l` of each level: the first place of its label in the domain."""

    @property
    def height(self) -> int:
        return self.hierarchy.height - self.least

    @property
    def leaves(self) -> int:
        """Values that the hierarchy knows, NULL included where the source has it."""
        return self.hierarchy.table.leaves

    @property
    def null(self) -> int | None:
        """The ordinal of NULL, the last."""
        return self.values - 1 if self.has_null else None

    def ordinals(self, key: exp.Expression) -> Ordinals:
        """A column of this domain as its ordinal. At the top NULL is released as everything else."""
        return Ordinals(key, self.keys, self.null if self.height else 0)


@dataclass(frozen=True)
class Combinations:
    """Distinct combinations of quasi-identifier values and of the sensitive values that models read."""

    table: Table
    """`o_0`..., `s_0`..., `n`; with respondents also `respondent` and `lone_respondents`, and a combination may stand
    in several rows."""
    count: int
    rows: int
    domains: tuple[Domain, ...]
    codes: tuple[Table, ...]
    sensitive: tuple[SensitiveValues, ...]
    persons: bool
    fingerprint: str
    """Changes when anything that an assignment depends on does."""

    @property
    def ordinals(self) -> list[str]:
        return [f"o_{position}" for position in range(len(self.domains))]

    @property
    def coded(self) -> list[str]:
        return [f"s_{position}" for position in range(len(self.codes))]

    @property
    def value_tables(self) -> dict[int, ValueTables]:
        """What requirements read of sensitive columns."""
        return {position: item.tables for position, item in enumerate(self.sensitive)}

    def counted(self, rows: exp.Select, keys: Sequence[tuple[str, exp.Expression]]) -> Counted:
        """Rows of this table, perhaps joined to others, as classes with these keys."""
        return Counted(rows, keys, self.persons)

    def checksum(self, engine: Engine) -> tuple[int, ...]:
        """Rows and checksums of the combinations, as the source is compared with them before a release."""
        keys = [(name, column(name)) for name in (*self.ordinals, *self.coded)]
        rows = exp.select().from_(table_expression(self.table))
        query = combinations_sql.key_checksum(rows, keys, exp.Sum(this=column("n")))
        [found] = engine.query(Statement("check combinations", query))
        return tuple(int(number) for number in found)

    def checksum_of_source(self, engine: Engine, binding: Binding) -> tuple[int, ...]:
        """The same of the source as it stands."""
        rows, keys = source_rows(engine, binding, self)
        query = combinations_sql.key_checksum(rows, keys, exp.Count(this=exp.Star()))
        [found] = engine.query(Statement("check source", query))
        return tuple(int(number) for number in found)


def combine(
    engine: Engine,
    binding: Binding,
    base: Base,
    stored: Sequence[StoredHierarchy],
    scratch: Scratch,
    least: Sequence[int] | None = None,
) -> Combinations:
    """Write the base by ordinals. The base stays as it is.

    `least`: for each column the level whose labels ordinals stand for, so that nothing finer can be told apart.
    """
    lowest = [0] * len(stored) if least is None else list(least)
    domains = tuple(
        _store_domain(engine, binding, position, base, hierarchy, scratch, lowest[position])
        for position, hierarchy in enumerate(stored)
    )
    coded = [
        store_codes(engine, item, scratch, position, table_expression(base.table), column(f"v_{position}"), prefix="m")
        for position, item in enumerate(binding.sensitive)
    ]
    columns = [domain.ordinals(column(f"q_{position}", "base")) for position, domain in enumerate(domains)]
    who = ["who"] if binding.persons else []
    query = combinations_sql.combinations(base.table, columns, [item.table for item in coded], who)
    names = [*(f"o_{position}" for position in range(len(domains))), *(f"s_{i}" for i in range(len(coded)))]
    if any(lowest):
        query = combinations_sql.added_up(query, [*names, *who])
    if binding.persons:
        query = sensitive_sql.respondents(query, names)
    table, number = scratch.create_counted("combinations", "combinations", query)
    everything = Counted(exp.select().from_(table_expression(table)), (), binding.persons)
    sensitive = tuple(store_values(engine, item, scratch, everything, prefix="m") for item in coded)
    return Combinations(
        table,
        number,
        base.rows,
        domains,
        tuple(item.table for item in coded),
        sensitive,
        binding.persons,
        _fingerprint(engine, table, names, binding.persons, domains, sensitive),
    )


def _store_domain(
    engine: Engine, binding: Binding, position: int, base: Base, stored: StoredHierarchy, scratch: Scratch, least: int
) -> Domain:
    natural = binding.quasi_identifiers[position].family in ORDERED
    step = f"domain of {binding.names[position]}"
    values = _store_values(engine, binding, position, base, stored, scratch, natural=natural)
    table = keys = values
    if least:
        if natural:
            # Labels that somebody has listed have no order of their own: no range of them says what lies in it.
            listed = not isinstance(binding.quasi_identifiers[position].rule, Formula)
            if listed or engine.query(Statement(step, combinations_sql.scattered(values, least)))[0][0]:
                natural = False
                scratch.drop(values)
                values = _store_values(engine, binding, position, base, stored, scratch, natural=False)
        by_values = natural and binding.spec.search.bounds == "values"
        query = combinations_sql.labels_as_values(values, least, stored.table, by_values=by_values)
        table = scratch.create(step, f"o{position}l", query)
        keys = scratch.create(step, f"o{position}k", combinations_sql.keys_of_labels(values, table, least))
    [(number,)] = engine.query(Statement(step, row_count(table_expression(table))))
    absent = least < stored.height and has_null(engine, step, values)
    if least:
        scratch.drop(values)
    # One label of everything is in order, whatever it is a label of.
    in_order = natural or least == stored.height
    return Domain(table, int(number), absent, in_order, stored, keys, least, stored.table.placed)


def in_places(engine: Engine, scratch: Scratch, made: Combinations) -> Combinations:
    """The combinations with every domain laid out in places, also those whose leaves a hierarchy lists: each label has
    as many places as leaves, with the values that nobody has. Not those in whose order a label's values lie apart."""
    found = []
    for position, domain in enumerate(made.domains):
        step = f"places of {domain.hierarchy.column}"
        if not domain.laid_out and not (domain.natural and _scattered(engine, step, domain)):
            table = scratch.create(step, f"o{position}p", combinations_sql.laid_out(domain.table, domain.height))
            domain = replace(domain, table=table, laid_out=True)
        found.append(domain)
    return replace(made, domains=tuple(found))


def _scattered(engine: Engine, step: str, domain: Domain) -> bool:
    levels = range(1, domain.height)
    return any(engine.query(Statement(step, combinations_sql.scattered(domain.table, level)))[0][0] for level in levels)


def _store_values(
    engine: Engine,
    binding: Binding,
    position: int,
    base: Base,
    stored: StoredHierarchy,
    scratch: Scratch,
    *,
    natural: bool,
) -> Table:
    """The values of a column in their order."""
    item = binding.quasi_identifiers[position]
    listing = None
    if isinstance(item.rule, Lookup) and not natural:
        table = scratch.create_text(f"order of {item.name}", f"o{position}", ["value", "position"])
        first: dict[str, str] = {}
        for place, row in enumerate(item.rule.rows):
            first.setdefault(row[0], str(place))
        engine.load(f"order of {item.name}", table, ["value", "position"], list(first.items()))
        listing = Listing(table, engine.traits.text(column("value", "h"), item.family))
    query = combinations_sql.domain(base.domains[position], stored.table, listing, natural=natural, top=stored.top)
    return scratch.create(f"domain of {item.name}", f"o{position}d", query)


def has_null(engine: Engine, step: str, table: Table) -> bool:
    """Whether NULL is among the values of a table of them."""
    [(number,)] = engine.query(Statement(step, combinations_sql.null_count(table), fresh=True))
    return int(number) > 0


def source_rows(
    engine: Engine, binding: Binding, made: Combinations
) -> tuple[exp.Select, list[tuple[str, exp.Expression]]]:
    """The source joined to the domains and codes: a select without items, and the keys of combinations."""
    traits = engine.traits
    columns = [
        domain.ordinals(item.key("source", traits))
        for item, domain in zip(binding.quasi_identifiers, made.domains, strict=True)
    ]
    sensitive = [
        SensitiveColumn(item.key("source", traits), table)
        for item, table in zip(binding.sensitive, made.codes, strict=True)
    ]
    return combinations_sql.with_ordinals(traits.relation(binding.source, "source"), columns, sensitive)


def _fingerprint(
    engine: Engine,
    table: Table,
    names: Sequence[str],
    persons: bool,
    domains: Sequence[Domain],
    sensitive: Sequence[SensitiveValues],
) -> str:
    counted = [*names, "n", *(["respondent", "lone_respondents"] if persons else [])]
    [sums] = engine.query(Statement("fingerprint", combinations_sql.table_checksum(table, counted)))
    content = [int(number) for number in sums]
    content += [number for item in domains for number in (item.values, item.height, *item.hierarchy.checksum)]
    content += [item.least for item in domains if item.least]
    own = [item.hierarchy for item in sensitive if item.hierarchy is not None]
    content += [number for hierarchy in own for number in (hierarchy.height, *hierarchy.checksum)]
    content += [code for item in sensitive for code in item.named]
    return sha256(repr(content).encode()).hexdigest()[:32]
