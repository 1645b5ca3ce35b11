"""Mondrian (LeFevre et al.; chapter, section 4.1.2): regions of the space of values, cut while cuts are allowable.

Strict regions do not overlap; relaxed ones may share a value, whose rows are parted among them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlanon.combinations import combine
from sqlanon.engines.base import Statement
from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.frequency import Base
from sqlanon.hierarchy_store import StoredHierarchy
from sqlanon.recoders.base import Recoded, recoded_by, requirement_for
from sqlanon.recoders.naming import name_regions
from sqlanon.recoders.partition import Partitioning, Settings
from sqlanon.runs import Run
from sqlanon.sqlgen import regions as regions_sql


def mondrian(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Partition the combinations of the source and name the regions."""
    grouping = requirement_for(run).whole
    if grouping is None:
        raise TypeError("recoders judge classes of the whole quasi-identifier")
    wanted = run.binding.spec.search.mondrian
    if wanted.kind == "relaxed" and run.binding.persons:
        raise UsageError("search.mondrian.kind: relaxed parts rows, which respondents may have several of; use strict")
    made = combine(run.engine, run.binding, base, stored, run.scratch)
    partitioning = Partitioning(run.engine, run.scratch, made, grouping, _settings(run))
    if not partitioning.satisfiable():
        raise InfeasibleError("all rows in one class do not satisfy the requirement: no release can satisfy it")
    partition = partitioning.run()
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


def _settings(run: Run) -> Settings:
    spec = run.binding.spec
    wanted = spec.search.mondrian
    weights = tuple(float(spec.weight(name)) for name in run.binding.names)
    return Settings(wanted.kind == "relaxed", wanted.cuts == "guided", weights)
