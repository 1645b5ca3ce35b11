"""`sqlanon sql`: the release as one SQL script.

Prints to stdout; publishes nothing.
"""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.cli.settings import Settings, flags


@click.command("sql", short_help="Print the release as one SQL script to review or run by hand.")
@click.argument("spec", metavar="SPEC|LOCK", type=click.Path(path_type=Path))
@flags(values=True)
def command(settings: Settings, spec: Path) -> None:
    """Print the whole release as one commented SQL script: as a lock file decided, or, for a spec, as a search decides
    now. Running the script by hand publishes the same table.
    """
    from sqlanon import pipeline
    from sqlanon.api import spec_of
    from sqlanon.lock import Lock
    from sqlanon.spec import load_spec

    lock = Lock.read(spec) if spec.suffix == ".json" else None
    loaded = load_spec(spec if lock is None else spec_of(spec, lock))
    with settings.working() as options:
        text = pipeline.script(loaded, lock, options)
    if settings.as_json:
        settings.emit({"sql": text})
    else:
        click.echo(text, nl=False)
