"""The hierarchies of a release as tables that a script makes: listed definitions as literals, the rest by queries.

Asks the database only for what a definition leaves open: the longest value, the top label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.recoding.kinds import FullDomain
from sqlanon.release.script.pages import Pages
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source.binding import Binding, BoundColumn
from sqlanon.source.frequency_statements import HierarchyTable
from sqlanon.source.hierarchies import HierarchyDraft, StoredHierarchy, draft_hierarchy, fingerprint
from sqlanon.sql.relations import Query

ONLY_FOR_SEARCH = ("leaves_", "index_")
"""Columns of a hierarchy table that a release does not read."""


@dataclass(frozen=True)
class Hierarchies:
    """Of the quasi-identifiers in their order; of sensitive columns, where a model goes by theirs, by position."""

    of_release: tuple[StoredHierarchy, ...]
    of_sensitive: Mapping[int, StoredHierarchy]

    def taxonomies(self) -> dict[str, Query]:
        """The labels of sensitive columns, as the audit reads them."""
        return {
            item.column: Query(hierarchy_sql.taxonomy(item.table.table, item.height))
            for item in self.of_sensitive.values()
        }


def write_hierarchies(pages: Pages, engine: Engine, binding: Binding, recoding: FullDomain) -> Hierarchies:
    """Write the tables of all hierarchies that the release reads."""
    of_release = [
        _of_release(pages, engine, binding, position, recoding.node[position])
        for position in range(len(binding.quasi_identifiers))
    ]
    of_sensitive = {
        position: _of_sensitive(pages, engine, binding, item.hierarchy(), f"sensitive_{position}")
        for position, item in enumerate(binding.sensitive)
        if item.rule is not None
    }
    return Hierarchies(tuple(of_release), of_sensitive)


def _of_release(pages: Pages, engine: Engine, binding: Binding, position: int, level: int) -> StoredHierarchy:
    item = binding.quasi_identifiers[position]
    domain = _domain(engine, binding, item)
    if binding.population is not None:
        people = engine.traits.relation(binding.population.relation, "source")
        there = binding.population.columns[position].key("source", engine.traits)
        domain = exp.union(domain, hierarchy_sql.domain(people, there), distinct=True)
    draft = draft_hierarchy(engine, item, domain, pages.name(f"definition_{position}"))
    if level > draft.height:
        raise UsageError(f"column '{item.name}': its hierarchy ends at level {draft.height} now: plan again")
    stored = _stored(pages, engine, item, draft, f"hierarchy_{position}")
    if level < draft.height and not binding.as_view:
        _write_draft(pages, engine, draft, str(position), stored)
    return stored


def _domain(engine: Engine, binding: Binding, item: BoundColumn) -> exp.Query:
    source = engine.traits.relation(binding.source, "source")
    return hierarchy_sql.domain(source, item.key("source", engine.traits))


def _of_sensitive(pages: Pages, engine: Engine, binding: Binding, item: BoundColumn, place: str) -> StoredHierarchy:
    draft = draft_hierarchy(engine, item, _domain(engine, binding, item), pages.name(f"definition_{place}"))
    stored = _stored(pages, engine, item, draft, f"hierarchy_{place}")
    _write_draft(pages, engine, draft, place, stored)
    return stored


def _stored(pages: Pages, engine: Engine, item: BoundColumn, draft: HierarchyDraft, name: str) -> StoredHierarchy:
    """What is known of a hierarchy before its table is made."""
    top = draft.top or _top(engine, draft)
    table = HierarchyTable(pages.name(name), draft.height, 0)
    return StoredHierarchy(item.name, table, top, 0, draft.families, fingerprint(item.rule))


def _top(engine: Engine, draft: HierarchyDraft) -> str:
    """The one label of the last level, where only the data know it."""
    query = hierarchy_sql.top_label(draft.labelled.copy(), draft.height)
    return str(engine.query(Statement(f"top of {draft.column}", query))[0][0])


def _write_draft(pages: Pages, engine: Engine, draft: HierarchyDraft, place: str, stored: StoredHierarchy) -> None:
    if draft.listing is not None:
        sentence = f"Definition of the hierarchy of {draft.column}, level 0 first."
        pages.create_text(sentence, f"definition_{place}", draft.listing_columns(), draft.listing.rows)
    coded = hierarchy_sql.coded(draft.labelled, draft.height, draft.families, engine.traits)
    read = [item for item in coded.expressions if not item.alias_or_name.startswith(ONLY_FOR_SEARCH)]
    coded.set("expressions", read)
    # Nobody validates the hierarchy when the script runs: what it cannot rely on counts as not covered.
    lookup = hierarchy_sql.sound(coded, draft.height)
    pages.create(f"Hierarchy of {draft.column}: one row per value.", f"hierarchy_{place}", lookup)
