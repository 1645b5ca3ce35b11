"""Writing a table to a csv or parquet file that appears complete or not at all.

DuckDB writes beside the target; the file takes its name only when it is on the disk.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import EngineError, SourceError
from sqlanon.sql.relations import File, Table


def write_file(engine: Engine, step: str, table: Table, target: File) -> None:
    """Write the whole table, then let the file take the target's place."""
    path = Path(target.path)
    partial = path.with_name(f".{path.name}.{engine.session.run}.{os.getpid()}.partial")
    try:
        reclaim(path)
        engine.execute(Statement(step, engine.traits.copy_to_file(table, File(str(partial), target.format))))
        flush(partial)
        partial.replace(path)
        flush(path.parent)
    except OSError as error:
        raise EngineError(f"cannot write file '{path}': {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def reclaim(path: Path) -> None:
    """Remove what a process that is no more has left of this file."""
    form = re.compile(re.escape(f".{path.name}.") + r"\w+\.(?P<process>\d+)\.partial")
    for found in path.parent.iterdir():
        if (match := form.fullmatch(found.name)) and not _is_alive(int(match["process"])):
            shutil.rmtree(found) if found.is_dir() else found.unlink(missing_ok=True)


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


def refuse_doubled_headers(file: File, headers: Sequence[object]) -> None:
    """SourceError when two columns of a file have one name but for case and space: an engine would rename one."""
    seen: dict[str, str] = {}
    for header in headers:
        name = " ".join(str(header or "").split())
        if name and name.casefold() in seen:
            raise SourceError(
                f"file '{file}' has the columns '{seen[name.casefold()]}' and '{name}', which differ in case or space "
                f"at most: give one of them another name"
            )
        seen[name.casefold()] = name
