"""`sqlanon dbt`: plan the releases of a dbt project, and write the models that dbt then builds alone.

Writes models, seeds and lock files into the project; in the database only scratch tables, which are dropped.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.files import known_lock, lock_of, refuse_read, require_writable, write_lock, write_text
from sqlanon.cli.settings import Settings, flags

if TYPE_CHECKING:
    from sqlanon.dbt.manifest import Manifest
    from sqlanon.dbt.project import Project
    from sqlanon.dbt.writing import WrittenModel

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command("dbt", short_help="Plan the releases of a dbt project; write their models.")
@click.option("--project", "folder", type=FOLDER, default=Path(), help="The folder of dbt_project.yml.")
@click.option("--select", "selected", multiple=True, help="A model to write. Default: every release of the project.")
@click.option("--target", help="The target of the profile. Default: the profile's own.")
@click.option("--profiles-dir", "profiles", type=FOLDER, help="The folder of profiles.yml. Default: where dbt looks.")
@click.option("--connection", help="The database as a URL, instead of the profile's.")
@click.option("--parse", is_flag=True, help="Run `dbt parse` first, even if there is a manifest.")
@click.option("--dbt", "executable", default="dbt", help="The dbt command. Default: dbt.")
@click.option("--fresh", is_flag=True, help="Ask the database everything again, even what the lock files know.")
@flags(values=True)
def command(
    settings: Settings,
    folder: Path,
    selected: tuple[str, ...],
    target: str | None,
    profiles: Path | None,
    connection: str | None,
    parse: bool,
    executable: str,
    fresh: bool,
) -> None:
    """Plan the releases of a dbt project, and write them into it as models that dbt builds without sqlanon.

    A release is a model materialized as sqlanon_release, whose meta.sqlanon names its source and its requirement, and
    whose columns' meta.sqlanon give roles and hierarchies. Its SQL is written, with the seeds of listed hierarchies
    and a lock file beside it. The source has to be built.
    """
    from sqlanon.dbt.manifest import spec_of
    from sqlanon.dbt.project import Project, connection_of
    from sqlanon.dbt.writing import lock_beside, write_model

    project = Project.at(folder)
    database = None if connection is not None else connection_of(project, target, profiles)
    adapter = None if database is None else database.adapter
    manifest = _manifest(project, parse or target is not None, adapter, executable, target, profiles)
    url = connection or (database.url if database is not None else "")
    written = []
    for node in manifest.releases(selected):
        spec = spec_of(manifest, node, url, project.folder)
        lock = lock_beside(project.folder / node.path)
        require_writable(lock, lock=True)
        with settings.working() as options:
            found = write_model(project, manifest, node, spec, options, known_lock(lock, fresh=fresh))
        _write(found)
        written.append(found)
    _show(settings, written)


def _manifest(
    project: Project, parse: bool, adapter: str | None, executable: str, target: str | None, profiles: Path | None
) -> Manifest:
    """The manifest as it stands, or written anew where it is asked for, missing or of another kind of database."""
    if not parse and project.manifest_path.is_file():
        manifest = project.manifest()
        if adapter is None or manifest.adapter == adapter:
            return manifest
    project.parse(executable, target, profiles)
    return project.manifest()


def _write(found: WrittenModel) -> None:
    for path in (*found.files, found.lock):
        refuse_read(path, found.spec, lock=True)
    for path, text in found.files.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        write_text(path, text)
    for path in found.obsolete:
        path.unlink(missing_ok=True)
    write_lock(lock_of(found.model, found.spec, found.plan, found.lock), found.lock)


def _show(settings: Settings, written: list[WrittenModel]) -> None:
    if settings.as_json:
        models: list[dict[str, Any]] = [
            {"model": found.name, **found.plan.to_dict(), "files": [*map(str, found.files)], "lock": str(found.lock)}
            for found in written
        ]
        settings.emit({"models": models})
        return
    from sqlanon.cli.views import show_plan, spent

    for found in written:
        files = ", ".join(str(path) for path in (*found.files, found.lock))
        show_plan(settings.console, found.spec, found.plan, spent(found.plan.seconds), ("written", files))
