"""The counts that a release is judged by, as tables that a script makes step by step, from the source as it stands.

Values of sensitive columns become codes; the source is grouped once; what models compare classes with comes from there.

Which classes a script releases: their verdicts, rounds of suppression, and what stops it.

The same predicates that publish judges by, on tables that the script has made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.evaluation.statements import Judged, survivors
from sqlanon.privacy.base import Grouping
from sqlanon.release import statements as release_sql
from sqlanon.release.classes import Ingredients, MeasuredClasses, Release
from sqlanon.release.script.pages import Pages, rows_within
from sqlanon.source import sensitive_statements as sensitive_sql
from sqlanon.source.binding import BoundSensitive
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.sensitive import codes_query
from sqlanon.source.sensitive_statements import SensitiveColumn
from sqlanon.spec.amounts import Limit
from sqlanon.sql.build import all_of, equal, named, scalar
from sqlanon.sql.classes import Population, classes
from sqlanon.sql.relations import Table, column, literal, table_expression
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


ROUNDS = 8
"""How often a script with several groupings suppresses. Should that not be enough, its audit stops it."""


@dataclass(frozen=True)
class Verdicts:
    """The classes that are released, and whether suppressed rows stay without their quasi-identifier."""

    measured: MeasuredClasses
    blank: exp.Expression | None

    def released(self) -> exp.Expression:
        """Whether the rows of a class are released, over the columns of the classes."""
        kept: exp.Expression = column("kept")
        return kept if self.blank is None else exp.Or(this=kept, expression=self.blank.copy())


def write_verdicts(pages: Pages, engine: Engine, release: Release, ingredients: Ingredients) -> Verdicts:
    """Write the classes with their verdicts, and stop where they do not allow a release."""
    whole = release.requirement.whole
    measured = (
        _in_rounds(pages, engine, release, ingredients)
        if whole is None
        else _at_once(pages, engine, release, ingredients, whole)
    )
    stop_at_limits(pages, engine, release, measured.table)
    blank = None
    if release.binding.blank and whole is not None:
        blank = _blank(pages, ingredients, measured.table, whole)
    return Verdicts(measured, blank)


def stop_at_limits(pages: Pages, engine: Engine, release: Release, classes_table: Table) -> None:
    """Stop at a value outside its hierarchy, and where too many rows would be suppressed."""
    covered = release_sql.no_value_outside(classes_table, release.columns(engine))
    pages.stop_unless("Stop if a value lies outside its hierarchy.", covered, "a value lies outside its hierarchy")
    limit = release.binding.spec.privacy.suppression.limit
    comment = f"Stop if more than {rows_within(limit)} would be suppressed."
    pages.stop_unless(comment, _within(limit, classes_table), "more rows than allowed would be suppressed")


def _within(limit: Limit, classes_table: Table) -> exp.Select:
    if limit.percent is None:
        return release_sql.within_limit(classes_table, limit.count or 0, None)
    share = Fraction(limit.percent) / 100
    return release_sql.within_limit(classes_table, share.numerator, share.denominator)


def _at_once(
    pages: Pages, engine: Engine, release: Release, ingredients: Ingredients, whole: Grouping
) -> MeasuredClasses:
    found = classes(ingredients.counted, whole.measures(), ingredients.tables, ingredients.population)
    query = release_sql.judged(found, whole.satisfied(), release_sql.key_names(release.columns(engine)))
    table = pages.create("The classes of the generalized quasi-identifier, each with its verdict.", "classes", query)
    return MeasuredClasses(table, {}, ingredients, ())


def _in_rounds(pages: Pages, engine: Engine, release: Release, ingredients: Ingredients) -> MeasuredClasses:
    """A row that one grouping suppresses is missing in the classes of the others: they are judged again."""
    counted = ingredients.counted
    codes = [f"s_{position}" for position in range(len(ingredients.sensitive))]
    held = [*counted.names, *codes, "n", *(["r", "u"] if counted.persons else [])]
    start = counted.rows.select(*(column(name) for name in held), named(exp.true(), "kept"))
    rounds = _rounds(release.binding.spec.privacy.suppression.limit)
    table = pages.create("Before the first round of suppression every row is kept.", "round_0", start)
    groupings = [_grouping(item, release, ingredients) for item in release.requirement.groupings]
    for number in range(1, rounds + 1):
        query = survivors(table, held, groupings, counted.persons, ingredients.tables)
        comment = f"Round {number} of {rounds}: rows stay whose classes satisfy in every grouping."
        table = pages.create(comment, f"round_{number}", query)
    known = {position: ingredients.sensitive[position] for position in release.known}
    keys = [*counted.names, *(f"s_{position}" for position in known)]
    judged = exp.select(*(column(name) for name in keys), named(exp.Sum(this=column("n")), "n"), column("kept"))
    judged = judged.from_(table_expression(table)).group_by(*(column(name) for name in keys), column("kept"))
    names = release_sql.key_names(release.columns(engine))
    query = release_sql.judged(judged, column("kept"), names, [f"s_{position}" for position in known])
    comment = f"What is kept after {rounds} rounds. Were more of them needed, the audit stops the script."
    return MeasuredClasses(pages.create(comment, "classes", query), known, ingredients, ())


def _rounds(limit: Limit) -> int:
    """Each round but the last suppresses a row: no more rounds than rows that may be suppressed."""
    return ROUNDS if limit.percent is not None else max(1, min(ROUNDS, limit.count or 0))


def _grouping(grouping: Grouping, release: Release, ingredients: Ingredients) -> Judged:
    chosen = range(len(release.binding.names)) if grouping.columns is None else grouping.columns
    wanted = {f"k_{position}" for position in chosen}
    keys = [(name, key) for name, key in ingredients.counted.keys if name in wanted]
    everybody = None
    if grouping.reads_population and ingredients.population is not None:
        everybody = replace(ingredients.population, keys=list(keys), everywhere=False)
    keys += [(f"s_{position}", column(f"s_{position}")) for position in grouping.known]
    return Judged(keys, grouping.measures(), grouping.satisfied(), everybody)


def _blank(pages: Pages, ingredients: Ingredients, classes_table: Table, whole: Grouping) -> exp.Expression:
    """Whether suppressed rows, as one class without a quasi-identifier, satisfy the requirement themselves."""
    counted = ingredients.counted
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("counted", quoted=True))
    same = [equal(column(name, "counted"), column(name, "verdict")) for name in counted.names]
    on = all_of([*same, exp.Not(this=column("kept", "verdict"))])
    failing = counted.rows.select(everything).join(table_expression(classes_table, "verdict"), on=on)
    rows = exp.select().from_(relation(failing, "counted"))
    everybody = ingredients.population and replace(ingredients.population, keys=(), everywhere=False)
    found = classes(Counted(rows, (), counted.persons), whole.measures(), ingredients.tables, everybody)
    query = exp.select(named(whole.satisfied(), "satisfied")).from_(relation(found, "blanked"))
    comment = "Whether suppressed rows, blanked, satisfy the requirement as one class: then they stay, else they go."
    table = pages.create(comment, "blanked", query)
    satisfied = scalar(exp.select(column("satisfied")).from_(table_expression(table)))
    return exp.Coalesce(this=satisfied, expressions=[exp.false()])
