"""`sqlanon schema`: what programs may rely on, as JSON Schema. Reads and writes nothing."""

from __future__ import annotations

import json

import click

from sqlanon.cli.settings import Settings, flags


@click.command("schema", short_help="Print the JSON Schema of a command's --json, of a lock file or of evidence.")
@click.argument("name", required=False)
@flags()
def command(settings: Settings, name: str | None) -> None:
    """Print the JSON Schema of what a command answers to --json, or of a file: spec, lock, evidence-file.
    Without a name, list the names.
    """
    from sqlanon.cli.answers import ANSWERS, FILES, schema_of

    known = (*ANSWERS, *FILES)
    if name is None:
        if settings.as_json:
            settings.emit({"names": list(known)})
        else:
            click.echo("\n".join(known))
        return
    if name not in known:
        raise click.UsageError(f"There is no schema of '{name}'. Known: {', '.join(known)}.")
    click.echo(json.dumps(schema_of(name), indent=2))
