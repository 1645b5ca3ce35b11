"""Options of risk, attacks and utility, and what these look at: the published target, and the people to look up.

Reads the catalog; makes scratch tables of labels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from sqlglot import exp

from sqlanon.auditor.place import relation_named
from sqlanon.engines.base import Engine
from sqlanon.errors import UsageError
from sqlanon.insight.adversary.links import Labels, People, label_pairs
from sqlanon.insight.adversary.people import GroupedTable
from sqlanon.insight.reidentification.classes import THRESHOLDS
from sqlanon.insight.workload import Given, RandomQueries
from sqlanon.source.run import Run
from sqlanon.sql.build import named
from sqlanon.sql.relations import File, Query, Relation, column

QUERIES = RandomQueries(200)
"""Random count queries that are answered unless others are named."""


@dataclass(frozen=True)
class RiskOptions:
    """How far to look for risk."""

    thresholds: tuple[Decimal, ...] = THRESHOLDS
    subset_size: int = 0
    unique_size: int = 0


@dataclass(frozen=True)
class AttackOptions:
    """What the adversary has beside the release."""

    external: str | None = None
    """An identified table."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of the quasi-identifier with the names that they have there; others are named alike."""
    within: tuple[int, ...] = (2, 5, 10)
    """Numbers of candidates that are counted up to."""
    excluded: tuple[int, ...] = (1,)
    """How many sensitive values somebody can exclude for a person."""
    similar: Decimal = Decimal("0.1")
    """Numbers are alike when no farther apart than this share of the whole range."""
    release: str | None = None
    """Another release of the same people."""
    names: str | None = None
    """The column of the identified table whose values are shown for those who are re-identified."""


@dataclass(frozen=True)
class UtilityOptions:
    """What the release is to be used for."""

    predict: str | None = None
    """The sensitive column to classify; by default every one that does not hold numbers."""
    queries: Given | RandomQueries | None = QUERIES
    """The count queries that are answered; None: none."""


PLAIN_RISK = RiskOptions()
PLAIN_ATTACK = AttackOptions()
PLAIN_UTILITY = UtilityOptions()


UNPUBLISHED = "there is no release yet at {}: only the source was measured"


def published(run: Run) -> Relation | None:
    """The target where it stands."""
    target = run.binding.target
    if isinstance(target, File):
        return target if Path(target.path).exists() else None
    return target if run.engine.relation_kind(target) is not None else None


def population(run: Run) -> People | None:
    """The population of the spec, its columns by those of the quasi-identifier."""
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
    """The people of the source itself."""
    return People(run.binding.source, {name: name for name in run.binding.names})


def renamed(engine: Engine, people: People) -> Relation:
    """A population with the columns named like the quasi-identifier."""
    items = [named(column(there, "people"), name) for name, there in people.columns.items()]
    return Query(exp.select(*items).from_(engine.traits.relation(people.relation, "people")))


def labels_of(run: Run, target: Relation | GroupedTable, people: Sequence[People], place: str = "a") -> Labels:
    """The labels of a release that cover the values of these people."""
    known = [item for item in run.binding.quasi_identifiers if all(item.name in one.columns for one in people)]
    # The labels of a release are those of the source's values: without them no label of a formula would be known.
    given = [(one.relation, one.columns) for one in (*people, source_people(run))]
    return label_pairs(run.engine, target, known, given, run.scratch, blank=run.binding.blank, place=place)
