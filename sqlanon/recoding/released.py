"""A class-wise release: what publish, rehearsal and report ask of an assignment of combinations to classes.

The source is compared with what was assigned before anything is made of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlanon.auditor.breaches import GuardingTaxonomy, Linked, in_one_table
from sqlanon.auditor.request import Opened
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError, RequirementError
from sqlanon.recoding.assignment import Assignment, ReleasedColumn, release, unlabelled
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source.combinations import has_null, source_rows
from sqlanon.source.hierarchy_statements import taxonomy_paths
from sqlanon.sql.relations import Query, Relation, Table

if TYPE_CHECKING:
    from sqlanon.hierarchies.lattice import Node
    from sqlanon.privacy.base import Requirement
    from sqlanon.source.binding import Binding
    from sqlanon.source.hierarchies import StoredHierarchy
    from sqlanon.source.scratch import Scratch


@dataclass(frozen=True)
class Judgement:
    """What a release comes to in this very snapshot of the source."""

    rows: int
    suppressed: int
    blank: bool
    """Suppressed rows stay, without their quasi-identifier."""
    query: exp.Select
    """The rows to publish; and for the audit the respondent and what else it has to see, which is never published."""
    taxonomies: Mapping[str, Relation] = field(default_factory=dict)
    """The labels of sensitive columns that have a hierarchy of their own."""
    scratch: tuple[Table, ...] = ()
    """Everything to drop when the release stands."""

    @property
    def blanked(self) -> int:
        return self.suppressed if self.blank else 0

    @property
    def released(self) -> int:
        return self.rows - self.suppressed + self.blanked


def refuse_beyond_limit(binding: Binding, rows: int, suppressed: int, *, kept: bool) -> None:
    """InfeasibleError when more rows would be suppressed than the spec allows, or all of them."""
    limit = binding.limit_rows(rows)
    if suppressed > limit:
        raise InfeasibleError(
            f"this generalization would suppress {suppressed} of {rows} rows, the limit is {limit}: plan again"
        )
    if not kept:
        raise InfeasibleError("no class satisfies the requirement: nothing to release")


@dataclass(frozen=True)
class AssignedRelease:
    """Everything that decides what a class-wise release publishes."""

    binding: Binding
    assignment: Assignment
    requirement: Requirement

    @property
    def node(self) -> Node | None:
        """No column has one level for all its values."""
        return None

    def judge(self, engine: Engine, scratch: Scratch, *, shuffle: bool = True) -> Judgement:
        """Refuses a source that is not the one whose combinations were assigned."""
        made = self.assignment.combinations
        if made.checksum(engine) != made.checksum_of_source(engine, self.binding):
            raise InfeasibleError("the source changed while the release was made: plan again")
        rows, suppressed, classes = self.assignment.totals(engine)
        [(faulty,)] = engine.query(Statement("check labels", unlabelled(self.assignment.tables)))
        if rows != made.rows or faulty:
            raise RequirementError("the release was not published: its assignment of rows to classes is not sound")
        refuse_beyond_limit(self.binding, rows, suppressed, kept=bool(classes))
        blank = self.binding.blank and self.binding.simple and suppressed >= self.binding.k
        return Judgement(rows, suppressed, blank, self._rows(engine, blank=blank), self._taxonomies())

    def rows_when_read(self, engine: Engine, *, with_respondent: bool = False) -> exp.Select | None:
        """No view: classes are decided from the rows as they are now."""
        return None

    def population(self, engine: Engine) -> exp.Select | None:
        """Recoders without levels compare with no population."""
        return None

    def linked(self, engine: Engine, audited: Relation) -> Linked | None:
        """The staged rows, each with what it was, for the audit of breach probabilities."""
        binding = self.binding
        asked = binding.personalized
        if asked is None:
            return None
        made = self.assignment.combinations
        hierarchy = made.sensitive[asked.column].hierarchy
        if hierarchy is None:
            return None
        opened = Opened.at(engine, audited, "audited")
        names = (asked.asked.column, binding.true_value, asked.asked.guarding)
        shown = [opened.key(name, as_text=True) for name in names]
        published, targets, people = in_one_table(
            opened.expression(),
            [opened.key(name) for name in binding.names],
            shown[0],
            shown[1],
            shown[2],
            None if binding.respondent is None else opened.key(binding.respondent.name),
        )
        absent = has_null(engine, "taxonomy", made.codes[asked.column])
        paths = taxonomy_paths(hierarchy.table.table, hierarchy.height)
        return Linked(published, targets, people, GuardingTaxonomy(paths, hierarchy.height, absent))

    @property
    def hierarchies(self) -> tuple[StoredHierarchy, ...]:
        """The hierarchies of the quasi-identifiers."""
        return tuple(domain.hierarchy for domain in self.assignment.combinations.domains)

    def _taxonomies(self) -> dict[str, Query]:
        """The labels of sensitive columns that have a hierarchy of their own."""
        return {
            item.item.name: Query(hierarchy_sql.taxonomy(item.hierarchy.table.table, item.height))
            for item in self.assignment.combinations.sensitive
            if item.hierarchy is not None
        }

    def _rows(self, engine: Engine, *, blank: bool) -> exp.Select:
        """The rows to publish; and for the audit the respondent, guarding nodes and true values."""
        binding = self.binding
        more = list(binding.witnesses)
        asked = binding.personalized
        if asked is not None:
            more.append(asked.asked.guarding)
        generalized = {binding.sensitive[position].name: position for position in self.assignment.sensitive_labels}
        positions = {name: position for position, name in enumerate(binding.names)}
        released = [
            ReleasedColumn(name, positions.get(name), generalized.get(name)) for name in (*binding.released, *more)
        ]
        if asked is not None:
            released.append(ReleasedColumn(binding.true_value, source=asked.asked.column))
        rows, keys = source_rows(engine, binding, self.assignment.combinations)
        return release(rows, keys, released, self.assignment.tables, blank=blank)
