"""The content of a run's evidence, as plain data of a fixed form.

Pure. Counts, figures, names of columns and digests; the text of a statement or a query never enters it.
"""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from sqlanon import __version__
from sqlanon.errors import SqlanonError
from sqlanon.spec import FileSource, FileTarget, QuerySource, Secret, Source, Spec, Target
from sqlanon.spec.columns import accepted_columns, derived_columns, rules_of
from sqlanon.sql.relations import Table

VERSION = 1

Document = dict[str, Any]


@dataclass(frozen=True)
class StatementRecord:
    """A statement without its text."""

    step: str
    seconds: float
    rows: int | None
    """Rows touched or returned; None where the engine does not tell."""
    failed: bool = False

    def to_dict(self) -> dict[str, Any]:
        return {"step": self.step, "seconds": round(self.seconds, 6), "rows": self.rows, "failed": self.failed}


@dataclass(frozen=True)
class Facts:
    """What a run found and published."""

    levels: Mapping[str, tuple[int, int]]
    """For each column of the quasi-identifier its level, and the height of its hierarchy."""
    requirement: Mapping[str, Any]
    rows: Mapping[str, int]
    """Of the source, suppressed, blanked and released."""
    after: Mapping[str, Any] | None
    """What the audit measured of the release; None where none was published."""
    search: Mapping[str, Any] | None
    """What the search did; None where a lock file had decided."""
    seconds: Mapping[str, float]
    recipient: str | None = None
    reused: bool | None = None
    """Whether an earlier plan was used again, where that was asked for."""
    reason: str | None = None
    history: Mapping[str, int] | None = None
    """Where a ledger is kept: people who joined, left, wait, or leave with others."""
    failure: Mapping[str, Any] | None = None
    """The kind of error that ended the run before a release was known to stand."""


NOTHING: dict[str, int] = {}


def failed(requirement: Mapping[str, Any], error: SqlanonError, seconds: Mapping[str, float]) -> Facts:
    """The facts of a run that ended with an error. Its text may show data values: only its kind is kept."""
    kind = {"error": type(error).__name__, "exit_code": error.exit_code}
    return Facts({}, requirement, NOTHING, None, None, seconds, failure=kind)


@dataclass(frozen=True)
class Circumstances:
    """Who ran what, when and where."""

    run: str
    command: str
    engine: str
    engine_version: str
    started: datetime
    finished: datetime


def document_of(
    spec: Spec,
    circumstances: Circumstances,
    facts: Facts,
    before: Mapping[str, Any] | None,
    statements: Sequence[StatementRecord],
) -> Document:
    """All of a run's evidence."""
    return {
        "version": VERSION,
        "run": circumstances.run,
        "command": circumstances.command,
        "started": _time(circumstances.started),
        "finished": _time(circumstances.finished),
        "outcome": "published" if facts.failure is None else "failed",
        "failure": None if facts.failure is None else dict(facts.failure),
        "spec": {"file": None if spec.file is None else spec.file.name, "hash": spec.hash()},
        "recipient": facts.recipient,
        "source": place_name(spec.source),
        "target": place_name(spec.target),
        "engine": circumstances.engine,
        "versions": {
            "sqlanon": __version__,
            "engine": circumstances.engine_version,
            "python": platform.python_version(),
        },
        "rows": dict(facts.rows),
        "requirement": dict(facts.requirement),
        "accepted": accepted_columns(spec.columns),
        **({"rules": rules} if (rules := rules_of(spec.columns)) else {}),
        **({"derived": derived} if (derived := derived_columns(spec.columns)) else {}),
        "vector": [level for level, _ in facts.levels.values()],
        "levels": {name: {"level": level, "height": height} for name, (level, height) in facts.levels.items()},
        "reused": facts.reused,
        "reason": facts.reason,
        **({} if facts.history is None else {"history": dict(facts.history)}),
        "search": None if facts.search is None else dict(facts.search),
        "audit": {
            "before": None if before is None else dict(before),
            "after": None if facts.after is None else dict(facts.after),
        },
        "seconds": {phase: round(spent, 6) for phase, spent in facts.seconds.items()},
        "statements": [statement.to_dict() for statement in statements],
    }


def place_name(place: Source | Target) -> str:
    """What was read or written, as the spec names it. The text of a query may hold data values: its digest is kept.

    >>> place_name(QuerySource(query="select 1 as q")), place_name(FileSource(file="https://me:secret@host/a.csv"))
    ('query ca67f3cc86c91563', 'https://me:***@host/a.csv')
    """
    match place:
        case FileSource() | FileTarget():
            paths = (place.file,) if isinstance(place.file, str) else place.file
            return ", ".join(str(Secret(path)) if "://" in path else path for path in paths)
        case QuerySource():
            return f"query {sha256(place.query.encode()).hexdigest()[:16]}"
        case _:
            return str(Table(place.parts))


def requirements_of(document: Document) -> list[Mapping[str, Any]]:
    """Each requirement with its verdict, as the audit of the release found it; none where there is no release."""
    after = document["audit"]["after"]
    return [] if after is None else list(after["requirements"])


def published(document: Document) -> bool:
    """Whether the run put a release in place."""
    return bool(document.get("outcome", "published") == "published")


def finished(document: Document) -> datetime:
    """When the run ended."""
    return datetime.fromisoformat(document["finished"])


def is_evidence(content: object) -> bool:
    """Whether this is what `document_of` makes, of this version."""
    return isinstance(content, dict) and content.get("version") == VERSION and {"run", "finished"} <= content.keys()


def finite(value: Any) -> Any:
    """The same value where JSON and every engine have it; a number without bound is None.

    >>> finite({"t": [0.5, float("inf")]})
    {'t': [0.5, None]}
    """
    match value:
        case dict():
            return {str(key): finite(item) for key, item in value.items()}
        case list() | tuple():
            return [finite(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
