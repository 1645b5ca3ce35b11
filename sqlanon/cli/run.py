"""`sqlanon run`: plan and apply in one step.

Writes the target of the spec, and the lock file of what was published.
"""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.cli.files import known_lock, lock_of, require_writable, write_lock
from sqlanon.cli.recipients import run_for_all
from sqlanon.cli.settings import Settings, flags


@click.command("run", short_help="Plan and publish in one step.")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--fresh", is_flag=True, help="Ask the database everything anew, also what the lock file knows.")
@flags(values=True)
def command(settings: Settings, spec: Path, fresh: bool) -> None:
    """Search for the generalization, publish it audited, and write the lock file of what was published.

    A spec with recipients is planned for all of them and checked together; then each release is published.
    """
    from sqlanon import pipeline
    from sqlanon.lock import lock_path
    from sqlanon.spec import load_spec

    loaded = load_spec(spec)
    if loaded.recipients:
        run_for_all(settings, spec, loaded, fresh=fresh)
        return
    where = lock_path(spec)
    require_writable(where)
    with settings.working() as options:
        result = pipeline.run(loaded, options, known_lock(where, fresh=fresh))
    if result.plan is not None:
        write_lock(lock_of(spec, loaded, result.plan, where), where)
    if settings.as_json:
        settings.emit({**result.to_dict(), "lock": str(where)})
        return
    from sqlanon.cli.views import show_plan, show_release

    if result.plan is not None:
        show_plan(settings.console, loaded, result.plan)
        settings.console.print()
    show_release(settings.console, result, ("lock", str(where)))
