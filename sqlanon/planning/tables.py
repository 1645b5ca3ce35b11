"""Several tables from a spec to an audited release: one search over what all of them say of people, one publication.

The orchestrator beside `pipeline`, which releases one table: bind, read, search the union lattice, publish, audit.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from time import monotonic
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.evaluation.persons import PersonsEvaluator
from sqlanon.evaluation.problem import Asked, with_all_minimal
from sqlanon.hierarchies.lattice import Lattice
from sqlanon.metrics import metric_named
from sqlanon.recoding import FullDomain
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.search import algorithm_named
from sqlanon.search.base import Budget, Objective, SearchResult
from sqlanon.search.session import Preferences
from sqlanon.source.binding import live_domain
from sqlanon.source.doubt import refuse_doubted
from sqlanon.source.hierarchies import HierarchyReport, describe_hierarchies, report_hierarchy
from sqlanon.source.run import DEFAULT, Options, Stopwatch, open_for, refuse_large_scan, refuse_writes, require_schemas
from sqlanon.source.scratch import Scratch, reclaim
from sqlanon.source.tables import BoundTable, BoundTables, CodedTables, about_table, bind_tables, code_tables
from sqlanon.sql.build import query
from sqlanon.sql.relations import Query

if TYPE_CHECKING:
    from sqlanon.auditor.policy import ColumnPolicy
    from sqlanon.auditor.tables import JoinedAudit
    from sqlanon.release.tables import TablesPublication, TablesRun
    from sqlanon.spec import SeveralTables


@dataclass
class TablesWork:
    """A run over several tables: its engine, its scratch tables, its clock."""

    name: str
    engine: Engine
    bound: BoundTables
    scratch: Scratch
    watch: Stopwatch
    options: Options


@contextmanager
def working(spec: SeveralTables, options: Options, *, publishes: bool = False) -> Iterator[TablesWork]:
    """A run of a spec, bound to the catalog, leftovers of dead runs reclaimed, its own scratch dropped at the end."""
    name = secrets.token_hex(6)
    watch = Stopwatch(run=name, on_phase=options.on_phase)
    with open_for(spec.of_table(spec.people), options, run=name) as engine:
        with watch.phase("bind"):
            bound = bind_tables(spec, engine)
            for table in bound.tables:
                with about_table(table.name):
                    refuse_writes(engine, table.binding, options)
                    require_schemas(engine, table.binding, publishes=publishes)
                    refuse_large_scan(engine, table.binding)
            for schema in dict.fromkeys(table.binding.scratch for table in bound.tables):
                reclaim(engine, schema)
        with Scratch(engine, bound.scratch) as scratch:
            yield TablesWork(name, engine, bound, scratch, watch, options)


def plan_tables(spec: SeveralTables, options: Options = DEFAULT) -> PlanResult:
    """Search for the levels to release. Writes nothing but scratch tables, which are dropped."""
    with working(spec, options) as work:
        return _planned(work, _read(work))


def run_tables(spec: SeveralTables, options: Options = DEFAULT) -> TablesRun:
    """Search and publish all tables.

    In one transaction, so that the sources are read once, where the lattice is small: each node takes some tables,
    whose locks a transaction holds until its end.
    """
    with working(spec, options, publishes=True) as work, _alone(work):
        with suppress(_TooManyNodes):
            return _run_at_once(work)
        planned = _planned(work, _read(work))
        return _published(work, FullDomain(planned.columns, planned.chosen.node), planned.hierarchies, planned)


MOST_AT_ONCE = 512
"""Nodes of a lattice that is searched within the transaction of its release."""


class _TooManyNodes(Exception):
    """Ends the transaction of a lattice that is too large for it."""


def _run_at_once(work: TablesWork) -> TablesRun:
    """Read, search and publish in one snapshot."""
    from sqlanon.release.tables import publish_tables

    with work.engine.transaction():
        coded = _read(work)
        if lattice_over(coded).size > MOST_AT_ONCE:
            raise _TooManyNodes
        planned = _planned(work, coded)
        recoding = FullDomain(planned.columns, planned.chosen.node)
        with work.watch.phase("publish"):
            publication = publish_tables(work.engine, coded, recoding.node, work.scratch)
        # What stands until the end is dropped with the transaction, before anybody can see it.
        work.scratch.drop_since(0)
    return _told(work, recoding, publication, planned)


def apply_tables(spec: SeveralTables, lock: Lock, options: Options = DEFAULT) -> TablesRun:
    """Publish exactly what a plan decided, judged and audited anew."""
    levels = lock.levels_for(spec)
    if lock.recipient is not None:
        raise UsageError("the lock file is of a recipient, and a spec of several tables has none: plan again")
    recoding = FullDomain.from_levels(spec.quasi_identifiers, levels)
    with working(spec, options, publishes=True) as work:
        lock.require_source(work.bound.schema)
        lock.require_requirement(requirement_of_tables(work.bound))
        for table in work.bound.tables:
            with about_table(table.name):
                refuse_doubted(work.engine, table.binding)
        with _alone(work):
            found = _published(work, recoding, lock.hierarchies)
        differences = lock.differences(found.publication.persons, found.publication.suppressed)
        return replace(found, warnings=(*found.warnings, *differences))


def hierarchies_of_tables(spec: SeveralTables, options: Options = DEFAULT) -> Iterator[HierarchyReport]:
    """Everything that a plan needs, looked up and validated: names, keys, hierarchies, roles that are doubted."""
    with working(spec, options, publishes=True) as work:
        coded = _read(work)
        lattice_over(coded)
        for hierarchy in coded.hierarchies:
            yield report_hierarchy(work.engine, hierarchy)


def audit_tables(spec: SeveralTables, options: Options = DEFAULT) -> JoinedAudit:
    """Measure the published tables of a spec against it, over their join and each by itself."""
    from sqlanon.auditor.tables import audit_joined
    from sqlanon.release.tables import audit_table, joining

    with open_for(spec.of_table(spec.people), options) as engine:
        bound = bind_tables(spec, engine)
        for table in bound.tables:
            if engine.relation_kind(table.target) is None:
                raise SourceError(f"tables.{table.name}.target: there is no {table.target}; publish it first")
            with about_table(table.name):
                _require_columns(engine, table)
        people, *others = (joining(table, table.target) for table in bound.tables)
        found = audit_joined(engine, people, others, bound.k)
        policies = {
            table.name: audit_table(engine, table, table.target, _drafted(engine, bound, table))
            for table in bound.tables
        }
        persons = query(
            "select count(distinct :key) as n from source",
            {"source": exp.select(exp.Star()).from_(engine.traits.relation(bound.people.binding.source, "rows"))},
            key=bound.people.key(engine, "source"),
        )
        [(number,)] = engine.query(Statement("count people", persons))
        names = {table.name: str(table.target) for table in bound.tables}
        found = found.with_policy(policies, int(number) - found.persons, names)
        return found.within(spec.privacy.most_suppressed.rows(int(number)))


def _require_columns(engine: Engine, table: BoundTable) -> None:
    """SourceError where the published table lacks what it is joined or grouped by."""
    there = {info.name for info in engine.columns(table.target)}
    for name in (table.shown, *table.binding.names):
        if name not in there:
            raise SourceError(f"tables.{table.name}.target: {table.target} has no column '{name}'")


def _drafted(engine: Engine, bound: BoundTables, table: BoundTable) -> list[ColumnPolicy]:
    """The quasi-identifiers of a table with their hierarchies as queries over all sources that share them."""
    from sqlanon.auditor.policy import ColumnPolicy, allowed_levels
    from sqlanon.source.drafts import draft_hierarchy

    found = []
    for item, position in zip(table.binding.quasi_identifiers, table.positions, strict=True):
        domains = [
            live_domain(engine, other.binding, other.binding.quasi_identifiers[place])
            for other in bound.tables
            for place, own in enumerate(other.positions)
            if own == position
        ]
        domain = domains[0] if len(domains) == 1 else exp.union(*domains, distinct=True)
        draft = draft_hierarchy(engine, item, domain, None)
        levels = allowed_levels(table.binding.spec, item.name, draft.height)
        labelled = Query(draft.labelled)
        found.append(ColumnPolicy(item.name, item.family, labelled, draft.families, draft.top, levels))
    return found


# -- the search ----------------------------------------------------------------------------------------------------


def requirement_of_tables(bound: BoundTables) -> dict[str, object]:
    """What is asked of the release, as lock files tell it."""
    return {"k": bound.k, "known": {table.name: table.known for table in bound.others}}


def lattice_over(coded: CodedTables) -> Lattice:
    """All vectors between the least and the highest level that each column may have."""
    bottom, top = [], []
    for shared, hierarchy in zip(coded.bound.shared, coded.hierarchies, strict=True):
        bounds = shared.column.levels
        highest = hierarchy.height if bounds.max is None else bounds.max
        if max(bounds.min, highest) > hierarchy.height:
            table, name = shared.members[0]
            raise UsageError(
                f"tables.{table}.columns.{name}.levels: level {max(bounds.min, highest)} does not exist, the hierarchy "
                f"ends at level {hierarchy.height}"
            )
        bottom.append(bounds.min)
        top.append(highest)
    return Lattice(tuple(bottom), tuple(top))


def _read(work: TablesWork) -> CodedTables:
    with work.watch.phase("frequency"):
        coded = code_tables(work.engine, work.bound, work.scratch, show_values=work.options.show_values)
        for table in work.bound.tables:
            with about_table(table.name):
                refuse_doubted(work.engine, table.binding)
    return coded


def _planned(work: TablesWork, coded: CodedTables) -> PlanResult:
    if work.options.explain:
        raise UsageError("--explain tells of the search over one table; leave it out for several")
    limit = work.bound.spec.privacy.most_suppressed.rows(coded.persons)
    with work.watch.phase("search"):
        evaluator = PersonsEvaluator(work.engine, coded, lattice_over(coded), limit, work.scratch)
        found = _answer(work, evaluator)
    described = describe_hierarchies(coded.hierarchies)
    fingerprint = coded.fingerprint(work.engine)
    return PlanResult(
        columns=tuple(item.name for item in work.bound.shared),
        heights=evaluator.heights,
        rows=coded.persons,
        limit=limit,
        combinations=coded.combinations,
        requirement=requirement_of_tables(work.bound),
        hierarchies=described,
        search=found,
        engine=work.engine.name,
        seconds=work.watch.seconds,
        fingerprint=fingerprint,
        source=work.bound.schema,
    )


def _answer(work: TablesWork, evaluator: PersonsEvaluator) -> SearchResult:
    """What the algorithm of the spec answers."""
    spec = work.bound.spec
    settings = spec.search
    position = {item.name: place for place, item in enumerate(work.bound.shared)}
    preferences = Preferences(
        policies=settings.prefer,
        before=tuple((position[first], position[second]) for first, second in settings.constraints.before),
        forbidden=tuple(
            tuple(sorted((position[name], level) for name, level in levels.items()))
            for levels in settings.constraints.forbidden
        ),
    )
    weights = [spec.weight(item) for item in work.bound.shared]
    objective = Objective.of(metric_named(settings.metric), evaluator, weights)
    budget = Budget(settings.budget.nodes, settings.budget.most_seconds)
    started = monotonic()
    progress = work.options.progress
    found = algorithm_named(settings.algorithm)(evaluator, objective, preferences, budget, progress)
    if not work.options.all_minimal:
        return found
    left = budget.after(found.checks, monotonic() - started)
    return with_all_minimal(found, Asked(evaluator, objective, preferences, left), progress)


# -- publishing ----------------------------------------------------------------------------------------------------


@contextmanager
def _alone(work: TablesWork) -> Iterator[None]:
    """Alone with every target; two runs wait for each other in one order."""
    seconds = work.bound.spec.limits.lock_seconds
    with ExitStack() as stack:
        for target in _in_order(work.bound.tables):
            stack.enter_context(work.engine.alone_with(target.target, seconds))
        yield


def _in_order(tables: Sequence[BoundTable]) -> list[BoundTable]:
    return sorted(tables, key=lambda table: table.target.parts)


def _published(
    work: TablesWork,
    recoding: FullDomain,
    hierarchies: Mapping[str, Mapping[str, Any]],
    planned: PlanResult | None = None,
) -> TablesRun:
    """Publish what was decided, on what the tables say now."""
    from sqlanon.release.tables import publish_again

    work.scratch.drop_since(0)
    with work.watch.phase("publish"), Scratch(work.engine, work.bound.scratch) as scratch:
        publication = publish_again(work.engine, work.bound, recoding.node, hierarchies, scratch)
    return _told(work, recoding, publication, planned)


def _told(
    work: TablesWork, recoding: FullDomain, publication: TablesPublication, planned: PlanResult | None
) -> TablesRun:
    from sqlanon.release.tables import TablesRun

    return TablesRun(
        {table.name: str(table.target) for table in work.bound.tables},
        recoding,
        publication,
        planned,
        work.engine.name,
        work.watch.seconds,
        work.name,
    )
