"""The terminal: rich consoles that take every text literally, and the shape of our tables.

Only writes what it is given; knows no results.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from typing import TextIO

from rich import box
from rich.console import Console
from rich.table import Table
from rich.text import Text

from sqlanon.cli.words import one_line

PIPE_WIDTH = 120


class _Console(Console):
    """Lets a broken pipe through: the group of commands handles it."""

    def on_broken_pipe(self) -> None:
        error = sys.exception() if hasattr(sys, "exception") else sys.exc_info()[1]
        raise error if isinstance(error, BrokenPipeError) else BrokenPipeError


def console(stream: TextIO) -> Console:
    """A console without markup: a column may be called [bold]."""
    width = None if stream.isatty() else PIPE_WIDTH
    return _Console(file=stream, width=width, markup=False, highlight=False, emoji=False, soft_wrap=False)


def grid(headings: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> Table:
    """A table; the columns in `right` hold numbers."""
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for position, heading in enumerate(headings):
        table.add_column(heading, justify="right" if position in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return table


def facts(rows: Iterable[tuple[str, str]]) -> Table:
    """Names with their values, without headings."""
    table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(Text(one_line(name)), Text(one_line(value)))
    return table


def bar(part: int, whole: int, width: int, *, unicode: bool) -> str:
    """A bar as long as the share of `part`.

    >>> bar(1, 2, 4, unicode=True), bar(1, 2, 4, unicode=False)
    ('██', '##')
    """
    eighths = round(8 * width * part / whole) if whole else 0
    if part and not eighths:
        eighths = 1
    if not unicode:
        return "#" * -(-eighths // 8)
    return "█" * (eighths // 8) + " ▏▎▍▌▋▊▉"[eighths % 8].strip()


def sparkline(values: Sequence[int], *, unicode: bool) -> str:
    """One character for each value, as high as its share of the greatest.

    >>> sparkline([1, 0, 4, 8], unicode=True), sparkline([1, 0, 4, 8], unicode=False)
    ('▁ ▄█', '. -#')
    """
    steps = "▁▂▃▄▅▆▇█" if unicode else ".-=#"
    most = max(values, default=0)
    return "".join(steps[max(0, -(-len(steps) * value // most) - 1)] if value else " " for value in values)
