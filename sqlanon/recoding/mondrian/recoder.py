"""Mondrian (LeFevre et al.; chapter, section 4.1.2): regions of the space of values, cut while cuts are allowable.

Strict regions do not overlap; relaxed ones may share a value, whose rows are parted among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlanon.engines.base import Statement
from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.recoding.base import Recoded, recoded_by, requirement_for
from sqlanon.recoding.lookups import RegionLookup
from sqlanon.recoding.mondrian import labels as labels_sql
from sqlanon.recoding.mondrian import regions as regions_sql
from sqlanon.recoding.mondrian.naming import name_regions, named_regions
from sqlanon.recoding.mondrian.partition import Partition, Partitioning, Settings
from sqlanon.source.combinations import Combinations, combine
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run

MOST_WRITTEN = 50_000
"""Regions, and values of a column, that a script writes out."""


def mondrian(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Partition the combinations of the source and name the regions."""
    wanted = run.binding.spec.search.mondrian
    made, partition = _partition(run, base, stored)
    assignment = name_regions(run, made, partition, space=wanted.bounds == "space")
    largest, regions = run.engine.query(Statement("count regions", regions_sql.sizes(partition.regions)))[0]
    details = {
        "kind": wanted.kind,
        "cuts": wanted.cuts,
        "bounds": wanted.bounds,
        "regions": int(regions),
        "largest": int(largest),
        "rounds": partition.rounds,
    }
    run.scratch.drop(partition.regions, partition.points)
    return replace(recoded_by(run, assignment, details), checks=partition.judged)


def mondrian_lookup(run: Run, base: Base, stored: Sequence[StoredHierarchy], fingerprint: str) -> RegionLookup:
    """The regions of a strict partition as a script writes them.

    UsageError where that is too much to write, or where the combinations are no longer those of the fingerprint.
    """
    wanted = run.binding.spec.search.mondrian
    made, partition = _partition(run, base, stored)
    if made.fingerprint != fingerprint:
        raise UsageError("the source has changed since this lock file was written, and its classes with it: plan again")
    [(_, regions)] = run.engine.query(Statement("count regions", regions_sql.sizes(partition.regions)))
    if max(int(regions), *(domain.values for domain in made.domains)) > MOST_WRITTEN:
        raise UsageError(f"search.algorithm: a script writes out at most {MOST_WRITTEN} regions and values of a column")
    named, _ = named_regions(run, made, partition, space=wanted.bounds == "space")
    query = labels_sql.written(partition.regions, named, len(made.domains))
    rows = run.engine.query(Statement("regions", query))
    values = [
        run.engine.query(Statement("values", labels_sql.values_in_order(domain.table))) for domain in made.domains
    ]
    run.scratch.drop(named, partition.regions, partition.points)
    return RegionLookup(
        tuple(tuple(text for (text,) in column) for column in values),
        tuple(tuple(None if item is None else str(item) for item in row) for row in rows),
    )


def _partition(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> tuple[Combinations, Partition]:
    grouping = requirement_for(run).whole
    if grouping is None:
        raise TypeError("recoders judge classes of the whole quasi-identifier")
    if run.binding.spec.search.mondrian.kind == "relaxed" and run.binding.persons:
        raise UsageError("search.mondrian.kind: relaxed parts rows, which respondents may have several of; use strict")
    made = combine(run.engine, run.binding, base, stored, run.scratch)
    partitioning = Partitioning(run.engine, run.scratch, made, grouping, _settings(run))
    if not partitioning.satisfiable():
        raise InfeasibleError("all rows in one class do not satisfy the requirement: no release can satisfy it")
    return made, partitioning.run()


def _settings(run: Run) -> Settings:
    spec = run.binding.spec
    wanted = spec.search.mondrian
    weights = tuple(float(spec.weight(name)) for name in run.binding.names)
    return Settings(wanted.kind == "relaxed", wanted.cuts == "guided", weights)
