"""Where the release of a spec stands, and the people whom an adversary looks up in it.

Reads the catalog; makes scratch tables of labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlglot import exp

from sqlanon.auditor.place import relation_named
from sqlanon.engines.base import Engine
from sqlanon.errors import UsageError
from sqlanon.insight.adversary import Labels, People, label_pairs
from sqlanon.insight.options import AttackOptions
from sqlanon.source.run import Run
from sqlanon.sql.build import named
from sqlanon.sql.relations import File, Query, Relation, column

UNPUBLISHED = "there is no release yet at {}: only the source was measured"


def published(run: Run) -> Relation | None:
    """The target where it stands."""
    target = run.binding.target
    if isinstance(target, File):
        return target if Path(target.path).exists() else None
    return target if run.engine.relation_kind(target) is not None else None


def population(run: Run) -> People | None:
    population = run.binding.population
    if population is None:
        return None
    names = zip(run.binding.names, population.columns, strict=True)
    return People(population.relation, {name: there.name for name, there in names})


def external(run: Run, asked: AttackOptions) -> People | None:
    """The identified table, by the columns that it shares with the quasi-identifier; else the spec's population."""
    if asked.external is None:
        return population(run)
    relation = relation_named(run.engine, asked.external, "--external")
    for name in asked.columns:
        if name not in run.binding.names:
            raise UsageError(f"--map: '{name}' is no column of the quasi-identifier")
    there = {info.name for info in run.engine.columns(relation)}
    names = {name: asked.columns.get(name, name) for name in run.binding.names}
    for name, other in asked.columns.items():
        if other not in there:
            raise UsageError(f"--map: {relation} has no column '{other}' for '{name}'")
    shared = {name: other for name, other in names.items() if other in there}
    if not shared:
        raise UsageError(f"--external: {relation} has no column of the quasi-identifier; name them with --map")
    return People(relation, shared)


def source_people(run: Run) -> People:
    return People(run.binding.source, {name: name for name in run.binding.names})


def renamed(engine: Engine, people: People) -> Relation:
    """A population with the columns named like the quasi-identifier."""
    items = [named(column(there, "people"), name) for name, there in people.columns.items()]
    return Query(exp.select(*items).from_(engine.traits.relation(people.relation, "people")))


def labels_of(run: Run, target: Relation, people: Sequence[People], place: str = "a") -> Labels:
    known = [item for item in run.binding.quasi_identifiers if all(item.name in one.columns for one in people)]
    # The labels of a release are those of the source's values: without them no label of a formula would be known.
    given = [(one.relation, one.columns) for one in (*people, source_people(run))]
    return label_pairs(run.engine, target, known, given, run.scratch, blank=run.binding.blank, place=place)
