"""The steps of a release as pages of a script, its rounds of suppression, and what stops it.

The same steps that publish carries out, on tables that the script makes from the source as it stands.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from sqlanon.engines.base import Engine
from sqlanon.recoding.kinds import FullDomain
from sqlanon.release import statements as release_sql
from sqlanon.release.classes import blanked_query
from sqlanon.release.hierarchies import DraftedHierarchies, Making, draft_hierarchies
from sqlanon.release.script.pages import Pages, rows_within
from sqlanon.release.steps import (
    AnyStep,
    LoadedList,
    MeasuredClasses,
    Release,
    ReleaseSteps,
    Step,
    StepCheck,
)
from sqlanon.source.binding import Binding
from sqlanon.spec.amounts import Limit
from sqlanon.sql.build import scalar
from sqlanon.sql.relations import Table, column, explained, table_expression

ROUNDS = 8
"""How often a script with several groupings suppresses. Should that not be enough, its audit stops it."""


def write_steps(pages: Pages, steps: Sequence[AnyStep]) -> None:
    """Write steps one after the other."""
    for step in steps:
        match step:
            case Step():
                pages.create(step.comment, step.name, step.query, analyzed=step.analyzed)
            case StepCheck():
                pages.stop_unless(step.comment, step.holds, step.message)
            case LoadedList():
                pages.create_text(step.comment, step.name, *step.draft.listing_of(step.level))


def write_hierarchies(pages: Pages, engine: Engine, binding: Binding, recoding: FullDomain) -> DraftedHierarchies:
    """Write the tables of all hierarchies that the release reads; a view makes those of its columns itself."""
    plain = explained(info.name for info in binding.columns)
    making = Making(pages.name, lambda name: pages.name(f"definition_{plain[name]}"), as_defined=True)
    hierarchies = draft_hierarchies(engine, binding, recoding, making)
    of_sensitive = {f"{part}_{plain[item.name]}" for item in binding.sensitive for part in ("hierarchy", "definition")}
    written = [
        step
        for step in hierarchies.steps
        if not binding.as_view or (not isinstance(step, StepCheck) and step.name in of_sensitive)
    ]
    write_steps(pages, written)
    return hierarchies


@dataclass(frozen=True)
class Verdicts:
    """The classes that are released, and whether suppressed rows stay without their quasi-identifier."""

    measured: MeasuredClasses
    blank: exp.Expression | bool
    """Never where rows are left out."""

    def released(self) -> exp.Expression:
        """Whether the rows of a class are released, over the columns of the classes."""
        kept: exp.Expression = column("kept")
        return exp.Or(this=kept, expression=self.blank.copy()) if isinstance(self.blank, exp.Expression) else kept


def write_verdicts(pages: Pages, engine: Engine, release: Release, written: ReleaseSteps) -> Verdicts:
    """Write the classes with their verdicts, and stop where they do not allow a release."""
    before = len(written.steps)
    limit = release.binding.spec.privacy.suppression.limit
    measured = _in_rounds(written, limit) if release.requirement.whole is None else written.judge()
    written.cover(measured)
    write_steps(pages, written.steps[before:])
    stop_at_limit(pages, limit, measured.table)
    blank: exp.Expression | bool = False
    if release.binding.blank and release.requirement.whole is not None:
        blank = _blank(pages, engine, release, measured)
    return Verdicts(measured, blank)


def stop_at_limit(pages: Pages, limit: Limit, classes_table: Table) -> None:
    """Stop where too many rows would be suppressed."""
    comment = f"Stop if more than {rows_within(limit)} would be suppressed."
    pages.stop_unless(comment, _within(limit, classes_table), "more rows than allowed would be suppressed")


def _within(limit: Limit, classes_table: Table) -> exp.Select:
    if limit.percent is None:
        return release_sql.within_limit(classes_table, limit.count or 0, None)
    share = Fraction(limit.percent) / 100
    return release_sql.within_limit(classes_table, share.numerator, share.denominator)


def _in_rounds(written: ReleaseSteps, limit: Limit) -> MeasuredClasses:
    """Each round but the last suppresses a row: no more rounds than rows that may be suppressed."""
    rounds = ROUNDS if limit.percent is not None else max(1, min(ROUNDS, limit.count or 0))
    table = written.before_rounds("round_0")
    for number in range(1, rounds + 1):
        table = written.round(table, number, rounds)
    comment = f"What is kept after {rounds} rounds. Were more of them needed, the audit stops the script."
    return written.after_rounds(table, comment)


def _blank(pages: Pages, engine: Engine, release: Release, measured: MeasuredClasses) -> exp.Expression:
    """Whether suppressed rows, as one class without a quasi-identifier, satisfy the requirement themselves."""
    query = blanked_query(release, measured, release.columns(engine))
    comment = "Whether suppressed rows, blanked, satisfy the requirement as one class: then they stay, else they go."
    table = pages.create(comment, "blanked", query)
    satisfied = scalar(exp.select(column("satisfied")).from_(table_expression(table)))
    return exp.Coalesce(this=satisfied, expressions=[exp.false()])
