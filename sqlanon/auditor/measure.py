"""The audit itself: a table measured as it stands, from its published values alone.

Used on every staging table before it is published, and on any table at all, also one that sqlanon never made. Of a
sensitive column it asks what values there are to compare, then one statement for the figures of all models; classes are
held against the population and the source where these are given. Reads counts, never values; writes scratch tables
only, where rows of the source are compared.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import overload

from sqlanon.auditor.breaches import BreachFigures, Linked, breach_check, measure_breaches
from sqlanon.auditor.consistency import Consistency, consistency_check, measure_consistency
from sqlanon.auditor.figures import Check, ColumnFigures, ModelQuestion, PopulationFigures, rounded
from sqlanon.auditor.models import (
    AskedModel,
    Found,
    effective_values,
    greatest_gain,
    greatest_logarithm,
    least_values,
    recursive_key,
)
from sqlanon.auditor.policy_statements import LabelQuestion
from sqlanon.auditor.questions import (
    Sides,
    against_population,
    asked_models,
    audited_values,
    labels_found,
    sizes_and_labels,
    sizes_of_classes,
)
from sqlanon.auditor.request import Ancestors, Beside, Opened, Request
from sqlanon.auditor.result import AuditResult, GroupResult, Sizes, average_risk, buckets
from sqlanon.auditor.statements.classes import AuditQuestion, person_count, size_figures
from sqlanon.auditor.statements.columns import ColumnDomain, ColumnStatement
from sqlanon.auditor.statements.values import AuditedValues, domain_question
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import EngineError, SourceError
from sqlanon.spec import Privacy
from sqlanon.spec.models import Alpha, LDiversity, SensitiveModel, TCloseness
from sqlanon.sql.build import count, row_count
from sqlanon.sql.relations import File, Relation

NOT_MEASURED = "not measured: the population, generalized like the table, is not known here"


def answered(engine: Engine, question: AuditQuestion) -> Found:
    """The figures of a question as an engine finds them."""
    [row] = engine.query(Statement(question.title, question.measured(), fresh=True))
    return dict(zip(question.figures, row, strict=True))


def measure_population(
    engine: Engine, sides: Sides, population: Opened, keys: Sequence[str], privacy: Privacy, group: str
) -> tuple[PopulationFigures, tuple[Check, ...]]:
    """Measure the classes of `keys`; the table has rows."""
    found = answered(engine, against_population(sides, population, keys, privacy))
    if not found["population_rows"]:
        raise SourceError(f"the population {population.relation} has no rows")
    return _figures(found), tuple(_checks(privacy, found, group))


def unmeasured(privacy: Privacy, classes: int, rows: int, group: str) -> Iterator[Check]:
    """The requirements that need a population, where none is at hand: they do not hold."""
    for _, question in _questions(privacy):
        yield Check(question, group, classes, classes, rows, rows, None, NOT_MEASURED)


def _figures(found: Found) -> PopulationFigures:
    greatest = None if found["unmatched"] else rounded(found["greatest"])
    return PopulationFigures(int(found["fewest"]), rounded(found["least"]) or 0.0, greatest)


def _checks(privacy: Privacy, found: Found, group: str) -> Iterator[Check]:
    figures = _figures(found)
    for name, question in _questions(privacy):
        measured = figures.k_map if name == "k_map" else figures.greatest_presence
        classes = found["classes"] if name == "k_map" else found["all_classes"]
        failing = (int(found[f"classes_failing_{name}"]), int(found["rows"]), int(found[f"rows_failing_{name}"]))
        yield Check(question, group, int(classes), *failing, measured)


def _questions(privacy: Privacy) -> Iterator[tuple[str, ModelQuestion]]:
    if privacy.k_map is not None:
        complaint = f"match fewer than {privacy.k_map} rows of the population"
        yield "k_map", ModelQuestion("k_map", f"k = {privacy.k_map}", complaint, "the fewest are {}")
    if privacy.delta_presence is not None:
        least, greatest = privacy.delta_presence.min, privacy.delta_presence.max
        asked = f"from {least:f} to {greatest:f}"
        complaint = f"have a share of the population outside {least:f} to {greatest:f}"
        yield "delta_presence", ModelQuestion("delta_presence", asked, complaint, "the greatest is {}")


@dataclass(frozen=True)
class MeasuredColumn:
    """What was found of a column."""

    figures: ColumnFigures
    checks: tuple[Check, ...]
    sizes: Found | None
    """The figures of the class sizes, where the statement measured them too."""


def _domain(engine: Engine, values: AuditedValues, name: str) -> tuple[ColumnDomain, dict[str, str]]:
    """The size of the domain, and why a distance cannot be measured."""
    numbers = answered(engine, domain_question(name, values)).values()
    rows, reference_rows, distinct, nulls, unplaced, uncovered = (int(number) for number in numbers)
    if rows and not reference_rows:
        raise SourceError(f"column '{name}': the reference has no rows, so there is nothing to compare with")
    reasons = {}
    if unplaced:
        reasons["ordered"] = f"not measured: {_counted(unplaced)} not in the declared order"
    if values.taxonomy is None:
        reasons["hierarchical"] = "not measured: the hierarchy of the column is not known here"
    elif uncovered:
        reasons["hierarchical"] = f"not measured: {_counted(uncovered)} outside the hierarchy of the column"
    return ColumnDomain(rows, reference_rows, distinct, nulls > 0), reasons


def _counted(number: int) -> str:
    return "1 value is" if number == 1 else f"{number} values are"


def _check(item: AskedModel, found: Found, group: str, rows: int) -> Check:
    classes = int(found["all_classes"])
    if item.reason:
        return Check(item.question, group, classes, classes, rows, rows, None, item.reason)
    return Check(
        item.question,
        group,
        classes,
        int(found[f"classes_failing_{item.name}"]),
        rows,
        int(found[f"rows_failing_{item.name}"]),
        item.measured(found),
    )


def _sensitive_figures(
    name: str, domain: ColumnDomain, found: Found, models: Sequence[SensitiveModel], checks: Sequence[Check]
) -> ColumnFigures:
    measured = list(zip(models, (check.measured for check in checks), strict=True))
    distances = {entry.distance: figure for entry, figure in measured if isinstance(entry, TCloseness)}
    return ColumnFigures(
        column=name,
        values=domain.values,
        distinct=least_values(found),
        entropy=effective_values(found),
        equal=rounded(found["equal"]) or 0.0,
        beta=greatest_gain(found),
        delta=greatest_logarithm(found),
        share=rounded(found["largest_share"]) or 0.0,
        recursive={
            recursive_key(entry): figure
            for entry, figure in measured
            if isinstance(entry, LDiversity) and entry.kind == "recursive"
        },
        ordered=distances.get("ordered"),
        hierarchical=distances.get("hierarchical"),
        alpha=tuple(figure or 0.0 for entry, figure in measured if isinstance(entry, Alpha)),
        lacking=int(found["lacking"]) if "lacking" in found else None,
    )


NO_BESIDE = Beside()


@dataclass(frozen=True)
class _Audit:
    """Everything that an audit reads, looked up."""

    engine: Engine
    request: Request
    sides: Sides
    taxonomies: dict[str, Opened]
    population: Opened | None
    ancestors: Ancestors | None
    labels: LabelQuestion | None
    breaches: BreachFigures | None


@dataclass(frozen=True)
class _Group:
    """A quasi-identifier."""

    name: str
    columns: tuple[str, ...]
    k: int


@overload
def audit(engine: Engine, table: Relation, request: Request, beside: Beside = NO_BESIDE) -> AuditResult: ...


@overload
def audit(
    engine: Engine, table: Relation, request: Sequence[str], beside: int, *, source: Relation | None = None
) -> AuditResult: ...


def audit(
    engine: Engine,
    table: Relation,
    request: Request | Sequence[str],
    beside: Beside | int = NO_BESIDE,
    *,
    source: Relation | None = None,
) -> AuditResult:
    """Measure a table against a requirement; k-anonymity alone may be asked by the columns and k."""
    if not isinstance(request, Request):
        request = Request(tuple(request), Privacy(k=beside if isinstance(beside, int) else 1))
    if not isinstance(beside, Beside):
        beside = Beside(source)
    audited = Opened.at(engine, table, "audited")
    named = request.privacy.groups(request.quasi_identifier)
    # What k counts instead of equal rows is judged by the rows that fit each other; classes are only measured then.
    counts_classes = request.privacy.anonymity == "classic"
    groups = [_Group(name, columns, (k if counts_classes else None) or 1) for name, (columns, k) in named.items()]
    audited.require(*request.quasi_identifier, *(name for group in groups for name in group.columns), *request.columns)
    respondent = request.respondent if request.respondent in audited.columns else None
    source_side = _opened(engine, beside.source, "source")
    if source_side is not None and isinstance(table, File) and table.of_text:
        source_side = replace(source_side, empty_is_null=True)
    sides = Sides(audited, source_side, respondent, beside.source_respondent)
    taxonomies = {name: Opened.at(engine, relation, "taxonomy") for name, relation in beside.taxonomies.items()}
    population = _opened(engine, beside.population, "population")
    breaches = _breaches(engine, request, beside.linked)
    whole = _Audit(engine, request, sides, taxonomies, population, beside.ancestors, beside.labels, breaches)
    results = tuple(_measured(whole, group) for group in groups)
    sizes = min(results, key=lambda result: (result.satisfied, result.sizes.k)).sizes
    return AuditResult(
        table=str(table),
        sizes=sizes,
        groups=results,
        suppressed=None if sides.source is None else _count(engine, sides.source) - sizes.rows,
        respondents=None if respondent is None else _persons(engine, audited, respondent),
        notes=tuple(_notes(request, respondent)),
        breaches=breaches,
        by_person=request.respondent is not None,
    )


def _breaches(engine: Engine, request: Request, linked: Linked | None) -> BreachFigures | None:
    asked = request.privacy.personalized
    if asked is None or linked is None:
        return None
    return measure_breaches(engine, linked, asked, primary=asked.primary)


def _opened(engine: Engine, relation: Relation | None, alias: str) -> Opened | None:
    return None if relation is None else Opened.at(engine, relation, alias)


def _notes(request: Request, respondent: str | None) -> list[str]:
    if request.respondent == respondent:
        return []
    return [f"rows were counted, not persons: the table does not have their key, column '{request.respondent}'"]


def _measured(audit: _Audit, group: _Group) -> GroupResult:
    """The classes of a quasi-identifier, and what is measured of them where the table has rows."""
    columns = []
    for place, name in enumerate(audit.request.columns):
        column = _column(audit, group, name, first=not place)
        if column is None:
            return GroupResult(group.name, group.columns, Sizes.empty(group.k))
        columns.append(column)
    found = next((column.sizes for column in columns if column.sizes is not None), None)
    persons = audit.sides.respondent is not None
    labels = None
    if found is None:
        found, labels = _class_sizes(audit, group)
    sizes = _sizes(found, group.k, persons=persons)
    if not sizes.rows:
        return GroupResult(group.name, group.columns, Sizes.empty(group.k))
    people, against = _against_population(audit, group, sizes)
    fitting = _against_source(audit, group)
    asked = audit.request.privacy.personalized
    if asked is not None:
        against = (*against, breach_check(asked, audit.breaches, group.name, sizes.classes, sizes.rows))
    return GroupResult(
        group.name,
        group.columns,
        sizes,
        tuple(column.figures for column in columns),
        people,
        (
            _k(sizes, group),
            *(check for column in columns for check in column.checks),
            *against,
            *_asked_of_fitting(audit, fitting, group, sizes),
        ),
        fitting,
        labels,
    )


def _column(audit: _Audit, group: _Group, name: str, *, first: bool) -> MeasuredColumn | None:
    """A sensitive column; the first one's statement measures the classes too, where they are those of k.

    None where the table has no rows.
    """
    engine, sides, others = audit.engine, audit.sides, audit.request.others(name)
    models = [entry for entry in audit.request.privacy.models() if entry.column == name]
    values = audited_values(sides, name, models, audit.taxonomies.get(name))
    domain, reasons = _domain(engine, values, name)
    if not domain.rows:
        return None
    statement = ColumnStatement(values, [sides.audited.key(key) for key in (*group.columns, *others)], domain)
    statement.figures["all_classes"] = count()
    measures_sizes = first and not others
    if measures_sizes:
        statement.figures |= size_figures(group.k, statement.rows)
    asked = asked_models(models, statement, reasons)
    found = answered(engine, statement.question(name))
    if found["uncounted"]:
        raise EngineError(f"column '{name}': the table changed while it was measured; audit it again")
    checks = tuple(_check(item, found, group.name, domain.rows) for item in asked)
    figures = _sensitive_figures(name, domain, found, models, checks)
    return MeasuredColumn(figures, checks, found if measures_sizes else None)


def _class_sizes(audit: _Audit, group: _Group) -> tuple[Found, tuple[int, ...] | None]:
    """The sizes of classes, and the labels that they show where classes of rows in all columns can tell."""
    sides, labels = audit.sides, audit.labels
    if labels is None or group.name or sides.respondent is not None:
        return answered(audit.engine, sizes_of_classes(sides, group.columns, group.k)), None
    found = answered(audit.engine, sizes_and_labels(sides, group.columns, group.k, labels))
    return found, labels_found(found)


def _sizes(found: Found, k: int, *, persons: bool) -> Sizes:
    names = ("rows", "classes", "smallest", "largest")
    rows, classes, smallest, largest = (int(found[name] or 0) for name in names)
    at_risk = (int(found["classes_at_risk"]), int(found["rows_at_risk"]))
    return Sizes(rows, classes, smallest, largest, k, *at_risk, buckets(found), average_risk(found), persons)


def _k(sizes: Sizes, group: _Group) -> Check:
    fewer = f"have fewer than {group.k} {sizes.unit}"
    question = ModelQuestion("k", f"k = {group.k}", fewer, "the smallest class has {}")
    return Check(question, group.name, sizes.classes, sizes.classes_at_risk, sizes.rows, sizes.rows_at_risk, sizes.k)


def _against_population(audit: _Audit, group: _Group, sizes: Sizes) -> tuple[PopulationFigures | None, Sequence[Check]]:
    privacy = audit.request.privacy
    if audit.population is None:
        return None, tuple(unmeasured(privacy, sizes.classes, sizes.rows, group.name))
    sides = audit.sides
    return measure_population(audit.engine, sides, audit.population, group.columns, privacy, group.name)


def _against_source(audit: _Audit, group: _Group) -> Consistency | None:
    """Which rows of the source fit which rows of the table, where there is a single quasi-identifier."""
    source, ancestors = audit.sides.source, audit.ancestors
    if source is None or ancestors is None or group.name:
        return None
    k = audit.request.privacy.k or 1
    return measure_consistency(audit.engine, audit.sides.audited, source, ancestors, group.columns, k)


def _asked_of_fitting(audit: _Audit, found: Consistency | None, group: _Group, sizes: Sizes) -> tuple[Check, ...]:
    privacy = audit.request.privacy
    if privacy.anonymity == "classic":
        return ()
    unknown = Consistency(reason="the source and the hierarchies of the quasi-identifier are not known here")
    return (
        consistency_check(found or unknown, privacy.anonymity, privacy.k or 1, group.name, sizes.rows, sizes.classes),
    )


def _count(engine: Engine, opened: Opened) -> int:
    return int(engine.query(Statement(f"count {opened.alias} rows", row_count(opened.expression())))[0][0])


def _persons(engine: Engine, audited: Opened, respondent: str) -> int:
    query = person_count(audited.expression(), audited.key(respondent))
    return int(engine.query(Statement("count persons", query))[0][0])
