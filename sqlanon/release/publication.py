"""Publishing a release: classes measured anew, staging, independent audit, swap; all in one transaction.

The source is only read. Until the swap nothing is visible; after any failure the old target stands unchanged.
What the audit has to see beside the released columns stands in the scratch table that is audited, and never in the one
that is published.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Protocol

from sqlglot import exp

from sqlanon.auditor import Ancestors, AuditResult, Beside, Request, Sizes, audit
from sqlanon.auditor.breaches import Linked
from sqlanon.auditor.differences import Difference, compared, comparison_of, shared_columns
from sqlanon.auditor.policy import ColumnPolicy, allowed_levels, audit_policy, labels_at_one_level, policy_of
from sqlanon.auditor.rules import audit_rules
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import EngineError, RequirementError, SourceError, UsageError
from sqlanon.hierarchies.lattice import Node
from sqlanon.privacy.base import Requirement
from sqlanon.recoding.assignment import Judgement
from sqlanon.release import statements as release_sql
from sqlanon.release.files import write_audited
from sqlanon.release.series.tracks import HistoryFigures, refuse_by_policy, track
from sqlanon.release.steps import (
    PublishStep,
    audited_rows,
    released_columns,
    show_view,
    stage_audited,
    stage_table,
    stage_view,
    staged_rows,
)
from sqlanon.source.binding import Binding, formulas_of
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.scratch import Scratch
from sqlanon.spec.keys import REQUIRED
from sqlanon.sql.build import create_table_as
from sqlanon.sql.relations import File, Query, Relation, Table


@dataclass(frozen=True)
class Publication:
    """What was published."""

    rows: int
    """Rows of the source, in the snapshot that was published."""
    suppressed: int
    blanked: int
    """Suppressed rows that were released without their quasi-identifier."""
    audit: AuditResult
    swap: str
    """How the release took the target's place."""
    history: HistoryFigures | None = None
    """What a ledger did to the release, where one is kept."""
    difference: Difference | None = None
    """What the release and the one that it replaced say together; None where there was none, or a ledger saw to it."""


class Releasable(Protocol):
    """What can be published, whichever kind of recoding made it."""

    @property
    def binding(self) -> Binding: ...

    @property
    def hierarchies(self) -> tuple[StoredHierarchy, ...]: ...

    @property
    def requirement(self) -> Requirement: ...

    @property
    def node(self) -> Node | None:
        """The level that all rows of each column show; None where classes have labels of their own."""

    def judge(self, engine: Engine, scratch: Scratch, *, shuffle: bool = True) -> Judgement:
        """What the release comes to in this very snapshot; refuses what the plan no longer covers."""

    def rows_when_read(self, engine: Engine, *, with_respondent: bool = False) -> exp.Select | None:
        """The query of a view; None where a view cannot say it."""

    def population(self, engine: Engine) -> exp.Select | None:
        """The population generalized like the release, where one is compared with."""

    def linked(self, engine: Engine, audited: Relation) -> Linked | None:
        """What the audit of breach probabilities has to see, where people have requirements of their own."""


def publish(
    engine: Engine, release: Releasable, scratch: Scratch, hierarchies: Sequence[StoredHierarchy] | None = None
) -> Publication:
    """Publish a release to its target, or leave everything as it was; `hierarchies` are those of the spec, where a
    release has its own."""
    target = release.binding.target
    columns = _column_policies(release, release.hierarchies if hierarchies is None else tuple(hierarchies))
    if isinstance(target, File):
        return _publish_file(engine, release, target, scratch, columns)
    with engine.transaction():
        if release.binding.as_view:
            return _publish_view(engine, release, target, scratch, columns)
        return _publish_table(engine, release, target, scratch, columns)


def _column_policies(release: Releasable, hierarchies: Sequence[StoredHierarchy]) -> list[ColumnPolicy]:
    """The labels that each quasi-identifier may show: of one level where the spec's own hierarchies are released."""
    spec = release.binding.spec
    families = {info.name: info.family for info in release.binding.columns}
    own = [item.fingerprint for item in hierarchies] != [item.fingerprint for item in release.hierarchies]
    node = None if own else release.node
    return [
        ColumnPolicy(
            item.column,
            families[item.column],
            item.table.table,
            item.families,
            item.top,
            allowed_levels(spec, item.column, item.height) if node is None else (node[position],),
            alike=node is not None,
            ends_at_values=spec.search.bounds == "values",
        )
        for position, item in enumerate(hierarchies)
    ]


def audit_beforehand(engine: Engine, release: Releasable, scratch: Scratch) -> AuditResult:
    """What the audit would say of a release, which is measured in a scratch table and not published."""
    judged = release.judge(engine, scratch)
    staging = _audited_rows(engine, release, judged, scratch)
    measured = _measured(engine, release, staging, judged, scratch)
    scratch.drop(staging, *judged.scratch)
    return replace(measured, table=str(release.binding.target), suppressed=judged.rows - measured.rows)


def take_up(
    engine: Engine, release: Releasable, scratch: Scratch, hierarchies: Sequence[StoredHierarchy]
) -> Publication:
    """Begin a ledger with the table that is published, which has to be what the release makes of the source now."""
    target, history = release.binding.target, release.binding.history
    if history is None:
        raise UsageError("history: the spec keeps no ledger")
    if not isinstance(target, Table):
        raise UsageError("target: only a table is taken up; a file begins its ledger with the next run")
    with engine.transaction():
        if engine.relation_kind(history.people) is not None:
            raise UsageError(f"history.ledger: {history.people} is there already; a ledger begins once")
        if engine.relation_kind(target) is None:
            raise UsageError(
                f"target: there is no {target} to take up; the first run publishes it and makes the ledger"
            )
        judged = release.judge(engine, scratch)
        tracked = track(engine, release.binding, judged, scratch)
        audited = _audited(engine, release, tracked.rows, judged, scratch)
        staged = scratch.create("stage release", "release", released_columns(release.binding, tracked.rows))
        found = _compared(engine, release, target, staged, scratch)
        left, came = found.whole.leavers.number, found.whole.joiners.number
        if left or came:
            raise UsageError(
                f"target: {target} is not what the lock file makes of the source now: {left} of its rows are not among "
                f"them, {came} of them are not in it; take a table up before the source changes, or publish anew"
            )
        audited = _held_to_policy(engine, release, _column_policies(release, hierarchies), target, judged, audited)
        figures = tracked.write(judged.rows, "begin")
        scratch.drop(*judged.scratch)
    return Publication(judged.rows, judged.suppressed, judged.blanked, audited, "not at all: it stood", figures)


def held_back(engine: Engine, release: Releasable, scratch: Scratch) -> HistoryFigures:
    """Whom the ledger would hold back if a release were published now; nothing is written."""
    with suppress(_Undone), engine.transaction(), scratch.apart("rehearsed") as apart:
        figures = track(engine, release.binding, release.judge(engine, apart), apart).figures
        raise _Undone
    return figures


class _Undone(Exception):
    """Ends a transaction without writing anything."""


def _held_to_policy(
    engine: Engine,
    release: Releasable,
    columns: Sequence[ColumnPolicy],
    published: Relation,
    judged: Judgement,
    audited: AuditResult,
) -> AuditResult:
    """The audit with the policy of the spec, asked of what is published; refuses what does not hold."""
    policy = policy_of(release.binding, columns, judged.rows)
    # A table that was audited as it stands has answered what its labels are.
    checks = audit_policy(engine, published, policy, audited.labels)
    checks = (*checks, *audit_rules(engine, published, release.binding))
    for check in checks:
        if not check.satisfied:
            raise RequirementError(f"the release failed its audit and was not published: {check.complaint}")
    return replace(audited, policy=checks)


def _publish_table(
    engine: Engine, release: Releasable, target: Table, scratch: Scratch, columns: Sequence[ColumnPolicy]
) -> Publication:
    judged = release.judge(engine, scratch)
    staging = target.beside(scratch.name("staging").name)
    rows = judged.rows
    tracked = None if release.binding.history is None else track(engine, release.binding, judged, scratch)
    if tracked is not None:
        refuse_by_policy(release.binding, tracked.figures)
        # Rows that wait for others are no suppressed ones: the limit is asked of the rest.
        judged = replace(judged, rows=rows - tracked.figures.held)
    if release.binding.witnessed:
        # Persons are counted before their key is left out: the table that is published never holds it.
        seen = _audited_rows(engine, release, judged, scratch) if tracked is None else tracked.rows
        audited = _audited(engine, release, seen, judged, scratch)
        _carry_out(engine, stage_audited(release.binding, seen, staging, engine.traits))
        scratch.drop(seen)
        _refuse_other_count(engine, staging, judged)
    else:
        _carry_out(engine, stage_table(staging, judged.query, engine.traits))
        audited = _audited(engine, release, staging, judged, scratch, columns)
    audited = _held_to_policy(engine, release, columns, staging, judged, audited)
    classes = _staged_classes(engine, release, staging, scratch)
    difference = _difference(engine, release, target, staging, scratch)
    engine.replace(staging, target)
    swapped = engine.swapped
    if classes is not None:
        engine.replace(*classes)
    history = None if tracked is None else tracked.write(rows)
    scratch.drop(*judged.scratch)
    return Publication(rows, judged.suppressed, judged.blanked, audited, swapped, history, difference)


def _carry_out(engine: Engine, *steps: PublishStep) -> None:
    with engine.by_hashes():
        for step in steps:
            engine.execute(Statement(step.title, step.statement))


def _audited_rows(engine: Engine, release: Releasable, judged: Judgement, scratch: Scratch) -> Table:
    step = audited_rows(release.binding, scratch.name, judged.query)
    with engine.by_hashes():
        return scratch.create_at(step.title, step.table, step.query)


def _staged_classes(
    engine: Engine, release: Releasable, staging: Table, scratch: Scratch
) -> tuple[Table, Table] | None:
    """The classes of the staged release with their rows, staged beside it, and the table that they become."""
    regions = release.binding.regions
    if regions is None:
        return None
    staged = regions.beside(scratch.name("classes_staging").name)
    query = release_sql.class_sizes(staging, release.binding.names, release.binding.k)
    engine.execute(Statement("stage classes", create_table_as(staged, query, engine.traits, scratch=False)))
    return staged, regions


def _publish_file(
    engine: Engine, release: Releasable, target: File, scratch: Scratch, columns: Sequence[ColumnPolicy]
) -> Publication:
    kept = release.binding.history is not None
    with engine.transaction() if kept else nullcontext():
        judged = release.judge(engine, scratch)
        rows = judged.rows
        tracked = track(engine, release.binding, judged, scratch) if kept else None
        if tracked is not None:
            refuse_by_policy(release.binding, tracked.figures)
            judged = replace(judged, rows=rows - tracked.figures.held)
        staging = _audited_rows(engine, release, judged, scratch) if tracked is None else tracked.rows
        asked_along = () if release.binding.witnessed else columns
        audited = _audited(engine, release, staging, judged, scratch, asked_along)
        if release.binding.witnessed:
            seen = staging
            staging = scratch.create("stage file", "file", released_columns(release.binding, seen))
            scratch.drop(seen)
            _refuse_other_count(engine, staging, judged)
        audited = _held_to_policy(engine, release, columns, staging, judged, audited)
        staged = audited.sizes if not release.binding.witnessed else _classes(engine, release, staging)
        difference = _difference(engine, release, target, staging, scratch)
        # The ledger first: what it knows of a release that nobody saw, only joins tracks that satisfy.
        figures = None if tracked is None else tracked.write(rows)

    def audit_file(written: Relation) -> None:
        """What the file says passes what the staged rows passed, and has their classes."""
        if release.binding.witnessed:
            found = _classes(engine, release, written)
        else:
            found = _audited(engine, release, written, judged, scratch).sizes
        if (found.rows, found.classes, found.k) != (staged.rows, staged.classes, staged.k):
            other = "a table" if target.format == "parquet" else "parquet or a table"
            raise RequirementError(
                f"the release failed its audit and was not published: its {staged.classes} classes read back from the "
                f"{target.format} file as {found.classes}; write {other}"
            )

    write_audited(engine, staging, target, formulas_of(release.binding.spec), scratch, audit_file)
    scratch.drop(staging, *judged.scratch)
    renamed = "by renaming a file"
    return Publication(rows, judged.suppressed, judged.blanked, audited, renamed, figures, difference)


def _difference(
    engine: Engine, release: Releasable, target: Table | File, staging: Table, scratch: Scratch
) -> Difference | None:
    """What the table that is replaced and the new one say together; None where a ledger has seen to it.

    RequirementError where that exposes people and the spec says `history: required`.
    """
    required = release.binding.spec.history == REQUIRED
    if not _replaces(engine, release.binding, target):
        return None
    try:
        found = _compared(engine, release, target, staging, scratch)
    except SourceError as error:
        if required:
            raise RequirementError(
                f"history: required: {target} cannot be compared with the new release and was not replaced: {error}"
            ) from None
        return None
    if required and found.exposing:
        raise RequirementError(f"history: required: {found.sentence()}; {target} was not replaced")
    return found


def _compared(
    engine: Engine, release: Releasable, target: Table | File, staging: Table, scratch: Scratch
) -> Difference:
    """The difference of a published table and of a new release."""
    binding = release.binding
    stored = {item.column: (item.table.table, item.families) for item in release.hierarchies}
    others = shared_columns(engine, (target, staging), binding.names)
    comparison = comparison_of(binding.spec, binding.k, binding.names, others)
    return replace(compared(engine, (target, staging), comparison, scratch, lambda: stored), newer="the new release")


def _replaces(engine: Engine, binding: Binding, target: Table | File) -> bool:
    """Whether a release stands at the target that no ledger knows of."""
    if binding.history is not None and engine.relation_kind(binding.history.people) is not None:
        return False
    if isinstance(target, Table):
        return engine.relation_kind(target) is not None
    return "://" in target.path or Path(target.path).is_file()


def _classes(engine: Engine, release: Releasable, table: Relation) -> Sizes:
    """The classes of the released columns alone, rows counted."""
    return audit(engine, table, release.binding.names, 1).sizes


def _publish_view(
    engine: Engine, release: Releasable, target: Table, scratch: Scratch, columns: Sequence[ColumnPolicy]
) -> Publication:
    """A view that computes classes and hierarchies from the source as it is when somebody reads it."""
    judged = release.judge(engine, scratch)
    query, with_persons = (release.rows_when_read(engine, with_respondent=more) for more in (False, True))
    if query is None or with_persons is None:
        raise UsageError("target: a view cannot say which rows make a class; name a table")
    staging = target.beside(scratch.name("staging").name)
    _carry_out(engine, stage_view(staging, query, engine.traits))
    if release.binding.persons:
        audited = _audited(engine, release, Query(with_persons), judged, scratch)
        _refuse_other_count(engine, staging, judged)
    else:
        audited = _audited(engine, release, staging, judged, scratch, columns)
    audited = _held_to_policy(engine, release, columns, staging, judged, audited)
    _show_view(engine, target, show_view(staging, target, query, engine.traits))
    scratch.drop(*judged.scratch)
    return Publication(judged.rows, judged.suppressed, judged.blanked, audited, "by defining a view")


def _show_view(engine: Engine, target: Table, steps: Sequence[PublishStep]) -> None:
    *before, create = steps
    _carry_out(engine, *before)
    try:
        _carry_out(engine, create)
    except EngineError as error:
        # A level that changed may change the type of its column, which not every engine lets a view do.
        raise type(error)(f"{error}; if {target} stands already, drop it first", detail=error.detail) from None


def _refuse_other_count(engine: Engine, staging: Table, judged: Judgement) -> None:
    [(rows,)] = engine.query(Statement("count staged rows", staged_rows(staging)))
    if int(rows) != judged.released:
        raise RequirementError(
            f"the release failed its audit and was not published: it has {rows} rows, expected {judged.released}"
        )


def _audited(
    engine: Engine,
    release: Releasable,
    staging: Relation,
    judged: Judgement,
    scratch: Scratch,
    columns: Sequence[ColumnPolicy] = (),
) -> AuditResult:
    """The audit of staged rows, which satisfy and are as many as expected; the labels of `columns` are asked along.

    Labels are only asked of what is published as it stands: what is made of audited rows shows labels of its own.
    """
    measured = _measured(engine, release, staging, judged, scratch, columns)
    if not measured.satisfied:
        reason = next(iter((*measured.violations, *measured.notes)))
        raise RequirementError(f"the release failed its audit and was not published: {reason}")
    if measured.rows != judged.released:
        raise RequirementError(
            f"the release failed its audit and was not published: "
            f"it has {measured.rows} rows, expected {judged.released}"
        )
    return replace(measured, table=str(release.binding.target), suppressed=judged.rows - measured.rows)


def _measured(
    engine: Engine,
    release: Releasable,
    staging: Relation,
    judged: Judgement,
    scratch: Scratch,
    columns: Sequence[ColumnPolicy] = (),
) -> AuditResult:
    """The staged rows against the models of the spec."""
    beside = _beside(engine, release, staging, judged)
    if columns:
        policy = policy_of(release.binding, columns, judged.rows)
        beside = replace(beside, labels=labels_at_one_level(engine, staging, policy))
    if release.binding.spec.privacy.anonymity != "classic":
        beside = replace(beside, source=release.binding.source, ancestors=_ancestors(release, scratch))
    return audit(engine, staging, _request(release), beside)


def _request(release: Releasable) -> Request:
    spec = release.binding.spec
    others = spec.sensitive if spec.privacy.other_sensitive == "known" else ()
    return Request(release.binding.names, spec.privacy, spec.respondent, others)


def _beside(engine: Engine, release: Releasable, staging: Relation, judged: Judgement) -> Beside:
    """What the audit reads beside the staged rows: the source's distribution, taxonomies, the population's labels."""
    everybody = release.population(engine)
    return Beside(
        source=release.binding.source if release.binding.sensitive else None,
        source_respondent=release.binding.person,
        taxonomies=judged.taxonomies,
        population=None if everybody is None else Query(everybody),
        linked=release.linked(engine, staging),
    )


def _ancestors(release: Releasable, scratch: Scratch) -> Ancestors:
    """The hierarchies by which rows of source and release fit each other."""
    stored = {hierarchy.column: hierarchy for hierarchy in release.hierarchies}
    tables: dict[str, Relation] = {name: hierarchy.table.table for name, hierarchy in stored.items()}
    tops = {name: hierarchy.top for name, hierarchy in stored.items()}
    return Ancestors(tables, tops, scratch, release.binding.blank)
