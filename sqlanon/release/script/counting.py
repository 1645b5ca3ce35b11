"""The counts that a release is judged by, as tables that a script makes step by step, from the source as it stands.

Values of sensitive columns become codes; the source is grouped once; what models compare classes with comes from there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.release import statements as release_sql
from sqlanon.release.classes import Ingredients, Release
from sqlanon.release.script.pages import Pages
from sqlanon.source import sensitive_statements as sensitive_sql
from sqlanon.source.binding import BoundSensitive
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.sensitive import codes_query
from sqlanon.source.sensitive_statements import SensitiveColumn
from sqlanon.sql.build import equal, scalar
from sqlanon.sql.classes import Population
from sqlanon.sql.relations import Table, column, literal
from sqlanon.sql.values import Counted, ValueTables, View, relation

WITHOUT_REFERENCE = frozenset({View.NUMBER, View.PLAIN, View.RANKED})
"""What models read of a class alone, without a look at the whole source."""


def write_counts(
    pages: Pages, engine: Engine, release: Release, hierarchies: Mapping[int, StoredHierarchy]
) -> Ingredients:
    """Write the frequency set of the release at its levels, and what its requirement reads beside it."""
    binding = release.binding
    sensitive = tuple(
        SensitiveColumn(item.key("source", engine.traits), _codes(pages, engine, release, item, position))
        for position, item in enumerate(binding.sensitive)
    )
    unit = "person" if binding.persons else "row"
    by = "the generalized quasi-identifier" + (", the codes of sensitive values" if sensitive else "")
    comment = f"The frequency set: every {unit} of the source, counted by {by}."
    keys = [(name, column(name)) for name in release_sql.key_names(release.columns(engine))]
    table = pages.create(comment, "counted", _counted_rows(engine, release, sensitive))
    counted = Counted(exp.select().from_(relation(table, "counted")), keys, binding.persons)
    tables = {
        position: _tables(pages, release, counted, position, sensitive[position], hierarchies.get(position))
        for position in range(len(sensitive))
    }
    return Ingredients(counted, sensitive, tables, _population(pages, engine, release, keys))


def _codes(pages: Pages, engine: Engine, release: Release, item: BoundSensitive, position: int) -> Table:
    source = engine.traits.relation(release.binding.source, "source")
    query = codes_query(item, source, item.key("source", engine.traits), engine.traits)
    ordered = "in their declared order" if item.order else "in their order"
    table = pages.create(f"Values of {item.name}, numbered {ordered}; NULL is 0.", f"values_{position}", query)
    if item.order:
        holds = exp.select(equal(scalar(sensitive_sql.uncoded(table)), literal(0)))
        message = f"a value of {item.name} is not in its declared order"
        pages.stop_unless(f"Stop if a value of {item.name} is not in its declared order.", holds, message)
    return table


def _counted_rows(engine: Engine, release: Release, sensitive: Sequence[SensitiveColumn]) -> exp.Select:
    binding, columns = release.binding, release.columns(engine)
    source = engine.traits.relation(binding.source, "source")
    person = None if binding.respondent is None else binding.respondent.key("source", engine.traits)
    rows = release_sql.counted_rows(source, columns, sensitive, person)
    if person is None:
        return rows
    codes = [f"s_{position}" for position in range(len(sensitive))]
    return sensitive_sql.respondents(rows, [*release_sql.key_names(columns), *codes])


def _tables(
    pages: Pages,
    release: Release,
    counted: Counted,
    position: int,
    sensitive: SensitiveColumn,
    hierarchy: StoredHierarchy | None,
) -> ValueTables:
    """The distribution of a column in the whole source, and its labels, where a model reads them."""
    item = release.binding.sensitive[position]
    read = {
        measure.view
        for grouping in release.requirement.groupings
        for measure in grouping.measures()
        if measure.column == position
    }
    if read <= WITHOUT_REFERENCE:
        return ValueTables(sensitive.codes)
    query = sensitive_sql.reference(counted, position, sensitive.codes, len(item.flagged))
    values = pages.create(f"How the whole source distributes {item.name}.", f"distribution_{position}", query)
    if hierarchy is None:
        return ValueTables(values)
    labels = sensitive_sql.labels(values, sensitive.codes, hierarchy.table.table, hierarchy.height)
    return ValueTables(values, pages.create(f"The same by the labels of {item.name}.", f"labels_{position}", labels))


def _population(
    pages: Pages, engine: Engine, release: Release, keys: Sequence[tuple[str, exp.Expression]]
) -> Population | None:
    if release.binding.population is None:
        return None
    people = engine.traits.relation(release.binding.population.relation, "source")
    rows = release_sql.population_rows(people, release.population_columns(engine))
    table = pages.create("The population, counted by the same generalization.", "everybody", rows)
    absent = any(grouping.asks_of_absent for grouping in release.requirement.groupings)
    return Population(exp.select().from_(relation(table, "everybody")), keys, absent)
