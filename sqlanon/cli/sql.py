"""`sqlanon sql`: the release as a commented SQL script, on stdout or as files in their order.

Publishes nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlanon.cli.files import write_text
from sqlanon.cli.recipients import chosen, recipient_option
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.release.lock import Lock
    from sqlanon.release.script import Script
    from sqlanon.spec import Spec


@click.command("sql", short_help="Print the release as a SQL script to review or run by hand.")
@click.argument("spec", metavar="SPEC|LOCK", type=click.Path(path_type=Path))
@click.option("--out", metavar="DIR", type=click.Path(path_type=Path), help="Write numbered .sql files to this folder.")
@click.option("--dialect", metavar="NAME", help="Write for another database than the spec's own, such as snowflake.")
@click.option("--force", is_flag=True, help="Replace files that exist.")
@click.option("--policies", is_flag=True, help="Print comments, grants and rules for the warehouse instead.")
@click.option("--readers", help="With --policies: the role that may read the release. Default: readers.")
@recipient_option("The recipient of the spec whose release to print; a lock file names its own.")
@flags(values=True)
def command(
    settings: Settings,
    spec: Path,
    out: Path | None,
    dialect: str | None,
    force: bool,
    policies: bool,
    readers: str | None,
    recipient: str | None,
) -> None:
    """Print the whole release as a commented SQL script: as a lock file decided, or, for a spec, as a search decides
    now. Running it with the database's own client publishes the same table, or stops and publishes nothing.

    With --policies, print what the warehouse itself can do beside it: comments with roles and levels, grants, rules.
    """
    from sqlanon import pipeline
    from sqlanon.api import spec_of
    from sqlanon.release.lock import Lock
    from sqlanon.release.script import scripting_named
    from sqlanon.spec import load_spec
    from sqlanon.spec.findings import require_honoured

    lock = Lock.read(spec) if spec.suffix == ".json" else None
    if lock is not None and recipient not in (None, lock.recipient):
        raise UsageError("--recipient goes with a spec; the lock file names its recipient itself")
    loaded = load_spec(spec if lock is None else spec_of(spec, lock))
    loaded = chosen(loaded, recipient if lock is None else lock.recipient)
    if policies:
        if out is not None:
            raise UsageError("--policies go to stdout; leave out --out")
        _print_policies(settings, loaded, lock, dialect, readers or "readers")
        return
    if readers is not None:
        raise UsageError("--readers goes with --policies")
    require_honoured(loaded, "script")
    if dialect is not None:
        scripting_named(dialect)
    if out is not None and not force:
        _refuse_files(out)
    with settings.working(writes=[] if out is None else sorted(out.glob("*.sql"))) as options:
        recoding = pipeline.plan(loaded, options).recoding if lock is None else lock.recoding_for(loaded)
        script = pipeline.scripted(loaded, recoding, options, dialect=dialect, lock=lock)
    if out is not None:
        _write(script, out, private=recoding.script_holds_values)
    if settings.as_json:
        settings.emit({"dialect": script.dialect, "files": dict(script.files), "sql": script.text})
    elif out is None:
        click.echo(script.text, nl=False)
    else:
        for name in script.files:
            settings.note(f"wrote {out / name}")
        if recoding.script_holds_values:
            settings.note("the script holds values of the source: only you can read its files, keep them so")


def _print_policies(settings: Settings, spec: Spec, lock: Lock | None, dialect: str | None, readers: str) -> None:
    from sqlanon import pipeline

    with settings.working() as options:
        text = pipeline.policies(spec, options, dialect=dialect, lock=lock, readers=readers)
    if settings.as_json:
        settings.emit({"policies": text})
    else:
        click.echo(text, nl=False)


def _refuse_files(folder: Path) -> None:
    for found in sorted(folder.glob("*.sql")):
        raise UsageError(f"{found}: exists already; --force replaces the files of a script")


def _write(script: Script, folder: Path, *, private: bool) -> None:
    for found in sorted(folder.glob("*.sql")):
        if found.name not in script.files:
            raise UsageError(f"{found}: is no file of this script, and would be run with it; name another folder")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{folder}: cannot be made a folder: {error.strerror}") from None
    for name, text in script.files.items():
        write_text(folder / name, text, private=private)
