"""The last chapters of a script: the staged release, its audit, the swap.

The key of the person is in a scratch table only, where persons are counted; the target never holds it.
"""

from __future__ import annotations

from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.release import statements as release_sql
from sqlanon.release.classes import Release, classes_query, release_query
from sqlanon.release.script.auditing import Auditor, Taxonomies
from sqlanon.release.script.judging import Verdicts, stop_at_limits
from sqlanon.release.script.pages import Pages
from sqlanon.sql.build import create_table_as, create_view, drop_table, drop_view, equal, row_count, scalar, total_where
from sqlanon.sql.relations import File, Table, column, literal, table_expression

AUDIT = "the staged table is measured from scratch, and the script stops where a requirement does not hold."


def write_table(pages: Pages, engine: Engine, release: Release, verdicts: Verdicts, taxonomies: Taxonomies) -> None:
    """Stage, audit and swap a table, or write a file."""
    binding, target = release.binding, release.binding.target
    person = [] if binding.respondent is None else [binding.respondent.name]
    query = release_sql.release(
        engine.traits.relation(binding.source, "source"),
        release.columns(engine),
        [*binding.released, *person],
        verdicts.measured.table,
        blank=verdicts.blank,
        shuffle=True,
        known=verdicts.measured.known,
    )
    renamed = isinstance(target, Table) and not pages.scripting.replaces
    if isinstance(target, Table) and renamed and not person:
        staged = _stage(pages, target, "The release, in no order that tells of the source.", query)
    else:
        with_person = f", with {person[0]} for the audit" if person else ""
        staged = pages.create(f"The release{with_person}, in no order that tells of the source.", "staged", query)
    pages.open("audit", AUDIT)
    auditor = Auditor(pages, engine, release, staged, taxonomies)
    auditor.write()
    auditor.expect_rows(total_where(verdicts.released(), column("n")), verdicts.measured.table)
    pages.open("swap", "what was audited becomes visible under the name of the target.")
    columns: list[exp.Expression] = [column(name) for name in binding.released]
    if isinstance(target, File):
        _write_file(pages, staged, target, columns if person else None)
    elif renamed and person:
        _swap(pages, _without_person(pages, target, staged, columns), target, columns)
    else:
        _swap(pages, staged, target, columns)


def write_view(pages: Pages, engine: Engine, release: Release, classes_table: Table, taxonomies: Taxonomies) -> None:
    """Stage, audit and replace a view that computes the release whenever it is read."""
    target, traits = release.binding.target, pages.scripting.traits
    if not isinstance(target, Table):
        raise ValueError("a view has a name")
    classes = classes_query(engine, release)
    query = release_query(engine, release, classes, shuffle=False)
    staging = pages.stage(
        "The release, computed whenever it is read.",
        target,
        lambda view: create_view(view, query, traits, replace=False),
        drop_view,
    )
    audited = staging
    if release.binding.persons:
        rows = release_query(engine, release, classes, shuffle=False, with_respondent=True)
        audited = pages.create("What the view shows, with the person for the audit.", "staged", rows)
    pages.open("audit", AUDIT)
    auditor = Auditor(pages, engine, release, audited, taxonomies)
    auditor.write()
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


def write_judged_view(pages: Pages, engine: Engine, release: Release) -> Table:
    """The classes of a view as it would now be read, and the limits that it is held to when it is made."""
    comment = "The classes of the generalized quasi-identifier, each with its verdict."
    table = pages.create(comment, "classes", classes_query(engine, release))
    stop_at_limits(pages, engine, release, table)
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
