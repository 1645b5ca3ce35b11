"""`sqlanon hierarchies`: build, validate, print and export the hierarchies of a spec.

Writes csv files where asked to; in the database only scratch tables, which are dropped.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.files import refuse_read, whole_file
from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.source.hierarchies import HierarchyReport
    from sqlanon.spec import Spec


@dataclass
class ShownHierarchy:
    """One hierarchy as it is printed."""

    column: str
    content: dict[str, Any]
    sample: list[tuple[str, ...]] = field(default_factory=list)


@click.command("hierarchies", short_help="Validate, print and export the hierarchies of a spec.")
@click.argument("spec", type=click.Path(path_type=Path))
@click.argument("columns", metavar="[COLUMN]...", nargs=-1)
@click.option("--export", type=click.Path(path_type=Path), help="Write <column>.csv files to this folder.")
@click.option("--rows", type=click.IntRange(min=1), default=5, show_default=True, help="Rows of the sample to show.")
@click.option("--delimiter", default=",", show_default=True, help="Separates the levels in exported files.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@recipient_option("The recipient of the spec whose hierarchies are meant.")
@flags(values=True)
def command(
    settings: Settings,
    spec: Path,
    columns: tuple[str, ...],
    recipient: str | None,
    export: Path | None,
    rows: int,
    delimiter: str,
    force: bool,
) -> None:
    """Build and validate the hierarchies of a spec on the values of its source, and print how many labels each level
    has. With --show-values also some rows; with --export all of them as csv, one row per value, level 0 first.
    """
    from sqlanon.spec import load_spec

    loaded = chosen(load_spec(spec), recipient)
    wanted = _wanted(loaded, columns)
    files = _files(loaded, wanted, export, delimiter, force=force)
    shown = []
    with reports_of(settings, loaded, writes=list(files.values())) as reports:
        for report in reports:
            if report.column not in wanted:
                continue
            shown.append(_shown(report, rows if settings.show_values else 0))
            if report.column in files:
                _export(report, files[report.column], delimiter)
                shown[-1].content["file"] = str(files[report.column])
    if settings.as_json:
        settings.emit({"hierarchies": {item.column: item.content for item in shown}})
        return
    for item in shown:
        _show(settings, item)


@contextmanager
def reports_of(
    settings: Settings, spec: Spec, *, publishable: bool = False, writes: Sequence[Path] = ()
) -> Iterator[Iterator[HierarchyReport]]:
    """The hierarchies of a spec, built and validated; their tables stand until the end."""
    from sqlanon import pipeline

    with settings.working(writes=writes) as options:
        reports = pipeline.hierarchies(spec, options, publishable=publishable)
        with closing(reports):
            yield reports


def _wanted(spec: Spec, columns: tuple[str, ...]) -> tuple[str, ...]:
    for name in columns:
        if name not in spec.quasi_identifiers:
            raise UsageError(f"'{name}' is not a quasi_identifier of the spec")
    return columns or spec.quasi_identifiers


def _files(
    spec: Spec, columns: tuple[str, ...], folder: Path | None, delimiter: str, *, force: bool
) -> dict[str, Path]:
    """Where each column goes: named after it, as far as a file may be."""
    if folder is None:
        return {}
    if len(delimiter) != 1:
        raise UsageError("--delimiter: one character is expected")
    if not folder.is_dir():
        raise UsageError(f"--export: there is no folder '{folder}'")
    files: dict[str, Path] = {}
    for name in columns:
        stem = re.sub(r"[^\w.-]", "_", name).strip(".") or "column"
        taken = {path.name.casefold() for path in files.values()}
        candidates = (
            f"{stem}{suffix}.csv" for suffix in ("", *(f"_{number}" for number in range(2, len(columns) + 2)))
        )
        files[name] = folder / next(candidate for candidate in candidates if candidate.casefold() not in taken)
    for path in files.values():
        if path.exists() and not force:
            raise UsageError(f"{path}: exists already; --force replaces it")
        refuse_read(path, spec)
    return files


def _shown(report: HierarchyReport, rows: int) -> ShownHierarchy:
    content: dict[str, Any] = {
        "height": len(report.labels) - 1,
        "values": report.values,
        "leaves": report.leaves,
        "labels": list(report.labels),
        "top": report.top,
    }
    sample = list(islice(report.rows(), rows)) if rows else []
    if rows:
        content["sample"] = [list(row) for row in sample]
    return ShownHierarchy(report.column, content, sample)


def _export(report: HierarchyReport, path: Path, delimiter: str) -> None:
    with whole_file(path) as lines:
        csv.writer(lines, delimiter=delimiter, lineterminator="\n").writerows(report.rows())


def _show(settings: Settings, item: ShownHierarchy) -> None:
    from sqlanon.cli.console import facts, grid
    from sqlanon.cli.words import number

    content, console = item.content, settings.console
    summary = [("column", item.column), ("values", number(content["values"])), ("top", content["top"])]
    if "file" in content:
        summary.append(("exported", content["file"]))
    console.print(facts(summary))
    console.print()
    levels = [(str(level), number(labels)) for level, labels in enumerate(content["labels"])]
    console.print(grid(("level", "labels"), levels, right=(0, 1)))
    if item.sample:
        console.print()
        console.print(grid([f"level {level}" for level in range(len(item.sample[0]))], item.sample))
    console.print()
