"""What Python programs call: the commands as functions, each returning a typed result.

A spec is given as a file or as a `Spec`. Only forwards to the pipeline; knows no terminal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from sqlanon import pipeline
from sqlanon.api import frames, recipients
from sqlanon.api.frames import Frame, FrameRun, SpecLike
from sqlanon.api.recipients import RecipientsPlan, RecipientsRun, one_release
from sqlanon.auditor import AuditResult
from sqlanon.auditor.place import ARGUMENTS, PlaceRequest, measure_place
from sqlanon.auditor.tables import JoinedAudit
from sqlanon.errors import UsageError
from sqlanon.planning import tables as several
from sqlanon.release.lock import Lock, lock_path, locks_beside
from sqlanon.release.results import PlanResult, RunResult
from sqlanon.release.tables import TablesRun
from sqlanon.source.run import DEFAULT, Options
from sqlanon.spec import Privacy, SeveralTables, Spec, any_from_dict, load_any, load_spec, spec_from_dict

if TYPE_CHECKING:
    from sqlanon.reports.model import Report

__all__ = [
    "Options",
    "apply",
    "apply_tables",
    "audit",
    "audit_tables",
    "init",
    "load_spec",
    "plan",
    "plan_recipients",
    "plan_tables",
    "report",
    "run",
    "run_recipients",
    "run_tables",
]

PathLike = str | Path


@overload
def plan(
    spec: SpecLike, options: Options = DEFAULT, *, recipient: str | None = None, source: Any = None
) -> PlanResult: ...


@overload
def plan(spec: Frame, options: SpecLike | Options = DEFAULT, *, recipient: str | None = None) -> PlanResult: ...


def plan(spec: Any, options: Any = DEFAULT, *, recipient: str | None = None, source: Any = None) -> PlanResult:
    """Search for the generalization to release; nothing is written. Of several recipients, name one.

    `source` is a pandas or polars DataFrame or an Arrow Table, read instead of what the spec names; `plan(frame, spec)`
    says the same. `plan(frame)` guesses the roles of columns as `init` does, and says so in the result's warnings.
    """
    spec, options, source = _frame_first(spec, options, source)
    if spec is None:
        return frames.plan_draft(source, options)
    if source is not None:
        return frames.plan_frame(source, spec, options, recipient)
    how = "name one as recipient=, or plan for all with plan_recipients"
    return pipeline.plan(one_release(_spec(spec), recipient, how), options)


@overload
def run(spec: SpecLike, options: Options = DEFAULT, *, source: None = None) -> RunResult: ...


@overload
def run(spec: SpecLike, options: Options = DEFAULT, *, source: Frame) -> FrameRun: ...


@overload
def run(spec: Frame, options: SpecLike) -> FrameRun: ...


def run(spec: Any, options: Any = DEFAULT, *, source: Any = None) -> RunResult:
    """Search and publish. With a dataframe as `source` the result can give the release as one; so with
    `run(frame, spec)`."""
    spec, options, source = _frame_first(spec, options, source)
    if spec is None:
        raise UsageError("a release needs a spec that somebody has read: sqlanon.init(frame) drafts one")
    if source is not None:
        return frames.run_frame(source, spec, options)
    return pipeline.run(one_release(_spec(spec), None, "publish for all of them with run_recipients"), options)


def init(frame: Frame, *, k: int = 5) -> str:
    """Draft a spec for a dataframe as commented YAML, each role and hierarchy with the reason for the guess."""
    return frames.draft_frame(frame, k)


def plan_recipients(spec: Spec | PathLike, options: Options = DEFAULT) -> RecipientsPlan:
    """Search for the generalization of each recipient's release, and measure what they say together."""
    return recipients.plan(_spec(spec), options)


def run_recipients(spec: Spec | PathLike, options: Options = DEFAULT) -> RecipientsRun:
    """Search and publish for each recipient, unless the releases together expose somebody."""
    return recipients.run(_spec(spec), options)


def plan_tables(spec: SeveralTables | PathLike | Mapping[str, Any], options: Options = DEFAULT) -> PlanResult:
    """Search for the levels of a release of several tables; nothing is written."""
    return several.plan_tables(_tables(spec), options)


def run_tables(spec: SeveralTables | PathLike | Mapping[str, Any], options: Options = DEFAULT) -> TablesRun:
    """Search and publish several tables by one transaction."""
    return several.run_tables(_tables(spec), options)


def apply_tables(lock: PathLike, options: Options = DEFAULT) -> TablesRun:
    """Publish exactly what the plan in a lock file decided for several tables, audited anew."""
    decided = Lock.read(Path(lock))
    return several.apply_tables(_tables(spec_of(Path(lock), decided)), decided, options)


def audit_tables(spec: SeveralTables | PathLike | Mapping[str, Any], options: Options = DEFAULT) -> JoinedAudit:
    """Measure the published tables of a spec of several, over their join and each by itself."""
    return several.audit_tables(_tables(spec), options)


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
    others = [name for name in spec.recipient_names if decided.recipient not in (None, name)]
    return recipients.apply(spec, decided, locks_beside(Path(lock).parent, path, others), options)


def audit(
    table: Spec | PathLike | Any,
    quasi_identifiers: Sequence[str] = (),
    *,
    connection: str | None = None,
    k: int | None = None,
    privacy: Privacy | Mapping[str, Any] | None = None,
    sensitive: Sequence[str] = (),
    respondent: str | None = None,
    reference: str | None = None,
    population: str | None = None,
    recipient: str | None = None,
    fits: bool = False,
    options: Options = DEFAULT,
) -> AuditResult:
    """Measure the target of a spec (a `Spec` or a YAML file), or any table, file or dataframe over the columns given.

    `privacy` takes the keys of a spec's privacy. `reference` and `population` name tables to compare with. Of a spec
    with several recipients, name one. With `fits`, rows of a spec's source that fit released rows are counted too.
    """
    asked = PlaceRequest(quasi_identifiers, k, privacy, sensitive, respondent, reference, population)
    if frames.is_frame(table):
        return frames.audit_frame(table, asked, options)
    if isinstance(table, Spec):
        return pipeline.audit_spec(one_release(table, recipient, "name one as recipient="), options, fits=fits)
    if not quasi_identifiers:
        if Path(table).suffix in (".yaml", ".yml"):
            spec = one_release(load_spec(table), recipient, "name one as recipient=")
            lock = lock_path(Path(table), recipient)
            return pipeline.audit_spec(spec, options, Lock.read(lock) if lock.is_file() else None, fits=fits)
        raise UsageError("name the columns of the quasi-identifier: they are what classes are made of")
    return measure_place(str(table), connection, asked, options, words=ARGUMENTS)


def report(
    lock: PathLike,
    options: Options = DEFAULT,
    *,
    out: PathLike | None = None,
    kind: str | None = None,
    what_if: bool = True,
    offline: bool = False,
) -> Report:
    """What a lock file decided, as people decide on it; nothing but scratch tables is written to the database.

    With `out` it is written to a file, as html, md, json or pdf: `kind`, else as the name ends. `what_if` adds the
    frontier of other k; `offline` asks no database, and tells what the lock file and the evidence tell.
    """
    from sqlanon.reports.gather import WhatIf, gather
    from sqlanon.reports.offline import gather_offline
    from sqlanon.reports.writing import format_of, write

    path = None if out is None else Path(out)
    kind = format_of(path, kind)
    decided = Lock.read(Path(lock))
    spec = one_release(load_spec(spec_of(Path(lock), decided)), decided.recipient, "plan again")
    found = gather_offline(spec, decided) if offline else gather(spec, decided, options, WhatIf() if what_if else None)
    if path is not None:
        write(found, kind, path)
    return found


def spec_of(path: Path, lock: Lock) -> Path:
    """The spec that a lock file was made from: named relative to the lock file."""
    return path.parent / lock.spec


def _frame_first(spec: Any, options: Any, source: Any) -> tuple[Any, Options, Any]:
    """Spec, options and dataframe, in whichever of the two orders they were given; without a spec None."""
    if not frames.is_frame(spec):
        if not isinstance(spec, (Spec, Mapping, str, Path)):
            raise UsageError(
                f"a spec, a pandas or polars DataFrame or an Arrow Table is expected, not {type(spec).__name__}"
            )
        return spec, options, source
    if source is not None:
        raise UsageError("source: two dataframes were given; name the spec first, or leave source out")
    return (None, options, spec) if isinstance(options, Options) else (options, DEFAULT, spec)


def _tables(spec: SeveralTables | PathLike | Mapping[str, Any]) -> SeveralTables:
    if isinstance(spec, SeveralTables):
        return spec
    found = any_from_dict(spec) if isinstance(spec, Mapping) else load_any(spec)
    if isinstance(found, Spec):
        raise UsageError("tables: a spec of several tables is expected")
    return found


def _spec(spec: SpecLike) -> Spec:
    if isinstance(spec, Mapping):
        return spec_from_dict(spec)
    return spec if isinstance(spec, Spec) else load_spec(spec)
