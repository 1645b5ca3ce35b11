"""The one orchestrator, from a spec to an audited release. Read it with Samarati's paper in the other hand.

spec -> bind to the catalog -> scan -> hierarchy tables -> frequency set -> search -> recoding -> publish.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence

from sqlanon.audit import AuditResult, audit
from sqlanon.binding import Binding, bind, bind_source, bind_target
from sqlanon.errors import InfeasibleError, RequirementError, UsageError
from sqlanon.frequency import Base, FrequencySet, pack, scan, store_hierarchies
from sqlanon.hierarchy_store import (
    HierarchyReport,
    StoredHierarchy,
    describe_hierarchies,
    fingerprint,
    report_hierarchy,
)
from sqlanon.lock import Lock
from sqlanon.measured import Release
from sqlanon.planning import lattice_of, problem_of, solve
from sqlanon.publish import publish
from sqlanon.recoding.full_domain import FullDomain
from sqlanon.requirements import requirement_of
from sqlanon.results import PlanResult, RunResult
from sqlanon.runs import DEFAULT, Options, Run, open_for, running
from sqlanon.script import ScriptWriter
from sqlanon.spec import Spec

__all__ = ["Options", "apply", "audit_spec", "hierarchies", "open_for", "plan", "run", "script"]


def plan(spec: Spec, options: Options = DEFAULT, known: Lock | None = None) -> PlanResult:
    """Search for the generalization to release. Writes nothing but scratch tables, which are dropped.

    With the lock file of an earlier plan, what the database said then is not asked again if the data are the same.
    """
    with running(spec, options) as run:
        _, result = _search(run, known)
        return result


def run(spec: Spec, options: Options = DEFAULT, known: Lock | None = None) -> RunResult:
    """Search and publish."""
    with running(spec, options) as run:
        frequency, result = _search(run, known)
        _refuse_unverified(result)
        recoding = FullDomain(run.binding.names, result.chosen.node)
        return _publish(run, frequency.hierarchies, recoding, result)


def apply(spec: Spec, lock: Lock, options: Options = DEFAULT) -> RunResult:
    """Publish exactly what a plan decided, measured and audited anew."""
    levels = _locked_levels(spec, lock)
    with running(spec, options) as run:
        base = _scan(run)
        stored = _hierarchies(run, base)
        for part in ("definition", "height", "top"):
            _refuse_changed(lock, part, {name: now[part] for name, now in describe_hierarchies(stored).items()})
        return _publish(run, stored, FullDomain.from_levels(run.binding.names, levels), None)


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
        if lock is not None:
            _refuse_changed(
                lock, "definition", {item.name: fingerprint(item.rule) for item in binding.quasi_identifiers}
            )
        return ScriptWriter(engine, binding, requirement_of(binding), levels).text()


def hierarchies(spec: Spec, options: Options = DEFAULT) -> Generator[HierarchyReport, None, None]:
    """Build and validate each hierarchy on its own, and report on it while its table stands; close it when done."""
    with running(spec, options) as run:
        stored = _hierarchies(run, scan(run.engine, run.binding, run.scratch))
        lattice_of(run.binding, stored)
        for hierarchy in stored:
            yield report_hierarchy(run.engine, hierarchy)


def _search(run: Run, known: Lock | None) -> tuple[FrequencySet, PlanResult]:
    frequency = prepare(run)
    with run.watch.phase("search"):
        problem = problem_of(run, frequency)
        evaluator = problem.evaluator()
        requirement = requirement_of(run.binding).describe()
        if known is not None and known.knows(frequency.fingerprint, requirement):
            evaluator.put(known.verdicts)
        found = solve(problem, evaluator)
    return frequency, PlanResult(
        columns=run.binding.names,
        heights=evaluator.heights,
        rows=frequency.rows,
        limit=problem.limit,
        combinations=frequency.combinations,
        requirement=requirement,
        hierarchies=describe_hierarchies(frequency.hierarchies),
        search=found,
        engine=run.engine.name,
        seconds=run.watch.seconds,
        fingerprint=frequency.fingerprint,
        verdicts=tuple(evaluator.known()),
        warnings=tuple(_warnings(frequency)),
    )


def _warnings(frequency: FrequencySet) -> Iterator[str]:
    """A value that a model names and the source lacks may be misspelled, and would protect nobody then."""
    for values in frequency.sensitive:
        if values.absent:
            yield (
                f"privacy.alpha: {len(values.absent)} of the {len(values.item.flagged)} values named for column "
                f"'{values.item.name}' do not occur in the source; are they spelled right?"
            )


def prepare(run: Run) -> FrequencySet:
    """The frequency set of the source: one scan, the hierarchies from its domains, and the packing."""
    base = _scan(run)
    stored = _hierarchies(run, base)
    with run.watch.phase("frequency"):
        return pack(run.engine, run.binding, base, stored, run.scratch)


def _scan(run: Run) -> Base:
    with run.watch.phase("frequency"):
        base = scan(run.engine, run.binding, run.scratch)
    _refuse_too_few(run.binding, base.rows)
    return base


def _hierarchies(run: Run, base: Base) -> tuple[StoredHierarchy, ...]:
    with run.watch.phase("hierarchies"):
        return store_hierarchies(run.engine, run.binding, base, run.scratch, show_values=run.options.show_values)


def _publish(
    run: Run, stored: Sequence[StoredHierarchy], recoding: FullDomain, planned: PlanResult | None
) -> RunResult:
    release = Release(run.binding, tuple(stored), recoding, requirement_of(run.binding))
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


def _locked_levels(spec: Spec, lock: Lock) -> dict[str, int]:
    if lock.spec_hash != spec.hash():
        raise UsageError("the spec has changed since this lock file was written: plan again")
    if not lock.levels.keys() == lock.hierarchies.keys() == set(spec.quasi_identifiers):
        raise UsageError("the lock file does not name the quasi-identifiers of the spec: plan again")
    for name, level in lock.levels.items():
        bounds = spec.columns[name].levels
        highest = lock.hierarchies[name]["height"] if bounds.max is None else bounds.max
        if not bounds.min <= level <= highest:
            raise UsageError(f"the lock file has column '{name}' at level {level}, which may not be chosen: plan again")
    return lock.levels


def _refuse_too_few(binding: Binding, rows: int) -> None:
    if rows < binding.k:
        raise InfeasibleError(
            f"privacy.k: the source has {rows} rows, fewer than k = {binding.k}: no release can satisfy it"
        )


def _refuse_unverified(result: PlanResult) -> None:
    if not result.satisfied:
        raise RequirementError(
            f"{result.search.algorithm} failed the audit over all columns, and nothing was published: "
            f"{result.chosen.suppressed} of {result.rows} rows lie in classes that do not satisfy the requirement, "
            f"the limit is {result.limit}"
        )


def _refuse_changed(lock: Lock, part: str, now: Mapping[str, object]) -> None:
    for name, known in lock.hierarchies.items():
        if now[name] != known.get(part):
            raise UsageError(
                f"the hierarchy of column '{name}' has changed since this lock file was written: plan again"
            )
