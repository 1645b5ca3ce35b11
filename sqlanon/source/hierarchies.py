"""Hierarchies as lookup tables in the database: built from their drafts, then validated by SQL.

A draft is everything there is to know before the table exists; `store_hierarchy` runs it, `sqlanon sql` prints it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import islice
from typing import Any

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import HierarchyError
from sqlanon.hierarchies.base import Family, Formula, Rule
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source.binding import BoundColumn
from sqlanon.source.domains import LISTED, Measure, measured
from sqlanon.source.drafts import HierarchyDraft, draft_hierarchy
from sqlanon.source.frequency_statements import HierarchyTable
from sqlanon.source.hierarchy_statements import Leaves
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table

SHOWN_VALUES = 5
"""How many values an error shows when showing values was asked for."""


@dataclass(frozen=True)
class StoredHierarchy:
    """A hierarchy table that stands in the database and has passed validation."""

    column: str
    table: HierarchyTable
    top: str
    values: int
    """Distinct values of the source, NULL not counted."""
    families: tuple[Family, ...]
    fingerprint: str
    """A hash of the rule, listed rows included."""
    checksum: tuple[int, ...] = ()
    """Changes when the codes of the hierarchy table do."""
    measure: Measure = LISTED
    """The domain that its leaves are counted in."""

    @property
    def height(self) -> int:
        return self.table.height


PAGE = 20_000
"""Rows of a hierarchy that are printed or exported at a time."""


@dataclass(frozen=True)
class HierarchyReport:
    """A validated hierarchy, for people: how many labels each level has, and its rows on demand."""

    column: str
    top: str
    values: int
    leaves: int
    labels: tuple[int, ...]
    """Distinct labels of each level, from 0 to the top."""
    rows: Callable[[], Iterator[tuple[str, ...]]]
    """The labels of every value, level 0 first, page by page; to be called while the table stands."""


def report_hierarchy(engine: Engine, hierarchy: StoredHierarchy) -> HierarchyReport:
    """Count the labels of a stored hierarchy."""
    query = hierarchy_sql.label_counts(hierarchy.table.table, hierarchy.height)
    [counts] = engine.query(Statement(f"count labels of {hierarchy.column}", query))
    return HierarchyReport(
        hierarchy.column,
        hierarchy.top,
        hierarchy.values,
        hierarchy.table.leaves,
        tuple(int(number) for number in counts),
        lambda: _pages(engine, hierarchy, int(counts[0])),
    )


def _pages(engine: Engine, hierarchy: StoredHierarchy, codes: int) -> Iterator[tuple[str, ...]]:
    for first in range(1, codes + 1, PAGE):
        query = hierarchy_sql.rows(hierarchy.table.table, hierarchy.height, first, first + PAGE - 1)
        for row in engine.query(Statement(f"labels of {hierarchy.column}", query)):
            yield tuple(str(label) for label in row)


def describe_hierarchies(hierarchies: Sequence[StoredHierarchy]) -> dict[str, dict[str, Any]]:
    """What a lock file holds a later run to: height, top label and a fingerprint of the definition."""
    return {
        item.column: {"height": item.height, "top": item.top, "definition": item.fingerprint} for item in hierarchies
    }


def store_hierarchy(
    engine: Engine,
    item: BoundColumn,
    domain: exp.Query,
    scratch: Scratch,
    place: int | str,
    *,
    has_null: bool,
    show_values: bool = False,
) -> StoredHierarchy:
    """Build one column's hierarchy from the values in `domain` and hold it to every rule; `place` names its table."""
    draft = draft_hierarchy(engine, item, domain, scratch.name(f"definition_{place}"))
    step = f"hierarchy {item.name}"
    if draft.listing is not None:
        listing_table = scratch.create_text(step, f"definition_{place}", draft.listing_columns())
        engine.load(step, listing_table, draft.listing_columns(), draft.listing.rows)
    labelled, leaves = _measured(engine, item, draft), _leaves_of(item)
    coded = hierarchy_sql.coded(labelled, draft.height, draft.families, engine.traits, leaves)
    table = scratch.create(step, f"hierarchy_{place}", coded)
    if draft.listing_table is not None:
        scratch.drop(draft.listing_table)
    return _validated(engine, item, draft, table, has_null=has_null, show_values=show_values)


def _measured(engine: Engine, item: BoundColumn, draft: HierarchyDraft) -> exp.Query:
    """Labelled values, with their places where the domain is a range."""
    if _leaves_of(item) != "places" or not isinstance(item.rule, Formula):
        return draft.labelled
    # The top covers the whole range, whether it stands above the last level or is its only label.
    below_top = item.rule.levels[: draft.height - 1]
    return measured(draft.labelled, below_top, item.measure, item.family, engine.traits)


def _leaves_of(item: BoundColumn) -> Leaves:
    """What counts as the leaves of a label."""
    if item.measure.kind == "range" and isinstance(item.rule, Formula):
        return "places"
    return "occurring" if item.measure.kind == "occurring" else "listed"


def _validated(
    engine: Engine, item: BoundColumn, draft: HierarchyDraft, table: Table, *, has_null: bool, show_values: bool
) -> StoredHierarchy:
    height = draft.height
    counted = _leaves_of(item)
    question = hierarchy_sql.validation(table, height, engine.traits, counted)
    [row] = engine.query(Statement(f"validate {draft.column}", question, fresh=True))
    figures = iter(row)
    missing, parents = (list(islice(figures, number)) for number in (height, height - 1))
    tops, leaves, values, outside, top, *sums = islice(figures, 7)
    indexes = list(figures)
    for level, number in enumerate(missing, start=1):
        if number:
            raise _failure(engine, draft, table, level - 1, int(number), missing=True, show_values=show_values)
    for level, too_many in enumerate((*parents, int(tops) - 1)):
        if too_many > 0 and (number := _several_parents(engine, draft, table, level)):
            raise _failure(engine, draft, table, level, number, missing=False, show_values=show_values)
    if tops > 1:
        raise HierarchyError(
            f"column '{draft.column}': the top of its hierarchy has {tops} labels, not one",
            column=draft.column,
            level=height,
            count=int(tops),
        )
    if outside:
        raise HierarchyError(
            f"column '{draft.column}': {_counted(int(outside), 'value')} outside its declared domain; "
            f"widen columns.{draft.column}.domain, or leave such rows out of the source",
            column=draft.column,
            count=int(outside),
        )
    if draft.listed > 1:
        _refuse_cycles(engine, draft, table)
    return StoredHierarchy(
        column=draft.column,
        table=HierarchyTable(
            table,
            height,
            int(leaves or 0) + has_null,
            tuple(int(most or 0).bit_length() for most in indexes),
            counted == "places",
        ),
        top=str(top if top is not None else draft.top),
        values=int(values),
        families=draft.families,
        fingerprint=fingerprint(item.rule),
        measure=item.measure,
        checksum=tuple(int(number) for number in sums),
    )


def _several_parents(engine: Engine, draft: HierarchyDraft, table: Table, level: int) -> int:
    query = hierarchy_sql.several_parents(table, level, draft.height)
    [(number,)] = engine.query(Statement(f"validate {draft.column}", query))
    return int(number)


def fingerprint(rule: Rule) -> str:
    """A short hash of a rule; equal rules have equal hashes in every process."""
    return sha256(repr(rule).encode()).hexdigest()[:16]


def _refuse_cycles(engine: Engine, draft: HierarchyDraft, table: Table) -> None:
    query = hierarchy_sql.labels_in_cycles(table, draft.listed, engine.traits)
    [(number,)] = engine.query(Statement(f"validate {draft.column}", query))
    if number:
        raise HierarchyError(
            f"column '{draft.column}': {number} labels of its hierarchy are their own ancestors; "
            f"a label may stand at several levels only above itself",
            column=draft.column,
            count=int(number),
        )


def _failure(
    engine: Engine, draft: HierarchyDraft, table: Table, level: int, number: int, *, missing: bool, show_values: bool
) -> HierarchyError:
    name = draft.column
    if missing and level == 0:
        message = f"column '{name}': {_counted(number, 'value')} outside its hierarchy"
    elif missing:
        message = f"column '{name}': {_counted(number, 'value')} without a label at level {level + 1} of its hierarchy"
    else:
        what = "value" if level == 0 else "label"
        verb = "has" if number == 1 else "have"
        plural = what if number == 1 else f"{what}s"
        message = f"column '{name}': {number} {plural} at level {level} of its hierarchy {verb} more than one parent"
    if show_values:
        query = hierarchy_sql.offenders(table, level, draft.height, missing=missing, most=SHOWN_VALUES)
        shown = engine.query(Statement(f"show values of {name}", query))
        message += ": " + ", ".join(repr(value) for (value,) in shown)
    else:
        message += " (--show-values shows some)"
    return HierarchyError(message, column=name, level=level, count=number)


def _counted(number: int, what: str) -> str:
    return f"1 {what} is" if number == 1 else f"{number} {what}s are"
