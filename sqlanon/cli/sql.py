"""`sqlanon sql`: the release as one SQL script.

Prints to stdout; publishes nothing.
"""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError


@click.command("sql", short_help="Print the release as one SQL script to review or run by hand.")
@click.argument("spec", metavar="SPEC|LOCK", type=click.Path(path_type=Path))
@recipient_option("The recipient of the spec whose release to print; a lock file names its own.")
@flags(values=True)
def command(settings: Settings, spec: Path, recipient: str | None) -> None:
    """Print the whole release as one commented SQL script: as a lock file decided, or, for a spec, as a search decides
    now. Running the script by hand publishes the same table.
    """
    from sqlanon import pipeline
    from sqlanon.api import spec_of
    from sqlanon.lock import Lock
    from sqlanon.spec import load_spec

    lock = Lock.read(spec) if spec.suffix == ".json" else None
    if lock is not None and recipient not in (None, lock.recipient):
        raise UsageError("--recipient goes with a spec; the lock file names its recipient itself")
    loaded = load_spec(spec if lock is None else spec_of(spec, lock))
    loaded = chosen(loaded, recipient if lock is None else lock.recipient)
    with settings.working() as options:
        text = pipeline.script(loaded, lock, options)
    if settings.as_json:
        settings.emit({"sql": text})
    else:
        click.echo(text, nl=False)
