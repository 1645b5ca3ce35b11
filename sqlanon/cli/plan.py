"""`sqlanon plan`: search, and write down what was decided.

Writes the lock file; in the database only scratch tables, which are dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from sqlanon.cli.files import known_lock, lock_of, require_writable, write_lock
from sqlanon.cli.settings import Settings, flags

FILE = click.Path(path_type=Path)


@click.command("plan", short_help="Search for the generalization to release; write the lock file.")
@click.argument("spec", type=FILE)
@click.option("--minimal", is_flag=True, help="Find all k-minimal vectors, and choose among them.")
@click.option("--out", type=FILE, help="Where to write the lock file. Default: <spec>.lock.json beside the spec.")
@click.option("--fresh", is_flag=True, help="Ask the database everything anew, also what the lock file knows.")
@click.option("--dry-run", is_flag=True, help="Write no lock file.")
@flags(values=True)
def command(settings: Settings, spec: Path, minimal: bool, out: Path | None, fresh: bool, dry_run: bool) -> None:
    """Search for the generalization to release, and write it to a lock file that `sqlanon apply` carries out.

    Planning again on the same data takes what the lock file already knows and asks the database only for the rest.
    The lock file holds levels, hierarchy tops and counts: it is made to be reviewed and kept under version control.
    """
    from sqlanon import pipeline
    from sqlanon.lock import lock_path
    from sqlanon.spec import load_spec

    loaded = load_spec(spec)
    where = out or lock_path(spec)
    if not dry_run:
        require_writable(where)
    with settings.working(all_minimal=minimal) as options:
        result = pipeline.plan(loaded, options, known_lock(where, fresh=fresh))
    if not dry_run:
        write_lock(lock_of(spec, loaded, result, where), where)
    if settings.as_json:
        content: dict[str, Any] = {**result.to_dict(), "lock": None if dry_run else str(where)}
        settings.emit(content)
        return
    from sqlanon.cli.views import show_plan, spent

    written = ("lock", "not written" if dry_run else str(where))
    show_plan(settings.console, loaded, result, spent(result.seconds), written)
