"""Whether a published release still satisfies its requirement, and whether its source has moved on since the plan.

Reads the target and the source; writes nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from sqlanon import pipeline
from sqlanon.auditor import AuditResult
from sqlanon.errors import HierarchyError, InfeasibleError, UsageError
from sqlanon.evaluation.problem import problem_of
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.planning.decision import prepare, prepare_combinations
from sqlanon.planning.ledgers import LedgerState, measured
from sqlanon.release.groups import require_groups
from sqlanon.release.lock import Lock
from sqlanon.release.lock_diff import Change, diff, to_dict
from sqlanon.source.binding import bind_target
from sqlanon.source.hierarchies import describe_hierarchies
from sqlanon.source.run import DEFAULT, Options, Run, open_for, running
from sqlanon.spec import Spec
from sqlanon.sql.relations import Table


@dataclass(frozen=True)
class Drift:
    """The source now against the source that was planned on."""

    planned_rows: int
    rows: int | None = None
    """None where the source could not be measured; `reason` says why."""
    changed: bool | None = True
    """Whether anything differs that a verdict depends on; None where another spec leaves nothing to compare."""
    suppressed: int | None = None
    """Rows that the planned generalization would suppress now."""
    limit: int | None = None
    reason: str | None = None
    """Why the planned generalization cannot be published again as it is."""
    changes: tuple[Change, ...] | None = None
    """What the same generalization shows now against the lock file, and why; None where it was not measured."""

    @property
    def acceptable(self) -> bool:
        """Whether the planned generalization could be published again."""
        return self.reason is None and self.suppressed is not None and self.suppressed <= (self.limit or 0)

    def lines(self) -> Iterator[str]:
        """Why the planned generalization does not hold any more, for people."""
        if self.reason is not None:
            yield self.reason
        elif not self.acceptable:
            yield f"the planned generalization would suppress {self.suppressed} rows now, the limit is {self.limit}"

    def to_dict(self) -> dict[str, Any]:
        return {
            "changed": self.changed,
            "planned_rows": self.planned_rows,
            "rows": self.rows,
            "suppressed": self.suppressed,
            "limit": self.limit,
            "acceptable": self.acceptable,
            "reason": self.reason,
            "diff": None if self.changes is None else to_dict(self.changes),
        }


@dataclass(frozen=True)
class Status:
    """What there is to say of one release."""

    target: str
    audit: AuditResult | None
    """None where nothing is published."""
    drift: Drift | None
    """None where there is no lock file to compare with."""
    recipient: str | None = None
    series: LedgerState | None = None
    """The ledger as it was found, where one is kept."""

    @property
    def satisfied(self) -> bool | None:
        """None where the release holds to what could be measured, which is not what was required."""
        if self.audit is None or (self.series is not None and self.series.problems):
            return False
        return self.audit.verdict

    @property
    def drifted(self) -> bool | None:
        return None if self.drift is None else self.drift.changed

    def to_dict(self) -> dict[str, Any]:
        return {
            "recipient": self.recipient,
            "target": self.target,
            "published": self.audit is not None,
            "satisfied": self.satisfied,
            "audit": None if self.audit is None else self.audit.to_dict(),
            "drifted": self.drifted,
            "drift": None if self.drift is None else self.drift.to_dict(),
            **({} if self.series is None else {"series": self.series.to_dict()}),
        }


def status(spec: Spec, lock: Lock | None, options: Options = DEFAULT, recipient: str | None = None) -> Status:
    """Audit the target of a spec of one release and its ledger; compare its source with what a lock file was made
    from."""
    with open_for(spec, options) as engine:
        target = bind_target(spec, engine)
        there = engine.relation_kind(target) is not None if isinstance(target, Table) else Path(target.path).exists()
    audited = pipeline.audit_spec(spec, options, lock) if there else None
    drifted = None if lock is None else drift(spec, lock, options)
    series = None if spec.ledger is None else measured(spec, options)
    return Status(str(target), audited, drifted, recipient, series)


def drift(spec: Spec, lock: Lock, options: Options = DEFAULT) -> Drift:
    """Measure the source as it is, and the generalization of the lock file on it."""
    planned = int(lock.result["rows"])
    try:
        with running(spec, options) as run:
            if lock.flexible is not None:
                return _compared(run, spec, lock, planned)
            return _measured(run, spec, lock, planned)
    except (HierarchyError, InfeasibleError) as error:
        return Drift(planned, reason=str(error))


def _compared(run: Run, spec: Spec, lock: Lock, planned: int) -> Drift:
    """Of a recoding that is not full-domain: whether its combinations are still those that it was made from."""
    made = prepare_combinations(run)
    limit = run.binding.limit_rows(made.rows)
    changed = made.fingerprint != lock.fingerprint
    described = describe_hierarchies([domain.hierarchy for domain in made.domains])
    found = _changes(run, lock, made.fingerprint, described, {"rows": made.rows, "limit": limit})
    try:
        recoding = lock.recoding_for(spec)
        lock.require_source(run.binding.schema)
        lock.require_hierarchies(described)
        require_groups(run.engine, run.binding, recoding)
    except UsageError as error:
        return _unfit(error, planned, made.rows, changed, limit, found)
    if changed:
        reason = "its classes are those of other data"
        return Drift(planned, made.rows, changed, limit=limit, reason=reason, changes=found)
    return Drift(planned, made.rows, changed, int(lock.result["suppressed"]), limit, changes=found)


def _measured(run: Run, spec: Spec, lock: Lock, planned: int) -> Drift:
    """The spec is the one that was written: that of the run may be of a sample, whose rows are the persons."""
    frequency = prepare(run)
    problem = problem_of(run, frequency)
    changed = frequency.fingerprint != lock.fingerprint
    described = describe_hierarchies(frequency.hierarchies)
    figures = {"rows": frequency.rows, "limit": problem.limit}
    try:
        levels = lock.levels_for(spec)
        lock.require_source(run.binding.schema)
        lock.require_hierarchies(described)
    except UsageError as error:
        found = _changes(run, lock, frequency.fingerprint, described, figures)
        return _unfit(error, planned, frequency.rows, changed, problem.limit, found)
    node = tuple(levels[name] for name in run.binding.names)
    [verdict] = problem.evaluator().check([node])
    figures |= {"suppressed": verdict.suppressed, "classes": verdict.classes}
    found = _changes(run, lock, frequency.fingerprint, described, figures)
    return Drift(planned, frequency.rows, changed, verdict.suppressed, problem.limit, changes=found)


def _changes(
    run: Run,
    lock: Lock,
    fingerprint: str,
    hierarchies: Mapping[str, Mapping[str, Any]],
    figures: Mapping[str, int],
) -> tuple[Change, ...]:
    """What a lock file of the same decision would say now, and why: told as a new plan tells it."""
    spec = run.binding.spec
    now = replace(
        lock,
        spec_hash=spec.hash(),
        spec_parts=spec.parts(),
        requirement=requirement_of(run.binding).describe(),
        source=run.binding.schema,
        hierarchies={name: dict(described) for name, described in hierarchies.items()},
        fingerprint=fingerprint,
        result={**lock.result, **figures},
    )
    return tuple(change for change in diff(lock, now) if change.cause != "search")


def _unfit(error: UsageError, planned: int, rows: int, differs: bool, limit: int, changes: tuple[Change, ...]) -> Drift:
    """Of a lock file that no longer fits. Fingerprints hold hierarchies too: they differ also where the data do not."""
    changed = True if rows != planned else None if differs else False
    reason = str(error).removesuffix(": plan again")
    return Drift(planned, rows, changed, limit=limit, reason=reason, changes=changes)
