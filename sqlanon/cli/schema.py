"""`sqlanon schema`: what programs may rely on, as JSON Schema. Reads and writes nothing."""

from __future__ import annotations

import json

import click


@click.command("schema", short_help="Print the JSON Schema of a command's --json, of a lock file or of evidence.")
@click.argument("name", required=False)
def command(name: str | None) -> None:
    """Print the JSON Schema of what a command answers to --json, or of a file: spec, lock, evidence-file.
    Without a name, list the names.
    """
    from sqlanon.cli.answers import ANSWERS, FILES, schema_of

    if name is None:
        click.echo("\n".join((*ANSWERS, *FILES)))
        return
    if name not in ANSWERS and name not in FILES:
        known = ", ".join((*ANSWERS, *FILES))
        raise click.UsageError(f"There is no schema of '{name}'. Known: {known}.")
    click.echo(json.dumps(schema_of(name), indent=2))
