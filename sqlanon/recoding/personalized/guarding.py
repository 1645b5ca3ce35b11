"""What personalized recoders share: guarded cells in the database, the taxonomy, SA-generalization of any groups.

Reads the combinations; the guarding column enters as codes and is never part of a release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import HierarchyError, InfeasibleError, UsageError
from sqlanon.recoding import divisions as divisions_sql
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.base import Recoded, least_levels, recoded_by, requirement_for
from sqlanon.recoding.divisions import Attribute
from sqlanon.recoding.personalized import statements as personalized_sql
from sqlanon.recoding.personalized.statements import Breach
from sqlanon.source.binding import BoundPersonalized
from sqlanon.source.combinations import Combinations, combine, has_null
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.source.scratch import Again, Scratch
from sqlanon.spec.privacy import INFINITY
from sqlanon.sql.relations import Table, column


@dataclass(frozen=True)
class Guarded:
    """A source whose every row names its guarding node, as cells in the database."""

    run: Run
    made: Combinations
    cells: Table
    guards: Table
    taxonomy: Table
    hierarchy: StoredHierarchy
    leaves: int
    """Leaves of the sensitive taxonomy, NULL among them where it occurs."""
    breach: Breach
    weight: Fraction | None
    """Of the sensitive column; None: it is never generalized."""
    attributes: tuple[Attribute, ...]
    position: int
    """Of the sensitive column among those that are read."""
    again: Again

    @property
    def engine(self) -> Engine:
        return self.run.engine

    @property
    def scratch(self) -> Scratch:
        return self.run.scratch

    @property
    def more(self) -> list[str]:
        """What cells hold to count persons."""
        return [] if self.breach.primary else ["respondent", "lone_respondents"]

    @property
    def held(self) -> list[str]:
        """The columns of rows that are divided into groups."""
        return ["g", *self.made.ordinals, *personalized_sql.COUNTS, "n", *self.more]

    def generalized(self, cells: Table, name: str, people: Table | None = None) -> Table:
        """SA-generalization of all groups of these cells that need it; the others publish values as they are.

        `people` says how many persons each group has, where the cells do not; it is dropped.
        """
        again, persons = self.again, bool(self.more)
        counted = people or again.create(
            "count persons", f"{name}p", lambda: personalized_sql.people(cells, persons=persons)
        )
        nodes = again.create("breach", f"{name}x", lambda: personalized_sql.nodes(cells, self.taxonomy))
        bad = again.create("breach", f"{name}b", lambda: personalized_sql.groups_in_breach(nodes, counted, self.breach))
        table = again.create(
            "SA-generalization",
            f"{name}s",
            lambda: personalized_sql.generalized(nodes, bad, counted, self.taxonomy, self.breach),
        )
        self.scratch.drop(counted, nodes, bad)
        return table


def guard(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Guarded:
    """Read the guarding nodes and hold them to the taxonomy."""
    requirement_for(run)
    asked = run.binding.personalized
    if asked is None:
        raise UsageError(f"search.algorithm: {run.binding.spec.search.algorithm} needs privacy.personalized")
    made = combine(run.engine, run.binding, base, stored, run.scratch, least_levels(run, stored))
    hierarchy = made.sensitive[asked.column].hierarchy
    if hierarchy is None:
        raise UsageError(f"privacy.personalized: column '{asked.asked.column}' has no taxonomy")
    guards, leaves = _guards(run, made, asked, hierarchy)
    more = ["respondent", "lone_respondents"] if made.persons else []
    codes = (f"s_{asked.column}", f"s_{asked.guarding}")
    cells = personalized_sql.cells(made.table, guards, codes, made.ordinals, more)
    taxonomy = personalized_sql.taxonomy(hierarchy.table.table, hierarchy.height, leaves)
    weight = asked.asked.weight
    return Guarded(
        run,
        made,
        run.scratch.create("guarded cells", "cells", cells),
        guards,
        run.scratch.create("taxonomy", "taxonomy", taxonomy),
        hierarchy,
        leaves,
        Breach(Fraction(asked.asked.p_breach), asked.asked.primary, base.rows * leaves * 4),
        None if weight == INFINITY else Fraction(weight),
        tuple(_attributes(run, made)),
        asked.column,
        Again(run.scratch),
    )


def _guards(run: Run, made: Combinations, asked: BoundPersonalized, hierarchy: StoredHierarchy) -> tuple[Table, int]:
    """The guarding nodes that occur, by value; refuses those that lie elsewhere in the taxonomy."""
    columns = [(f"s_{position}", made.codes[position]) for position in (asked.column, asked.guarding)]
    item = run.binding.sensitive[asked.guarding]
    text = run.engine.traits.text(column("value", "b"), item.family)
    pairs = personalized_sql.pairs(made.table, columns[0], columns[1], text)
    pairs_table = run.scratch.create("guarding nodes", "pairs", pairs)
    absent = has_null(run.engine, "guarding nodes", made.codes[asked.column])
    leaves = hierarchy.table.leaves + absent
    query = personalized_sql.guards(pairs_table, hierarchy.table.table, hierarchy.height, leaves, hierarchy.top)
    table = run.scratch.create("guarding nodes", "guards", query)
    run.scratch.drop(pairs_table)
    [(astray, unknown)] = run.engine.query(Statement("guarding nodes", personalized_sql.misplaced(table)))
    if unknown:
        raise HierarchyError(
            f"column '{asked.asked.column}': {unknown} rows lie outside its taxonomy", column=asked.asked.column
        )
    if astray:
        raise UsageError(
            f"privacy.personalized.guarding: {astray} rows have in column '{asked.asked.guarding}' what is no node "
            f"between the root of the taxonomy and their value of '{asked.asked.column}'"
        )
    return table, leaves


def _attributes(run: Run, made: Combinations) -> list[Attribute]:
    found = []
    for position, (name, domain) in enumerate(zip(run.binding.names, made.domains, strict=True)):
        reach = run.scratch.create(
            f"domain of {name}",
            f"reach{position}",
            divisions_sql.reach(domain.table, domain.height, of_labels=domain.least > 0),
        )
        found.append(
            Attribute(
                position,
                domain.natural,
                domain.height,
                reach,
                domain.leaves,
                domain.values - 1,
                domain.null,
                domain.hierarchy.top,
                Fraction(run.binding.spec.weight(name)),
                domain.least > 0,
            )
        )
    return found


def published(guarded: Guarded, assignment: Table, kept: Table, checks: int, details: Mapping[str, object]) -> Recoded:
    """The answer of a personalized recoder, from the classes that it chose and their extents."""
    scratch, hierarchy = guarded.scratch, guarded.hierarchy
    cells = scratch.create(
        "class cells",
        "classcells",
        personalized_sql.class_cells(guarded.cells, assignment, guarded.made.ordinals, guarded.more),
    )
    generalized = guarded.generalized(cells, "final")
    labels = scratch.create("labels", "labels", divisions_sql.labels(kept, guarded.attributes))
    of_values = personalized_sql.sensitive_labels(
        cells, generalized, guarded.guards, hierarchy.table.table, hierarchy.height, hierarchy.top
    )
    sensitive = scratch.create("sensitive labels", "values", of_values)
    made = Assignment(guarded.made, assignment, labels, True, {guarded.position: sensitive})
    loss, parts = information_loss(guarded, kept, generalized)
    recoded = recoded_by(guarded.run, made, {**details, "information_loss": loss, "leaves_beyond_one": parts})
    return replace(recoded, scores={**recoded.scores, "information_loss": loss}, checks=checks)


def information_loss(guarded: Guarded, kept: Table, generalized: Table) -> tuple[float, dict[str, int]]:
    """Equation 6, and the whole numbers that it is made of: leaves beyond one, summed over rows, by column."""
    names = [*guarded.run.binding.names, guarded.run.binding.sensitive[guarded.position].name]
    query = personalized_sql.totals(kept, generalized, [item.position for item in guarded.attributes])
    [found] = guarded.engine.query(Statement("information loss", query))
    sums = [int(number) for number in found]
    shares = [item.weight / item.values for item in guarded.attributes]
    shares.append((guarded.weight or Fraction(0)) / guarded.leaves)
    total = sum((share * number for share, number in zip(shares, sums, strict=True)), Fraction(0))
    return float(total), dict(zip(names, sums, strict=True))


def refuse_hopeless(loss: float, weight: Fraction | None) -> None:
    """InfeasibleError where not even one group of all rows protects everybody."""
    if loss < personalized_sql.HOPELESS:
        return
    if weight is None:
        raise InfeasibleError(
            "privacy.personalized: no division protects every guarding node with this p_breach and values as they are; "
            "weight infinity forbids to generalize them: give another weight, or a larger p_breach"
        )
    raise InfeasibleError(
        "privacy.personalized: no generalization protects every guarding node with this p_breach; "
        "a node that holds most of the taxonomy, or the root, cannot be guarded"
    )
