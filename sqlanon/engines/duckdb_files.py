"""Writing a table to a csv or parquet file that appears complete or not at all.

DuckDB writes beside the target; the file takes its name only when it is on the disk.
"""

from __future__ import annotations

import os
from pathlib import Path

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import EngineError
from sqlanon.sqlgen.relations import File, Table


def write_file(engine: Engine, step: str, table: Table, target: File) -> None:
    """Write the whole table, then let the file take the target's place."""
    path = Path(target.path)
    partial = path.with_name(f".{path.name}.{engine.session.run}.{os.getpid()}.partial")
    try:
        engine.execute(Statement(step, engine.traits.copy_to_file(table, File(str(partial), target.format))))
        _flush(partial)
        partial.replace(path)
        _flush(path.parent)
    except OSError as error:
        raise EngineError(f"cannot write file '{path}': {error.strerror}") from None
    finally:
        partial.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
