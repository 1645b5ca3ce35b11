"""The last chapters of a script: the staged release, its audit as assertions, the swap.

The audit measures every model again by the auditor's own statements, as named tables of one row that the script looks
at; it shares no predicate and no count with what made the table, and reads its published values, the source and the
population. The key of the person is in a scratch table only, where persons are counted; the target never holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor.models import ask
from sqlanon.auditor.policy_statements import Published, only_labels_of
from sqlanon.auditor.request import Opened, Request, null_is_blank, text_key
from sqlanon.auditor.statements.classes import classes, classes_of_persons
from sqlanon.auditor.statements.columns import ColumnDomain, ColumnStatement
from sqlanon.auditor.statements.population import matched_classes, population_figures, population_query
from sqlanon.auditor.statements.values import AuditedValues, CountedSide, Taxonomy, domain_counts
from sqlanon.engines.base import ColumnInfo, Engine
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.release.classes import (
    LiveRelease,
    generalized_columns,
    label_checks,
    population_labels,
    release_query,
)
from sqlanon.release.script.counting import Verdicts, stop_at_limit
from sqlanon.release.script.pages import Pages
from sqlanon.release.steps import CLASSES, AnyStep, Release, coverage
from sqlanon.spec.models import Alpha, SensitiveModel, TCloseness
from sqlanon.sql.build import (
    all_of,
    any_of,
    count,
    create_table_as,
    create_view,
    drop_table,
    drop_view,
    equal,
    is_null,
    named,
    row_count,
    scalar,
    subquery,
    total,
    total_where,
)
from sqlanon.sql.relations import File, Query, Table, column, literal, table_expression
from sqlanon.sql.traits import Traits

DOMAIN = ("rows", "reference_rows", "distinct_values", "nulls", "outside_order", "outside_hierarchy")
"""What `domain_counts` counts, in its order."""


def named_sizes(
    relation: exp.Expression, keys: Sequence[exp.Expression], person: exp.Expression | None, k: int
) -> exp.Select:
    """One row: the rows of a table, its classes, the smallest of them, and how many are smaller than k."""
    found = classes(relation, keys) if person is None else classes_of_persons(relation, keys, person)
    smallest = exp.Coalesce(this=exp.Min(this=column("size")), expressions=[literal(0)])
    below = exp.LT(this=column("size"), expression=literal(k))
    figures = {
        "rows": total(column("size" if person is None else "rows")),
        "classes": count(),
        "smallest_class": smallest,
        "classes_failing_k": total_where(below, literal(1)),
    }
    return exp.select(*_named(figures)).from_(subquery(found, "classes"), copy=False)


def named_domain(values: AuditedValues) -> exp.Select:
    """One row: what there is to compare of a sensitive column, and what an order or a hierarchy leaves out."""
    select = domain_counts(values)
    select.set("expressions", [named(item, name) for name, item in zip(DOMAIN, select.expressions, strict=True)])
    return select


def named_tests(statement: ColumnStatement) -> exp.Select:
    """One row: the classes, those whose values were not all counted, and those that fail each test."""
    figures = {"classes": count(), "uncounted": statement.figures["uncounted"]}
    figures |= {name: value for name, value in statement.figures.items() if name.startswith("classes_failing_")}
    statement.figures = {name: named(value, name) for name, value in figures.items()}
    read = {item.name for value in figures.values() for item in value.find_all(exp.Column)}
    statement.aggregates = {name: value for name, value in statement.aggregates.items() if name in read}
    return statement.sql()


def named_figures(select: exp.Select, figures: Mapping[str, exp.Expression], wanted: Iterable[str]) -> exp.Select:
    """A select of figures with some of them left, and named."""
    select.set("expressions", _named({name: figures[name] for name in wanted}))
    return select


def nothing_fails(table: Table, zero: Sequence[str], positive: Sequence[str] = ()) -> exp.Select:
    """TRUE when the one row of a table has 0 in these columns, and more than 0 in those; not TRUE without a row."""
    conditions = [equal(exp.Max(this=column(name)), literal(0)) for name in zero]
    conditions += [exp.GT(this=exp.Min(this=column(name)), expression=literal(0)) for name in positive]
    return exp.select(all_of(conditions)).from_(table_expression(table))


def _named(figures: Mapping[str, exp.Expression]) -> list[exp.Expression]:
    return [named(value, name) for name, value in figures.items()]


UNKNOWN = ColumnDomain(rows=2**40, reference_rows=2**40, values=2**40, has_null=True)
"""Nobody knows how much data a script will read: products are wide, values may be many."""

Taxonomies = Mapping[str, Query]
"""The labels of sensitive columns that have a hierarchy of their own."""

Labels = Mapping[str, Sequence[str]]
"""The labels that columns may show, where regions have labels of their own."""

NO_LABELS: Labels = {}

FAILS = "the release fails its audit"


@dataclass(frozen=True)
class AuditedGroup:
    """A quasi-identifier, with what its scratch tables are called after."""

    number: int
    name: str
    columns: tuple[str, ...]
    k: int

    @property
    def words(self) -> str:
        return f" of {self.name}" if self.name else ""


class Auditor:
    """Writes the audit of one staged table."""

    def __init__(
        self,
        pages: Pages,
        engine: Engine,
        release: Release,
        staged: Table,
        taxonomies: Taxonomies,
        everybody: exp.Select | None,
    ) -> None:
        binding = release.binding
        spec = binding.spec
        self._pages = pages
        self._traits: Traits = engine.traits
        self._taxonomies = taxonomies
        self._staged = staged
        others = spec.sensitive if spec.privacy.other_sensitive == "known" else ()
        self._request = Request(binding.names, spec.privacy, spec.respondent, others)
        infos = {info.name: info for info in binding.columns}
        self._source = Opened(binding.source, "source", infos, self._traits)
        self._audited = Opened(staged, "audited", infos | dict(generalized_columns(release)), self._traits)
        self._population = (
            None
            if everybody is None
            else Opened(Query(everybody), "population", dict(generalized_columns(release)), self._traits)
        )

    def write(self) -> None:
        """Write a measurement and an assertion for each requirement of each quasi-identifier."""
        privacy = self._request.privacy
        groups = privacy.groups(self._request.quasi_identifier).items()
        for number, (name, (columns, k)) in enumerate(groups):
            group = AuditedGroup(number, name, columns, k or 1)
            self._sizes(group)
            for name_of_column in self._request.columns:
                models = [entry for entry in privacy.models() if entry.column == name_of_column]
                if models:
                    self._column(group, name_of_column, models)
            if self._population is not None:
                self._against(group, self._population)

    def expect_labels(self, engine: Engine, release: Release, steps: Sequence[AnyStep] = ()) -> None:
        """Stop unless every quasi-identifier shows labels of its level alone, whatever its classes satisfy.

        A view has no tables of hierarchies: its `steps` make them within the query.
        """
        for check in label_checks(engine, release, self._audited.relation, steps):
            self._pages.stop_unless(
                f"Audit: stop unless {check.column} shows labels of level {check.level} alone.",
                check.holds,
                f"{FAILS}: {check.column} shows labels of another level",
            )

    def expect_listed(self, allowed: Labels, blank: bool) -> None:
        """Stop unless columns that regions recode show labels of a list that the spec was asked about."""
        table = Published(self._audited.relation, self._audited.columns, self._traits)
        for number, (name, labels) in enumerate(allowed.items()):
            comment = f"Audit: the labels that {name} may show, each of them allowed by the spec."
            listed = self._pages.create_text(comment, f"audit_labels_{number}", ["label"], [[item] for item in labels])
            text = self._traits.key(column("label", "hierarchy"), Family.TEXT)
            self._pages.stop_unless(
                f"Audit: stop unless {name} shows these labels alone.",
                only_labels_of(table, name, listed, text, [TOP] if blank else []),
                f"{FAILS}: {name} shows labels that the spec does not allow",
            )

    def expect_fields(self, names: Sequence[str], target: File) -> None:
        """Stop where a csv file would make one field of an empty text and NULL; nobody reads a script's file back."""
        if target.format == "parquet":
            return
        for name in names:
            if self._audited.family(name) is not Family.TEXT:
                continue
            value = column(name)
            apart = [equal(value, literal("")), is_null(value.copy())]
            nowhere = [equal(total_where(condition, literal(1)), literal(0)) for condition in apart]
            self._pages.stop_unless(
                f"Audit: stop if {name} has both empty texts and NULLs, which are one field of a {target.format} file.",
                exp.select(any_of(nowhere)).from_(table_expression(self._staged)),
                f"{FAILS}: {name} has empty texts and NULLs, which are one field of a {target.format} file",
            )

    def expect_rows(self, expected: exp.Expression, classes: Table) -> None:
        """Stop unless the table has the rows of the released classes."""
        found = scalar(row_count(table_expression(self._staged)))
        holds = exp.select(equal(expected, found)).from_(table_expression(classes))
        self._pages.stop_unless(
            "Audit: stop unless the table has exactly the rows of the classes that are released.",
            holds,
            f"{FAILS}: it has other rows than expected",
        )

    def _sizes(self, group: AuditedGroup) -> None:
        query = named_sizes(self._audited.expression(), self._keys(group.columns), self._person(), group.k)
        unit = "rows" if self._person() is None else "persons"
        comment = f"Audit: the classes{group.words} in the staged table."
        table = self._pages.create(comment, f"audit_{group.number}", query)
        self._pages.stop_unless(
            f"Audit: stop unless there are classes{group.words} and every one has at least {group.k} {unit}.",
            nothing_fails(table, ["classes_failing_k"], ["rows"]),
            f"{FAILS}: k{group.words}",
        )

    def _column(self, group: AuditedGroup, name: str, models: Sequence[SensitiveModel]) -> None:
        place = f"audit_{group.number}_{self._request.columns.index(name)}"
        values = self._values(name, models)
        self._comparable(group, name, values, place)
        keys = self._keys([*group.columns, *self._request.others(name)])
        statement = ColumnStatement(values, keys, UNKNOWN)
        asked = [
            ask(entry, f"{position}", flag, statement, {}) for position, (entry, flag) in enumerate(_numbered(models))
        ]
        comment = f"Audit: {name} in the classes{group.words} of the staged table, and how many of them fail."
        table = self._pages.create(comment, place, named_tests(statement))
        for item in asked:
            question = item.question
            self._pages.stop_unless(
                f"Audit: stop unless {question.model} of {name} holds{group.words}: {question.asked}.",
                nothing_fails(table, [f"classes_failing_{item.name}", "uncounted"], ["classes"]),
                f"{FAILS}: {question.model} {name}{group.words}",
            )

    def _comparable(self, group: AuditedGroup, name: str, values: AuditedValues, place: str) -> None:
        """Once for each column: every value has its place in the order and in the hierarchy that models go by."""
        if group.number or not (values.order or values.taxonomy):
            return
        table = self._pages.create(f"Audit: the values of {name}.", f"{place}_values", named_domain(values))
        self._pages.stop_unless(
            f"Audit: stop unless every value of {name} has a place in its order and in its hierarchy.",
            nothing_fails(table, ["outside_order", "outside_hierarchy"], ["reference_rows"]),
            f"{FAILS}: a value of {name} has no place in its order or hierarchy",
        )

    def _values(self, name: str, models: Sequence[SensitiveModel]) -> AuditedValues:
        ordered = [entry for entry in models if isinstance(entry, TCloseness) and entry.distance == "ordered"]
        source = self._source
        person = self._request.respondent
        return AuditedValues(
            audited=CountedSide(self._audited.expression(), self._audited.key(name), self._person()),
            source=CountedSide(source.expression(), source.key(name), None if person is None else source.key(person)),
            text=text_key(column("value"), source.family(name), self._traits),
            flagged=tuple(entry.value for entry in models if isinstance(entry, Alpha)),
            ordered=bool(ordered),
            order=ordered[0].order if ordered else (),
            taxonomy=self._taxonomy(name),
        )

    def _taxonomy(self, name: str) -> Taxonomy | None:
        relation = self._taxonomies.get(name)
        if relation is None:
            return None
        info = ColumnInfo("value", self._source.columns[name].type, self._source.family(name))
        opened = Opened(relation, "taxonomy", {"value": info}, self._traits)
        # The columns of a taxonomy are its value and one label for each level.
        height = len(relation.select.selects) - 1
        return Taxonomy(opened.expression(), opened.key("value"), height)

    def _against(self, group: AuditedGroup, population: Opened) -> None:
        privacy = self._request.privacy
        matched = matched_classes(
            self._audited.expression(),
            self._keys(group.columns),
            self._person(),
            population.expression(),
            [population.key(name) for name in group.columns],
            null_is_blank(group.columns, self._audited, population) if privacy.suppression.mode == "blank" else (),
        )
        bounds = privacy.delta_presence
        figures = population_figures(privacy.k_map, None if bounds is None else (bounds.min, bounds.max))
        failing = [name for name in figures if name.startswith("classes_failing_")]
        wanted = ["population_rows", "classes", *failing]
        query = named_figures(population_query(matched, figures), figures, wanted)
        comment = f"Audit: the classes{group.words} of the staged table, matched with the population."
        table = self._pages.create(comment, f"audit_{group.number}_population", query)
        for name in failing:
            model = name.removeprefix("classes_failing_")
            self._pages.stop_unless(
                f"Audit: stop unless {model}{group.words} holds.",
                nothing_fails(table, [name], ["population_rows"]),
                f"{FAILS}: {model}{group.words}",
            )

    def _keys(self, names: Sequence[str]) -> list[exp.Expression]:
        return [self._audited.key(name) for name in names]

    def _person(self) -> exp.Expression | None:
        name = self._request.respondent
        return None if name is None else self._audited.key(name)


def _numbered(models: Sequence[SensitiveModel]) -> Iterator[tuple[SensitiveModel, int]]:
    """Each entry with its number among those that name a value."""
    flags = 0
    for entry in models:
        yield entry, flags
        flags += isinstance(entry, Alpha)


AUDIT = "the staged table is measured from scratch, and the script stops where a requirement does not hold."


def write_table(
    pages: Pages,
    engine: Engine,
    release: Release,
    verdicts: Verdicts,
    taxonomies: Taxonomies,
    allowed: Labels = NO_LABELS,
) -> None:
    """Stage, audit and swap a table, or write a file; columns that regions recode show `allowed` labels alone."""
    binding, target = release.binding, release.binding.target
    person = [] if binding.respondent is None else [binding.respondent.name]
    query = release_query(engine, release, verdicts.measured, blank=verdicts.blank, with_respondent=True)
    renamed = isinstance(target, Table) and not pages.scripting.replaces
    if isinstance(target, Table) and renamed and not person:
        staged = _stage(pages, target, "The release, in no order that tells of the source.", query)
    else:
        with_person = f", with {person[0]} for the audit" if person else ""
        staged = pages.create(f"The release{with_person}, in no order that tells of the source.", "staged", query)
    pages.open("audit", AUDIT)
    auditor = Auditor(pages, engine, release, staged, taxonomies, population_labels(engine, release))
    auditor.write()
    auditor.expect_labels(engine, release)
    auditor.expect_listed(allowed, binding.blank)
    if isinstance(target, File):
        auditor.expect_fields(binding.released, target)
    auditor.expect_rows(total_where(verdicts.released(), column("n")), verdicts.measured.table)
    pages.open("swap", "what was audited becomes visible under the name of the target.")
    columns: list[exp.Expression] = [column(name) for name in binding.released]
    if isinstance(target, File):
        _write_file(pages, staged, target, columns if person else None)
    elif renamed and person:
        _swap(pages, _without_person(pages, target, staged, columns), target, columns)
    else:
        _swap(pages, staged, target, columns)


def write_view(pages: Pages, engine: Engine, live: LiveRelease, classes_table: Table, taxonomies: Taxonomies) -> None:
    """Stage, audit and replace a view that computes the release whenever it is read."""
    release, traits = live.release, pages.scripting.traits
    target = release.binding.target
    if not isinstance(target, Table):
        raise ValueError("a view has a name")
    query = live.rows(engine)
    staging = pages.stage(
        "The release, computed whenever it is read.",
        target,
        lambda view: create_view(view, query, traits, replace=False),
        drop_view,
    )
    audited = staging
    if release.binding.persons:
        rows = live.rows(engine, with_respondent=True)
        audited = pages.create("What the view shows, with the person for the audit.", "staged", rows)
    pages.open("audit", AUDIT)
    auditor = Auditor(pages, engine, release, audited, taxonomies, live.population(engine))
    auditor.write()
    auditor.expect_labels(engine, live.release, live.steps)
    auditor.expect_rows(_shown(release), classes_table)
    pages.open("swap", "the audited view takes the place of the target.")
    pages.add("The staging view is no longer needed.", drop_view(staging))
    pages.add("The view itself.", create_view(target, query.copy(), traits, replace=True))


def _shown(release: Release) -> exp.Expression:
    """How many rows a view shows of its classes: blanked ones too, where they are enough together."""
    kept = total_where(column("kept"), column("n"))
    if not release.binding.blank:
        return kept
    others = total_where(exp.Not(this=column("kept")), column("n"))
    enough = exp.GTE(this=others, expression=literal(release.binding.k))
    return exp.Add(this=kept, expression=exp.Case().when(enough, others.copy()).else_(literal(0)))


def write_judged_view(pages: Pages, engine: Engine, live: LiveRelease) -> Table:
    """The classes of a view as it would now be read, and the limits that it is held to when it is made."""
    table = pages.create(CLASSES, "classes", live.classes())
    uncovered = coverage(engine, live.release, table)
    if uncovered is not None:
        pages.stop_unless(uncovered.comment, uncovered.holds, uncovered.message)
    stop_at_limit(pages, live.release.binding.spec.privacy.suppression.limit, table)
    return table


def _stage(pages: Pages, target: Table, comment: str, query: exp.Query) -> Table:
    """A table beside the target that can take its name."""
    traits = pages.scripting.traits
    return pages.stage(comment, target, lambda table: create_table_as(table, query, traits, scratch=False), drop_table)


def _without_person(pages: Pages, target: Table, staged: Table, columns: list[exp.Expression]) -> Table:
    rows = exp.select(*columns).from_(table_expression(staged)).order_by(exp.Rand())
    staging = _stage(pages, target, "The audited rows without the key of the person, in an order of their own.", rows)
    counts = [scalar(row_count(table_expression(table))) for table in (staging, staged)]
    pages.stop_unless("Stop unless no row was lost.", exp.select(equal(*counts)), "rows were lost after the audit")
    return staging


def _swap(pages: Pages, staging: Table, target: Table, columns: list[exp.Expression]) -> None:
    for comment, statement in pages.scripting.swap(staging, target, [item.copy() for item in columns]):
        pages.add(comment, statement)


def _write_file(pages: Pages, staged: Table, target: File, columns: list[exp.Expression] | None) -> None:
    if columns is not None:
        rows = exp.select(*columns).from_(table_expression(staged)).order_by(exp.Rand())
        staged = pages.create("The audited rows without the key of the person.", "file", rows)
    pages.add(f"Write the file {target}.", pages.scripting.traits.copy_to_file(staged, target))
