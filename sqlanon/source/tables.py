"""Several tables of one release: bound to the catalog, read once, people numbered, and what their rows say coded.

Every person is a number, every combination of quasi-identifiers of a table a `kind`; a lattice node groups kinds by
their masked words, so that what is counted for a node are small tables and pairs of numbers. Reads the sources and
writes scratch tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from itertools import combinations

from sqlglot import exp

from sqlanon.engines.base import Capability, Engine, Statement
from sqlanon.errors import InfeasibleError, SourceError, SpecError, SqlanonError, UsageError
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source.binding import Binding, bind
from sqlanon.source.frequency_statements import Layout, layout_of
from sqlanon.source.hierarchies import StoredHierarchy, store_hierarchy
from sqlanon.source.hierarchy_statements import domain
from sqlanon.source.reads import reads_of, refuse_written
from sqlanon.source.scratch import Scratch
from sqlanon.spec import SeveralTables
from sqlanon.spec.tables import SharedColumn, written
from sqlanon.sql.build import all_of, equal, named, query, union_all
from sqlanon.sql.relations import Table, column, table_expression


@dataclass(frozen=True)
class BoundTable:
    """One table whose every name has been found in the database."""

    name: str
    binding: Binding
    positions: tuple[int, ...]
    """For each of its quasi-identifiers, where it stands in the lattice."""
    known: int = 0
    """Rows of it that somebody may know of a person; 0: the table of people."""

    @property
    def target(self) -> Table:
        """What is written."""
        if not isinstance(self.binding.target, Table):
            raise TypeError("several tables are published to tables")
        return self.binding.target

    @property
    def person(self) -> str:
        """The column of the source that holds the person's own key."""
        if self.binding.respondent is None:
            raise TypeError("a table of several has a key")
        return self.binding.respondent.name

    @property
    def shown(self) -> str:
        """The released column of the pseudonym."""
        return self.binding.spec.respondent or ""

    def key(self, engine: Engine, alias: str) -> exp.Expression:
        """The person's own key as one that compares alike everywhere."""
        if self.binding.respondent is None:
            raise TypeError("a table of several has a key")
        return self.binding.respondent.key(alias, engine.traits)


@dataclass(frozen=True)
class BoundTables:
    """The tables of a spec, people first."""

    spec: SeveralTables
    tables: tuple[BoundTable, ...]
    shared: tuple[SharedColumn, ...]

    @property
    def people(self) -> BoundTable:
        return self.tables[0]

    @property
    def others(self) -> tuple[BoundTable, ...]:
        return self.tables[1:]

    @property
    def k(self) -> int:
        return self.spec.privacy.k or 0

    @property
    def scratch(self) -> tuple[str, ...]:
        """The schema of scratch tables."""
        return self.people.binding.scratch

    @property
    def schema(self) -> dict[str, str]:
        """The columns of the sources that the release shows or counts by, each with the kind of its values."""
        return {written(table.name, name): kind for table in self.tables for name, kind in table.binding.schema.items()}

    def prepared(self, engine: Engine, scratch: Scratch) -> BoundTables:
        """The same with what a run makes by secrets; pseudonyms are made once, for the people."""
        found: list[BoundTable] = []
        for table in self.tables:
            rules = table.binding.rules
            if rules is None:
                raise TypeError("a table of several has a pseudonym")
            rules = rules.prepared(engine, scratch, str(table.target), pseudonyms=not table.known)
            found.append(replace(table, binding=replace(table.binding, rules=rules).spoken(engine.traits)))
        return replace(self, tables=tuple(found))


@contextmanager
def about_table(name: str) -> Iterator[None]:
    """Errors of this block say which table they are about, in a note of theirs."""
    try:
        yield
    except SqlanonError as error:
        error.add_note(f"this is about table '{name}' of the spec")
        raise


def bind_tables(spec: SeveralTables, engine: Engine) -> BoundTables:
    """Look everything up in the catalog; refused where the tables cannot be joined, or swapped as one."""
    if Capability.TRANSACTIONAL_DDL not in engine.capabilities or not engine.traits.rules:
        raise UsageError(
            f"tables: several tables are released on DuckDB and PostgreSQL, by one transaction; {engine.name} has none "
            f"that this is tested with"
        )
    shared = spec.shared
    place = {member: position for position, item in enumerate(shared) for member in item.members}
    found: list[BoundTable] = []
    for name in (spec.people, *spec.others):
        with about_table(name):
            binding = bind(spec.of_table(name), engine)
        positions = tuple(place[name, item.name] for item in binding.quasi_identifiers)
        found.append(BoundTable(name, binding, positions, spec.known.get(name, 0)))
    bound = BoundTables(spec, tuple(found), shared)
    _refuse_shared_places(engine, bound)
    _refuse_other_kinds(bound)
    return bound


def _refuse_shared_places(engine: Engine, bound: BoundTables) -> None:
    for one, other in combinations(bound.tables, 2):
        if engine.same_object(one.target, other.target):
            raise SpecError(f"tables.{other.name}.target: {one.name} has the same target")
    for table in bound.tables:
        for other in bound.tables:
            reads = list(reads_of(other.binding.spec, other.binding.origin, None))
            refuse_written(engine, reads, f"tables.{table.name}.target", table.target)


def _refuse_other_kinds(bound: BoundTables) -> None:
    """Keys join, and columns at one level have the same labels, only where their values are of one kind."""
    people = bound.people.binding.respondent
    for table in bound.others:
        key = table.binding.respondent
        if people is not None and key is not None and key.family is not people.family:
            raise SpecError(
                f"tables.{table.name}.key: it holds {key.family.value} values, that of {bound.people.name} "
                f"{people.family.value} values; the tables cannot be joined"
            )
    families = {
        written(table.name, item.name): item.family
        for table in bound.tables
        for item in table.binding.quasi_identifiers
    }
    for shared in bound.shared:
        first, *rest = (written(*member) for member in shared.members)
        for other in rest:
            if families[other] is not families[first]:
                raise SpecError(
                    f"alike: {other} holds {families[other].value} values, {first} {families[first].value} values; "
                    f"give them different names or hierarchies"
                )


# -- the one reading of the sources --------------------------------------------------------------------------------


@dataclass(frozen=True)
class CodedTable:
    """What one table says of people."""

    bound: BoundTable
    kinds: Table
    """Each combination of its quasi-identifiers: `kind`, its words `p_0` ..., its values `q_0` ..., its rows `n`."""
    layout: Layout
    rows: int
    said: Table
    """Of the table of people: `person`, `who`, `kind`. Of others: `person`, `person_kind`, `kind`, rows `n`."""
    frequency: Table
    """Of the table of people: `kind`, `persons`. Of others: `person_kind`, `kind`, `persons` who have both."""

    def keys(self, node: Sequence[int]) -> list[exp.Expression]:
        """What makes the classes of its rows at a node of the whole lattice."""
        own = tuple(node[position] for position in self.bound.positions)
        return [
            frequency_sql.masked(column(f"p_{word}"), mask) for word, mask in enumerate(self.layout.masks(own)) if mask
        ]


@dataclass(frozen=True)
class CodedTables:
    """What all tables say of people, ready to evaluate nodes on; the table of people first."""

    bound: BoundTables
    tables: tuple[CodedTable, ...]
    hierarchies: tuple[StoredHierarchy, ...]
    domains: tuple[Table, ...]
    """The values of each shared column with their rows."""
    persons: int
    combinations: int

    @property
    def people(self) -> CodedTable:
        return self.tables[0]

    @property
    def others(self) -> tuple[CodedTable, ...]:
        return self.tables[1:]

    def rows_of(self, position: int) -> int:
        """Rows of the tables that have a shared column."""
        return sum(table.rows for table in self.tables if position in table.bound.positions)

    def hierarchies_of(self, table: BoundTable) -> tuple[StoredHierarchy, ...]:
        """Those of one table's quasi-identifiers, under its own names."""
        items = zip(table.binding.quasi_identifiers, table.positions, strict=True)
        return tuple(replace(self.hierarchies[position], column=item.name) for item, position in items)

    def fingerprint(self, engine: Engine) -> str:
        """Changes when what tables say of people does, or a hierarchy."""
        content: list[object] = [self.persons, *(table.rows for table in self.tables)]
        content += [(item.height, *item.checksum) for item in self.hierarchies]
        for table in self.tables:
            words = [f"p_{word}" for word in range(table.layout.words)]
            sums = engine.query(
                Statement("fingerprint", frequency_sql.frequency_checksum(table.kinds, [*words, "n"]), fresh=True)
            )
            content += [int(number) for number in sums[0]]
        return sha256(repr(content).encode()).hexdigest()[:32]


def code_tables(engine: Engine, bound: BoundTables, scratch: Scratch, *, show_values: bool = False) -> CodedTables:
    """Read each source once; refused where a key is missing, stands twice among the people, or is nobody's."""
    bases = [_scanned(engine, table, scratch, f"t{place}") for place, table in enumerate(bound.tables)]
    rows = _counted(engine, bound, bases)
    domains, hierarchies = [], []
    for position, shared in enumerate(bound.shared):
        values = scratch.create("read domains", f"d{position}", _domain_of(bound, bases, position))
        [(nulls,)] = engine.query(
            Statement("read domains", query("select count(*) from d where d.value is null", {"d": values}))
        )
        table, name = shared.members[0]
        owner = next(item for item in bound.tables if item.name == table)
        item = next(item for item in owner.binding.quasi_identifiers if item.name == name)
        listed = domain(table_expression(values), column("value"))
        hierarchies.append(
            store_hierarchy(
                engine,
                replace(item, name=shared.name),
                listed,
                scratch,
                f"l{position}",
                has_null=bool(nulls),
                show_values=show_values,
            )
        )
        domains.append(values)
    coded: list[CodedTable] = []
    for place, (table_, base) in enumerate(zip(bound.tables, bases, strict=True)):
        own = [hierarchies[position] for position in table_.positions]
        coded.append(_coded(engine, table_, base, own, (rows[place], coded), scratch))
        scratch.drop(base)
    [(found,)] = engine.query(
        Statement(
            "count combinations",
            exp.select(exp.Count(this=exp.Star())).from_(table_expression(coded[-1].frequency)),
        )
    )
    return CodedTables(bound, tuple(coded), tuple(hierarchies), tuple(domains), rows[0], int(found))


def _scanned(engine: Engine, table: BoundTable, scratch: Scratch, prefix: str) -> Table:
    traits = engine.traits
    items = [item.key("source", traits) for item in table.binding.quasi_identifiers]
    keys = frequency_sql.base_keys(items, (), table.key(engine, "source"))
    source = traits.relation(table.binding.source, "source")
    with about_table(table.name):
        return scratch.create("scan source", f"{prefix}_base", frequency_sql.base_groups(source, keys))


def _counted(engine: Engine, bound: BoundTables, bases: Sequence[Table]) -> list[int]:
    """The rows of each source, each of which has a key; among the people nobody's stands twice."""
    found: list[int] = []
    for table, base in zip(bound.tables, bases, strict=True):
        counted = query(
            "select coalesce(sum(base.n), 0) as n,"
            " coalesce(sum(case when base.who is null then base.n else 0 end), 0) as nobody from base",
            {"base": base},
        )
        [(rows, nobody)] = engine.query(Statement("count rows", counted))
        if nobody:
            raise SourceError(f"tables.{table.name}.key: {nobody} rows have no key; leave them out by a source query")
        if not rows:
            raise InfeasibleError(f"tables.{table.name}.source: it has no rows: nothing to release")
        found.append(int(rows))
    people = query("select count(distinct base.who) as persons from base", {"base": bases[0]})
    [(persons,)] = engine.query(Statement("count people", people))
    if persons != found[0]:
        raise SourceError(
            f"tables.{bound.people.name}.key: {found[0]} rows have {persons} keys, and this table holds people, one "
            f"row each; another table must be the one without references"
        )
    if found[0] < bound.k:
        raise InfeasibleError(
            f"privacy.k: {bound.people.name} has {found[0]} rows, fewer than k = {bound.k}: no release can satisfy it"
        )
    return found


def _refuse_orphans(engine: Engine, table: BoundTable, people: str, rows: int, said: Table) -> None:
    """SourceError where rows have a key that is nobody's among the people: they were not joined to anybody."""
    joined = query("select coalesce(sum(said.n), 0) as n from said", {"said": said})
    [(found,)] = engine.query(Statement("count orphans", joined))
    if int(found) != rows:
        raise SourceError(
            f"tables.{table.name}.key: {rows - int(found)} rows have a key that {people} lacks; "
            f"leave them out by a source query"
        )


def _domain_of(bound: BoundTables, bases: Sequence[Table], position: int) -> exp.Query:
    """The distinct values of a shared column in all its tables, NULL among them, with their rows."""
    parts = [
        query("select :value as value, base.n from base", {"base": base}, value=column(f"q_{place}", "base"))
        for table, base in zip(bound.tables, bases, strict=True)
        for place, own in enumerate(table.positions)
        if own == position
    ]
    return query(
        "select rows_.value, sum(rows_.n) as n from rows_ group by rows_.value", {"rows_": union_all(list(parts))}
    )


def _coded(
    engine: Engine,
    table: BoundTable,
    base: Table,
    hierarchies: Sequence[StoredHierarchy],
    beside: tuple[int, Sequence[CodedTable]],
    scratch: Scratch,
) -> CodedTable:
    rows, before = beside
    tables = tuple(item.table for item in hierarchies)
    layout = layout_of(tables)
    words = [f"p_{word}" for word in range(layout.words)]
    values = [f"q_{place}" for place in range(len(tables))]
    packed = frequency_sql.packed(base, tables, layout, {"n": column("n", "base")}, (), ["who", *values])
    packed.set("order", None)
    coded = scratch.create("code rows", "coded", packed)
    grouped = exp.select(*(column(name) for name in (*words, *values)), named(exp.Sum(this=column("n")), "n"))
    grouped = grouped.from_(table_expression(coded)).group_by(*(column(name) for name in (*words, *values)))
    numbered = query("select row_number() over () as kind, kinds.* from kinds", {"kinds": grouped})
    kinds = scratch.create("number kinds", "kinds", numbered)
    engine.analyze("number kinds", kinds)
    same = all_of([equal(column(word, "coded"), column(word, "kinds")) for word in words])
    if before:
        said = query(
            "select people.person, people.kind as person_kind, kinds.kind, coded.n from coded"
            " join kinds on :same join people on coded.who = people.who",
            {"coded": coded, "kinds": kinds, "people": before[0].said},
            same=same,
        )
        frequency = (
            "select said.person_kind, said.kind, count(*) as persons from said group by said.person_kind, said.kind"
        )
    else:
        said = query(
            "select row_number() over () as person, coded.who, kinds.kind from coded join kinds on :same",
            {"coded": coded, "kinds": kinds},
            same=same,
        )
        frequency = "select said.kind, count(*) as persons from said group by said.kind"
    made, _ = scratch.create_counted("number people", "said", said)
    scratch.drop(coded)
    if before:
        _refuse_orphans(engine, table, before[0].bound.name, rows, made)
    counted, _ = scratch.create_counted("count people", "persons", query(frequency, {"said": made}))
    return CodedTable(table, kinds, layout, rows, made, counted)
