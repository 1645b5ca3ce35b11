"""`sqlanon cleanup`: drop what dead runs left behind, and evidence that is old enough.

Removes scratch tables of runs that are no longer alive, and evidence; nothing else.
"""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.cli.settings import Settings, flags
from sqlanon.cli.words import counted


@click.command("cleanup", short_help="Drop what dead runs left behind, and old evidence.")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option(
    "--keep", type=click.IntRange(min=0), metavar="N", help="Keep the evidence of the last N runs of a target."
)
@click.option("--keep-days", type=click.FloatRange(min=0), metavar="N", help="Keep the evidence of the last N days.")
@click.option("--dry-run", is_flag=True, help="Only say what would be removed.")
@flags()
def command(settings: Settings, spec: Path, keep: int | None, keep_days: float | None, dry_run: bool) -> None:
    """Drop the scratch tables of runs that are no longer alive, and the evidence that neither --keep nor --keep-days
    keeps. Without these two all evidence stays.
    """
    from sqlanon.planning.operations import cleanup
    from sqlanon.spec import load_spec

    with settings.working() as options:
        result = cleanup(load_spec(spec), options, keep=keep, keep_days=keep_days, dry_run=dry_run)
    if settings.as_json:
        settings.emit(result.to_dict())
        return
    from sqlanon.cli.console import facts

    would = "would be removed" if dry_run else "removed"
    rows = [
        (f"{what} {would}", name)
        for what, names in (("table", result.tables), ("evidence", result.evidence))
        for name in names
    ]
    total = f"{counted(len(result.tables), 'scratch table')} and the evidence of {counted(len(result.evidence), 'run')}"
    rows += [(would, total), ("kept", f"the evidence of {counted(result.kept, 'run')}")]
    settings.console.print(facts(rows))
