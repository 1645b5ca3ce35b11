"""The files that commands write: lock files made from plans, drafts, exports; each whole or not at all.

Touches the file system only.
"""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

import click

from sqlanon.errors import UsageError

if TYPE_CHECKING:
    from sqlanon.release.lock import Deciding, Lock
    from sqlanon.release.lock_diff import Change
    from sqlanon.release.results import PlanResult
    from sqlanon.spec import Spec


def lock_of(spec_path: Path, spec: Deciding, plan: PlanResult, where: Path, recipient: str | None = None) -> Lock:
    """What a plan decided for a spec of one release, to be written at `where`."""
    from sqlanon.release.lock import Lock

    return Lock.of(spec, plan, Path(os.path.relpath(spec_path, where.parent)).as_posix(), recipient)


no_cache = click.option(
    "--no-cache", is_flag=True, help="Neither read nor write the cache of what the database said of each node."
)
"""Of every command that plans."""


def known_lock(path: Path, *, fresh: bool, cache: bool = True) -> Lock | None:
    """The lock file of an earlier plan, with its cache unless that is not wanted; None when there is none."""
    from sqlanon.release.lock import Lock

    if fresh or not path.is_file():
        return None
    try:
        return Lock.read(path, cache=cache)
    except UsageError:
        # What cannot be read is about to be replaced.
        return None


def changes_since(path: Path, lock: Lock) -> list[Change] | None:
    """What a lock changes against the file that stands in its place; None where none does that can be read."""
    from sqlanon.release.lock_diff import diff

    old = known_lock(path, fresh=False, cache=False)
    return None if old is None else diff(old, lock)


def require_writable(path: Path, spec: Spec | None = None, *, lock: bool = False) -> None:
    """Refuse a place where no file can be written, or where one stands that the spec reads, before any work is done.

    A lock file replaces a lock file, and nothing else, whatever its name.
    """
    folder = path.parent
    if not folder.is_dir():
        raise UsageError(f"{path}: there is no folder '{folder}'")
    if path.is_dir():
        raise UsageError(f"{path}: is a folder, not a file")
    if path.exists() and not path.is_file():
        raise UsageError(f"{path}: is no ordinary file; name another one")
    if not os.access(folder, os.W_OK):
        raise UsageError(f"{path}: the folder cannot be written to")
    if spec is not None:
        refuse_read(path, spec, lock=lock)
    if lock and path.exists() and not _is_lock(path):
        raise UsageError(f"{path}: exists and is no lock file; name another file, or remove it first")


def _is_lock(path: Path) -> bool:
    """Whether a file was once written as a lock file, whatever became of it since; so is one that is empty."""
    from sqlanon.release.lock import MARK

    return path.stat().st_size == 0 or MARK in path.read_text(encoding="utf-8", errors="replace")


def refuse_read(path: Path, spec: Spec, *, lock: bool = False) -> None:
    """Refuse a file that the spec names to be read or published; those under views are told with the database open."""
    from sqlanon.source.reads import file_reads, refuse_file

    refuse_file(None, list(file_reads(spec)), path, lock=lock)


def write_lock(lock: Lock, path: Path, *, cache: bool = True) -> None:
    """Write the lock file whole, and its cache unless that is not wanted."""
    try:
        lock.write(path, cache=cache)
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def write_text(path: Path, text: str, *, private: bool = False) -> None:
    """Write a small file whole or not at all; a private one only its owner can read."""
    with whole_file(path, private=private) as lines:
        lines.write(text)


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Iterator[TextIO]:
    """A text file that takes its name only when it is complete."""
    from sqlanon.engines import temporaries

    try:
        with temporaries.whole_file(path, private=private) as lines:
            yield lines
    except OSError as error:
        raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


LONGEST_NAME = 48
"""Bytes of a drafted name before its ending; PostgreSQL cuts names after 63."""


def listing_files(names: Iterable[str], out: Path) -> dict[str, Path]:
    """A csv file for each hierarchy that lists values; one that the replaced draft named is replaced with it."""
    from sqlanon.draft.vocabulary import normalized

    replaced = out.read_text(encoding="utf-8", errors="replace") if out.exists() else ""
    found: dict[str, Path] = {}
    for name in names:
        stem = f"{out.stem}_{normalized(name).replace(' ', '_') or 'column'}"[:LONGEST_NAME]
        for ending in ("", *(f"_{number}" for number in range(2, 1000))):
            path = out.with_name(f"{stem}{ending}.csv")
            if path not in found.values() and (not path.exists() or f"{{csv: {path.name}}}" in replaced):
                found[name] = path
                break
        else:
            raise UsageError(
                f"{out.with_name(stem)}.csv: exists already, as do the names after it; --out names another folder"
            )
    return found


def csv_text(rows: Iterable[Sequence[str]]) -> str:
    """Rows as a csv file holds them."""
    text = io.StringIO()
    csv.writer(text, delimiter=";", lineterminator="\n").writerows(rows)
    return text.getvalue()


def is_spec(path: Path) -> bool:
    """Whether a file is a spec, good or bad, or empty: drafts replace nothing else."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return not text.strip() or re.search(r"^(columns|source|recipients)[ \t]*:", text, re.MULTILINE) is not None
