"""`personalized`: divide all groups as far as they go, then take every group whole that loses least so.

Beyond Xiao and Tao's greedy framework (2006): divisions are multidimensional, each group has its own, and extents are
as tight as its rows allow. Groups are divided by the loss of their quasi-identifier alone; SA-generalization then
decides, from the smallest groups up, where to stop, which is optimal among all ways of pruning these divisions.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.recoding import Assigned
from sqlanon.recoding import divisions as divisions_sql
from sqlanon.recoding.base import Recoded, Recoder
from sqlanon.recoding.kinds import NodeLookup, RegionLookup, Text
from sqlanon.recoding.mondrian.recoder import MOST_WRITTEN, places_of_values
from sqlanon.recoding.personalized import statements as personalized_sql
from sqlanon.recoding.personalized.guarding import Guarded, guard, published, refuse_hopeless
from sqlanon.source.combinations import Combinations, has_null
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.lookup_statements import taxonomy_paths
from sqlanon.source.run import Run
from sqlanon.sql.build import query
from sqlanon.sql.relations import Table


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
