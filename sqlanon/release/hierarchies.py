"""Hierarchies that the steps of a release make themselves, where nobody has stored them: in scripts, views, dbt models.

Each at the level that the release shows. Asks the database only for what a definition leaves open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from sqlanon.engines.base import Engine
from sqlanon.errors import UsageError
from sqlanon.privacy.base import Requirement
from sqlanon.recoding.kinds import FullDomain
from sqlanon.release.steps import AnyStep, LoadedList, Naming, Release, Step, StepCheck
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source import hierarchy_statements as lookup_sql
from sqlanon.source.binding import Binding, BoundColumn, live_domain
from sqlanon.source.drafts import HierarchyDraft, draft_hierarchy
from sqlanon.source.frequency_statements import HierarchyTable
from sqlanon.source.hierarchies import StoredHierarchy, fingerprint
from sqlanon.sql.relations import Query, Table, explained


@dataclass
class DraftedHierarchies:
    """Hierarchies that the steps of a release make themselves, each at its level alone."""

    steps: list[AnyStep] = field(default_factory=list)
    of_release: list[StoredHierarchy] = field(default_factory=list)
    lookups: list[Table | None] = field(default_factory=list)
    tops: list[Table | None] = field(default_factory=list)
    of_sensitive: dict[int, StoredHierarchy] = field(default_factory=dict)

    def release(self, binding: Binding, recoding: FullDomain, requirement: Requirement) -> Release:
        """The release that reads these hierarchies."""
        return Release(binding, tuple(self.of_release), recoding, requirement, tuple(self.lookups), tuple(self.tops))

    def taxonomies(self) -> dict[str, Query]:
        """The labels of sensitive columns, as the audit reads them."""
        return {
            item.column: Query(hierarchy_sql.taxonomy(item.table.table, item.height))
            for item in self.of_sensitive.values()
        }


@dataclass(frozen=True)
class Making:
    """How hierarchies are made where a release is carried out."""

    place: Naming
    listing: Callable[[str], Table | None]
    """Where the listed labels of a column lie; None: they stand in the query."""
    as_it_is: bool = True
    """Columns at level 0 have no table, and something stops the release where a value of theirs is not covered.
    Otherwise they have one, and rows of values that it does not cover are left out."""
    as_defined: bool = False
    """Nobody changes the tables of listed labels between their step and the next."""


def draft_hierarchies(engine: Engine, binding: Binding, recoding: FullDomain, making: Making) -> DraftedHierarchies:
    """The steps that make the hierarchies of a release from the values of its source and population."""
    found = DraftedHierarchies()
    plain = explained(info.name for info in binding.columns)
    for item, level in zip(binding.quasi_identifiers, recoding.node, strict=True):
        draft = draft_hierarchy(engine, item, live_domain(engine, binding, item), making.listing(item.name))
        if level > draft.height:
            raise UsageError(f"column '{item.name}': its hierarchy ends at level {draft.height} now: plan again")
        table = making.place(f"hierarchy_{plain[item.name]}")
        found.of_release.append(_stored(engine, item, draft, table))
        released_as_it_is = level == 0 and item.family.exact and making.as_it_is
        found.lookups.append(None if released_as_it_is or level == draft.height else table)
        found.tops.append(None)
        if level == draft.height:
            _top(engine, making, found, draft, plain[item.name])
            continue
        if released_as_it_is:
            found.steps += _coverage(item, draft)
            continue
        found.steps += _listing(draft, plain[item.name], level)
        found.steps.append(
            Step(
                f"hierarchy {item.name}",
                f"Hierarchy of {item.name}: the label of each value at level {level}.",
                f"hierarchy_{plain[item.name]}",
                table,
                draft.lookup(level, engine.traits, as_defined=making.as_defined),
            )
        )
    for position, sensitive in enumerate(binding.sensitive):
        if sensitive.rule is not None:
            _draft_taxonomy(engine, binding, found, position, making)
    return found


def _top(engine: Engine, making: Making, found: DraftedHierarchies, draft: HierarchyDraft, plain: str) -> None:
    """A column at a top that the data have made: later values may have other labels. A release stops there, a view has
    the label that all values share when it is read."""
    beside = draft.values_beside_top(engine.traits)
    if beside is not None and making.as_it_is:
        found.steps.append(
            StepCheck(
                f"top of {draft.column}",
                f"Stop if a value of {draft.column} has another label than the one that all of them shared.",
                f"a value of {draft.column} has a label beside the top of its hierarchy",
                beside,
            )
        )
    query = draft.top_when_read()
    if query is not None and not making.as_it_is:
        name = f"top_{plain}"
        found.tops[-1] = making.place(name)
        comment = f"The label of {draft.column} that all values share, else `*`."
        found.steps.append(Step(f"top of {draft.column}", comment, name, making.place(name), query))


def _draft_taxonomy(engine: Engine, binding: Binding, found: DraftedHierarchies, position: int, making: Making) -> None:
    """The hierarchy of a sensitive column: distances go by all of its levels."""
    item = binding.sensitive[position].hierarchy()
    plain = explained(info.name for info in binding.columns)[item.name]
    source = engine.traits.relation(binding.source, "source")
    domain = hierarchy_sql.domain(source, item.key("source", engine.traits))
    draft = draft_hierarchy(engine, item, domain, making.listing(item.name))
    table = making.place(f"hierarchy_{plain}")
    found.of_sensitive[position] = _stored(engine, item, draft, table)
    found.steps += _listing(draft, plain, None)
    coded = hierarchy_sql.coded(draft.labelled, draft.height, draft.families, engine.traits)
    read = [item for item in coded.expressions if not item.alias_or_name.startswith(("leaves_", "index_"))]
    coded.set("expressions", read)
    query = lookup_sql.sound(coded, draft.height)
    comment = f"Hierarchy of {item.name}: the labels of each value."
    found.steps.append(Step(f"hierarchy {item.name}", comment, f"hierarchy_{plain}", table, query))


def _stored(engine: Engine, item: BoundColumn, draft: HierarchyDraft, table: Table) -> StoredHierarchy:
    """What is known of a hierarchy before its table is made."""
    return StoredHierarchy(
        item.name, HierarchyTable(table, draft.height, 0), draft.top, 0, draft.families, fingerprint(item.rule)
    )


def _listing(draft: HierarchyDraft, plain: str, level: int | None) -> Iterator[LoadedList]:
    if draft.listing is not None:
        comment = f"Definition of the hierarchy of {draft.column}, level 0 first."
        yield LoadedList(comment, f"definition_{plain}", draft, level)


def _coverage(item: BoundColumn, draft: HierarchyDraft) -> Iterator[StepCheck]:
    uncovered = draft.uncovered()
    if uncovered is not None:
        yield StepCheck(
            f"cover {item.name}",
            f"Stop if a value of {item.name}, which is released as it is, lies outside its hierarchy.",
            "a value lies outside its hierarchy",
            uncovered,
        )
