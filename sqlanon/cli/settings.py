"""The flags that every command takes, the object that carries them, and the progress that a terminal shows meanwhile.

Loads rich and the pipeline only when a command uses them.
"""

from __future__ import annotations

import functools
import io
import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar

import click

from sqlanon.cli.failures import Interrupted, log, phase, statement
from sqlanon.cli.words import number, one_line, seconds

if TYPE_CHECKING:
    from pathlib import Path

    from rich.console import Console

    from sqlanon.engines.base import TraceEvent, TraceHook
    from sqlanon.search.base import Progress
    from sqlanon.source.run import Options

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

PUTTING_IN_PLACE = ("commit", "write file")
"""The steps after which a release may stand. Before them an interrupted command has published nothing."""


@dataclass
class Settings:
    """What the flags of a command line say."""

    as_json: bool
    show_sql: bool
    show_values: bool = False
    log_json: bool = False
    quiet: bool = False
    """Nothing is said but errors, warnings, and what was asked for as a text or as JSON."""
    placed: bool = False
    debug: bool = False

    @cached_property
    def console(self) -> Console:
        """Results for people, on stdout."""
        from sqlanon.cli.console import console

        return console(io.StringIO() if self.quiet else sys.stdout)

    def note(self, text: str) -> None:
        """A remark on stderr; a quiet command makes none but warnings."""
        if self.quiet and not text.startswith("warning: "):
            return
        if self.log_json:
            log("note", message=text)
            return
        click.echo(f"sqlanon: {one_line(text)}", err=True)

    def emit(self, content: dict[str, Any]) -> None:
        """The one JSON object of a command, on stdout."""
        click.echo(json.dumps(_finite(content), indent=2, default=str))

    @contextmanager
    def working(
        self,
        *,
        all_minimal: bool = False,
        explain: bool = False,
        quiet: bool = False,
        writes: Sequence[Path] = (),
        lock: Path | None = None,
    ) -> Iterator[Options]:
        """The options of a pipeline call: traced, with a progress display where somebody watches; quiet, without.

        `writes` and `lock` are files that the command is going to write.
        """
        from sqlanon.source.run import Options

        watched = (
            not (quiet or self.quiet) and sys.stderr.isatty() and not (self.as_json or self.show_sql or self.log_json)
        )
        try:
            with display(shown=watched) as (step, progress):
                hooks = (self._placing, *self._listeners(), *((step,) if step else ()))
                yield Options(
                    self.show_values,
                    all_minimal,
                    hooks,
                    progress,
                    phase if self.log_json else None,
                    writes=tuple(writes),
                    writes_lock=lock,
                    explain=explain,
                )
        except KeyboardInterrupt:
            if self.placed:
                raise Interrupted from None
            raise

    def _listeners(self) -> Iterator[TraceHook]:
        if self.show_sql:
            yield self._trace
        if self.log_json:
            yield statement

    def _placing(self, event: TraceEvent) -> None:
        if event.step in PUTTING_IN_PLACE:
            self.placed = True

    def _trace(self, event: TraceEvent) -> None:
        if event.seconds is None:
            return
        outcome = " failed" if event.failed else ""
        click.echo(f"-- {one_line(event.step)}: {event.seconds * 1000:.1f} ms{outcome}\n{event.sql}", err=True)


def flags(*, values: bool = False) -> Callable[[Decorated], Decorated]:
    """Give a command the flags of all, with `values` also --show-values; it gets `Settings` first."""

    def decorate(function: Decorated) -> Decorated:
        @functools.wraps(function)
        def command(
            *,
            as_json: bool,
            show_sql: bool,
            debug: bool,
            log_format: str | None,
            quiet: bool,
            show_values: bool = False,
            **given: Any,
        ) -> Any:
            if show_sql and log_format:
                raise click.UsageError("--show-sql and --log do not go together: logs show no SQL")
            return function(Settings(as_json, show_sql, show_values, log_format == "json", quiet, debug=debug), **given)

        wrapped: Any = command
        options = [
            click.option("--json", "as_json", is_flag=True, help="Write one JSON object to stdout."),
            click.option("--show-sql", is_flag=True, help="Show every statement, its step and its time on stderr."),
            click.option(
                "--log",
                "log_format",
                type=click.Choice(["json"]),
                help="Write logs to stderr: a JSON object for each statement and phase, without SQL.",
            ),
            click.option("--quiet", is_flag=True, help="Say nothing but errors and warnings."),
            click.option("--debug", is_flag=True, help="Show the trace of an error; it may hold data values."),
        ]
        if values:
            text = "Let messages show some data values."
            options.insert(2, click.option("--show-values", is_flag=True, help=text))
        for option in reversed(options):
            wrapped = option(wrapped)
        decorated: Decorated = wrapped
        return decorated

    return decorate


def _finite(value: Any) -> Any:
    """A value with null in the place of numbers without bound, which JSON does not have."""
    match value:
        case dict():
            return {str(key): _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value


def phases(spent: dict[str, float]) -> str:
    """Seconds per phase, on one line."""
    return ", ".join(f"{phase} {seconds(value)}" for phase, value in spent.items())


WATCHED_EVERY = 0.5
"""Seconds between two lines of a search that is watched."""


class WatchedSearch:
    """Lines on stderr that show a search draw near its end: nodes asked, the best cost, how much less is possible."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self._told = told
        self._started = self._last = monotonic()
        self._counts = ""
        self._costs = ""

    def progress(self, checks: int, undecided: int) -> None:
        """How far it is."""
        self._counts = f"{number(checks)} nodes asked, at most {number(undecided)} left"
        self._tell()

    def costs(self, best: float, least: float) -> None:
        """What it has found."""
        gap = 1 - least / best if best > 0 else 0.0
        self._costs = f"; best {best:.6g}, another costs at most {gap:.1%} less"
        self._tell()

    def end(self) -> None:
        """The last line."""
        if self._counts:
            self._tell(last=True)

    def _tell(self, *, last: bool = False) -> None:
        now = monotonic()
        if last or now - self._last >= WATCHED_EVERY:
            self._last = now
            self._told(f"{seconds(now - self._started)}: {self._counts}{self._costs}")


Listeners = tuple["TraceHook | None", "Progress | None"]


@contextmanager
def display(*, shown: bool) -> Iterator[Listeners]:
    """A hook for statements and a callback for the search that keep the display current."""
    if not shown:
        yield None, None
        return
    from rich.progress import BarColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Display

    from sqlanon.cli.console import console

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        BarColumn(bar_width=30),
        TextColumn("{task.fields[nodes]}", markup=False),
        TimeElapsedColumn(),
    )
    with Display(*columns, console=console(sys.stderr), transient=True) as live:
        task = live.add_task("connecting", total=None, nodes="")

        def step(event: TraceEvent) -> None:
            if event.seconds is None:
                live.update(task, description=one_line(event.step))

        def search(checks: int, undecided: int) -> None:
            left = f", at most {number(undecided)} left" if undecided else ""
            live.update(task, completed=checks, total=checks + undecided, nodes=f"{number(checks)} nodes asked{left}")

        yield step, search
