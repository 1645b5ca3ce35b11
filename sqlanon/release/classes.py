"""The classes of a release, measured from the source as it now stands, and the queries that make its rows.

Shared by publish, which runs them step by step, and by views and scripts, which need them as one query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.evaluation.rounds import settle
from sqlanon.evaluation.statements import Judged
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.privacy.base import Grouping, Requirement
from sqlanon.recoding.kinds import FullDomain
from sqlanon.release import statements as release_sql
from sqlanon.release.statements import QuasiIdentifier
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source import sensitive_statements as sensitive_sql
from sqlanon.source.binding import Binding, BoundColumn, BoundSensitive
from sqlanon.source.hierarchies import StoredHierarchy, draft_hierarchy
from sqlanon.source.scratch import Scratch
from sqlanon.source.sensitive import codes_query, store_codes, store_values
from sqlanon.source.sensitive_statements import SensitiveColumn
from sqlanon.sql.build import named
from sqlanon.sql.classes import Population, classes
from sqlanon.sql.relations import Query, Table, cast, column, literal, table_expression
from sqlanon.sql.values import Counted, ValueTables, relation


@dataclass(frozen=True)
class Release:
    """Everything that decides what is published."""

    binding: Binding
    hierarchies: tuple[StoredHierarchy, ...]
    recoding: FullDomain
    requirement: Requirement
    lookups: tuple[exp.Query, ...] | None = None
    """For a view: the queries that stand in place of the hierarchy tables."""

    def columns(self, engine: Engine) -> list[QuasiIdentifier]:
        """The quasi-identifiers at their levels, as the release statements want them."""
        items = zip(self.binding.quasi_identifiers, self.hierarchies, self.recoding.node, strict=True)
        types = {info.name: info.type for info in self.binding.columns}
        return [
            QuasiIdentifier(
                item.name,
                item.key("source", engine.traits),
                hierarchy.table.table if self.lookups is None else self.lookups[position],
                level,
                level == hierarchy.height,
                hierarchy.top,
                _blank(
                    types[item.name].this in exp.DataType.TEXT_TYPES
                    if level == 0
                    else hierarchy.families[level] is Family.TEXT
                ),
                exact=item.family.exact,
            )
            for position, (item, hierarchy, level) in enumerate(items)
        ]

    def population_columns(self, engine: Engine) -> list[QuasiIdentifier]:
        """The same columns as the population has them."""
        if self.binding.population is None:
            return []
        return [
            replace(item, name=there.name, key=there.key("source", engine.traits))
            for item, there in zip(self.columns(engine), self.binding.population.columns, strict=True)
        ]

    @property
    def known(self) -> tuple[int, ...]:
        """The sensitive columns that are keys of some grouping's classes."""
        return tuple(sorted({position for grouping in self.requirement.groupings for position in grouping.known}))


@dataclass(frozen=True)
class Ingredients:
    """Counted rows of a release, and what its requirement reads beside them."""

    counted: Counted
    sensitive: tuple[SensitiveColumn, ...]
    tables: dict[int, ValueTables]
    population: Population | None
    made: tuple[Table, ...] = ()
    taxonomies: dict[str, Query] = field(default_factory=dict)
    """The labels of sensitive columns that have a hierarchy of their own."""


@dataclass(frozen=True)
class MeasuredClasses:
    """The classes of a release in a scratch table, judged."""

    table: Table
    known: dict[int, SensitiveColumn]
    """Sensitive columns that are keys of the classes."""
    ingredients: Ingredients | None
    scratch: tuple[Table, ...]
    """Everything to drop when the release stands."""


def measure_classes(engine: Engine, release: Release, scratch: Scratch) -> MeasuredClasses:
    """Judge the classes of a release in this very snapshot."""
    if release.binding.simple and release.requirement.whole is not None:
        table = scratch.create("measure classes", "classes", classes_query(engine, release))
        return MeasuredClasses(table, {}, None, (table,))
    ingredients = _stored_ingredients(engine, release, scratch)
    whole = release.requirement.whole
    if whole is not None:
        table = scratch.create("measure classes", "classes", _judged(whole, ingredients, release.columns(engine)))
        return MeasuredClasses(table, {}, ingredients, (table, *ingredients.made))
    return _measured_in_rounds(engine, release, ingredients, scratch)


def classes_query(engine: Engine, release: Release) -> exp.Select:
    """The classes of the release as the source stands, each with its verdict, as one query."""
    whole = release.requirement.whole
    if whole is None:
        raise UsageError(
            "several quasi-identifiers, or other sensitive values that are known, need rounds of suppression: "
            "publish to a table with `sqlanon run` or `apply`"
        )
    columns = release.columns(engine)
    if release.binding.simple:
        source = engine.traits.relation(release.binding.source, "source")
        return release_sql.judged(release_sql.classes(source, columns), whole.satisfied())
    return _judged(whole, _inline_ingredients(engine, release), columns)


def _judged(grouping: Grouping, ingredients: Ingredients, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    found = classes(ingredients.counted, grouping.measures(), ingredients.tables, ingredients.population)
    return release_sql.judged(found, grouping.satisfied(), release_sql.key_names(columns))


def blanked_class_satisfies(engine: Engine, release: Release, measured: MeasuredClasses) -> bool:
    """Whether the rows of failing classes, as one class without a quasi-identifier, satisfy the requirement."""
    whole, ingredients = release.requirement.whole, measured.ingredients
    if whole is None:
        return False
    if ingredients is None:
        query = release_sql.suppressed_rows(measured.table, release.columns(engine))
        [(suppressed,)] = engine.query(Statement("judge suppressed rows", query))
        return int(suppressed) >= release.binding.k
    counted = Counted(_suppressed(ingredients.counted, measured.table), (), ingredients.counted.persons)
    everybody = ingredients.population and replace(ingredients.population, keys=(), everywhere=False)
    found = classes(counted, whole.measures(), ingredients.tables, everybody)
    query = exp.select(whole.satisfied()).from_(relation(found, "blanked"))
    [(satisfied,)] = engine.query(Statement("judge suppressed rows", query)) or [(False,)]
    return bool(satisfied)


def _suppressed(counted: Counted, classes_table: Table) -> exp.Select:
    """The counted rows of failing classes."""
    verdict = table_expression(classes_table, "verdict")
    inner = counted.rows.select(exp.Column(this=exp.Star(), table=exp.to_identifier("counted", quoted=True)))
    keys = [exp.EQ(this=column(name, "counted"), expression=column(name, "verdict")) for name in counted.names]
    failing = exp.Not(this=column("kept", "verdict"))
    on = exp.and_(*keys, failing) if keys else failing
    return exp.select().from_(relation(inner.join(verdict, on=on), "counted"))


def _measured_in_rounds(
    engine: Engine, release: Release, ingredients: Ingredients, scratch: Scratch
) -> MeasuredClasses:
    """Suppress in rounds, then list the combinations that are kept and those that are not."""
    counted, columns = ingredients.counted, release.columns(engine)
    codes = [f"s_{position}" for position in range(len(ingredients.sensitive))]
    counts = ["n", *(["r", "u"] if counted.persons else [])]
    held = [*counted.names, *codes, *counts]
    start = counted.rows.select(*(column(name) for name in held), named(exp.true(), "kept"))
    table = scratch.create("counted rows", "k0", start)
    groupings = [_grouping(item, release, ingredients) for item in release.requirement.groupings]
    settled = settle(engine, scratch, table, held, groupings, counted.persons, ingredients.tables)
    known = {position: ingredients.sensitive[position] for position in release.known}
    keys = [*counted.names, *(f"s_{position}" for position in known)]
    judged = exp.select(*(column(name) for name in keys), named(exp.Sum(this=column("n")), "n"), column("kept"))
    judged = judged.from_(table_expression(settled)).group_by(*(column(name) for name in keys), column("kept"))
    query = release_sql.judged(judged, column("kept"), release_sql.key_names(columns), [f"s_{item}" for item in known])
    classes_table = scratch.create("measure classes", "classes", query)
    return MeasuredClasses(classes_table, known, ingredients, (classes_table, settled, *ingredients.made))


def _grouping(grouping: Grouping, release: Release, ingredients: Ingredients) -> Judged:
    chosen = range(len(release.binding.names)) if grouping.columns is None else grouping.columns
    wanted = {f"k_{position}" for position in chosen}
    keys = [(name, key) for name, key in ingredients.counted.keys if name in wanted]
    everybody = None
    if grouping.reads_population and ingredients.population is not None:
        everybody = replace(ingredients.population, keys=list(keys), everywhere=False)
    keys += [(f"s_{position}", column(f"s_{position}")) for position in grouping.known]
    return Judged(keys, grouping.measures(), grouping.satisfied(), everybody)


def _stored_ingredients(engine: Engine, release: Release, scratch: Scratch) -> Ingredients:
    """Counted rows and value tables as scratch tables, from the source as it stands."""
    binding, traits = release.binding, engine.traits
    source = traits.relation(binding.source, "source")
    coded = [
        store_codes(engine, item, scratch, position, source.copy(), item.key("source", traits), prefix="p")
        for position, item in enumerate(binding.sensitive)
    ]
    sensitive = tuple(SensitiveColumn(item.item.key("source", traits), item.table) for item in coded)
    table = scratch.create("count rows", "counted", _counted_query(engine, release, sensitive))
    counted = _counted(engine, release, table)
    values = [store_values(engine, item, scratch, counted, prefix="p") for item in coded]
    made = [table, *(item.table for item in coded), *(made for item in values for made in item.made)]
    population = None
    if binding.population is not None:
        query = _population_query(engine, release)
        people = scratch.create("count population", "everybody", query)
        made.append(people)
        population = _population(people, counted, release)
    tables = {position: item.tables for position, item in enumerate(values)}
    taxonomies = {
        item.item.name: Query(hierarchy_sql.taxonomy(item.hierarchy.table.table, item.height))
        for item in values
        if item.hierarchy is not None
    }
    return Ingredients(counted, sensitive, tables, population, tuple(made), taxonomies)


def _inline_ingredients(engine: Engine, release: Release) -> Ingredients:
    """The same as queries within a query, for views and scripts."""
    binding, traits = release.binding, engine.traits
    sensitive = tuple(
        SensitiveColumn(item.key("source", traits), _inline_codes(engine, binding, item)) for item in binding.sensitive
    )
    counted = _counted(engine, release, _counted_query(engine, release, sensitive))
    tables = {}
    for position, (item, columns) in enumerate(zip(binding.sensitive, sensitive, strict=True)):
        values = sensitive_sql.reference(counted, position, columns.codes, len(item.flagged))
        labels = None
        if item.rule is not None:
            hierarchy, height = live_hierarchy(engine, binding, item)
            labels = sensitive_sql.labels(values, columns.codes, hierarchy, height)
        tables[position] = ValueTables(values, labels)
    population = None
    if binding.population is not None:
        population = _population(_population_query(engine, release), counted, release)
    return Ingredients(counted, sensitive, tables, population)


def _inline_codes(engine: Engine, binding: Binding, item: BoundSensitive) -> exp.Query:
    if item.order:
        raise UsageError(
            f"privacy.t_closeness: nobody checks the order of column '{item.name}' when a view or a script runs; "
            f"publish to a table with `sqlanon run` or `apply`"
        )
    source = engine.traits.relation(binding.source, "source")
    return codes_query(item, source, item.key("source", engine.traits), engine.traits)


def _counted_query(engine: Engine, release: Release, sensitive: Sequence[SensitiveColumn]) -> exp.Select:
    binding, columns = release.binding, release.columns(engine)
    source = engine.traits.relation(binding.source, "source")
    who = None if binding.respondent is None else binding.respondent.key("source", engine.traits)
    rows = release_sql.counted_rows(source, columns, sensitive, who)
    if who is None:
        return rows
    codes = [f"s_{position}" for position in range(len(sensitive))]
    return sensitive_sql.respondents(rows, [*release_sql.key_names(columns), *codes])


def _counted(engine: Engine, release: Release, rows: Table | exp.Query) -> Counted:
    keys = [(name, column(name)) for name in release_sql.key_names(release.columns(engine))]
    return Counted(exp.select().from_(relation(rows, "counted")), keys, release.binding.persons)


def _population_query(engine: Engine, release: Release) -> exp.Select:
    if release.binding.population is None:
        raise ValueError("no population is bound")
    people = engine.traits.relation(release.binding.population.relation, "source")
    return release_sql.population_rows(people, release.population_columns(engine))


def _population(rows: Table | exp.Query, counted: Counted, release: Release) -> Population:
    absent = any(grouping.asks_of_absent for grouping in release.requirement.groupings)
    return Population(exp.select().from_(relation(rows, "everybody")), counted.keys, absent)


def live_release(engine: Engine, release: Release) -> Release:
    """The release as a view computes it: hierarchies from the source's values as they are when it is read."""
    lookups = [live_hierarchy(engine, release.binding, item)[0] for item in release.binding.quasi_identifiers]
    return replace(release, lookups=tuple(lookups))


def live_hierarchy(engine: Engine, binding: Binding, item: BoundSensitive | BoundColumn) -> tuple[exp.Query, int]:
    """The hierarchy of a column as a query on the source, and its height."""
    domain = live_domain(engine, binding, item)
    draft = draft_hierarchy(engine, item.hierarchy() if isinstance(item, BoundSensitive) else item, domain, None)
    coded = hierarchy_sql.coded(draft.labelled, draft.height, draft.families, engine.traits)
    return hierarchy_sql.sound(coded, draft.height), draft.height


def live_domain(engine: Engine, binding: Binding, item: BoundSensitive | BoundColumn) -> exp.Query:
    """The values of a column as they are read: the source's, and of a quasi-identifier the population's too."""
    source = engine.traits.relation(binding.source, "source")
    own = hierarchy_sql.domain(source, item.key("source", engine.traits))
    if binding.population is None or isinstance(item, BoundSensitive):
        return own
    there = binding.population.columns[binding.names.index(item.name)]
    people = engine.traits.relation(binding.population.relation, "population")
    return exp.union(own, hierarchy_sql.domain(people, there.key("population", engine.traits)), distinct=True)


def release_query(
    engine: Engine,
    release: Release,
    measured: MeasuredClasses | Table | exp.Query,
    *,
    blank: bool | None = None,
    shuffle: bool = True,
    with_respondent: bool = False,
) -> exp.Select:
    """The rows to publish; with the respondent only for the audit. `blank` None: decided when the query runs."""
    binding, columns = release.binding, release.columns(engine)
    respondent = [binding.respondent.name] if with_respondent and binding.respondent is not None else []
    found = measured.table if isinstance(measured, MeasuredClasses) else measured
    blanks: exp.Expression | None = None
    if binding.blank:
        blanks = release_sql.enough_to_blank(found, columns, binding.k) if blank is None else _truth(blank)
    return release_sql.release(
        engine.traits.relation(binding.source, "source"),
        columns,
        [*binding.released, *respondent],
        found,
        blank=blanks,
        shuffle=shuffle,
        known=measured.known if isinstance(measured, MeasuredClasses) else None,
    )


def population_labels(engine: Engine, release: Release) -> exp.Select | None:
    """The population generalized like the release, its columns named like the release's."""
    if release.binding.population is None:
        return None
    people = engine.traits.relation(release.binding.population.relation, "source")
    return release_sql.labelled_rows(people, release.population_columns(engine), release.binding.names)


def _truth(holds: bool) -> exp.Expression:
    return exp.true() if holds else exp.false()


def _blank(takes_text: bool) -> exp.Expression:
    """`*` where the released column takes any text, NULL where it does not: numbers, dates, enumerations."""
    return cast(literal(TOP), "text") if takes_text else exp.Null()
