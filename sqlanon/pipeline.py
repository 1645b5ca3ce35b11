"""The one orchestrator, from a spec to an audited release. Read it with Samarati's paper in the other hand.

spec -> bind to the catalog -> scan -> hierarchy tables -> frequency set -> search -> recoding -> publish.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from sqlanon.audit import AuditResult, audit
from sqlanon.binding import Binding, bind, bind_source, bind_target
from sqlanon.engines.base import Engine, Session, TraceHook
from sqlanon.engines.registry import open_engine
from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.evaluate import SqlEvaluator
from sqlanon.frequency import Base, FrequencySet, scan, store_hierarchies, widen
from sqlanon.hierarchy_store import HierarchyReport, StoredHierarchy, describe_hierarchies, report_hierarchy
from sqlanon.lattice import Lattice
from sqlanon.lock import Lock
from sqlanon.matrix import MatrixEvaluator
from sqlanon.metrics.base import Metric
from sqlanon.metrics.registry import metric_named
from sqlanon.privacy.base import Requirement
from sqlanon.privacy.k_anonymity import KAnonymity
from sqlanon.publish import Release, publish
from sqlanon.recoding.full_domain import FullDomain
from sqlanon.results import PlanResult, RunResult
from sqlanon.scratch import Scratch, reclaim
from sqlanon.script import ScriptWriter
from sqlanon.search.base import Evaluator, Progress
from sqlanon.search.budget import Budget
from sqlanon.search.objective import Objective
from sqlanon.search.preferences import Preferences
from sqlanon.search.registry import algorithm_named
from sqlanon.search.result import SearchResult
from sqlanon.spec import Spec


@dataclass(frozen=True)
class Options:
    """What a caller may ask for beside the spec."""

    show_values: bool = False
    all_minimal: bool = False
    hooks: tuple[TraceHook, ...] = ()
    progress: Progress | None = None


DEFAULT = Options()


@dataclass
class Stopwatch:
    """Seconds spent in each phase."""

    seconds: dict[str, float] = field(default_factory=dict)

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - started


@dataclass
class _Run:
    """A run under way: its engine, its scratch tables and what is known of the source so far."""

    engine: Engine
    binding: Binding
    scratch: Scratch
    watch: Stopwatch
    options: Options

    @property
    def requirement(self) -> Requirement:
        return _requirement(self.binding)


def plan(spec: Spec, options: Options = DEFAULT) -> PlanResult:
    """Search for the generalization to release. Writes nothing but scratch tables, which are dropped."""
    with _running(spec, options) as run:
        _, result = _search(run)
        return result


def run(spec: Spec, options: Options = DEFAULT) -> RunResult:
    """Search and publish."""
    with _running(spec, options) as run:
        frequency, result = _search(run)
        recoding = FullDomain(run.binding.names, result.chosen.node)
        return _publish(run, frequency.hierarchies, recoding, result)


def apply(spec: Spec, lock: Lock, options: Options = DEFAULT) -> RunResult:
    """Publish exactly what a plan decided, measured and audited anew."""
    levels = _locked_levels(spec, lock)
    with _running(spec, options) as run:
        with run.watch.phase("frequency"):
            base = scan(run.engine, run.binding, run.scratch)
            _refuse_too_few(run.binding, base.rows)
            hierarchies = _hierarchies(run, base)
        _refuse_changed_hierarchies(lock, hierarchies)
        recoding = FullDomain.from_levels(run.binding.names, levels)
        return _publish(run, hierarchies, recoding, None)


def audit_spec(spec: Spec, options: Options = DEFAULT) -> AuditResult:
    """Measure the published target of a spec against its requirement."""
    with open_for(spec, options) as engine:
        target = bind_target(spec, engine)
        return audit(engine, target, spec.quasi_identifiers, spec.privacy.k or 1, source=bind_source(spec, engine))


def script(spec: Spec, lock: Lock | None, options: Options = DEFAULT) -> str:
    """The release as one SQL script: as a lock file decided, or as a search decides now."""
    levels = plan(spec, options).levels if lock is None else _locked_levels(spec, lock)
    with open_for(spec, options) as engine:
        binding = bind(spec, engine)
        return ScriptWriter(engine, binding, _requirement(binding), levels).text()


def hierarchies(spec: Spec, options: Options = DEFAULT) -> Iterator[HierarchyReport]:
    """Build and validate each hierarchy on its own, and report on it while its table stands."""
    with _running(spec, options) as run:
        base = scan(run.engine, run.binding, run.scratch)
        for hierarchy in _hierarchies(run, base):
            yield report_hierarchy(run.engine, hierarchy)


@contextmanager
def open_for(spec: Spec, options: Options, run: str = "adhoc") -> Iterator[Engine]:
    """The engine that a spec's connection names, closed at the end."""
    session = Session(run, spec.limits.statement_seconds, list(options.hooks))
    engine = open_engine(spec.connection.reveal(), session, spec.folder)
    try:
        yield engine
    finally:
        engine.close()


@contextmanager
def _running(spec: Spec, options: Options) -> Iterator[_Run]:
    watch = Stopwatch()
    with open_for(spec, options, run=secrets.token_hex(6)) as engine:
        with watch.phase("bind"):
            binding = bind(spec, engine)
            reclaim(engine, binding.scratch)
        with Scratch(engine, binding.scratch) as scratch:
            yield _Run(engine, binding, scratch, watch, options)


def _search(run: _Run) -> tuple[FrequencySet, PlanResult]:
    with run.watch.phase("frequency"):
        base = scan(run.engine, run.binding, run.scratch)
        _refuse_too_few(run.binding, base.rows)
    with run.watch.phase("hierarchies"):
        hierarchies = _hierarchies(run, base)
    with run.watch.phase("frequency"):
        frequency = widen(run.engine, base, hierarchies, run.scratch)
    with run.watch.phase("search"):
        result = _find(run, frequency)
    return frequency, PlanResult(
        columns=run.binding.names,
        heights=tuple(hierarchy.height for hierarchy in hierarchies),
        rows=frequency.rows,
        limit=run.binding.limit_rows(frequency.rows),
        combinations=frequency.combinations,
        requirement=run.requirement.describe(),
        hierarchies=describe_hierarchies(hierarchies),
        search=result,
        engine=run.engine.name,
        seconds=run.watch.seconds,
    )


def _find(run: _Run, frequency: FrequencySet) -> SearchResult:
    """Let the algorithm of the spec ask the evaluator until it knows the node to release."""
    settings = run.binding.spec.search
    metric = metric_named(settings.metric)
    evaluator = _evaluator(run, frequency, metric)
    weights = [run.binding.spec.weight(name) for name in run.binding.names]
    name = "minimal" if run.options.all_minimal else settings.algorithm
    return algorithm_named(name)(
        evaluator,
        Objective.of(metric, evaluator, weights),
        _preferences(run.binding),
        Budget(settings.budget.nodes, settings.budget.seconds),
        run.options.progress,
    )


def _evaluator(run: _Run, frequency: FrequencySet, metric: Metric) -> Evaluator:
    counts = SqlEvaluator.of(
        run.engine,
        frequency,
        run.requirement,
        lattice=_lattice(run.binding, frequency),
        limit=run.binding.limit_rows(frequency.rows),
        figures=metric.figures(len(run.binding.names)),
        scratch=run.scratch,
    )
    if run.binding.spec.search.satisfies == "matrix":
        return MatrixEvaluator(run.engine, frequency, counts, run.binding.k, run.scratch)
    return counts


def _lattice(binding: Binding, frequency: FrequencySet) -> Lattice:
    """All vectors between the least and the highest level that each column may have."""
    bottom, top = [], []
    for item, hierarchy in zip(binding.quasi_identifiers, frequency.hierarchies, strict=True):
        bounds = binding.spec.columns[item.name].levels
        highest = hierarchy.height if bounds.max is None else bounds.max
        if max(bounds.min, highest) > hierarchy.height:
            raise UsageError(
                f"columns.{item.name}.levels: level {max(bounds.min, highest)} does not exist, "
                f"the hierarchy ends at level {hierarchy.height}"
            )
        bottom.append(bounds.min)
        top.append(highest)
    return Lattice(tuple(bottom), tuple(top))


def _preferences(binding: Binding) -> Preferences:
    settings = binding.spec.search
    position = {name: index for index, name in enumerate(binding.names)}
    return Preferences(
        policies=settings.prefer,
        before=tuple((position[first], position[second]) for first, second in settings.constraints.before),
        forbidden=tuple(
            tuple(sorted((position[name], level) for name, level in node.items()))
            for node in settings.constraints.forbidden
        ),
    )


def _hierarchies(run: _Run, base: Base) -> tuple[StoredHierarchy, ...]:
    return store_hierarchies(run.engine, run.binding, base, run.scratch, show_values=run.options.show_values)


def _publish(
    run: _Run, hierarchies: Sequence[StoredHierarchy], recoding: FullDomain, planned: PlanResult | None
) -> RunResult:
    release = Release(run.binding, tuple(hierarchies), recoding, run.requirement)
    with run.watch.phase("publish"):
        publication = publish(run.engine, release, run.scratch)
    return RunResult(
        target=str(run.binding.target),
        levels=recoding.levels(),
        publication=publication,
        plan=planned,
        engine=run.engine.name,
        seconds=run.watch.seconds,
    )


def _requirement(binding: Binding) -> Requirement:
    return Requirement((KAnonymity(binding.k),))


def _locked_levels(spec: Spec, lock: Lock) -> dict[str, int]:
    if lock.spec_hash != spec.hash():
        raise UsageError("the spec has changed since this lock file was written: plan again")
    return lock.levels


def _refuse_too_few(binding: Binding, rows: int) -> None:
    if rows < binding.k:
        raise InfeasibleError(
            f"privacy.k: the source has {rows} rows, fewer than k = {binding.k}: no release can satisfy it"
        )


def _refuse_changed_hierarchies(lock: Lock, hierarchies: Sequence[StoredHierarchy]) -> None:
    now = describe_hierarchies(hierarchies)
    for name, known in lock.hierarchies.items():
        if now.get(name) != known:
            raise UsageError(
                f"the hierarchy of column '{name}' has changed since this lock file was written: plan again"
            )
