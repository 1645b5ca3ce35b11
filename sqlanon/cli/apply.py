"""`sqlanon apply`: publish exactly what a lock file decided.

Writes the target of the spec; everything else is the pipeline's.
"""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.cli.recipients import explained, show_applied
from sqlanon.cli.settings import Settings, flags


@click.command("apply", short_help="Publish exactly what a lock file decided, audited anew.")
@click.argument("lock", type=click.Path(path_type=Path))
@flags(values=True)
def command(settings: Settings, lock: Path) -> None:
    """Publish exactly what a lock file decided, measured and audited anew.

    The spec is found by its name in the lock file, relative to it. A spec or a hierarchy that has changed since the
    plan, or data that the plan no longer fits, is refused. The release of one recipient of several is refused when it
    exposes people together with a release that a lock file beside it decided for another.
    """
    from sqlanon import api
    from sqlanon.api.recipients import AppliedRelease
    from sqlanon.release.lock import Lock
    from sqlanon.spec import SeveralTables, load_any

    decided = Lock.read(lock)
    spec = load_any(api.spec_of(lock, decided))
    if isinstance(spec, SeveralTables):
        from sqlanon.cli.tables import apply_several

        apply_several(settings, spec, decided)
        return
    with explained(settings), settings.working() as options:
        result = api.apply(lock, options)
    for warning in result.warnings:
        settings.note(f"warning: {warning}")
    if settings.as_json:
        settings.emit(result.to_dict())
    else:
        from sqlanon.cli.views import show_release

        show_release(settings.console, result)
    if isinstance(result, AppliedRelease):
        show_applied(settings, result)
