"""The group of commands, and the one place where errors become a line and an exit code.

Imports click and nothing heavier: `sqlanon --help` must not wait for a database driver.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from difflib import get_close_matches
from importlib import import_module
from itertools import pairwise
from typing import Any

import click
from click.shell_completion import shell_complete

from sqlanon import __version__
from sqlanon.cli.failures import Failure, failure_of, report

COMMANDS = (
    "demo",
    "init",
    "import",
    "check",
    "plan",
    "apply",
    "run",
    "audit",
    "risk",
    "attack",
    "utility",
    "workload",
    "status",
    "report",
    "explore",
    "sql",
    "hierarchies",
    "dbt",
    "evidence",
    "ledger",
    "cleanup",
    "grants",
    "schema",
    "mcp",
)
"""In the order in which a newcomer meets them."""

MODULES = {"import": "import_arx"}
"""Commands whose name no module may have."""

COMPLETE = "_SQLANON_COMPLETE"
"""The variable by which a shell asks how a command line may go on."""

BROKEN_PIPE = 141
"""What a shell reports for a command that the next one in the pipe stopped listening to."""


class LazyGroup(click.Group):
    """Finds each command in the module of its name."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            near = get_close_matches(cmd_name, COMMANDS, 1)
            hint = f", perhaps '{near[0]}'" if near else ""
            ctx.fail(f"no such command '{cmd_name}'{hint}")
        command: click.Command = import_module(f"sqlanon.cli.{MODULES.get(cmd_name, cmd_name)}").command
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="%(prog)s %(version)s")
def group() -> None:
    """Anonymize a table where it lives: k-anonymous, audited releases made by SQL inside the database.

    Exit codes: 0 done and satisfied, 1 a requirement is not met, 2 bad usage or spec, 3 infeasible within the limits
    or budget, 4 the engine failed.
    """


OBJECTS = 100_000
"""New objects between two searches for garbage in cycles: statements are trees of many, which the default of 700 walks
through again and again; a sixth of a report's time."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The `sqlanon` script."""
    gc.set_threshold(OBJECTS, 20, 50)
    sys.exit(run(sys.argv[1:] if arguments is None else arguments, on_interrupt=_hear_no_more))


def _hear_no_more() -> None:
    """Whoever presses Ctrl-C again while the process ends gets the same line and exit code, not a trace."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)


def run(arguments: Sequence[str], on_interrupt: Callable[[], None] | None = None) -> int:
    """Run one command line; its exit code. `on_interrupt` is called before the command tells that it was stopped."""
    for stream in (sys.stdout, sys.stderr):
        _never_fail_on_characters(stream)
    try:
        code = _invoke(list(arguments), on_interrupt)
        sys.stdout.flush()
    except BrokenPipeError:
        _leave_pipe()
        return BROKEN_PIPE
    return code


def _invoke(arguments: list[str], on_interrupt: Callable[[], None] | None) -> int:
    if instruction := os.environ.get(COMPLETE):
        return shell_complete(group, {}, "sqlanon", COMPLETE, instruction)
    # Read before parsing, since parsing itself can fail.
    as_json, debug = "--json" in arguments, "--debug" in arguments
    as_log = any(pair == ["--log", "json"] for pair in map(list, pairwise(arguments))) or "--log=json" in arguments
    try:
        with group.make_context("sqlanon", arguments) as context:
            result: Any = group.invoke(context)
            return result if isinstance(result, int) else 0
    except click.exceptions.Exit as finished:
        return finished.exit_code
    except BrokenPipeError:
        raise
    except (Exception, KeyboardInterrupt) as error:
        if isinstance(error, KeyboardInterrupt) and on_interrupt is not None:
            on_interrupt()
        failure: Failure = failure_of(error)
        report(failure, error, as_json=as_json, debug=debug, as_log=as_log)
        return failure.exit_code


def _never_fail_on_characters(stream: Any) -> None:
    """A terminal that cannot show a letter of a column name shows its code instead."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="backslashreplace")


def _leave_pipe() -> None:
    """Nobody reads any more; without this, Python would complain again when it flushes at exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
