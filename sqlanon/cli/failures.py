"""Errors and logs as people and programs see them on stderr: a line each, an exit code, an object with --json.

Never a data value, a password or the text of a statement: an unexpected error is named by its type only, unless --debug
asks for the trace.
"""

from __future__ import annotations

import json
import sys
import traceback
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.words import one_line
from sqlanon.errors import EngineError, SourceError, SpecError, SqlanonError

if TYPE_CHECKING:
    from sqlanon.engines.base import TraceEvent

INTERRUPTED = 130
INTERNAL = 4


@dataclass(frozen=True)
class Failure:
    """How a command ended that did not do what it was asked."""

    kind: str
    lines: tuple[str, ...]
    exit_code: int


class Interrupted(Exception):
    """Ctrl-C at a moment when the release may already have taken its place."""


def failure_of(error: BaseException) -> Failure:
    """What to say of an error."""
    kind = type(error).__name__
    match error:
        case SpecError() | SourceError():
            return Failure(kind, tuple(f"error: {one_line(problem)}" for problem in error.problems), error.exit_code)
        case SqlanonError():
            return Failure(kind, (f"error: {one_line(str(error))}",), error.exit_code)
        case click.UsageError():
            return Failure("UsageError", (f"error: {_usage(error)}",), 2)
        case click.ClickException():
            return Failure("UsageError", (f"error: {one_line(error.format_message())}",), 2)
        case Interrupted():
            line = "interrupted while the release was put in place; audit the target to see which one stands"
            return Failure("Interrupted", (line,), INTERRUPTED)
        case KeyboardInterrupt() | click.Abort():
            return Failure("Interrupted", ("interrupted; nothing was published",), INTERRUPTED)
        case _:
            return Failure(kind, (f"error: internal error ({kind}); run with --debug for the trace",), INTERNAL)


def report(failure: Failure, error: BaseException, *, as_json: bool, debug: bool, as_log: bool = False) -> None:
    """Write a failure to stderr: as a line, as a JSON object, or as a line of the log."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError):
        error.show(sys.stderr)
        return
    for line in failure.lines:
        if as_log:
            told = line.removeprefix("error: ")
            log("error", type=failure.kind, message=told, exit_code=failure.exit_code)
        else:
            click.echo(f"sqlanon: {line}", err=True)
    if debug:
        if isinstance(error, EngineError) and error.detail:
            click.echo(error.detail, err=True)
        click.echo("".join(traceback.format_exception(error)), err=True)
    if as_json:
        message = "\n".join(line.removeprefix("error: ") for line in failure.lines)
        content = {"type": failure.kind, "message": message, "exit_code": failure.exit_code}
        click.echo(json.dumps({"error": content}, indent=2))


def _usage(error: click.UsageError) -> str:
    where = error.ctx.command_path if error.ctx is not None else "sqlanon"
    return f"{one_line(error.format_message()).rstrip('.')}; see '{where} --help'"


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
