"""What a spec's algorithm decides: a search of the lattice, or a recoder of its own; and the release that comes of it.

Between the scan with its hierarchies and publish, which carries the release out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlanon.auditor.result import Bucket, buckets
from sqlanon.auditor.statements.classes import size_figures
from sqlanon.engines.base import Statement
from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.evaluation.problem import answer, matrix_of, problem_of
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.metrics.base import Verdict
from sqlanon.recoding import FullDomain, Recoding
from sqlanon.recoding.registry import recoder_named
from sqlanon.release.results import PlanResult, RecodedPlan
from sqlanon.search.base import SearchResult
from sqlanon.source.doubt import refuse_doubted
from sqlanon.source.frequency import Base, FrequencySet, pack, scan, store_hierarchies
from sqlanon.source.hierarchies import StoredHierarchy, describe_hierarchies
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.sql.build import named, subquery
from sqlanon.sql.relations import cast, column, table_expression

if TYPE_CHECKING:
    from sqlanon.auditor import AuditResult
    from sqlanon.hierarchies.lattice import Node
    from sqlanon.recoding.base import Recoded
    from sqlanon.release.lock import Lock
    from sqlanon.release.publication import Releasable
    from sqlanon.source.binding import Binding
    from sqlanon.source.combinations import Combinations
    from sqlanon.source.run import Run


@dataclass(frozen=True)
class Decided:
    """What a plan decided, ready to be published within the same run."""

    plan: PlanResult
    made: Callable[[], Releasable]

    @property
    def release(self) -> Releasable:
        """Made when it is asked for: a plan publishes nothing."""
        return self.made()

    @property
    def recoding(self) -> Recoding:
        return self.plan.recoding


def decide(run: Run, base: Base, stored: Sequence[StoredHierarchy], known: Lock | None) -> Decided:
    """Let the algorithm of the spec decide: a search of the lattice, or a recoder of its own."""
    recode = recoder_named(run.binding.spec.search.algorithm)
    if recode is None:
        planned = _search(run, packed(run, base, stored), known)
        chosen = FullDomain(run.binding.names, planned.chosen.node)
        return Decided(planned, lambda: _release_at(run.binding, stored, chosen))
    with run.watch.phase("search"):
        recoded = recode(run, base, stored)
    planned = _plan_of(run, base, stored, recoded)
    release = _made_release(run, base, stored, recoded)
    if not planned.search.verified:
        from sqlanon.release.publication import audit_beforehand

        with run.watch.phase("audit"):
            found = audit_beforehand(run.engine, release, run.scratch)
        planned = replace(planned, audit=found, warnings=(*planned.warnings, *_less_than_tested(run.binding, found)))
    return Decided(planned, lambda: release)


def _release_at(binding: Binding, stored: Sequence[StoredHierarchy], levels: FullDomain) -> Releasable:
    from sqlanon.release.classes import LevelsRelease

    return LevelsRelease(binding, tuple(stored), levels, requirement_of(binding))


def _made_release(run: Run, base: Base, stored: Sequence[StoredHierarchy], recoded: Recoded) -> Releasable:
    """The release of what a recoder has just decided."""
    if recoded.assignment is not None:
        from sqlanon.recoding.assignment import AssignedRelease

        return AssignedRelease(run.binding, recoded.assignment, requirement_of(run.binding))
    release = _release_in_levels(run, base, stored, recoded.recoding)
    if release is None:
        raise TypeError("a class-wise recoder leaves an assignment")
    return release


def release_of(run: Run, base: Base, stored: Sequence[StoredHierarchy], recoding: Recoding) -> Releasable:
    """The release that a lock file decided. Labels of groups must be true ones; a class-wise assignment is made again,
    and must be the same."""
    from sqlanon.release.groups import require_groups

    require_groups(run.engine, run.binding, recoding)
    release = _release_in_levels(run, base, stored, recoding)
    if release is not None:
        return release
    recode = recoder_named(recoding.recoder or "")
    if recode is None or recoding.recoder != run.binding.spec.search.algorithm:
        raise UsageError("the lock file was written by another algorithm than the spec names: plan again")
    standing = len(run.scratch)
    with run.watch.phase("search"):
        recoded = recode(run, base, stored)
    if not recoded.recoding.same_as(recoding):
        run.scratch.drop_since(standing)
        raise UsageError("the source has changed since this lock file was written, and its classes with it: plan again")
    return _made_release(run, base, stored, recoded)


def require_fit(run: Run, lock: Lock) -> None:
    """UsageError when the source's schema or the requirement is not what a lock file was written for."""
    lock.require_source(run.binding.schema)
    lock.require_requirement(requirement_of(run.binding).describe())


def still_fits(run: Run, stored: Sequence[StoredHierarchy], known: Lock) -> Recoding:
    """The recoding of a lock file; UsageError where it was made for another spec, schema or hierarchy."""
    recoding = known.recoding_for(run.binding.asked or run.binding.spec)
    require_fit(run, known)
    known.require_hierarchies(describe_hierarchies(stored))
    return recoding


def _release_in_levels(
    run: Run, base: Base, stored: Sequence[StoredHierarchy], recoding: Recoding
) -> Releasable | None:
    """The release of a recoding that levels of hierarchies say, its own or the spec's; None where none do."""
    carried_out = recoding.in_levels(run.binding)
    if carried_out is None:
        return None
    binding, levels = carried_out
    if binding is not run.binding:
        with run.watch.phase("hierarchies"):
            stored = store_hierarchies(run.engine, binding, base, run.scratch, prefix="g")
    return _release_at(binding, stored, levels)


def _plan_of(run: Run, base: Base, stored: Sequence[StoredHierarchy], recoded: Recoded) -> RecodedPlan:
    settings = run.binding.spec.search
    metric = recoded.metric or (settings.metric if settings.metric in recoded.scores else "loss")
    found = SearchResult(
        algorithm=settings.algorithm,
        metric=metric,
        chosen=Verdict((), recoded.suppressed, recoded.classes),
        score=recoded.scores[metric],
        checks=recoded.checks,
        lattice=recoded.space or 0,
        proven=recoded.proven,
        undecided=0,
        ties=(),
        trace=recoded.trace,
        verified=ALGORITHMS[settings.algorithm].verified,
    )
    return RecodedPlan(
        columns=run.binding.names,
        heights=tuple(hierarchy.height for hierarchy in stored),
        rows=base.rows,
        limit=run.binding.limit_rows(base.rows),
        combinations=recoded.combinations,
        requirement=requirement_of(run.binding).describe(),
        hierarchies=describe_hierarchies(stored),
        search=found,
        engine=run.engine.name,
        seconds=run.watch.seconds,
        fingerprint=recoded.fingerprint,
        warnings=recoded.warnings,
        source=run.binding.schema,
        decided=recoded.recoding,
        scores=recoded.scores,
        gap=recoded.gap,
    )


def _search(run: Run, frequency: FrequencySet, known: Lock | None) -> PlanResult:
    with run.watch.phase("search"):
        problem = problem_of(run, frequency)
        evaluator = problem.evaluator()
        requirement = requirement_of(run.binding).describe()
        if known is not None and known.knows(frequency.fingerprint, requirement):
            evaluator.put(known.verdicts)
        matrix = matrix_of(problem, evaluator)
        found = answer(problem, matrix or evaluator)
    verdicts = tuple(evaluator.known())
    explanation = None
    if run.options.explain:
        from sqlanon.evaluation.explanation import explain

        with run.watch.phase("explain"):
            values = run.options.show_values
            explanation = explain(problem, evaluator, matrix, found.chosen.node, found, values=values)
    return PlanResult(
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
        verdicts=verdicts,
        warnings=(*_warnings(frequency), *_drawn(found)),
        source=run.binding.schema,
        sizes=_sizes(run, frequency, found.chosen.node),
        explanation=explanation,
    )


def _less_than_tested(binding: Binding, found: AuditResult) -> Iterator[str]:
    """What binsize promises of three columns and the release does not keep of all of them."""
    binsize = binding.spec.search.mu_argus.binsize
    if binsize is not None and found.k < binsize:
        yield (
            f"search.mu_argus.binsize: at most three columns together stand in {binsize} rows, all quasi-identifiers "
            f"together in {found.k}; privacy.k decides what is published"
        )


def _sizes(run: Run, frequency: FrequencySet, node: Node) -> tuple[Bucket, ...]:
    """How many rows of the source lie in classes of each size at a node."""
    size = exp.select(named(cast(exp.Sum(this=column("n")), "bigint"), "size"))
    classes = size.from_(table_expression(frequency.table), copy=False)
    classes = classes.group_by(*(key for _, key in frequency.shape.keys(node)), copy=False)
    query = exp.select(*size_figures(1).values()).from_(subquery(classes, "classes"), copy=False)
    [row] = run.engine.query(Statement("class sizes", query, fresh=True))
    return buckets(dict(zip(size_figures(1), row, strict=True)))


def _warnings(frequency: FrequencySet) -> Iterator[str]:
    """A value that a model names and the source lacks may be misspelled, and would protect nobody then."""
    for values in frequency.sensitive:
        if values.absent:
            yield (
                f"privacy.alpha: {len(values.absent)} of the {len(values.item.flagged)} values named for column "
                f"'{values.item.name}' do not occur in the source; are they spelled right?"
            )


def _drawn(found: SearchResult) -> Iterator[str]:
    if found.drawn_from is not None:
        yield f"privacy.adversary.choice: one vector of {found.drawn_from} whose scores are close enough, by the secret"


def packed(run: Run, base: Base, stored: Sequence[StoredHierarchy], *, again: bool = False) -> FrequencySet:
    """The frequency set; `again`: the base is kept for other hierarchies."""
    with run.watch.phase("frequency"):
        return pack(run.engine, run.binding, base, stored, run.scratch, again=again)


def prepare(run: Run) -> FrequencySet:
    """The frequency set of the source: one scan, the hierarchies from its domains, and the packing."""
    base = scanned(run)
    return packed(run, base, hierarchies_of(run, base))


def prepare_combinations(run: Run) -> Combinations:
    """The combinations of the source, as recodings that are not full-domain are made from them."""
    from sqlanon.source.combinations import combine

    base = scanned(run)
    return combine(run.engine, run.binding, base, hierarchies_of(run, base), run.scratch)


def _not_explained(algorithm: str) -> str | None:
    from sqlanon.evaluation.explanation import refusal

    return refusal(algorithm)


def scanned(run: Run) -> Base:
    """The one scan of the source; refused when it has fewer rows than k, or when a role is doubted."""
    if run.options.explain and (reason := _not_explained(run.binding.spec.search.algorithm)):
        raise UsageError(reason)
    with run.watch.phase("frequency"):
        base = scan(run.engine, run.binding, run.scratch)
        if run.recorder is not None:
            run.recorder.measure_source(run.engine, run.binding, base.table)
    _refuse_too_few(run.binding, base.rows)
    with run.watch.phase("frequency"):
        refuse_doubted(run.engine, run.binding)
    return base


def hierarchies_of(run: Run, base: Base) -> tuple[StoredHierarchy, ...]:
    """The hierarchies as tables, built from the values that the scan found."""
    with run.watch.phase("hierarchies"):
        return store_hierarchies(run.engine, run.binding, base, run.scratch, show_values=run.options.show_values)


def _refuse_too_few(binding: Binding, rows: int) -> None:
    if rows < binding.k:
        raise InfeasibleError(
            f"privacy.k: the source has {rows} rows, fewer than k = {binding.k}: no release can satisfy it"
        )
