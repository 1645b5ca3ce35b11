"""Publishing a release: classes measured anew, staging, independent audit, swap; all in one transaction.

The source is only read. Until the swap nothing is visible; after any failure the old target stands unchanged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.audit import AuditResult, audit
from sqlanon.binding import Binding
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import EngineError, HierarchyError, InfeasibleError, RequirementError
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.hierarchy_store import StoredHierarchy, draft_hierarchy
from sqlanon.privacy.base import Requirement
from sqlanon.recoding.full_domain import FullDomain
from sqlanon.scratch import Scratch
from sqlanon.sqlgen import hierarchy as hierarchy_sql
from sqlanon.sqlgen import release as release_sql
from sqlanon.sqlgen.build import create_table_as, create_view, drop_view
from sqlanon.sqlgen.relations import File, Table, cast, literal


@dataclass(frozen=True)
class Release:
    """Everything that decides what is published."""

    binding: Binding
    hierarchies: tuple[StoredHierarchy, ...]
    recoding: FullDomain
    requirement: Requirement
    lookups: tuple[exp.Query, ...] | None = None
    """For a view: the queries that stand in place of the hierarchy tables."""

    def columns(self, engine: Engine) -> list[release_sql.QuasiIdentifier]:
        """The quasi-identifiers at their levels, as the release statements want them."""
        items = zip(self.binding.quasi_identifiers, self.hierarchies, self.recoding.node, strict=True)
        types = {info.name: info.type for info in self.binding.columns}
        return [
            release_sql.QuasiIdentifier(
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


@dataclass(frozen=True)
class Publication:
    """What was published."""

    rows: int
    """Rows of the source, in the snapshot that was published."""
    suppressed: int
    blanked: int
    """Suppressed rows that were released without their quasi-identifier."""
    audit: AuditResult


@dataclass(frozen=True)
class _Classes:
    table: Table
    rows: int
    suppressed: int


def publish(engine: Engine, release: Release, scratch: Scratch) -> Publication:
    """Publish a release to its target, or leave everything as it was."""
    target = release.binding.target
    if isinstance(target, File):
        return _publish_file(engine, release, target, scratch)
    if release.binding.as_view:
        return _publish_view(engine, release, target, scratch)
    with engine.transaction():
        classes = _measure_classes(engine, release, scratch)
        staging = target.beside(scratch.name("staging").name)
        blank = _blanks(release, classes)
        _stage(engine, release, classes, staging)
        measured = _audited(engine, release, staging, classes, blank=blank)
        engine.replace(staging, target)
        scratch.drop(classes.table)
    return Publication(classes.rows, classes.suppressed, classes.suppressed if blank else 0, measured)


def _publish_file(engine: Engine, release: Release, target: File, scratch: Scratch) -> Publication:
    classes = _measure_classes(engine, release, scratch)
    blank = _blanks(release, classes)
    staging = scratch.create("stage release", "staging", release_query(engine, release, classes.table))
    measured = _audited(engine, release, staging, classes, blank=blank)
    engine.write_file("write file", staging, target)
    scratch.drop(staging, classes.table)
    return Publication(classes.rows, classes.suppressed, classes.suppressed if blank else 0, measured)


def _publish_view(engine: Engine, release: Release, target: Table, scratch: Scratch) -> Publication:
    """A view that computes classes and hierarchies from the source as it is when somebody reads it."""
    with engine.transaction():
        classes = _measure_classes(engine, release, scratch)
        blank = _blanks(release, classes)
        live = live_release(engine, release)
        query = release_query(engine, live, classes_query(engine, live), shuffle=False)
        staging = target.beside(scratch.name("staging").name)
        engine.execute(Statement("stage view", create_view(staging, query, engine.traits, replace=False)))
        measured = _audited(engine, release, staging, classes, blank=blank)
        engine.execute(Statement("drop staging view", drop_view(staging)))
        _replace_view(engine, target, create_view(target, query, engine.traits, replace=True))
        scratch.drop(classes.table)
    return Publication(classes.rows, classes.suppressed, classes.suppressed if blank else 0, measured)


def _replace_view(engine: Engine, target: Table, create: exp.Create) -> None:
    try:
        engine.execute(Statement("publish view", create))
    except EngineError as error:
        # A level that changed may change the type of its column, which not every engine lets a view do.
        raise type(error)(f"{error}; if {target} stands already, drop it first", detail=error.detail) from None


def live_release(engine: Engine, release: Release) -> Release:
    """The release as a view computes it: hierarchies from the source's values as they are when it is read."""
    return replace(release, lookups=tuple(_live_hierarchies(engine, release.binding)))


def _live_hierarchies(engine: Engine, binding: Binding) -> Iterator[exp.Query]:
    source = engine.traits.relation(binding.source, "source")
    for item in binding.quasi_identifiers:
        domain = hierarchy_sql.domain(source.copy(), item.key("source", engine.traits))
        draft = draft_hierarchy(engine, item, domain, None)
        coded = hierarchy_sql.coded(draft.labelled, draft.height, draft.families, engine.traits)
        yield hierarchy_sql.sound(coded, draft.height)


def _measure_classes(engine: Engine, release: Release, scratch: Scratch) -> _Classes:
    """The classes of the release in this very snapshot; refuses what the plan no longer covers."""
    columns = release.columns(engine)
    table = scratch.create("measure classes", "classes", classes_query(engine, release))
    [(rows, suppressed, kept, *outside)] = engine.query(
        Statement("judge classes", release_sql.class_totals(table, columns))
    )
    _refuse_uncovered([item for item in columns if not item.at_top], outside)
    limit = release.binding.limit_rows(int(rows))
    if suppressed > limit:
        raise InfeasibleError(
            f"this generalization would suppress {suppressed} of {rows} rows, the limit is {limit}: plan again"
        )
    if not kept:
        raise InfeasibleError("no class satisfies the requirement: nothing to release")
    return _Classes(table, int(rows), int(suppressed))


def _refuse_uncovered(columns: Sequence[release_sql.QuasiIdentifier], outside: Sequence[int]) -> None:
    for item, number in zip(columns, outside, strict=True):
        if number:
            raise HierarchyError(
                f"column '{item.name}': {number} rows lie outside its hierarchy; the source changed, plan again",
                column=item.name,
                count=int(number),
            )


def _blanks(release: Release, classes: _Classes) -> bool:
    """Whether the release query keeps suppressed rows: blanked rows are a class, at least as large as any other."""
    return release.binding.blank and 0 < classes.suppressed >= release.binding.k


def _stage(engine: Engine, release: Release, classes: _Classes, staging: Table) -> None:
    query = release_query(engine, release, classes.table)
    statement = create_table_as(staging, query, engine.traits, scratch=False)
    engine.execute(Statement("stage release", statement))


def classes_query(engine: Engine, release: Release) -> exp.Select:
    """The classes of the release as the source stands now, each with its verdict."""
    source = engine.traits.relation(release.binding.source, "source")
    classes = release_sql.classes(source, release.columns(engine), release.requirement.aggregates())
    return release_sql.judged(classes, release.requirement.satisfied())


def release_query(engine: Engine, release: Release, classes: Table | exp.Query, *, shuffle: bool = True) -> exp.Select:
    """The rows to publish."""
    binding = release.binding
    return release_sql.release(
        engine.traits.relation(binding.source, "source"),
        release.columns(engine),
        binding.released,
        classes,
        blank_from=binding.k if binding.blank else None,
        shuffle=shuffle,
    )


def _audited(engine: Engine, release: Release, staging: Table, classes: _Classes, *, blank: bool) -> AuditResult:
    measured = audit(engine, staging, [item.name for item in release.binding.quasi_identifiers], release.binding.k)
    expected = classes.rows - (0 if blank else classes.suppressed)
    if not measured.satisfied:
        raise RequirementError(f"the release failed its audit and was not published: {measured.violations[0]}")
    if measured.rows != expected:
        raise RequirementError(
            f"the release failed its audit and was not published: it has {measured.rows} rows, expected {expected}"
        )
    return replace(measured, table=str(release.binding.target), suppressed=classes.rows - measured.rows)


def _blank(takes_text: bool) -> exp.Expression:
    """`*` where the released column takes any text, NULL where it does not: numbers, dates, enumerations."""
    return cast(literal(TOP), "text") if takes_text else exp.Null()
