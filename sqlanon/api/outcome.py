"""What orchestrators ask of a release: to publish it, and what to remember of it as small plain data.

Counts and names only, so that it may stand in any orchestrator's database.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sqlanon.api import apply, run
from sqlanon.release.results import RunResult


def publish(release: str | Path) -> RunResult:
    """Publish what a lock file (.json) decided, or what a spec asks for now."""
    return apply(release) if Path(release).suffix == ".json" else run(release)


def counts(result: RunResult) -> dict[str, Any]:
    """Target, run, rows and classes, the smallest class, and the level of each quasi-identifier."""
    return {
        "target": result.target,
        "run": result.run,
        "rows": result.publication.rows,
        "released": result.audit.rows,
        "suppressed": result.publication.suppressed,
        "classes": result.audit.classes,
        "smallest_class": result.audit.k,
        "levels": dict(result.levels),
    }
