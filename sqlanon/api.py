"""What Python programs call: the commands as functions, each returning a typed result.

A spec is given as a file or as a `Spec`. Only forwards to the pipeline; knows no terminal.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from sqlanon import pipeline, recipients
from sqlanon.audit import AuditResult
from sqlanon.errors import UsageError
from sqlanon.lock import Lock, locks_beside
from sqlanon.place import measure_place
from sqlanon.recipients import RecipientsPlan, RecipientsRun, one_release
from sqlanon.results import PlanResult, RunResult
from sqlanon.runs import DEFAULT, Options
from sqlanon.spec import Spec, load_spec

__all__ = ["Options", "apply", "audit", "load_spec", "plan", "plan_recipients", "run", "run_recipients"]

PathLike = str | Path


def plan(spec: Spec | PathLike, options: Options = DEFAULT, *, recipient: str | None = None) -> PlanResult:
    """Search for the generalization to release; nothing is written. Of several recipients, name one."""
    how = "name one as recipient=, or plan for all with plan_recipients"
    return pipeline.plan(one_release(_spec(spec), recipient, how), options)


def run(spec: Spec | PathLike, options: Options = DEFAULT) -> RunResult:
    """Search and publish."""
    return pipeline.run(one_release(_spec(spec), None, "publish for all of them with run_recipients"), options)


def plan_recipients(spec: Spec | PathLike, options: Options = DEFAULT) -> RecipientsPlan:
    """Search for the generalization of each recipient's release, and measure what they say together."""
    return recipients.plan(_spec(spec), options)


def run_recipients(spec: Spec | PathLike, options: Options = DEFAULT) -> RecipientsRun:
    """Search and publish for each recipient, unless the releases together expose somebody."""
    return recipients.run(_spec(spec), options)


def apply(lock: PathLike, options: Options = DEFAULT) -> RunResult:
    """Publish exactly what the plan in a lock file decided, audited anew.

    The release of one recipient of several is checked together with what lock files beside this one decided for the
    others; the result is a `recipients.AppliedRelease` then.
    """
    decided = Lock.read(Path(lock))
    path = spec_of(Path(lock), decided)
    spec = load_spec(path)
    if not spec.recipients and decided.recipient is None:
        return pipeline.apply(spec, decided, options)
    others = [name for name in spec.recipient_names if name != decided.recipient]
    return recipients.apply(spec, decided, locks_beside(Path(lock).parent, path, others), options)


def audit(
    table: Spec | PathLike,
    quasi_identifiers: Sequence[str] = (),
    *,
    connection: str | None = None,
    k: int = 1,
    options: Options = DEFAULT,
) -> AuditResult:
    """Measure the target of a spec (a `Spec` or a YAML file), or any table or file over the columns given."""
    if isinstance(table, Spec):
        return pipeline.audit_spec(table, options)
    if not quasi_identifiers:
        if Path(table).suffix in (".yaml", ".yml"):
            return pipeline.audit_spec(load_spec(table), options)
        raise UsageError("name the columns of the quasi-identifier: they are what classes are made of")
    return measure_place(str(table), connection, quasi_identifiers, k, options)


def spec_of(path: Path, lock: Lock) -> Path:
    """The spec that a lock file was made from: named relative to the lock file."""
    return path.parent / lock.spec


def _spec(spec: Spec | PathLike) -> Spec:
    return spec if isinstance(spec, Spec) else load_spec(spec)
