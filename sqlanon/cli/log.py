"""Structured logs: one JSON object for each statement, phase, note and error, a line each on stderr.

Counts, names and times; never the text of a statement, nor a value.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sqlanon.engines.base import TraceEvent


def log(event: str, **content: Any) -> None:
    """Write one line."""
    time = datetime.now(UTC).isoformat(timespec="milliseconds")
    click.echo(json.dumps({"time": time, "event": event, **content}, default=str), err=True)


def statement(event: TraceEvent) -> None:
    """A hook on the trace: what ended is logged."""
    if event.seconds is not None:
        rows = event.rows if event.rows is not None and event.rows >= 0 else None
        log(
            "statement",
            run=event.run,
            step=event.step,
            seconds=round(event.seconds, 6),
            rows=rows,
            failed=event.failed,
        )


def phase(run: str, name: str, seconds: float) -> None:
    """A phase of a run that ended."""
    log("phase", run=run, phase=name, seconds=round(seconds, 6))
