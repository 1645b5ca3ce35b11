"""`sqlanon run`: plan and apply in one step.

Writes the target of the spec, and the lock file of what was published.
"""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.cli.files import known_lock, lock_of, no_cache, require_writable, write_lock
from sqlanon.cli.recipients import run_for_all
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError


@click.command("run", short_help="Plan and publish in one step.")
@click.argument("spec", type=click.Path(path_type=Path))
@click.option("--fresh", is_flag=True, help="Ask the database everything again, even what the cache knows.")
@no_cache
@click.option("--reuse", is_flag=True, help="Publish again what the lock file decided, if it still holds.")
@flags(values=True)
def command(settings: Settings, spec: Path, fresh: bool, no_cache: bool, reuse: bool) -> None:
    """Search for the generalization, publish it audited, and write the lock file of what was published.

    A spec with recipients is planned for all of them and checked together; then each release is published. Several
    tables are published by one transaction.
    """
    from sqlanon import pipeline
    from sqlanon.release.lock import lock_path
    from sqlanon.spec import SeveralTables, load_any

    if fresh and reuse:
        raise UsageError("--reuse takes what the lock file decided, --fresh forgets it: give one of them")
    loaded = load_any(spec)
    if isinstance(loaded, SeveralTables):
        from sqlanon.cli.tables import refuse_flags, run_several

        refuse_flags({"--reuse": reuse})
        run_several(settings, spec, loaded, lock_path(spec))
        return
    if loaded.recipients:
        if reuse:
            raise UsageError("--reuse: a spec with recipients is planned anew; `apply` publishes a lock file again")
        run_for_all(settings, spec, loaded, fresh=fresh, cache=not no_cache)
        return
    where = lock_path(spec)
    require_writable(where, loaded, lock=True)
    with settings.working(lock=where) as options:
        result = pipeline.run(loaded, options, known_lock(where, fresh=fresh, cache=not no_cache), reuse=reuse)
    if result.reused is False and result.reason:
        settings.note(f"searched anew: {result.reason}")
    for warning in result.warnings:
        settings.note(f"warning: {warning}")
    if result.plan is not None:
        for warning in result.plan.warnings:
            settings.note(f"warning: {warning}")
        write_lock(lock_of(spec, loaded, result.plan, where), where, cache=not no_cache)
    if settings.as_json:
        settings.emit({**result.to_dict(), "lock": str(where)})
        return
    from sqlanon.cli.views import show_plan, show_release

    if result.plan is not None:
        show_plan(settings.console, loaded, result.plan)
        settings.console.print()
    show_release(settings.console, result, ("lock", str(where)))
