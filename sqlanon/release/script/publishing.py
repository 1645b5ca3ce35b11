"""The last chapters of a script: the staged release, its audit as assertions, the swap.

The steps are those that publish carries out (`release.steps`), the questions of the audit those that an engine answers
(`auditor.questions`): they share no predicate and no count with what made the table, and read its published values, the
source and the population. The key of the person is in a scratch table only; the target never holds it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.auditor.policy_statements import LabelQuestion, LabelsShown, Published
from sqlanon.auditor.questions import Sides, against_population, asked_models, audited_values, sizes_of_classes
from sqlanon.auditor.request import Opened, Request
from sqlanon.auditor.rules import Ruled
from sqlanon.auditor.statements.classes import AuditQuestion
from sqlanon.auditor.statements.columns import ColumnDomain, ColumnStatement
from sqlanon.auditor.statements.values import domain_question
from sqlanon.engines.base import Engine
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.release.classes import (
    LiveRelease,
    generalized_columns,
    in_one_query,
    level_question,
    population_labels,
    release_query,
)
from sqlanon.release.script.counting import Verdicts, stop_at_limit
from sqlanon.release.script.ledger import LedgerPages
from sqlanon.release.script.pages import Pages
from sqlanon.release.steps import (
    CLASSES,
    AnyStep,
    Release,
    audited_rows,
    coverage,
    released_columns,
    show_view,
    stage_audited,
    stage_table,
    stage_view,
    staged_rows,
)
from sqlanon.source.binding import Binding
from sqlanon.spec.models import SensitiveModel
from sqlanon.sql.build import all_of, drop_table, drop_view, equal, is_null, named, scalar, total_where
from sqlanon.sql.relations import File, Query, Table, column, literal, table_expression
from sqlanon.sql.traits import Traits

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


@dataclass(frozen=True)
class AuditVerdict:
    """What must be true of the figures of a question: some are 0, others more than 0."""

    holds: str
    """What is required, to be read after `stop unless`."""
    message: str
    zero: tuple[str, ...]
    positive: tuple[str, ...]


class Auditor:
    """Writes the audit of one staged table: the questions of `auditor.questions`, with what must hold of each."""

    def __init__(
        self,
        pages: Pages,
        engine: Engine,
        release: Release,
        staged: Table,
        taxonomies: Taxonomies,
        everybody: exp.Select | None,
    ) -> None:
        self._binding = binding = release.binding
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
        self._sides = Sides(self._audited, self._source, spec.respondent, spec.respondent)
        self._population = (
            None
            if everybody is None
            else Opened(Query(everybody), "population", dict(generalized_columns(release)), self._traits)
        )

    def write(self) -> None:
        """Write every requirement of each quasi-identifier."""
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

    def _ask(self, question: AuditQuestion, place: str, comment: str, verdicts: Sequence[AuditVerdict]) -> None:
        """One verdict is asserted where it stands; several are asserted of a table of one row."""
        if len(verdicts) == 1:
            [verdict] = verdicts
            holds = question.holds(verdict.zero, verdict.positive)
            self._pages.stop_unless(f"Audit: stop unless {verdict.holds}.", holds, f"{FAILS}: {verdict.message}")
            return
        table = self._pages.create(f"Audit: {comment}.", place, question.kept())
        for verdict in verdicts:
            conditions = [equal(exp.Max(this=column(name)), literal(0)) for name in verdict.zero]
            conditions += [exp.GT(this=exp.Min(this=column(name)), expression=literal(0)) for name in verdict.positive]
            holds = exp.select(all_of(conditions)).from_(table_expression(table))
            self._pages.stop_unless(f"Audit: stop unless {verdict.holds}.", holds, f"{FAILS}: {verdict.message}")

    def _sizes(self, group: AuditedGroup) -> None:
        unit = "rows" if self._request.respondent is None else "persons"
        verdict = AuditVerdict(
            f"there are classes{group.words} in the staged table and every one has at least {group.k} {unit}",
            f"k{group.words}",
            ("classes_at_risk",),
            ("rows",),
        )
        question = sizes_of_classes(self._sides, group.columns, group.k)
        self._ask(question, f"audit_{group.number}", f"the classes{group.words} in the staged table", [verdict])

    def _column(self, group: AuditedGroup, name: str, models: Sequence[SensitiveModel]) -> None:
        place = f"audit_{group.number}_{self._request.columns.index(name)}"
        values = audited_values(self._sides, name, models, self._taxonomy(name))
        if not group.number and (values.order or values.taxonomy):
            # Once for each column: every value has its place in the order and in the hierarchy that models go by.
            comparable = AuditVerdict(
                f"every value of {name} has a place in its order and in its hierarchy",
                f"a value of {name} has no place in its order or hierarchy",
                ("outside_order", "outside_hierarchy"),
                ("reference_rows",),
            )
            self._ask(domain_question(name, values), f"{place}_values", f"the values of {name}", [comparable])
        keys = [self._audited.key(key) for key in (*group.columns, *self._request.others(name))]
        statement = ColumnStatement(values, keys, UNKNOWN)
        verdicts = [
            AuditVerdict(
                f"{item.question.model} of {name} holds{group.words}: {item.question.asked}",
                f"{item.question.model} {name}{group.words}",
                (f"classes_failing_{item.name}", "uncounted"),
                ("classes",),
            )
            for item in asked_models(models, statement, {})
        ]
        comment = f"{name} in the classes{group.words} of the staged table, and how many of them fail"
        self._ask(statement.tests(name), place, comment, verdicts)

    def _taxonomy(self, name: str) -> Opened | None:
        """The labels of a sensitive column: its value and one label for each level."""
        relation = self._taxonomies.get(name)
        if relation is None:
            return None
        info = self._source.columns[name]
        labels = [item.alias_or_name for item in relation.select.selects]
        infos = {label: replace(info, name=label) for label in labels}
        return Opened(relation, "taxonomy", infos, self._traits)

    def _against(self, group: AuditedGroup, population: Opened) -> None:
        question = against_population(self._sides, population, group.columns, self._request.privacy)
        failing = [name for name in question.figures if name.startswith("classes_failing_")]
        asked = {name: question.figures[name] for name in ("population_rows", "classes", *failing)}
        models = [name.removeprefix("classes_failing_") for name in failing]
        verdicts = [
            AuditVerdict(
                f"{model}{group.words} holds",
                f"{model}{group.words}",
                (f"classes_failing_{model}",),
                ("population_rows",),
            )
            for model in models
        ]
        comment = f"the classes{group.words} of the staged table, matched with the population"
        self._ask(replace(question, figures=asked), f"audit_{group.number}_population", comment, verdicts)

    def expect_labels(self, engine: Engine, release: Release, steps: Sequence[AnyStep] = ()) -> None:
        """Stop unless every quasi-identifier shows labels of its level alone, whatever its classes satisfy.

        A view has no tables of hierarchies: its `steps` make them within the query.
        """
        question, levels = level_question(engine, release, self._audited.relation)
        if levels:
            shown = ", ".join(f"{name} of level {level}" for name, level in levels.items())
            self._pages.stop_at(
                f"Audit: stop unless columns show labels of their levels alone: {shown}.",
                in_one_query(question.first_wrong(), steps),
                f"{FAILS}: ",
                " shows labels of another level",
            )

    def expect_rules(self) -> None:
        """Stop unless columns show what their rules say."""
        ruled = Ruled(self._binding, self._audited.relation, self._audited.columns, self._traits)
        for question in ruled.questions() if self._binding.rules is not None else ():
            comment = f"Audit: stop unless {question.column} shows what its rule says: {question.asked}."
            self._pages.stop_unless(comment, question.holds, f"{FAILS}: {question.complaint}")

    def expect_listed(self, allowed: Labels, blank: bool) -> None:
        """Stop unless columns that regions recode show labels of a list that the spec was asked about."""
        shown = []
        for number, (name, labels) in enumerate(allowed.items()):
            comment = f"Audit: the labels that {name} may show, each of them allowed by the spec."
            listed = self._pages.create_text(comment, f"audit_labels_{number}", ["label"], [[item] for item in labels])
            text = self._traits.key(column("label", "hierarchy"), Family.TEXT)
            shown.append(LabelsShown(name, listed, text, (TOP,) if blank else ()))
        if shown:
            table = Published(self._audited.relation, self._audited.columns, self._traits)
            self._pages.stop_at(
                f"Audit: stop unless columns show these labels alone: {', '.join(allowed)}.",
                LabelQuestion(table, shown).first_wrong(),
                f"{FAILS}: ",
                " shows labels that the spec does not allow",
            )

    def expect_fields(self, names: Sequence[str], target: File) -> None:
        """Stop where a csv file would make one field of an empty text and NULL; nobody reads a script's file back."""
        if target.format == "parquet":
            return
        field = f"which are one field of a {target.format} file"
        both = exp.Case()
        for name in names:
            if self._audited.family(name) is Family.TEXT:
                apart = [equal(column(name), literal("")), is_null(column(name))]
                occurs = [exp.GT(this=total_where(item, literal(1)), expression=literal(0)) for item in apart]
                both = both.when(all_of(occurs), literal(name), copy=False)
        if both.args.get("ifs"):
            self._pages.stop_at(
                f"Audit: stop if a column has both empty texts and NULLs, {field}.",
                exp.select(named(both, "wrong")).from_(table_expression(self._staged)),
                f"{FAILS}: ",
                f" has empty texts and NULLs, {field}",
            )

    def expect_rows(self, expected: exp.Expression, classes: Table) -> None:
        """Stop unless the table has the rows of the released classes."""
        found = scalar(staged_rows(self._staged))
        holds = exp.select(equal(expected, found)).from_(table_expression(classes))
        self._pages.stop_unless(
            "Audit: stop unless the table has exactly the rows of the classes that are released.",
            holds,
            f"{FAILS}: it has other rows than expected",
        )


AUDIT = "the staged table is measured from scratch, and the script stops where a requirement does not hold."


def write_table(
    pages: Pages,
    engine: Engine,
    release: Release,
    verdicts: Verdicts,
    taxonomies: Taxonomies,
    allowed: Labels = NO_LABELS,
    ledger: LedgerPages | None = None,
) -> None:
    """Stage, audit and swap a table, or write a file; columns that regions recode show `allowed` labels alone.

    A ledger says who of the release stays out, and is written with it.
    """
    binding, target = release.binding, release.binding.target
    query = release_query(engine, release, verdicts.measured, blank=verdicts.blank, with_respondent=True)
    renamed = isinstance(target, Table) and not pages.scripting.replaces
    if isinstance(target, Table) and renamed and not binding.witnessed:
        staging = pages.staging(target)
        pages.stage(stage_table(staging, query, pages.scripting.traits), drop_table(staging))
        staged = staging
    else:
        step = audited_rows(binding, pages.name, query)
        staged = pages.create(step.comment, step.name, step.query)
    expected = total_where(verdicts.released(), column("n"))
    if ledger is not None:
        pages.open("series", "people who share all of their history satisfy the requirement together, or stay out.")
        shown = {info.name: info for info in binding.columns} | dict(generalized_columns(release))
        staged = ledger.decided(staged, shown, [*binding.released, *binding.witnesses])
        expected = exp.Sub(this=expected, expression=ledger.held())
    pages.open("audit", AUDIT)
    auditor = Auditor(pages, engine, release, staged, taxonomies, population_labels(engine, release))
    auditor.write()
    auditor.expect_labels(engine, release)
    auditor.expect_listed(allowed, binding.blank)
    auditor.expect_rules()
    if isinstance(target, File):
        auditor.expect_fields(binding.released, target)
    auditor.expect_rows(expected, verdicts.measured.table)
    pages.open("swap", "what was audited becomes visible under the name of the target.")
    if isinstance(target, File):
        _write_file(pages, binding, staged, target)
        return
    if renamed and binding.witnessed:
        staging = pages.staging(target)
        pages.stage(stage_audited(binding, staged, staging, pages.scripting.traits), drop_table(staging))
        counts = [scalar(staged_rows(table)) for table in (staging, staged)]
        pages.stop_unless("Stop unless no row was lost.", exp.select(equal(*counts)), "rows were lost after the audit")
        staged = staging
    for comment, statement in pages.scripting.swap(staged, target, [column(name) for name in binding.released]):
        pages.add(comment, statement)
    if ledger is not None:
        ledger.write()


def write_view(pages: Pages, engine: Engine, live: LiveRelease, classes_table: Table, taxonomies: Taxonomies) -> None:
    """Stage, audit and replace a view that computes the release whenever it is read."""
    release, traits = live.release, pages.scripting.traits
    target = release.binding.target
    if not isinstance(target, Table):
        raise ValueError("a view has a name")
    query, staging = live.rows(engine), pages.staging(target)
    pages.stage(stage_view(staging, query, traits), drop_view(staging))
    audited = staging
    if release.binding.persons:
        rows = live.rows(engine, with_respondent=True)
        audited = pages.create("What the view shows, with the person for the audit.", "staged", rows)
    pages.open("audit", AUDIT)
    auditor = Auditor(pages, engine, release, audited, taxonomies, live.population(engine))
    auditor.write()
    auditor.expect_labels(engine, live.release, live.steps)
    auditor.expect_rules()
    auditor.expect_rows(_shown(release), classes_table)
    pages.open("swap", "the audited view takes the place of the target.")
    for step in show_view(staging, target, query, traits):
        pages.add(step.comment, step.statement)


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


def _write_file(pages: Pages, binding: Binding, staged: Table, target: File) -> None:
    if binding.witnessed:
        rows = released_columns(binding, staged)
        staged = pages.create("The audited rows without the key of the person.", "file", rows)
    pages.add(f"Write the file {target}.", pages.scripting.traits.copy_to_file(staged, target))
