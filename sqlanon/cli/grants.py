"""`sqlanon grants`: the least privileges that a spec needs, as statements to run.

Reads the catalog; grants nothing itself.
"""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.cli.settings import Settings, flags


@click.command("grants", short_help="Print the least privileges that a spec needs.")
@click.argument("spec", required=False, type=click.Path(path_type=Path))
@click.option("--connection", help="Look things up over this URL; ${NAME} expands. Default: the spec's connection.")
@click.option("--role", default="anonymizer", show_default=True, help="The role that gets them.")
@flags()
def command(settings: Settings, spec: Path | None, connection: str | None, role: str) -> None:
    """Print the statements that give a role what it needs to carry out a spec, and no more.

    Somebody who may grant runs them. Without SPEC, with --connection alone, the statements have names to be replaced.
    """
    from sqlanon.planning import operations
    from sqlanon.spec import load_spec

    if spec is None and connection is None:
        raise click.UsageError("give SPEC, or --connection")
    loaded = load_spec(spec) if spec is not None else operations.general(connection or "")
    with settings.working() as options:
        lines = operations.grants(loaded, role, options, connection)
    if settings.as_json:
        settings.emit({"role": role, "statements": lines})
        return
    for line in lines:
        click.echo(line)
