"""The release as it would be published now, measured without publishing it; and the source as it is, the same way.

Writes scratch tables only, which are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from sqlanon.auditor import Ancestors, AuditResult, Beside, Request, audit
from sqlanon.engines.base import Engine
from sqlanon.release.publication import Releasable
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
    engine: Engine, release: Releasable, hierarchies: Sequence[StoredHierarchy], scratch: Scratch
) -> Iterator[Rehearsal]:
    """Make the release in a scratch table and measure it; the table goes at the end."""
    binding, spec = release.binding, release.binding.spec
    judged = release.judge(engine, scratch, shuffle=False)
    with engine.by_hashes():
        table = scratch.create("rehearse release", "rehearsed", judged.query)
    people = release.population(engine)
    ancestors = None
    if spec.privacy.anonymity != "classic":
        tables: dict[str, Relation] = {item.column: item.table.table for item in hierarchies}
        ancestors = Ancestors(tables, {item.column: item.top for item in hierarchies}, scratch, binding.blank)
    request = Request(binding.names, spec.privacy, spec.respondent, spec.compared_sensitive)
    beside = Beside(
        source=binding.source,
        source_respondent=binding.person,
        taxonomies=judged.taxonomies,
        population=None if people is None else Query(people),
        ancestors=ancestors,
        linked=release.linked(engine, table),
    )
    before = audit(
        engine, binding.source, request, Beside(binding.source, taxonomies=judged.taxonomies, ancestors=ancestors)
    )
    yield Rehearsal(table, before, audit(engine, table, request, beside))
    scratch.drop(table, *judged.scratch)


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
