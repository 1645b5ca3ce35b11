"""`sqlanon ledger`: the ledger of a series begun with a published table, shown, verified, made to forget.

Writes the ledger; `begin` also the lock file.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from sqlanon.cli.files import write_lock
from sqlanon.cli.settings import Settings, flags
from sqlanon.cli.words import counted, number
from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.planning.ledgers import LedgerState

ACTIONS = ("begin", "show", "verify", "forget", "expire")


@click.command("ledger", short_help="Begin, show or verify the ledger of a series; forget people.")
@click.argument("action", type=click.Choice(ACTIONS))
@click.argument("spec", type=click.Path(path_type=Path))
@click.argument("person", required=False)
@flags()
def command(settings: Settings, action: str, spec: Path, person: str | None) -> int:
    """Work with the ledger that a spec keeps.

    begin takes the published table up as the first release. show lists the releases. verify checks rights, digests,
    tracks and the published table; exit code 1 where something is wrong. forget PERSON takes one person out, by the
    key; - reads it from standard input. expire forgets those who are gone for longer than history.keep.
    """
    from sqlanon.planning import ledgers
    from sqlanon.spec import load_spec

    if (person is not None) != (action == "forget"):
        raise UsageError("forget takes SPEC and PERSON; the other actions take SPEC alone")
    loaded = load_spec(spec)
    if action == "begin":
        return _begin(settings, spec)
    with settings.working() as options:
        if action in ("show", "verify"):
            found = ledgers.show(loaded, options) if action == "show" else ledgers.verify(loaded, options)
            _tell(settings, found, action)
            return 1 if found.problems else 0
        if action == "expire":
            gone = ledgers.expire(loaded, options)
        else:
            named = sys.stdin.readline().rstrip("\n") if person == "-" else str(person)
            gone = ledgers.forget(loaded, named, options)
    if settings.as_json:
        settings.emit({"forgotten": gone})
    else:
        settings.console.print(f"forgotten  {counted(gone, 'person', 'people')}", highlight=False)
    return 0


def _begin(settings: Settings, path: Path) -> int:
    from sqlanon import pipeline
    from sqlanon.release.lock import Lock, lock_path
    from sqlanon.spec import load_spec

    loaded, where = load_spec(path), lock_path(path)
    if loaded.recipients:
        raise UsageError("ledger begin: a spec with recipients begins with its first run")
    if not where.is_file():
        raise UsageError(f"{where}: no lock file says how the table was generalized; without it the first run begins")
    lock = Lock.read(where)
    with settings.working(lock=where) as options:
        result, kept = pipeline.begin_ledger(loaded, lock, options)
    write_lock(kept, where)
    if settings.as_json:
        settings.emit({**result.to_dict(), "lock": str(where)})
        return 0
    from sqlanon.cli.views import show_release

    show_release(settings.console, result, ("lock", str(where)))
    return 0


def _tell(settings: Settings, found: LedgerState, action: str) -> None:
    if settings.as_json:
        settings.emit(found.to_dict())
        return
    from sqlanon.cli.console import facts, grid

    headings = ("release", "event", "target", "time", "rows", "new", "gone", "wait", "leave with", "smallest track")
    if action == "show":
        rows = [tuple(_cell(value) for value in event.values()) for event in found.timeline]
        settings.console.print(grid(headings, rows, right=(0, *range(4, 10))))
        return
    lines = [("ledger", found.ledger)]
    if found.people is not None:
        lines += [("people", number(found.people)), ("smallest track", number(found.smallest or 0))]
    lines += [("problem", text) for text in found.problems] or [("verdict", "in order")]
    settings.console.print(facts(lines))


def _cell(value: object) -> str:
    return number(value) if isinstance(value, int) else str(value)
