"""`personalized`: divide all groups as far as they go, then take every group whole that loses least so.

Beyond Xiao and Tao's greedy framework (2006): divisions are multidimensional, each group has its own, and extents are
as tight as its rows allow. Groups are divided by the loss of their quasi-identifier alone; SA-generalization then
decides, from the smallest groups up, where to stop, which is optimal among all ways of pruning these divisions.

First what `greedy` shares: guarded cells in the database, the taxonomy, SA-generalization of any groups. The guarding
column enters as codes and is never part of a release.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import HierarchyError, InfeasibleError, UsageError
from sqlanon.recoding import Assigned
from sqlanon.recoding import divisions as divisions_sql
from sqlanon.recoding.assignment import Assignment
from sqlanon.recoding.base import Recoded, Recoder, least_levels, recoded_by, requirement_for
from sqlanon.recoding.divisions import Attribute
from sqlanon.recoding.kinds import NodeLookup, RegionLookup, Text
from sqlanon.recoding.mondrian.recoder import MOST_WRITTEN, places_of_values
from sqlanon.recoding.personalized import statements as personalized_sql
from sqlanon.recoding.personalized.statements import Breach
from sqlanon.source.binding import BoundPersonalized
from sqlanon.source.combinations import Combinations, combine, has_null
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.hierarchy_statements import taxonomy_paths
from sqlanon.source.run import Run
from sqlanon.source.scratch import Again, Scratch
from sqlanon.spec.privacy import INFINITY
from sqlanon.sql.build import query
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


@dataclass(frozen=True)
class Round:
    """The groups of one round of division."""

    groups: Table
    parts: Table | None
    """Which group of the round before each is a part of; None in the first."""
    done: Table
    """The rows of groups that were not divided further."""


def recode(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Divide, prune, publish."""
    guarded = guard(run, base, stored)
    rounds, groups, complete = _divide(guarded)
    best = _prune(guarded, rounds)
    assignment, kept = _classes(guarded, rounds, best)
    details = {"rounds": len(rounds), "groups": groups, "complete": complete}
    return published(guarded, assignment, kept, groups, details)


def _divide(guarded: Guarded) -> tuple[list[Round], int, bool]:
    """Rounds of division until every group is of one combination, or the budget is spent."""
    scratch, attributes = guarded.scratch, guarded.attributes
    budget, started = guarded.run.binding.spec.search.budget, time.monotonic()
    seconds = budget.most_seconds
    rows = scratch.create("divide", "w0", personalized_sql.one_group(guarded.cells, guarded.held))
    rounds: list[Round] = []
    parts, numbered = None, 1
    while True:
        place = len(rounds)
        groups = scratch.create("divide", f"e{place}", divisions_sql.extents(rows, attributes))
        spent = (seconds is not None and time.monotonic() - started >= seconds) or (
            budget.nodes is not None and numbered >= budget.nodes
        )
        single = divisions_sql.single(attributes, "e")
        done = personalized_sql.finished(rows, groups, guarded.held, exp.true() if spent else single)
        rounds.append(Round(groups, parts, scratch.create("divide", f"done{place}", done)))
        divisions, divided = scratch.create_counted(
            "divide", f"b{place}", divisions_sql.best_divisions(rows, groups, attributes)
        )
        if guarded.run.options.progress is not None:
            guarded.run.options.progress(numbered, divided)
        if spent or not divided:
            scratch.drop(rows, divisions)
            return rounds, numbered, not spent or not divided
        split_query = divisions_sql.divided(rows, guarded.held, groups, divisions, attributes)
        split = scratch.create("divide", f"k{place}", split_query)
        parts, number = scratch.create_counted("divide", f"p{place}", divisions_sql.numbered_parts(split, numbered))
        inside = divisions_sql.in_parts(split, parts, guarded.held)
        divided_rows = scratch.create("divide", f"w{place + 1}", inside)
        scratch.drop(rows, divisions, split)
        rows, numbered = divided_rows, numbered + number


def _prune(guarded: Guarded, rounds: Sequence[Round]) -> list[Table]:
    """For each round, what each of its groups loses at least and whether it is kept whole."""
    scratch = guarded.scratch
    found: list[Table] = []
    below: tuple[Table, Table, Table] | None = None
    for place in range(len(rounds) - 1, -1, -1):
        current = rounds[place]
        folded = personalized_sql.folded(current.done, None if below is None else (below[0], below[2]), guarded.more)
        cells = scratch.create("fold", f"f{place}", folded)
        judged = scratch.create(
            "prune", f"j{place}", personalized_sql.worth_judging(current.groups, None if below is None else below[1:])
        )
        worth = scratch.create("prune", f"v{place}", personalized_sql.judged_cells(cells, judged, guarded.more))
        generalized = guarded.generalized(worth, f"r{place}")
        lost = scratch.create("prune", f"q{place}", personalized_sql.lost(generalized))
        best = scratch.create("prune", f"t{place}", personalized_sql.best(judged, lost, guarded.weight, guarded.leaves))
        scratch.drop(judged, worth, generalized, lost, *([] if below is None else [below[0]]))
        found.append(best)
        if current.parts is not None:
            below = (cells, best, current.parts)
        else:
            scratch.drop(cells)
    found.reverse()
    [(loss,)] = guarded.engine.query(Statement("prune", query("select best from b", {"b": found[0]})))
    refuse_hopeless(float(loss), guarded.weight)
    return found


def _classes(guarded: Guarded, rounds: Sequence[Round], best: Sequence[Table]) -> tuple[Table, Table]:
    """The assignment of combinations to the groups that are kept, and the extents of these."""
    scratch = guarded.scratch
    of_class: list[Table] = []
    for place, (current, chosen) in enumerate(zip(rounds, best, strict=True)):
        above = None if current.parts is None else (of_class[-1], current.parts)
        of_class.append(scratch.create("classes", f"a{place}", personalized_sql.classes(chosen, above)))
    done = [(current.done, classes) for current, classes in zip(rounds, of_class, strict=True)]
    extents = [(current.groups, classes) for current, classes in zip(rounds, of_class, strict=True)]
    assignment = scratch.create("classes", "assignment", personalized_sql.assigned(done, guarded.made.ordinals))
    kept = scratch.create("classes", "kept", personalized_sql.kept(extents))
    for current, chosen, classes in zip(rounds, best, of_class, strict=True):
        made = [current.groups, current.done, chosen, classes]
        scratch.drop(*made, *([] if current.parts is None else [current.parts]))
    return assignment, kept


def personalized_lookup(
    run: Run, base: Base, stored: Sequence[StoredHierarchy], recoder: Recoder, recoding: Assigned
) -> RegionLookup:
    """The classes of a personalized release as a script writes them; UsageError where they are other ones now.

    The classes are made again and compared with those of the lock file. Each is a region with the nodes it publishes.
    """
    asked, engine = run.binding.personalized, run.engine
    found = recoder(run, base, stored)
    made = found.assignment
    if asked is None or made is None or not isinstance(found.recoding, Assigned):
        raise UsageError("privacy.personalized: the spec says nothing of guarding nodes")
    if not found.recoding.same_as(recoding):
        raise UsageError("the source has changed since this lock file was written, and its classes with it: plan again")
    domains = made.combinations.domains
    if max(found.classes, *(domain.hierarchy.values for domain in domains)) > MOST_WRITTEN:
        raise UsageError(f"search.algorithm: a script writes out at most {MOST_WRITTEN} classes and values of a column")
    regions = engine.query(Statement("regions", personalized_sql.regions(made.table, made.labels, len(domains))))
    numbers = {row[0]: str(number) for number, row in enumerate(regions)}
    nodes = engine.query(Statement("nodes", personalized_sql.published_nodes(made.sensitive_labels[asked.column])))
    return RegionLookup(
        places_of_values(engine, made.combinations),
        tuple(_texts(row[1:]) for row in regions),
        NodeLookup(
            asked.asked.column,
            _paths(engine, made.combinations, asked.column),
            tuple((numbers[region], str(level), label) for region, level, label in nodes),
        ),
    )


def _paths(engine: Engine, made: Combinations, position: int) -> tuple[tuple[Text, ...], ...]:
    hierarchy = made.sensitive[position].hierarchy
    if hierarchy is None:
        raise UsageError("privacy.personalized: the sensitive column has no taxonomy")
    paths = taxonomy_paths(hierarchy.table.table, hierarchy.height)
    ordered = query("select p.* from p order by p.label_0", {"p": paths})
    rows = [_texts(row) for row in engine.query(Statement("taxonomy", ordered))]
    if has_null(engine, "taxonomy", made.codes[position]):
        rows.append((*[None] * hierarchy.height, hierarchy.top))
    return tuple(rows)


def _texts(row: Sequence[object]) -> tuple[Text, ...]:
    return tuple(None if item is None else str(item) for item in row)
