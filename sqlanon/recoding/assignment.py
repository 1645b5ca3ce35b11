"""Class-wise releases: an assignment of combinations to classes, what it costs, and the rows that it publishes.

Recoders make assignments; publish carries them out after comparing the source with what was assigned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import expm1, log1p

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError, RequirementError
from sqlanon.privacy.base import Requirement
from sqlanon.recoding import assignment_statements as assigned_sql
from sqlanon.recoding.assignment_statements import AssignmentTables, ReleasedColumn
from sqlanon.source import combination_statements as combinations_sql
from sqlanon.source import hierarchy_statements as hierarchy_sql
from sqlanon.source.binding import Binding
from sqlanon.source.combinations import Combinations, source_rows
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.sql.relations import Query, Table


@dataclass(frozen=True)
class Assignment:
    """Which rows of which combination lie in which class, and the labels of each class, as scratch tables."""

    combinations: Combinations
    table: Table
    labels: Table
    whole: bool
    sensitive_labels: Mapping[int, Table] = field(default_factory=dict)
    """For sensitive columns, by position, that are generalized by class."""

    @property
    def tables(self) -> AssignmentTables:
        width = len(self.combinations.domains)
        return AssignmentTables(self.table, self.labels, width, self.whole, self.sensitive_labels)

    def checksum(self, engine: Engine) -> tuple[int, ...]:
        """Rows and checksums of the assignment and of what its labels cover."""
        width, coded = len(self.combinations.domains), len(self.combinations.codes)
        parts = [*self.tables.keys(coded), *([] if self.whole else ["first_row", "last_row"]), "n", "class"]
        covered = [f"{part}_{position}" for position in range(width) for part in ("leaves", "rows")]
        found: list[int] = []
        for table, columns in ((self.table, parts), (self.labels, ["class", *covered])):
            [sums] = engine.query(Statement("check assignment", combinations_sql.table_checksum(table, columns)))
            found += [int(number) for number in sums]
        return tuple(found)

    def totals(self, engine: Engine) -> tuple[int, int, int]:
        """Rows, suppressed rows, classes."""
        [(rows, suppressed, classes)] = engine.query(Statement("total assignment", assigned_sql.totals(self.tables)))
        return int(rows), int(suppressed), int(classes)


def figures_of(engine: Engine, assignment: Assignment, weights: Mapping[int, float] | None = None) -> dict[str, float]:
    """What an assignment costs: `loss`, `dm`, `hdm`, `aecs` as for full-domain releases, over the same domains."""
    rows, suppressed, classes = assignment.totals(engine)
    domains = assignment.combinations.domains
    given = [1.0 if weights is None else weights[position] for position in range(len(domains))]
    [(squares,)] = engine.query(Statement("discernibility", assigned_sql.class_squares(assignment.tables)))
    exponent, hdm = 0.0, 0.0
    for position, domain in enumerate(domains):
        query = assigned_sql.column_figures(assignment.tables, position, domain.table)
        [(leaves, penalty)] = engine.query(Statement("information loss", query))
        share = given[position] / sum(given)
        least = rows / domain.leaves
        lost = 0.0
        if domain.leaves > 1:
            lost = max(0.0, (float(leaves) / domain.leaves + suppressed - least) / (rows - least))
        exponent += share * log1p(lost)
        hdm += share * float(penalty)
    return {
        "loss": expm1(exponent),
        "dm": float(squares) + float(rows * suppressed),
        "hdm": hdm,
        "aecs": rows / (classes + (1 if suppressed else 0)),
    }


@dataclass(frozen=True)
class AssignedRelease:
    """Everything that decides what a class-wise release publishes."""

    binding: Binding
    assignment: Assignment
    requirement: Requirement

    def judge(self, engine: Engine) -> tuple[int, int, bool]:
        """Rows, suppressed rows and whether these stay without their quasi-identifier, in this very snapshot.

        Refuses a source that is not the one whose combinations were assigned.
        """
        made = self.assignment.combinations
        if made.checksum(engine) != made.checksum_of_source(engine, self.binding):
            raise InfeasibleError("the source changed while the release was made: plan again")
        rows, suppressed, classes = self.assignment.totals(engine)
        [(faulty,)] = engine.query(Statement("check labels", assigned_sql.unlabelled(self.assignment.tables)))
        if rows != made.rows or faulty:
            raise RequirementError("the release was not published: its assignment of rows to classes is not sound")
        limit = self.binding.limit_rows(rows)
        if suppressed > limit:
            raise InfeasibleError(
                f"this generalization would suppress {suppressed} of {rows} rows, the limit is {limit}: plan again"
            )
        if not classes:
            raise InfeasibleError("no class satisfies the requirement: nothing to release")
        blank = self.binding.blank and self.binding.simple and suppressed >= self.binding.k
        return rows, suppressed, blank

    @property
    def hierarchies(self) -> tuple[StoredHierarchy, ...]:
        """The hierarchies of the quasi-identifiers."""
        return tuple(domain.hierarchy for domain in self.assignment.combinations.domains)

    def taxonomies(self) -> dict[str, Query]:
        """The labels of sensitive columns that have a hierarchy of their own."""
        return {
            item.item.name: Query(hierarchy_sql.taxonomy(item.hierarchy.table.table, item.height))
            for item in self.assignment.combinations.sensitive
            if item.hierarchy is not None
        }

    def query(self, engine: Engine, *, blank: bool, with_respondent: bool) -> exp.Select:
        """The rows to publish; with the respondent, guarding nodes and true values only for the audit."""
        binding = self.binding
        more = [binding.respondent.name] if with_respondent and binding.respondent is not None else []
        asked = binding.personalized
        if with_respondent and asked is not None:
            more.append(asked.asked.guarding)
        generalized = {binding.sensitive[position].name: position for position in self.assignment.sensitive_labels}
        positions = {name: position for position, name in enumerate(binding.names)}
        released = [
            ReleasedColumn(name, positions.get(name), generalized.get(name)) for name in (*binding.released, *more)
        ]
        if with_respondent and asked is not None:
            released.append(ReleasedColumn(binding.true_value, source=asked.asked.column))
        rows, keys = source_rows(engine, binding, self.assignment.combinations)
        return assigned_sql.release(rows, keys, released, self.assignment.tables, blank=blank)
