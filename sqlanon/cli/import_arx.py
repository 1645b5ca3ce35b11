"""`sqlanon import arx`: a project of ARX as a spec with its hierarchies.

Reads one file; writes a YAML file, a csv file for each hierarchy, and the data where no other source is named.
"""

from __future__ import annotations

from pathlib import Path

import click

from sqlanon.cli.files import csv_text, is_spec, listing_files, require_writable, write_text
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError


@click.command("import", short_help="Draft a spec from a project of ARX.")
@click.argument("kind", metavar="arx", type=click.Choice(["arx"]))
@click.argument("project", metavar="FILE.deid", type=click.Path(path_type=Path))
@click.option("--out", type=click.Path(path_type=Path), default=Path("spec.yaml"), show_default=True, help="The spec.")
@click.option(
    "--source", help="The table or file to anonymize. Default: the data of the project, written beside the spec."
)
@click.option("--target", default="release.csv", show_default=True, help="The name of the release.")
@click.option("--force", is_flag=True, help="Replace a spec that exists.")
@flags()
def command(
    settings: Settings, kind: str, project: Path, out: Path, source: str | None, target: str, force: bool
) -> None:
    """Draft a spec from a project of ARX: roles, hierarchies, levels, weights, privacy models and the limit.

    What a spec cannot say is marked REVIEW. Files that hold values are for their owner alone to read.
    """
    from sqlanon.draft.arx import copy_data, read_project
    from sqlanon.draft.editing import yaml_value
    from sqlanon.engines.temporaries import private_folder

    require_writable(out)
    if out.exists() and not (force and is_spec(out)):
        raise UsageError(f"{out}: exists already; --force replaces a spec, --out names another file")
    found = read_project(project)
    files = listing_files(found.hierarchies, out)
    data = None if source is not None else out.with_name(f"{out.stem}_data.csv")
    for path in (*files.values(), *(() if data is None else (data,))):
        require_writable(path)
    if data is not None:
        if data.exists():
            raise UsageError(f"{data}: exists already; name the table with --source, or remove the file")
        with private_folder(data) as beside:
            with (beside / "data.csv").open("xb") as written:
                copy_data(project, written)
            (beside / "data.csv").chmod(0o600)
            (beside / "data.csv").replace(data)
    for name, path in files.items():
        write_text(path, csv_text(found.hierarchies[name]), private=True)
    place = yaml_value(data.name if data is not None else source or "")
    write_text(
        out, found.text(place, yaml_value(target), {name: yaml_value(path.name) for name, path in files.items()})
    )
    if settings.as_json:
        written_files = {name: str(path) for name, path in files.items()}
        settings.emit({"spec": str(out), "hierarchies": written_files, "review": list(found.left)})
        return
    for line in found.left:
        settings.note(f"not taken over: {line}")
    from sqlanon.cli.console import facts

    settings.console.print(facts([("drafted", str(out)), ("next", f"read it, then: sqlanon check {out}")]))
