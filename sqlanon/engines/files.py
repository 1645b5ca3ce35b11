"""Writing a table to a csv or parquet file that appears complete or not at all.

DuckDB writes into a private folder beside the target; the file takes its name only when it is on the disk.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlanon.engines.base import Engine, Statement
from sqlanon.engines.temporaries import private_folder
from sqlanon.errors import EngineError
from sqlanon.sql.relations import File, Table


def write_file(engine: Engine, step: str, table: Table, target: File) -> None:
    """Write the whole table, then let the file take the target's place."""
    path = Path(target.path)
    try:
        with private_folder(path) as folder:
            partial = folder / f"release{path.suffix}"
            engine.execute(Statement(step, engine.traits.copy_to_file(table, File(str(partial), target.format))))
            flush(partial)
            partial.replace(path)
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
