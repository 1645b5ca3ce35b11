"""The one orchestrator, from a spec to an audited release. Read it with Samarati's paper in the other hand.

spec -> bind to the catalog -> scan -> hierarchy tables -> frequency set -> search -> recoding -> publish.

A function imports what a plan does without: the audit, publishing, scripts.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from sqlanon.errors import HierarchyError, InfeasibleError, UsageError
from sqlanon.evaluation.problem import lattice_of
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.planning.decision import (
    decide,
    hierarchies_of,
    prepare,
    prepare_combinations,
    release_of,
    require_fit,
    scanned,
    still_fits,
)
from sqlanon.recoding import FullDomain, Recoding
from sqlanon.release.results import PlanResult, RunResult
from sqlanon.source.binding import Binding, bind, bind_published, formulas_of, live_domain
from sqlanon.source.doubt import Crowding, crowding, refuse_doubted
from sqlanon.source.frequency import Base, scan
from sqlanon.source.hierarchies import (
    HierarchyReport,
    StoredHierarchy,
    describe_hierarchies,
    report_hierarchy,
    store_hierarchy,
)
from sqlanon.source.hierarchy_statements import domain
from sqlanon.source.run import DEFAULT, Options, Run, open_for, require_schemas, running
from sqlanon.source.scratch import Scratch
from sqlanon.spec.findings import require_honoured, shifts_of
from sqlanon.sql.relations import File, Query, Relation

if TYPE_CHECKING:
    from sqlanon.auditor import Ancestors, AuditResult
    from sqlanon.engines.base import Engine
    from sqlanon.privacy.base import Requirement
    from sqlanon.release.evidence import Facts
    from sqlanon.release.lock import Lock
    from sqlanon.release.publication import Publication, Releasable
    from sqlanon.release.script import Script
    from sqlanon.spec import Spec

SEARCHED = ("algorithm", "score", "limit", "lattice", "minimal", "minimal_complete", "proven", "undecided", "verified")
"""Of the figures of a plan, those that say how the answer was found."""


def facts_of(
    result: RunResult, hierarchies: Sequence[StoredHierarchy], requirement: Requirement, recipient: str | None
) -> Facts:
    """The facts of a release that stands.

    What a run found and published, for its evidence; the recorder writes it down.
    """
    from sqlanon.release.evidence import Facts

    heights = {hierarchy.column: hierarchy.height for hierarchy in hierarchies}
    published = result.publication
    return Facts(
        levels={name: (level, heights[name]) for name, level in result.levels.items()},
        requirement=requirement.describe(),
        rows={
            "source": published.rows,
            "suppressed": published.suppressed,
            "blanked": published.blanked,
            "released": published.audit.rows,
        },
        after=published.audit.to_dict(),
        search=None if result.plan is None else _searched(result.plan),
        seconds=result.seconds,
        recipient=recipient,
        reused=result.reused,
        reason=result.reason,
        history=None if published.history is None else published.history.to_dict(),
    )


def _searched(plan: PlanResult) -> dict[str, Any]:
    figures = plan.figures()
    known = plan.verdicts
    return {
        **{name: figures[name] for name in SEARCHED},
        "checks": plan.search.checks,
        "combinations": plan.combinations,
        "verdicts": {"known": len(known), "acceptable": sum(item.suppressed <= plan.limit for item in known)},
        "fingerprint": plan.fingerprint,
    }


__all__ = [
    "Options",
    "apply",
    "audit_spec",
    "begin_ledger",
    "crowded",
    "hierarchies",
    "open_for",
    "plan",
    "prepare",
    "prepare_combinations",
    "run",
    "script",
]


class Reuse(NamedTuple):
    """Whether the plan of a lock file was used again, and where it was not, why."""

    done: bool | None = None
    """None where nobody asked for it."""
    reason: str | None = None


NOT_ASKED = Reuse()


def plan(spec: Spec, options: Options = DEFAULT, known: Lock | None = None) -> PlanResult:
    """Search for the generalization to release. Writes nothing but scratch tables, which are dropped.

    With the lock file of an earlier plan, what the database said then is not asked again if the data are the same.
    Where a ledger is kept, the result says whom it would hold back, with this recoding and with that of the lock file.
    """
    with running(spec, options) as run:
        base = scanned(run)
        stored = hierarchies_of(run, base)
        decided = decide(run, base, stored, known)
        if run.binding.history is None:
            return decided.plan
        from sqlanon.planning.ledgers import planned_series

        return planned_series(run, base, stored, decided, known)


def run(spec: Spec, options: Options = DEFAULT, known: Lock | None = None, *, reuse: bool = False) -> RunResult:
    """Search and publish.

    With `reuse`, what an earlier plan decided is published again from the source as it is now, if it still holds:
    measured and audited whole like any release. Only where it does not is there a search; the result says why. With a
    ledger that is the default where an earlier plan is known: another recoding moves people from class to class.
    """
    from sqlanon.release.evidence import recorder_for

    reuse = reuse or (spec.ledger is not None and known is not None)
    with running(spec, options, publishes="run", recorder_for=recorder_for) as run:
        base = scanned(run)
        stored = hierarchies_of(run, base)
        again = _publish_again(run, base, stored, known) if reuse else None
        if isinstance(again, RunResult):
            return again
        decided = decide(run, base, stored, known)
        decided.plan.require_satisfied()
        tried = Reuse(done=False, reason=again) if reuse else NOT_ASKED
        return _publish(run, stored, decided.recoding, decided.release, decided.plan, reuse=tried)


def apply(spec: Spec, lock: Lock, options: Options = DEFAULT) -> RunResult:
    """Publish exactly what a plan decided, measured and audited anew."""
    from sqlanon.release.evidence import recorder_for

    recoding = lock.recoding_for(spec)
    with running(spec, options, publishes="apply", recorder_for=recorder_for) as run:
        require_fit(run, lock)
        base = scanned(run)
        stored = hierarchies_of(run, base)
        lock.require_hierarchies(describe_hierarchies(stored))
        release = release_of(run, base, stored, recoding)
        result = _publish(run, stored, recoding, release, recipient=lock.recipient)
        found = result.publication
        return replace(result, warnings=(*result.warnings, *lock.differences(found.rows, found.suppressed)))


def begin_ledger(spec: Spec, lock: Lock, options: Options = DEFAULT) -> tuple[RunResult, Lock]:
    """Take up the published table as the first release of a ledger; with the lock file that later runs go on from.

    A lock file from before the spec kept a ledger will do.
    """
    from sqlanon.release.publication import take_up

    made_for = spec if lock.fits(spec) else spec.model_copy(update={"history": None})
    recoding = lock.recoding_for(made_for)
    with running(spec, options, publishes="ledger") as run:
        require_fit(run, lock)
        base = scanned(run)
        stored = hierarchies_of(run, base)
        lock.require_hierarchies(describe_hierarchies(stored))
        release = release_of(run, base, stored, recoding)
        with run.watch.phase("publish"), _alone(run), Scratch(run.engine, run.binding.scratch) as scratch:
            publication = take_up(run.engine, release, scratch, stored)
        result = RunResult(
            str(run.binding.target),
            recoding,
            publication,
            None,
            run.engine.name,
            run.watch.seconds,
            run=run.engine.session.run,
        )
    return result, replace(lock, spec_hash=spec.hash(), spec_parts=spec.parts())


@contextmanager
def _alone(run: Run) -> Iterator[None]:
    """Alone with the target, and with the ledger where one is kept."""
    target, history, seconds = run.binding.target, run.binding.history, run.binding.spec.limits.lock_seconds
    with ExitStack() as stack:
        if not isinstance(target, File):
            stack.enter_context(run.engine.alone_with(target, seconds))
        if history is not None:
            stack.enter_context(run.engine.alone_with(history.people, seconds))
        yield


def audit_spec(spec: Spec, options: Options = DEFAULT, lock: Lock | None = None, *, fits: bool = False) -> AuditResult:
    """Measure the published target of a spec against its requirement, and every sensitive column of it.

    How the population is generalized only a lock file tells; without it, what is asked of the population does not hold.
    Which rows of the source fit which released rows is measured when it is required, or asked for by `fits`.
    """
    found = _audited(spec, options, lock, fits=fits)
    if spec.privacy.adversary is None or not found.policy[0].satisfied:
        return found
    from sqlanon.insight.use import audit_defences

    with running(spec, options) as run:
        known = lock if lock is not None and lock.flexible is None and lock.fits(spec) else None
        levels = None if known is None else known.levels_for(spec)
        target = bind_published(run.binding.spec, run.engine)
        checks, notes = audit_defences(run, target, found.suppressed, levels)
    return replace(found, policy=(*found.policy, *checks), notes=(*found.notes, *notes))


def _audited(spec: Spec, options: Options, lock: Lock | None, *, fits: bool) -> AuditResult:
    """The audit of a target by the models and labels of its spec."""
    from sqlanon.auditor import Beside, Request, audit

    if spec.profiled or spec.privacy.differential is not None or spec.privacy.margin is not None:
        with open_for(spec, options) as engine:
            spec = bind(spec, engine).spec
    if spec.privacy.differential is not None:
        # A release of one row a person counts rows; what was left out is mostly what was not drawn.
        spec = spec.model_copy(update={"respondent": None})
    request = Request(spec.quasi_identifiers, spec.privacy, spec.respondent, spec.compared_sensitive)
    if spec.privacy.personalized is not None:
        from sqlanon.insight.use import audit_personalized

        with open_for(spec, options) as engine:
            return with_policy(engine, bind(spec, engine), audit_personalized(spec, options))
    fits = fits or spec.privacy.anonymity != "classic"
    if not fits and not _reads_hierarchies(spec) and not shifts_of(spec):
        with open_for(spec, options) as engine:
            binding = bind(spec, engine)
            found = audit(engine, bind_published(spec, engine), request, Beside(binding.source, binding.person))
            return with_policy(engine, binding, found)
    with running(spec, options) as run:
        people, notes = _generalized_population(run, lock)
        ancestors = _ancestors(run) if fits else None
        beside = Beside(
            run.binding.source, run.binding.person, taxonomies=_taxonomies(run), population=people, ancestors=ancestors
        )
        result = audit(run.engine, bind_published(spec, run.engine), request, beside)
        return with_policy(run.engine, run.binding, replace(result, notes=(*result.notes, *notes)))


def with_policy(engine: Engine, binding: Binding, found: AuditResult) -> AuditResult:
    """The result with what the spec asks of its target beside the models."""
    from sqlanon.auditor.policy import audit_policy, drafted_columns, policy_of
    from sqlanon.auditor.rules import audit_rules
    from sqlanon.release.series.ledger import waiting

    rows = None if found.suppressed is None else found.rows + found.suppressed - waiting(engine, binding)
    policy = policy_of(binding, drafted_columns(engine, binding), rows)
    published = bind_published(binding.spec, engine)
    checks = audit_policy(engine, published, policy)
    if checks[0].satisfied:
        checks = (*checks, *audit_rules(engine, published, binding))
    blanked = sum(check.blanked for check in checks)
    suppressed = None if found.suppressed is None else found.suppressed + blanked
    return replace(found, table=str(binding.target), policy=checks, suppressed=suppressed)


def _reads_hierarchies(spec: Spec) -> bool:
    """Whether an audit needs hierarchies beside the published values."""
    distances = [entry.distance for entry in spec.privacy.t_closeness]
    return "hierarchical" in distances or spec.privacy.population is not None


def _ancestors(run: Run) -> Ancestors:
    """The hierarchies of the quasi-identifier as the source's values have them now."""
    from sqlanon.auditor import Ancestors

    stored = {
        item.name: store_hierarchy(
            run.engine,
            item,
            live_domain(run.engine, run.binding, item),
            run.scratch,
            f"a__{position}",
            has_null=False,
        )
        for position, item in enumerate(run.binding.quasi_identifiers)
    }
    tables: dict[str, Relation] = {name: hierarchy.table.table for name, hierarchy in stored.items()}
    tops = {name: hierarchy.top for name, hierarchy in stored.items()}
    return Ancestors(tables, tops, run.scratch, run.binding.blank)


def _taxonomies(run: Run) -> dict[str, Relation]:
    """The hierarchies that distances between sensitive values go by."""
    source = run.engine.traits.relation(run.binding.source, "source")
    found: dict[str, Relation] = {}
    for position, item in enumerate(run.binding.sensitive):
        if item.rule is not None:
            values = domain(source.copy(), item.key("source", run.engine.traits))
            stored = store_hierarchy(
                run.engine, item.hierarchy(), values, run.scratch, f"t__{position}", has_null=False
            )
            found[item.name] = stored.table.table
    return found


def _generalized_population(run: Run, lock: Lock | None) -> tuple[Relation | None, list[str]]:
    """The population at the levels of a lock file, or why it is not known."""
    from sqlanon.release.classes import population_labels
    from sqlanon.release.steps import Release

    if run.binding.population is None:
        return None, []
    if lock is None:
        return None, [
            "the population was not compared: no lock file beside the spec says how the table was generalized"
        ]
    try:
        levels = lock.levels_for(run.binding.spec)
        stored = hierarchies_of(run, scan(run.engine, run.binding, run.scratch))
        lock.require_hierarchies(describe_hierarchies(stored))
    except UsageError as error:
        return None, [f"the population was not compared: {error}"]
    recoding = FullDomain.from_levels(run.binding.names, levels)
    release = Release(run.binding, stored, recoding, requirement_of(run.binding))
    labels = population_labels(run.engine, release)
    return None if labels is None else Query(labels), []


def script(spec: Spec, lock: Lock | None, options: Options = DEFAULT) -> str:
    """The release as one SQL script: as a lock file decided, or as a search decides now."""
    require_honoured(spec, "script")
    recoding = plan(spec, options).recoding if lock is None else lock.recoding_for(spec)
    return scripted(spec, recoding, options, lock=lock).text


def scripted(
    spec: Spec, recoding: Recoding, options: Options = DEFAULT, *, dialect: str | None = None, lock: Lock | None = None
) -> Script:
    """The release of a recoding as a script, for its own engine or another dialect; regions are made again."""
    from sqlanon.recoding.registry import region_maker
    from sqlanon.release.script import compiled

    require_honoured(spec, "script")
    if formulas_of(spec) != "keep":
        raise UsageError(
            "target.formulas: a script writes texts as they are; leave it out, or publish with run or apply"
        )
    if spec.regions is not None:
        raise UsageError("regions: a script does not publish the classes; leave it out, or publish with run or apply")
    if spec.profiled:
        raise UsageError(
            "privacy.profile: a script cannot count what levels of anonymity ask for; write privacy.k, or publish with "
            "run or apply"
        )
    lookup = None
    make_regions = region_maker(recoding)
    if make_regions is not None:
        with running(spec, options) as run:
            base = scanned(run)
            lookup = make_regions(run, base, hierarchies_of(run, base))
    return compiled(spec, recoding, options, dialect=dialect, lock=lock, lookup=lookup)


def policies(
    spec: Spec, options: Options = DEFAULT, *, dialect: str | None = None, lock: Lock | None = None, readers: str
) -> str:
    """What the warehouse can do beside a release, as statements: as a lock file decided, or as a search decides now."""
    from sqlanon.release.script import scripting_named
    from sqlanon.release.script.policies import policies as written

    scripting = None if dialect is None else scripting_named(dialect)
    recoding: Recoding
    hierarchies: Mapping[str, Mapping[str, Any]]
    if lock is not None:
        recoding, hierarchies = lock.recoding_for(spec), lock.hierarchies
    else:
        planned = plan(spec, options)
        recoding, hierarchies = planned.recoding, planned.hierarchies
    heights = {name: int(hierarchy["height"]) for name, hierarchy in hierarchies.items()}
    return written(spec, recoding, heights, scripting, readers, options)


def hierarchies(
    spec: Spec, options: Options = DEFAULT, *, publishable: bool = False
) -> Generator[HierarchyReport, None, None]:
    """Build and validate each hierarchy on its own, and report on it while its table stands; close it when done.

    With `publishable`, what a release needs beside them is asked for first.
    """
    with running(spec, options) as run:
        if publishable:
            require_schemas(run.engine, run.binding, publishes=True)
        stored = hierarchies_of(run, scan(run.engine, run.binding, run.scratch))
        if publishable:
            refuse_doubted(run.engine, run.binding)
        lattice_of(run.binding, stored)
        for hierarchy in stored:
            yield report_hierarchy(run.engine, hierarchy)


def crowded(spec: Spec, options: Options = DEFAULT) -> Crowding | None:
    """How many persons fill small classes with rows of their own; None where persons are counted or none repeats."""
    with open_for(spec, options) as engine:
        return crowding(engine, bind(spec, engine))


def _publish(
    run: Run,
    stored: Sequence[StoredHierarchy],
    recoding: Recoding,
    release: Releasable,
    planned: PlanResult | None = None,
    *,
    recipient: str | None = None,
    reuse: Reuse = NOT_ASKED,
) -> RunResult:
    """Publish, alone with the target; what the attempt makes is dropped also when it fails."""
    from sqlanon.release.publication import publish

    target = run.binding.target
    if run.ledger is not None:
        run.ledger.spend()
    begins = tuple(_before_ledger(run))
    with run.watch.phase("publish"), _alone(run), Scratch(run.engine, run.binding.scratch) as scratch:
        publication = publish(run.engine, release, scratch, stored)
    result = RunResult(
        target=str(target),
        recoding=recoding,
        publication=publication,
        plan=planned,
        engine=run.engine.name,
        seconds=run.watch.seconds,
        run=run.engine.session.run,
        evidence=None if run.recorder is None else run.recorder.file,
        reused=reuse.done,
        reason=reuse.reason,
        warnings=(*begins, *_exposed(publication)),
    )
    if run.recorder is not None:
        run.recorder.facts = facts_of(result, stored, release.requirement, recipient)
    return result


def _exposed(publication: Publication) -> Iterator[str]:
    """Whom the release and the one that it replaced expose together."""
    difference = publication.difference
    if difference is not None and difference.exposing:
        yield f"{difference.sentence()}; history keeps a series safe"


def _before_ledger(run: Run) -> Iterator[str]:
    """A ledger knows nothing of what was published before it."""
    history, target = run.binding.history, run.binding.target
    if history is None or isinstance(target, File) or run.engine.relation_kind(history.people) is not None:
        return
    if run.engine.relation_kind(target) is not None:
        yield (
            f"history: the ledger begins with this release; it holds nobody back for what stood in {target} "
            f"before; sqlanon ledger begin takes that up"
        )


def _publish_again(run: Run, base: Base, stored: Sequence[StoredHierarchy], known: Lock | None) -> RunResult | str:
    """Publish what a lock file decided; where that no longer holds, the reason."""
    if known is None:
        return "there is no lock file of an earlier plan"
    try:
        recoding = still_fits(run, stored, known)
        return _publish(run, stored, recoding, release_of(run, base, stored, recoding), reuse=Reuse(done=True))
    except (UsageError, InfeasibleError) as error:
        if isinstance(error, HierarchyError):
            raise
        return str(error).removesuffix(": plan again")
