"""How many bytes a reading of a DuckDB relation takes: the blocks of tables, the sizes of files.

Asks the catalog and the file system; reads no data.
"""

from __future__ import annotations

import re
from pathlib import Path

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.engines.duckdb import catalog as duckdb_catalog
from sqlanon.engines.templates import fill, quoted_name
from sqlanon.sql.relations import File, Query, Relation, Table, named_tables

_REMOTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")

_FILES = "select file from glob(:pattern)"

# Rows that were written since the last checkpoint lie in no block: eight bytes a value is a guess.
_STORED = """
select cast(count(distinct block_id) filter (where persistent and block_id >= 0) * any_value(s.block_size)
        + coalesce(sum(i.count) filter (where not persistent), 0) * 8 as bigint)
from pragma_storage_info(:name) as i,
    (select max(block_size) as block_size from pragma_database_size()) as s
"""


def scan_bytes(engine: Engine, relation: Relation) -> int | None:
    """The size of what is read; None where it lies elsewhere, or is not known."""
    match relation:
        case File():
            return _file_bytes(engine, relation.path)
        case Query(select=select):
            return _query_bytes(engine, select)
        case Table():
            return _table_bytes(engine, relation)


def _file_bytes(engine: Engine, path: str) -> int | None:
    if _REMOTE.match(path):
        return None
    found = [name for (name,) in engine.query(Statement("size of source", fill(_FILES, "duckdb", pattern=path)))]
    return sum(Path(name).stat().st_size for name in found) if found else None


def _query_bytes(engine: Engine, select: exp.Query) -> int | None:
    """A query that reads anything but tables by name (a file, a function) is not known."""
    if any(not table.name for table in select.find_all(exp.Table)):
        return None
    sizes = [_table_bytes(engine, table) for table in named_tables(select)]
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _table_bytes(engine: Engine, table: Table) -> int | None:
    found = duckdb_catalog.locate(engine, table)
    if found is None:
        return None
    if found.kind == "view":
        query = duckdb_catalog.view_query(engine, table)
        return None if query is None else _query_bytes(engine, query)
    name = quoted_name(Table((found.database, found.schema, found.name)), "duckdb")
    [(size,)] = engine.query(Statement("size of source", fill(_STORED, "duckdb", name=name)))
    return int(size)
