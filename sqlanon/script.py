"""The release as one commented SQL script, for people who review it and run it by hand.

The statements are those that publish runs, in one transaction; definitions are inserted as literals, and each check
is a query that fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from sqlanon.binding import Binding
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.hierarchy_store import HierarchyDraft, StoredHierarchy, draft_hierarchy
from sqlanon.measured import Release, classes_query, live_release, release_query
from sqlanon.privacy.base import Requirement
from sqlanon.recoding.full_domain import FullDomain
from sqlanon.sqlgen import audit as audit_sql
from sqlanon.sqlgen import hierarchy as hierarchy_sql
from sqlanon.sqlgen import release as release_sql
from sqlanon.sqlgen.build import (
    create_table_as,
    create_text_table,
    create_view,
    drop_table,
    drop_view,
    insert_text,
    rename_table,
)
from sqlanon.sqlgen.frequency import HierarchyTable
from sqlanon.sqlgen.relations import File, Table, column, table_expression

ROWS_PER_INSERT = 200


@dataclass(frozen=True)
class Part:
    """A statement with the sentence that explains it."""

    comment: str
    statement: exp.Expression


class ScriptWriter:
    """Writes one release as a script."""

    def __init__(self, engine: Engine, binding: Binding, requirement: Requirement, levels: Mapping[str, int]) -> None:
        self._engine = engine
        self._binding = binding
        self._requirement = requirement
        self._recoding = FullDomain.from_levels(binding.names, levels)
        self._made: list[Table] = []

    def text(self) -> str:
        """The whole script, ready for the engine's own client."""
        target = self._binding.target
        levels = ", ".join(f"{name} at level {level}" for name, level in self._recoding.levels().items())
        heading = [
            f"Release of {self._binding.source} as {target}, made by sqlanon.",
            f"Generalization: {levels}.",
            f"Every class of the quasi-identifier has at least {self._binding.k} rows, or nothing is published.",
            "Grants, comments and indexes of an existing target are kept by `sqlanon apply`, not by this script.",
        ]
        parts = list(self._parts())
        blocks = ["\n".join(f"-- {_one_line(line)}" for line in heading), "BEGIN;"]
        blocks += [self._block(part) for part in parts]
        blocks += ["COMMIT;"]
        return "\n\n".join(blocks) + "\n"

    def _block(self, part: Part) -> str:
        sql = self._engine.traits.render(part.statement, pretty=True)
        return f"-- {_one_line(part.comment)}\n{sql};"

    def _parts(self) -> Iterator[Part]:
        hierarchies: list[StoredHierarchy] = []
        for position in range(len(self._binding.quasi_identifiers)):
            hierarchy, parts = self._hierarchy(position)
            hierarchies.append(hierarchy)
            yield from parts
        release = Release(self._binding, tuple(hierarchies), self._recoding, self._requirement)
        yield from self._release(live_release(self._engine, release) if self._binding.as_view else release)
        for table in self._made:
            yield Part(f"Clean up {table.name}.", drop_table(table))

    def _hierarchy(self, position: int) -> tuple[StoredHierarchy, list[Part]]:
        item = self._binding.quasi_identifiers[position]
        source = self._engine.traits.relation(self._binding.source, "source")
        domain = hierarchy_sql.domain(source, item.key("source", self._engine.traits))
        draft = draft_hierarchy(self._engine, item, domain, self._name(f"l{position}"))
        table = self._name(f"h{position}")
        top = draft.top or self._top_of(draft)
        stored = StoredHierarchy(item.name, HierarchyTable(table, draft.height, 0), top, 0, draft.families, "")
        if self._recoding.node[position] > draft.height:
            raise UsageError(f"column '{item.name}': its hierarchy ends at level {draft.height} now: plan again")
        if self._recoding.node[position] == draft.height or self._binding.as_view:
            return stored, []
        coded = hierarchy_sql.coded(draft.labelled, draft.height, draft.families, self._engine.traits)
        # Nobody validates the hierarchy when the script runs: what it cannot rely on counts as not covered.
        lookup = hierarchy_sql.sound(coded, draft.height)
        create = create_table_as(table, lookup, self._engine.traits, scratch=True)
        parts = [*self._listing(draft), *self._fresh(f"Hierarchy of {item.name}: one row per value.", table, create)]
        return stored, parts

    def _top_of(self, draft: HierarchyDraft) -> str:
        """The one label of the last level, where only the data knows it."""
        query = hierarchy_sql.top_label(draft.labelled.copy(), draft.height)
        return str(self._engine.query(Statement(f"top of {draft.column}", query))[0][0])

    def _listing(self, draft: HierarchyDraft) -> Iterator[Part]:
        if draft.listing is None or draft.listing_table is None:
            return
        table, rows = draft.listing_table, draft.listing.rows
        create = create_text_table(table, draft.listing_columns(), self._engine.traits)
        yield from self._fresh(f"Definition of the hierarchy of {draft.column}, level 0 first.", table, create)
        for start in range(0, len(rows), ROWS_PER_INSERT):
            yield Part(f"Its rows from {start + 1} on.", insert_text(table, rows[start : start + ROWS_PER_INSERT]))

    def _release(self, release: Release) -> Iterator[Part]:
        engine, binding = self._engine, self._binding
        classes = self._name("classes")
        columns = release.columns(engine)
        judged = create_table_as(classes, classes_query(engine, release), engine.traits, scratch=True)
        yield from self._fresh(
            "The classes of the generalized quasi-identifier, each with its verdict.", classes, judged
        )
        covered = release_sql.no_value_outside(classes, columns)
        yield Part(
            "Stop if a value lies outside its hierarchy.",
            release_sql.assertion(covered, "sqlanon: a value lies outside its hierarchy"),
        )
        yield Part(
            f"Stop if more than {binding.spec.privacy.suppression.limit} rows would be suppressed.",
            release_sql.assertion(self._limit(classes), "sqlanon: more rows than allowed would be suppressed"),
        )
        target = binding.target if isinstance(binding.target, Table) else self._name("staging")
        staging = target.beside("sqlanon_script_staging")
        if binding.as_view:
            yield from self._view(release, staging, target)
            return
        query = release_query(engine, release, classes)
        create = create_table_as(staging, query, engine.traits, scratch=False)
        yield Part("Clear the way for the staging table.", drop_table(staging))
        yield Part("The release, in no order that tells of the source.", create)
        yield self._audit(staging)
        yield from self._swap(staging)

    def _view(self, release: Release, staging: Table, target: Table) -> Iterator[Part]:
        traits = self._engine.traits
        query = release_query(self._engine, release, classes_query(self._engine, release), shuffle=False)
        yield Part("Clear the way for the staging view.", drop_view(staging))
        yield Part("The release, computed whenever it is read.", create_view(staging, query, traits, replace=False))
        yield self._audit(staging)
        yield Part("Clean up the staging view.", drop_view(staging))
        yield Part("Until COMMIT nobody sees a difference.", create_view(target, query, traits, replace=True))

    def _limit(self, classes: Table) -> exp.Select:
        limit = self._binding.spec.privacy.suppression.limit
        if limit.percent is None:
            return release_sql.within_limit(classes, limit.count or 0, None)
        share = Fraction(limit.percent) / 100
        return release_sql.within_limit(classes, share.numerator, share.denominator)

    def _audit(self, staging: Table) -> Part:
        known = {info.name: info for info in self._binding.columns}
        items = zip(self._binding.quasi_identifiers, self._recoding.node, strict=True)
        keys = [
            self._engine.traits.key(column(item.name), known[item.name].family) if level == 0 else column(item.name)
            for item, level in items
        ]
        holds = audit_sql.holds_k_anonymity(table_expression(staging), keys, self._binding.k)
        return Part(
            f"Audit: stop unless every class of the staging table has at least {self._binding.k} rows.",
            release_sql.assertion(holds, "sqlanon: the release fails its audit"),
        )

    def _swap(self, staging: Table) -> Iterator[Part]:
        target = self._binding.target
        if isinstance(target, File):
            yield Part(f"Write the file {target}.", self._engine.traits.copy_to_file(staging, target))
            yield Part("Clean up the staging table.", drop_table(staging))
            return
        yield Part("Swap: the old release goes, the new one takes its name.", drop_table(target))
        yield Part("Until COMMIT nobody sees a difference.", rename_table(staging, target))

    def _fresh(self, comment: str, table: Table, create: exp.Expression) -> Iterator[Part]:
        """A scratch table made anew: what an earlier, broken-off script left is dropped first."""
        self._made.append(table)
        yield Part(f"Clear the way for {table.name}.", drop_table(table))
        yield Part(comment, create)

    def _name(self, name: str) -> Table:
        schema = () if self._engine.traits.temporary_scratch else self._binding.scratch
        return Table((*schema, f"sqlanon_script_{name}"))


def _one_line(text: str) -> str:
    return " ".join(text.split())
