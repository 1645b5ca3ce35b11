"""The audit itself: a table measured as it stands, from its published values alone.

Used on every staging table before it is published, and on any table at all, also one that sqlanon never made. It
reads counts, never values, and writes nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import overload

from sqlanon.auditor.breaches import BreachFigures, Linked, breach_check, measure_breaches
from sqlanon.auditor.checks import Check, Question
from sqlanon.auditor.consistency import Consistency, consistency_check, measure_consistency
from sqlanon.auditor.figures import PopulationFigures
from sqlanon.auditor.models import Found
from sqlanon.auditor.opened import Opened
from sqlanon.auditor.population import measure_population, unmeasured
from sqlanon.auditor.request import Ancestors, Beside, Request
from sqlanon.auditor.result import AuditResult, GroupResult, Sizes, buckets
from sqlanon.auditor.sensitive import MeasuredColumn, Sides, measure_column
from sqlanon.auditor.statements.classes import class_sizes, person_count, size_figures
from sqlanon.engines.base import Engine, Statement
from sqlanon.spec import Privacy
from sqlanon.sql.build import row_count
from sqlanon.sql.relations import Relation

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
    sides = Sides(audited, _opened(engine, beside.source, "source"), respondent, beside.source_respondent)
    taxonomies = {name: Opened.at(engine, relation, "taxonomy") for name, relation in beside.taxonomies.items()}
    population = _opened(engine, beside.population, "population")
    breaches = _breaches(engine, request, beside.linked)
    whole = _Audit(engine, request, sides, taxonomies, population, beside.ancestors, breaches)
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
    sizes = _sizes(_class_sizes(audit, group) if found is None else found, group.k)
    if not sizes.rows:
        return GroupResult(group.name, group.columns, Sizes.empty(group.k))
    people, against = _against_population(audit, group, sizes)
    fitting = _against_source(audit, group)
    asked = audit.request.privacy.personalized
    if asked is not None:
        against = (*against, breach_check(asked, audit.breaches, group.name, sizes.classes, sizes.rows))
    unit = "rows" if audit.sides.respondent is None else "respondents"
    return GroupResult(
        group.name,
        group.columns,
        sizes,
        tuple(column.figures for column in columns),
        people,
        (
            _k(sizes, group, unit),
            *(check for column in columns for check in column.checks),
            *against,
            *_asked_of_fitting(audit, fitting, group, sizes),
        ),
        fitting,
    )


def _column(audit: _Audit, group: _Group, name: str, *, first: bool) -> MeasuredColumn | None:
    """A sensitive column; the first one's statement measures the classes too, where they are those of k."""
    others = audit.request.others(name)
    return measure_column(
        audit.engine,
        audit.sides,
        name,
        [*group.columns, *others],
        [entry for entry in audit.request.privacy.models() if entry.column == name],
        taxonomy=audit.taxonomies.get(name),
        group=group.name,
        sizes_for_k=group.k if first and not others else None,
    )


def _class_sizes(audit: _Audit, group: _Group) -> Found:
    audited, respondent = audit.sides.audited, audit.sides.respondent
    person = None if respondent is None else audited.key(respondent)
    query = class_sizes(audited.expression(), [audited.key(name) for name in group.columns], person, group.k)
    [row] = audit.engine.query(Statement("audit", query))
    return dict(zip(size_figures(group.k), row, strict=True))


def _sizes(found: Found, k: int) -> Sizes:
    names = ("rows", "classes", "smallest", "largest")
    rows, classes, smallest, largest = (int(found[name] or 0) for name in names)
    at_risk = (int(found["classes_at_risk"]), int(found["rows_at_risk"]))
    return Sizes(rows, classes, smallest, largest, k, *at_risk, buckets(found))


def _k(sizes: Sizes, group: _Group, unit: str) -> Check:
    question = Question("k", f"k = {group.k}", f"have fewer than {group.k} {unit}", "the smallest class has {}")
    return Check(question, group.name, sizes.classes, sizes.classes_at_risk, sizes.rows, sizes.rows_at_risk, sizes.k)


def _against_population(audit: _Audit, group: _Group, sizes: Sizes) -> tuple[PopulationFigures | None, Sequence[Check]]:
    privacy = audit.request.privacy
    if audit.population is None:
        return None, tuple(unmeasured(privacy, sizes.classes, sizes.rows, group.name))
    sides = audit.sides
    return measure_population(
        audit.engine, sides.audited, sides.respondent, audit.population, group.columns, privacy, group.name
    )


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
