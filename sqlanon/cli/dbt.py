"""`sqlanon dbt`: plan the releases of a dbt project, and write the models that dbt then builds alone.

Writes models, seeds and lock files into the project; in the database only scratch tables, which are dropped.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from sqlanon.cli.files import (
    changes_since,
    known_lock,
    lock_of,
    no_cache,
    refuse_read,
    require_writable,
    write_lock,
    write_text,
)
from sqlanon.cli.settings import Settings, flags

if TYPE_CHECKING:
    from sqlanon.dbt.writing import WrittenModel
    from sqlanon.release.lock import Lock
    from sqlanon.release.lock_diff import Change

FOLDER = click.Path(path_type=Path, file_okay=False)


@click.command("dbt", short_help="Plan the releases of a dbt project; write their models.")
@click.option("--project", "folder", type=FOLDER, default=Path(), help="The folder of dbt_project.yml.")
@click.option("--select", "selected", multiple=True, help="A model to write. Default: every release of the project.")
@click.option("--target", help="The target of the profile. Default: the profile's own.")
@click.option("--profile", help="The profile. Default: the project's own.")
@click.option("--profiles-dir", "profiles", type=FOLDER, help="The folder of profiles.yml. Default: where dbt looks.")
@click.option("--vars", "variables", help="Variables of the project, as dbt takes them: '{name: value}'.")
@click.option("--connection", help="The database as a URL, instead of the profile's.")
@click.option(
    "--parse/--no-parse",
    default=None,
    help="Run `dbt parse` first in any case, or never. Default: unless the manifest is that of the project as it is.",
)
@click.option("--dbt", "executable", default="dbt", help="The dbt command. Default: dbt.")
@click.option("--fresh", is_flag=True, help="Ask the database everything again, even what the cache knows.")
@no_cache
@click.option("--dry-run", is_flag=True, help="Write nothing; say which files would change.")
@click.option("--check", is_flag=True, help="Write nothing; exit with 1 when a file would change. For CI.")
@flags(values=True)
@click.pass_context
def command(
    context: click.Context,
    settings: Settings,
    folder: Path,
    selected: tuple[str, ...],
    target: str | None,
    profile: str | None,
    profiles: Path | None,
    variables: str | None,
    connection: str | None,
    parse: bool | None,
    executable: str,
    fresh: bool,
    no_cache: bool,
    dry_run: bool,
    check: bool,
) -> None:
    """Plan the releases of a dbt project, and write them into it as models that dbt builds without sqlanon.

    A release is a model materialized as sqlanon_release, whose meta.sqlanon names its source and its requirement, and
    whose columns' meta.sqlanon give roles and hierarchies. Its SQL is written, with the seeds of listed hierarchies
    and a lock file beside it; config() and comments of the model's file stay as they are. The source has to be built.
    """
    from sqlanon.dbt.manifest import spec_of
    from sqlanon.dbt.project import Invocation, Project, connection_of
    from sqlanon.dbt.writing import lock_beside, require_in_dbt, write_model

    project = Project.at(folder)
    invocation = Invocation(executable, target, profile, profiles, variables)
    database = None if connection is not None else connection_of(project, invocation)
    manifest = project.manifest(invocation, database, parse=parse)
    url = connection or (database.url if database is not None else "")
    planned = []
    releases = [(node, spec_of(manifest, node, url, project.folder)) for node in manifest.releases(selected)]
    for _, spec in releases:
        require_in_dbt(spec)
    for node, spec in releases:
        lock = lock_beside(project.folder / node.path)
        if not (dry_run or check):
            require_writable(lock, lock=True)
        with settings.working() as options:
            known = known_lock(lock, fresh=fresh, cache=not no_cache)
            found = write_model(project, manifest, node, spec, options, known)
        planned.append(_Outcome.of(found))
        if not (dry_run or check):
            planned[-1].write(cache=not no_cache)
    _show(settings, planned, "would change" if dry_run or check else "written", manifest.adapter)
    if check and any(outcome.changed for outcome in planned):
        context.exit(1)


@dataclass(frozen=True)
class _Outcome:
    """A planned model, and what it changes in the project."""

    model: WrittenModel
    lock: Lock
    changed: tuple[Path, ...]
    """The files that are other than they stand, and those that go."""
    diff: list[Change] | None
    """What the lock file changes; None where there was none."""

    @classmethod
    def of(cls, found: WrittenModel) -> _Outcome:
        lock = lock_of(found.model, found.spec, found.plan, found.lock)
        texts = {**found.files, found.lock: lock.to_json()}
        changed = (*(path for path, text in texts.items() if _content(path) != text.encode()), *found.obsolete)
        return cls(found, lock, changed, changes_since(found.lock, lock))

    def write(self, *, cache: bool) -> None:
        for path in (*self.model.files, self.model.lock):
            refuse_read(path, self.model.spec, lock=True)
        for path, text in self.model.files.items():
            path.parent.mkdir(parents=True, exist_ok=True)
            write_text(path, text)
        for path in self.model.obsolete:
            path.unlink(missing_ok=True)
        write_lock(self.lock, self.model.lock, cache=cache)

    def to_dict(self) -> dict[str, Any]:
        from sqlanon.release.lock_diff import to_dict

        return {
            "model": self.model.name,
            **self.model.plan.to_dict(),
            "files": [*map(str, self.model.files)],
            "lock": str(self.model.lock),
            "changed": [*map(str, self.changed)],
            "diff": None if self.diff is None else to_dict(self.diff),
        }


def _content(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def _show(settings: Settings, planned: list[_Outcome], told: str, adapter: str) -> None:
    if settings.as_json:
        settings.emit({"models": [outcome.to_dict() for outcome in planned]})
        return
    from sqlanon.cli.views import changed, show_plan, spent
    from sqlanon.dbt.series import secret_given

    for outcome in planned:
        model = outcome.model
        paths = (*model.files, model.lock) if told == "written" else outcome.changed
        files = ", ".join(str(path) for path in paths) or "nothing"
        lines = [(told, files), *changed(outcome.diff), *secret_given(model.spec, adapter)]
        show_plan(settings.console, model.spec, model.plan, spent(model.plan.seconds), *lines)
