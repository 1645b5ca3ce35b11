"""Writing a table to a csv or parquet file that appears complete or not at all.

DuckDB writes beside the target; the file takes its name only when it is on the disk.
"""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

from sqlanon.engines.base import Engine, Inspection, Statement
from sqlanon.errors import EngineError
from sqlanon.sql.relations import File, Table


def write_file(engine: Engine, step: str, table: Table, target: File, inspect: Inspection | None) -> None:
    """Write the whole table, have the file inspected, then let it take the target's place."""
    path = Path(target.path)
    folder = None
    try:
        folder = private_folder(engine, path)
        partial = replace(target, path=str(folder / f"written.{target.format}"))
        engine.execute(Statement(step, engine.traits.copy_to_file(table, partial)))
        if inspect is not None:
            inspect(partial)
        flush(Path(partial.path))
        Path(partial.path).replace(path)
        flush(path.parent)
    except OSError as error:
        raise EngineError(f"cannot write file '{path}': {error.strerror}") from None
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)


def private_folder(engine: Engine, path: Path) -> Path:
    """A new folder beside a file for what is not published yet: nobody else looks into it, no link leads out of it."""
    reclaim(path)
    folder = path.with_name(f".{path.name}.{engine.session.run}.{os.getpid()}.partial")
    folder.mkdir(mode=0o700)
    return folder


def reclaim(path: Path) -> None:
    """Remove what a process that is no more has left of this file."""
    form = re.compile(re.escape(f".{path.name}.") + r"\w+\.(?P<process>\d+)\.partial")
    for found in path.parent.iterdir():
        if (match := form.fullmatch(found.name)) and not _is_alive(int(match["process"])):
            linked = found.is_symlink() or not found.is_dir()
            found.unlink(missing_ok=True) if linked else shutil.rmtree(found)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def flush(path: Path) -> None:
    """Wait until a file, or the entry of a folder, is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
