"""Dataframes as sources: pandas, polars and Arrow tables, anonymized and measured by DuckDB inside this process.

The rows are in Python already; DuckDB reads them there. Imports none of these packages.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from sqlanon import pipeline
from sqlanon.api.recipients import one_release
from sqlanon.auditor import AuditResult
from sqlanon.auditor.place import ARGUMENTS, PlaceRequest, measure_place
from sqlanon.draft.drafting import Draft, Places, draft_spec
from sqlanon.engines.base import Session
from sqlanon.engines.duckdb.engine import NAME, FrameEngine, KeptFrame, is_frame, opener
from sqlanon.errors import SpecError, UsageError
from sqlanon.release.results import PlanResult, RunResult
from sqlanon.source.run import DEFAULT, Options
from sqlanon.spec import Spec, TableSource, TableTarget, load_spec, spec_from_dict
from sqlanon.spec.load import read_document
from sqlanon.spec.places import IN_MEMORY
from sqlanon.sql.relations import Table

__all__ = [
    "Frame",
    "FrameRun",
    "SpecLike",
    "audit_frame",
    "draft_frame",
    "is_frame",
    "plan_draft",
    "plan_frame",
    "run_frame",
]

SpecLike = Spec | Mapping[str, Any] | str | Path
"""A spec, the values of one, or the YAML file of one; beside a dataframe also its text, of several lines."""

Frame = Any
"""A pandas or polars DataFrame or an Arrow Table; none of these packages is imported here, not even for its types."""

K = 5
"""What is asked for where nobody says."""

RELEASE = "release"
"""The table in memory that a release goes to where the spec names no target."""


@dataclass(frozen=True)
class FrameRun(RunResult):
    """What was released from a dataframe. A table in memory lives as long as this result."""

    kept: KeptFrame | None = field(default=None, kw_only=True, repr=False, compare=False)
    table: Table | None = field(default=None, kw_only=True, repr=False)

    def to_arrow(self) -> Any:
        """The release as an Arrow table."""
        return self._kept().arrow(self._table())

    def to_pandas(self) -> Any:
        """The release as a pandas dataframe."""
        return self._kept().pandas(self._table())

    def to_polars(self) -> Any:
        """The release as a polars dataframe."""
        return self._kept().polars(self._table())

    def _kept(self) -> KeptFrame:
        if self.kept is None:
            raise UsageError(f"the release is not in memory but in {self.target}: read it there")
        return self.kept

    def _table(self) -> Table:
        return self.table or Table((self.target,))


def plan_frame(frame: object, spec: SpecLike, options: Options = DEFAULT, recipient: str | None = None) -> PlanResult:
    """Search for the generalization of a dataframe; nothing is written."""
    _refuse_others(frame)
    return pipeline.plan(_spec(spec, recipient), replace(options, open=opener(frame, lambda engine: None)))


def draft_frame(frame: object, k: int) -> str:
    """A spec for a dataframe as commented YAML: a guess for every column, with its reason."""
    text, _ = _drafted(frame, k, DEFAULT)
    return text


def plan_draft(frame: object, options: Options = DEFAULT) -> PlanResult:
    """Search for the generalization of a dataframe by guessed roles; nothing is written."""
    text, draft = _drafted(frame, K, options)
    result = plan_frame(frame, read_document(text).value, options)
    guessed = ", ".join(f"{column.profile.name} {column.guess.role}" for column in draft.columns)
    words = f"the roles of the columns and k = {K} are guesses: {guessed}"
    warning = f"{words}; sqlanon.init(frame) drafts a spec to correct"
    return replace(result, warnings=(*result.warnings, warning))


def _drafted(frame: object, k: int, options: Options) -> tuple[str, Draft]:
    _refuse_others(frame)
    session = Session("init", hooks=list(options.hooks))
    with closing(opener(frame, lambda engine: None)(IN_MEMORY, session, Path())) as engine:
        draft = draft_spec(engine, Table((NAME,)))
    return draft.text(Places(NAME, RELEASE), k), draft


def run_frame(frame: object, spec: SpecLike, options: Options = DEFAULT) -> FrameRun:
    """Search and publish: to a file, to a table of a DuckDB file, or to a table in memory."""
    _refuse_others(frame)
    read = _spec(spec)
    sessions: list[KeptFrame] = []

    def opened(engine: FrameEngine) -> None:
        if not engine.lasting and isinstance(read.target, TableTarget):
            sessions.append(engine.keep())

    result = pipeline.run(read, replace(options, open=opener(frame, opened)))
    table = Table(read.target.parts) if isinstance(read.target, TableTarget) else None
    known = {item.name: getattr(result, item.name) for item in fields(result)}
    return FrameRun(**known, kept=sessions[0] if sessions else None, table=table)


def audit_frame(frame: object, asked: PlaceRequest, options: Options = DEFAULT) -> AuditResult:
    """Measure a dataframe over the columns given."""
    _refuse_others(frame)
    if not asked.quasi_identifiers:
        raise UsageError("name the columns of the quasi-identifier: they are what classes are made of")
    options = replace(options, open=opener(frame, lambda engine: None))
    return measure_place(NAME, None, asked, options, words=ARGUMENTS)


def _refuse_others(frame: object) -> None:
    if not is_frame(frame):
        raise UsageError(
            f"source: a pandas or polars DataFrame or an Arrow Table is expected, not {type(frame).__name__}"
        )
    if not len(getattr(frame, "columns", ())):
        raise UsageError("source: the dataframe has no columns: there is nothing to release")


def _spec(spec: SpecLike, recipient: str | None = None) -> Spec:
    """The spec with the dataframe as its source, whatever it names; without a target, a table in memory."""
    how = "give the spec of one, as spec.for_recipient(name)"
    read = one_release(spec if isinstance(spec, Spec) else _read(spec), recipient, how)
    return read.model_copy(update={"source": TableSource(table=(NAME,))})


def _read(spec: Mapping[str, Any] | str | Path) -> Spec:
    if isinstance(spec, Mapping):
        return spec_from_dict(_completed(spec))
    if isinstance(spec, str) and "\n" in spec:
        return _from_text(spec)
    document = read_document(Path(spec).read_text(encoding="utf-8-sig")) if Path(spec).is_file() else None
    values = None if document is None else document.value
    if not isinstance(values, Mapping) or {"source", "target"} <= values.keys():
        return load_spec(spec)
    return spec_from_dict(_completed(values), Path(spec).parent)


def _from_text(text: str) -> Spec:
    """The spec in a YAML text, as `draft_frame` gives one."""
    document = read_document(text)
    for path, problem in document.findings:
        raise SpecError(f"line {document.line(path)} of the spec: {problem}")
    if not isinstance(document.value, Mapping):
        raise SpecError("the text of the spec has no keys; give a file, a dict or the YAML of a spec")
    return spec_from_dict(_completed(document.value))


def _completed(values: Mapping[str, Any]) -> dict[str, Any]:
    target = {} if "recipients" in values else {"target": RELEASE}
    return {"source": NAME, **target, **values}
