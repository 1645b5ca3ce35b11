"""Progress of long work on a terminal: the step that runs, and how many nodes are decided.

Writes to stderr only; shows nothing in a pipe.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlanon.cli.words import one_line

if TYPE_CHECKING:
    from sqlanon.engines.base import TraceEvent, TraceHook
    from sqlanon.search.base import Progress

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
            live.update(task, completed=checks, total=checks + undecided, nodes=f"{checks} nodes")

        yield step, search
