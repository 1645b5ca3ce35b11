"""`sqlanon report`: a page about a plan or a release, for the people who decide on it.

Reads the lock file, the evidence and the source; writes the page, and in the database only scratch tables.
"""

from __future__ import annotations

import re
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import click

from sqlanon.cli.files import require_writable
from sqlanon.cli.settings import Settings, flags
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.release.lock import Lock
    from sqlanon.reports.gather import WhatIf
    from sqlanon.spec import Spec

FILE = click.Path(path_type=Path)
FORMATS = ("html", "md", "json", "pdf")
_OTHER_ENDINGS = (".htm", ".markdown", ".txt")
"""Names of pages beside those of the formats: a file of another name is none that a report may replace."""
_RUN = re.compile(r"[0-9a-f]{1,12}")


@click.command("report", short_help="Write a page about a plan or a release, to decide on it.")
@click.argument("what", metavar="LOCK|RUN")
@click.option("--out", type=FILE, help="Where to write it. Default: <spec>.report.html beside the lock file.")
@click.option("--format", "kind", type=click.Choice(FORMATS), help="Default: the ending of --out, else html.")
@click.option("--spec", type=FILE, help="The spec of RUN. Default: look in every *.evidence folder here.")
@click.option("--k", "ks", help="The k of the privacy-utility frontier, as 2,5,10. Default: around the spec's.")
@click.option("--limit", "limits", help="Its suppression limits, as 0,1%,5%. Default: the spec's.")
@click.option("--no-what-if", is_flag=True, help="Leave the frontier out.")
@click.option("--offline", is_flag=True, help="Use no database: only the lock file and the evidence.")
@click.option("--force", is_flag=True, help="Replace a file that is no older report.")
@flags()
def command(
    settings: Settings,
    what: str,
    out: Path | None,
    kind: str | None,
    spec: Path | None,
    ks: str | None,
    limits: str | None,
    no_what_if: bool,
    offline: bool,
    force: bool,
) -> None:
    """Write one self-contained page: the decision, requirement against measurement, risks, hierarchies, the lattice,
    the frontier of privacy against utility, the search, the SQL, the evidence, and a glossary.

    The release is measured as it would be published from the source now. No value with fewer than k rows behind it
    enters the page.
    """
    from sqlanon.reports.charts import warm_up
    from sqlanon.reports.gather import gather
    from sqlanon.reports.offline import gather_offline
    from sqlanon.reports.writing import refuse_other, require_extra, write

    started = perf_counter()
    if no_what_if and (ks or limits):
        raise click.UsageError("--k and --limit ask for the frontier that --no-what-if leaves out")
    path, lock, loaded = _decided(what, spec)
    kind, out = _place(path, out, kind)
    require_writable(out, loaded)
    if out.exists() and out.suffix.lower() not in (f".{kind}", *_OTHER_ENDINGS):
        raise UsageError(f"{out}: exists and is no older report by its name; a {kind} report ends in .{kind}")
    if out.exists() and out.samefile(path):
        raise UsageError(f"{out}: is the lock file that is reported on; name another file")
    refuse_other(out, replace=force)
    require_extra(kind)
    if kind in ("html", "pdf"):
        warm_up()
    with settings.working(writes=[out]) as options:
        if offline:
            report = gather_offline(loaded, lock)
        else:
            report = gather(loaded, lock, options, None if no_what_if else _what_if(ks, limits))
    write(report, kind, out, replace=force)
    taken = perf_counter() - started
    if settings.as_json:
        settings.emit(
            {
                "report": str(out),
                "format": kind,
                "bytes": out.stat().st_size,
                "target": report.identity.target,
                "satisfied": report.satisfied,
                "notes": list(report.notes),
                "seconds": taken,
            }
        )
        return
    for note in report.notes:
        settings.note(note)
    settings.console.print(f"wrote {out}")


def _place(path: Path, out: Path | None, kind: str | None) -> tuple[str, Path]:
    from sqlanon.reports.writing import format_of

    kind = format_of(out, kind)
    name = path.name.removesuffix(".json").removesuffix(".lock")
    return kind, out or path.with_name(f"{name}.report.{kind}")


def _what_if(ks: str | None, limits: str | None) -> WhatIf:
    from sqlanon.cli.plan import parsed_k, parsed_limit
    from sqlanon.reports.gather import WhatIf

    return WhatIf(
        tuple(parsed_k(text) for text in ks.split(",")) if ks else (),
        tuple(parsed_limit(text) for text in limits.split(",")) if limits else (),
    )


def _decided(what: str, spec: Path | None) -> tuple[Path, Lock, Spec]:
    """The lock file that is reported on, and its spec of one release."""
    from sqlanon.api import spec_of
    from sqlanon.cli.recipients import chosen
    from sqlanon.release.lock import Lock
    from sqlanon.spec import load_spec

    path = Path(what)
    if path.suffix in (".yaml", ".yml"):
        raise UsageError(f"{path}: is a spec; name its lock file, which `sqlanon plan` writes")
    if _RUN.fullmatch(what) and not path.is_file():
        path = _lock_of_run(what, spec)
    elif spec is not None:
        raise UsageError("--spec goes with RUN; the lock file names its spec itself")
    lock = Lock.read(path)
    return path, lock, chosen(load_spec(spec_of(path, lock)), lock.recipient)


def _lock_of_run(run: str, spec: Path | None) -> Path:
    """The lock file that the run of an evidence published; UsageError where it decides something else by now."""
    from sqlanon.planning.operations import in_folder, one_of
    from sqlanon.release.lock import Lock, lock_path
    from sqlanon.spec import load_spec

    folders = sorted(Path().glob("*.evidence")) if spec is None else [load_spec(spec).evidence_folder]
    if not folders:
        raise UsageError("there is no *.evidence folder here; name the spec with --spec")
    found = one_of([item for folder in folders for item in in_folder(folder)], run)
    document = found.document
    home = spec
    if home is None:
        name = document["spec"]["file"]
        if name is None or found.in_folder is None:
            raise UsageError(f"the evidence of run {found.run} names no spec file; name it with --spec")
        home = found.in_folder.parent / name
    path = lock_path(home, document["recipient"])
    if not path.is_file():
        raise UsageError(f"{path}: is not there, and a report needs the lock file; `sqlanon plan` writes it")
    levels = {name: item["level"] for name, item in document["levels"].items()}
    if Lock.read(path).levels != levels:
        raise UsageError(
            f"the lock file {path} decides other levels than run {found.run} published; "
            f"`sqlanon evidence {found.run}` shows what is kept of that run"
        )
    return path
