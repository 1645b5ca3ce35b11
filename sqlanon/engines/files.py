"""Writing a table to a csv or parquet file that appears complete or not at all.

DuckDB writes into a private folder beside the target; the file takes its name only when it is on the disk.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from sqlanon.engines.base import Engine, Inspection, Statement
from sqlanon.engines.temporaries import private_folder
from sqlanon.errors import EngineError, SourceError
from sqlanon.sql.relations import File, Table


def write_file(engine: Engine, step: str, table: Table, target: File, inspect: Inspection | None) -> None:
    """Write the whole table, have the file inspected, then let it take the target's place."""
    path = Path(target.path)
    try:
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
