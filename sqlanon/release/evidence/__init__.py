"""Evidence of each release: what was asked, decided, measured and run; counts and names, never a data value.

Kept as a JSON file for each run and, where the spec wants it, in tables of the scratch schema.
The recorder of a run hears every statement, is told what was found, and writes it down when the run has ended, also
when it has failed and its transaction is undone.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from sqlanon.engines.base import Engine, Statement, TraceEvent
from sqlanon.errors import EngineError, SqlanonError
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.release.evidence import store as folder
from sqlanon.release.evidence.document import (
    Circumstances,
    Document,
    Facts,
    StatementRecord,
    document_of,
    failed,
    requirements_of,
)
from sqlanon.release.evidence.store import EvidenceTables, source_classes
from sqlanon.source.binding import Binding
from sqlanon.spec import Spec
from sqlanon.sql.relations import Table


class Recorder:
    """Gathers the evidence of one run."""

    def __init__(self, spec: Spec, command: str, run: str) -> None:
        self._spec = spec
        self._command = command
        self._run = run
        self._started = datetime.now(UTC)
        self._finished: datetime | None = None
        self._statements: list[StatementRecord] = []
        self._before: dict[str, Any] | None = None
        self._engine = ("", "")
        self._tables: EvidenceTables | None = None
        self._requirement: Mapping[str, Any] | None = None
        self.facts: Facts | None = None
        """What was found: set when the release stands."""

    @property
    def file(self) -> str | None:
        """The file that is written, where one is."""
        place = self._spec.evidence_folder
        return None if place is None else str(folder.file_of(place, self._run))

    def hear(self, event: TraceEvent) -> None:
        """A hook on the trace."""
        if event.seconds is not None:
            rows = event.rows if event.rows is not None and event.rows >= 0 else None
            self._statements.append(StatementRecord(event.step, event.seconds, rows, event.failed))

    def begin(self, engine: Engine, binding: Binding) -> None:
        """See to it that evidence can be kept, before anything is published."""
        self._engine = (engine.name, engine.version())
        if self._spec.evidence_folder is not None:
            folder.require_folder(self._spec.evidence_folder)
        if self._spec.evidence.tables:
            self._tables = EvidenceTables(engine, binding.scratch)
            self._tables.require()
        self._requirement = requirement_of(binding).describe()

    def measure_source(self, engine: Engine, binding: Binding, base: Table) -> None:
        """The classes of the source as it is, from the scan's result: what an audit would have said of it."""
        width, k = len(binding.names), binding.k
        query = source_classes(base, width, k, grouped=binding.simple)
        [(rows, classes, smallest, classes_at_risk, rows_at_risk)] = engine.query(Statement("classes of source", query))
        self._before = {
            "rows": int(rows),
            "classes": int(classes),
            "k": int(smallest or 0),
            "required": {"k": k},
            "classes_at_risk": int(classes_at_risk),
            "rows_at_risk": int(rows_at_risk),
        }

    def store(self) -> None:
        """Write to the tables, while the session lives."""
        if self._tables is None or self.facts is None:
            return
        try:
            self._tables.add(self._document())
        except EngineError as error:
            message = f"the release stands, but its evidence was not stored in tables: {error}"
            raise type(error)(message, detail=error.detail) from None

    def write(self) -> None:
        """Write the file; of a failure only into a folder that is there: first mistakes leave nothing behind."""
        place = self._spec.evidence_folder
        if place is None or self.facts is None or (self.facts.failure is not None and not place.is_dir()):
            return
        folder.write(place, self._document())

    def fail(self, error: SqlanonError, seconds: Mapping[str, float]) -> None:
        """Hear of the error that ends a run, and store what is to be told of it while the session lives."""
        if self._requirement is None:
            return
        self.facts = self.facts or failed(self._requirement, error, seconds)
        # The session may be what failed. The error that ended the run is the one to report.
        with suppress(SqlanonError):
            self.store()

    def _document(self) -> Document:
        if self.facts is None:
            raise ValueError("nothing was found")
        self._finished = self._finished or datetime.now(UTC)
        circumstances = Circumstances(self._run, self._command, *self._engine, self._started, self._finished)
        return document_of(self._spec, circumstances, self.facts, self._before, self._statements)


def recorder_for(spec: Spec, command: str | None, run: str) -> Recorder | None:
    """A recorder for commands that publish, where the spec wants evidence."""
    wanted = spec.evidence_folder is not None or spec.evidence.tables
    return Recorder(spec, command, run) if command is not None and wanted else None


__all__ = ["Facts", "Recorder", "StatementRecord", "recorder_for", "requirements_of"]
