"""The release as it would be published now, measured without publishing it; and the source as it is, the same way.

Writes scratch tables only, which are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlanon.auditor import Ancestors, AuditResult, Beside, Request, audit
from sqlanon.engines.base import Engine
from sqlanon.recoding.assignment import AssignedRelease
from sqlanon.release.classes import blanked_class_satisfies, measure_classes, population_labels, release_query
from sqlanon.release.publication import Released, linked_rows
from sqlanon.reports.model import RequirementLine
from sqlanon.reports.words import measured
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Query, Relation, Table


@dataclass(frozen=True)
class Rehearsal:
    """A release that lies in a scratch table, audited; and the source, audited."""

    table: Table
    before: AuditResult
    after: AuditResult


@contextmanager
def rehearsed(
    engine: Engine, release: Released, hierarchies: Sequence[StoredHierarchy], scratch: Scratch
) -> Iterator[Rehearsal]:
    """Make the release in a scratch table and measure it; the table goes at the end."""
    binding, spec = release.binding, release.binding.spec
    table, taxonomies, made = _staged(engine, release, scratch)
    people = None if isinstance(release, AssignedRelease) else population_labels(engine, release)
    ancestors = None
    if spec.privacy.anonymity != "classic":
        tables: dict[str, Relation] = {item.column: item.table.table for item in hierarchies}
        ancestors = Ancestors(tables, {item.column: item.top for item in hierarchies}, scratch, binding.blank)
    request = Request(binding.names, spec.privacy, spec.respondent, spec.sensitive)
    beside = Beside(
        source=binding.source,
        source_respondent=spec.respondent,
        taxonomies=taxonomies,
        population=None if people is None else Query(people),
        ancestors=ancestors,
        linked=linked_rows(engine, release, table) if isinstance(release, AssignedRelease) else None,
    )
    before = audit(engine, binding.source, request, Beside(binding.source, taxonomies=taxonomies, ancestors=ancestors))
    yield Rehearsal(table, before, audit(engine, table, request, beside))
    scratch.drop(table, *made)


def _staged(
    engine: Engine, release: Released, scratch: Scratch
) -> tuple[Table, Mapping[str, Relation], tuple[Table, ...]]:
    """The release in a scratch table, taxonomies of sensitive columns, and what else was made."""
    if isinstance(release, AssignedRelease):
        *_, blank = release.judge(engine)
        query = release.query(engine, blank=blank, with_respondent=True)
        return scratch.create("rehearse release", "rehearsed", query), dict(release.taxonomies()), ()
    classes = measure_classes(engine, release, scratch)
    blank = release.binding.blank and blanked_class_satisfies(engine, release, classes)
    query = release_query(engine, release, classes, blank=blank, shuffle=False, with_respondent=True)
    table = scratch.create("rehearse release", "rehearsed", query)
    return table, dict(classes.taxonomies), classes.scratch


def requirement_lines(before: AuditResult, after: AuditResult) -> tuple[RequirementLine, ...]:
    """Each requirement of the release beside what the source says to it."""
    there = {(check.name, check.asked): check for check in before.checks}
    lines = []
    for here in after.checks:
        found = there.get((here.name, here.asked))
        known = found is not None and not found.reason
        lines.append(
            RequirementLine(
                name=here.name,
                asked=here.asked,
                before=measured(found.measured, found.reason) if found is not None else "not measured",
                after=measured(here.measured, here.reason),
                rows_before=found.rows_at_risk if found is not None and known else None,
                rows_after=None if here.reason else here.rows_at_risk,
                satisfied=here.satisfied,
            )
        )
    return tuple(lines)
