"""`sqlanon demo`: from a raw table to an audited release, on invented patients, in the embedded database.

Writes one folder: the table, its spec, the lock file and the release.
"""

from __future__ import annotations

import csv
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlanon.cli.files import lock_of, require_writable, write_lock, write_text
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.auditor import AuditResult
    from sqlanon.release.results import RunResult
    from sqlanon.spec import Spec

PACKAGED = ("patients.csv", "spec.yaml")
SAMPLE = 5


@click.command("demo", short_help="Anonymize an invented table of patients, start to end.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("sqlanon-demo"),
    show_default=True,
    help="The folder to write to.",
)
@click.option("--force", is_flag=True, help="Replace files of the folder that were changed.")
@flags(values=True)
def command(settings: Settings, out: Path, force: bool) -> None:
    """Anonymize an invented table of 600 patients: audit it raw, plan, publish, audit the release.

    The folder then holds the table, its spec, the lock file and the release: a place to try the other commands.
    """
    from sqlanon import pipeline
    from sqlanon.auditor.place import PlaceRequest, measure_place
    from sqlanon.release.lock import lock_path
    from sqlanon.spec import load_spec

    _unpack(out, force=force)
    path = out / "spec.yaml"
    spec = load_spec(path)
    require_writable(lock_path(path))
    with settings.working() as options:
        asked = PlaceRequest(spec.quasi_identifiers, spec.privacy.k or 1)
        before = measure_place(str(out / "patients.csv"), None, asked, options)
        result = pipeline.run(spec, options)
    if result.plan is not None:
        write_lock(lock_of(path, spec, result.plan, lock_path(path)), lock_path(path))
    if settings.as_json:
        settings.emit({**result.to_dict(), "before": before.to_dict(), "lock": str(lock_path(path))})
        return
    _show(settings, spec, before, result)
    _show_sample(settings, Path(result.target))
    if settings.quiet:
        return
    for attempt in (f"plan {path} --minimal", f"audit --spec {path}", f"sql {lock_path(path)}"):
        click.echo(f"try: sqlanon {attempt}")


def _unpack(folder: Path, *, force: bool) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made: {error.strerror}") from None
    for name in PACKAGED:
        text = files("sqlanon.cli.demo_data").joinpath(name).read_text(encoding="utf-8")
        place = folder / name
        if place.exists() and place.read_text(encoding="utf-8") != text and not force:
            raise UsageError(f"{place}: was changed; --force replaces it, --out names another folder")
        write_text(place, text)


def _show(settings: Settings, spec: Spec, before: AuditResult, result: RunResult) -> None:
    from sqlanon.cli.views import show_audit, show_distribution, show_plan, show_release

    console = settings.console
    _heading(settings, "1. the raw table, audited")
    show_audit(console, before)
    if result.plan is not None:
        _heading(settings, "2. the plan")
        show_plan(console, spec, result.plan)
    _heading(settings, "3. the release, published and audited")
    show_release(console, result)
    console.print()
    show_distribution(console, result.audit)


def _heading(settings: Settings, text: str) -> None:
    settings.console.print()
    settings.console.rule(text, align="left")


def _show_sample(settings: Settings, release: Path) -> None:
    """Some released rows: they are public now."""
    from sqlanon.cli.console import grid

    with release.open(encoding="utf-8", newline="") as lines:
        headings, *rows = islice(csv.reader(lines), SAMPLE + 1)
    _heading(settings, "4. some released rows")
    settings.console.print(grid(headings, rows))
    settings.console.print()
