"""Files that appear complete or not at all, and temporary ones: for their owner alone, never through a link.

A name that stands already, also as a link, is left alone: another name is drawn. A table becomes a csv or parquet file
in a private folder beside the target, and takes its name only when it is on the disk.
"""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import tempfile
import threading
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TextIO

from sqlanon.engines.base import Engine, Inspection, Statement
from sqlanon.errors import EngineError, SourceError
from sqlanon.sql.relations import File, Table

OWNER_FILE = 0o600
OWNER_FOLDER = 0o700
_UNSEEN = ("Cc", "Cf")
"""Categories of characters that take no place."""
_LONGEST = 120
"""Bytes of a file's name that the name of its temporary repeats: a name has at most 255."""


@contextmanager
def whole_file(path: Path, *, private: bool = False) -> Iterator[TextIO]:
    """A text file that takes its name only when it is complete and on the disk; whatever stood there stands until then.

    While it is written only its owner can read it. Afterwards it has the rights of the file that it replaces, or those
    of any new file; a private one stays its owner's.
    """
    require_ordinary(path)
    mode = OWNER_FILE if private else mode_of(path)
    temporary, descriptor = _new_file(path)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as lines:
            yield lines
            lines.flush()
            os.fchmod(lines.fileno(), mode)
            os.fsync(lines.fileno())
        temporary.replace(path)
    finally:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def require_ordinary(path: Path) -> None:
    """OSError for a device, a pipe or a folder, which a file would take the place of."""
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "it is no ordinary file")


def write_whole(path: Path, text: str, *, private: bool = False) -> None:
    """Write a text file whole or not at all; OSError where that fails."""
    with whole_file(path, private=private) as lines:
        lines.write(text)


@contextmanager
def private_folder(path: Path) -> Iterator[Path]:
    """A folder beside a file, which nobody but its owner can look into; it is gone afterwards.

    What processes that are no more have left of such folders is removed first.
    """
    reclaim(path)
    folder = path.with_name(f".{_short(path)}.{secrets.token_hex(6)}.{os.getpid()}.partial")
    folder.mkdir(OWNER_FOLDER)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@dataclass
class _Shared:
    """A folder that several sessions use, and what removes it."""

    folder: Path
    stack: ExitStack
    sessions: int = 0


_spills: dict[Path, _Shared] = {}
_guard = threading.Lock()


@contextmanager
def spill_folder(database: Path | None) -> Iterator[Path]:
    """The private folder for what a database in this process moves out of memory; all its sessions share one.

    It lies beside the database; for one in memory, and where that place cannot be written to, elsewhere.
    """
    if database is None:
        with _private_anywhere(Path.cwd() / "memory") as folder:
            yield folder
        return
    with _guard:
        shared = _spills.get(database)
        if shared is None:
            stack = ExitStack()
            shared = _spills[database] = _Shared(stack.enter_context(_private_anywhere(database)), stack)
        shared.sessions += 1
    try:
        yield shared.folder
    finally:
        with _guard:
            shared.sessions -= 1
            if not shared.sessions:
                del _spills[database]
                shared.stack.close()


@contextmanager
def _private_anywhere(path: Path) -> Iterator[Path]:
    with ExitStack() as stack:
        try:
            folder = stack.enter_context(private_folder(path))
        except OSError:
            folder = stack.enter_context(private_folder(Path(tempfile.gettempdir()) / path.name))
        yield folder


@contextmanager
def owner_only(path: Path) -> Iterator[None]:
    """Let nobody but the owner read a file that was just made, until the block ends; after a crash that stays so."""
    mode = path.stat().st_mode & 0o777
    path.chmod(OWNER_FILE)
    try:
        yield
    finally:
        with suppress(OSError):
            path.chmod(mode)


def reclaim(path: Path) -> None:
    """Remove what a process that is no more has left of this file; what a link points to is left alone."""
    form = re.compile(re.escape(f".{_short(path)}.") + r"[0-9a-f]{12}\.(?P<process>[0-9]+)\.partial")
    for found in path.parent.iterdir():
        if (match := form.fullmatch(found.name)) and not is_alive(int(match["process"])):
            if found.is_dir() and not found.is_symlink():
                shutil.rmtree(found, ignore_errors=True)
            else:
                found.unlink(missing_ok=True)


def is_alive(process: int) -> bool:
    """Whether a process of this machine runs."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _new_file(path: Path) -> tuple[Path, int]:
    temporary = path.with_name(f".{_short(path)}.{secrets.token_hex(6)}.tmp")
    # Never an existing file, and never what a link points to.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    return temporary, os.open(temporary, flags, OWNER_FILE)


def _short(path: Path) -> str:
    return path.name.encode()[:_LONGEST].decode(errors="ignore")


def mode_of(path: Path) -> int:
    """The rights that a file will have: those it has, or those of a new one."""
    with suppress(OSError):
        return path.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def write_file(engine: Engine, step: str, table: Table, target: File, inspect: Inspection | None) -> None:
    """Write the whole table, have the file inspected, then let it take the target's place."""
    path = Path(target.path)
    try:
        require_ordinary(path)
        with private_folder(path) as folder:
            partial = replace(target, path=str(folder / f"release{path.suffix}"))
            engine.execute(Statement(step, engine.traits.copy_to_file(table, partial)))
            if inspect is not None:
                inspect(partial)
            flush(Path(partial.path))
            Path(partial.path).replace(path)
        flush(path.parent)
    except OSError as error:
        raise EngineError(f"cannot write file '{path}': {error.strerror}") from None


def flush(path: Path) -> None:
    """Wait until a file, or the entry of a folder, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def refuse_doubled_headers(file: File, headers: Sequence[object]) -> None:
    """SourceError when two columns of a file have names that nobody tells apart: an engine would rename one, or a spec
    would mean the other."""
    seen: dict[str, str] = {}
    for header in headers:
        name = " ".join(str(header or "").split())
        look = _look(name)
        if look and look in seen:
            raise SourceError(
                f"file '{file}' has the columns '{seen[look]}' and '{name}', which differ in case, space or invisible "
                f"characters at most: give one of them another name"
            )
        seen[look] = name


def _look(name: str) -> str:
    """A name as people read it: without case, accents composed, without what nothing is seen of.

    >>> _look("E\u0301tage") == _look("\u00c9TAGE"), _look("s\u200bsn")
    (True, 'ssn')
    """
    plain = unicodedata.normalize("NFKC", name).casefold()
    return unicodedata.normalize("NFKC", "".join(sign for sign in plain if unicodedata.category(sign) not in _UNSEEN))
