"""DuckDB's catalog: which object a name means, its size, what a run left behind, what a replaced table keeps.

Names fold case, as DuckDB does. Touches the engine only through its public members; sizes come from the catalog and the
file system, not from data.
"""

from __future__ import annotations

import re
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlanon.engines import scratch
from sqlanon.engines.base import Engine, Statement
from sqlanon.engines.dialects import fill, parsed, quoted_name
from sqlanon.engines.session import require_transaction
from sqlanon.errors import EngineError, SourceError
from sqlanon.sql.build import swap_by_name
from sqlanon.sql.relations import File, Query, Relation, Table, identifier, literal, named_tables, table_expression

_HERE = "select current_database(), current_schema()"

_OBJECTS = """
select database_name, schema_name, table_name, 'table' as kind from duckdb_tables()
where lower(table_name) = lower(:name)
union all
select database_name, schema_name, view_name, 'view' as kind from duckdb_views()
where lower(view_name) = lower(:name)
"""

_SCRATCH = """
select database_name, schema_name, table_name from duckdb_tables() where starts_with(table_name, 'sqlanon_')
union all
select database_name, schema_name, view_name from duckdb_views() where starts_with(view_name, 'sqlanon_')
order by 3
"""

_SCHEMAS = "select database_name, schema_name from duckdb_schemas()"

_TABLE_COMMENT = """
select comment from duckdb_tables()
where database_name = :database and schema_name = :schema and table_name = :name and comment is not null
"""

_COLUMN_COMMENTS = """
select column_name, comment from duckdb_columns()
where database_name = :database and schema_name = :schema and table_name = :name and comment is not null
order by column_index
"""

_INDEXES = """
select index_name, sql from duckdb_indexes()
where database_name = :database and schema_name = :schema and table_name = :name and sql is not null
order by index_name
"""

_ANYTHING = """
select (select count(*) from duckdb_tables() where not temporary and not internal)
    + (select count(*) from duckdb_views() where not temporary and not internal)
    + (select count(*) from duckdb_schemas() where not internal)
"""

_VIEW = """
select sql from duckdb_views()
where database_name = :database and schema_name = :schema and view_name = :name and not internal
"""


_MACROS = """
select macro_definition from duckdb_functions()
where not internal and lower(function_name) = lower(:name) and macro_definition is not null
"""

_EXTENSION = "select count(*) from duckdb_extensions() where extension_name = :name and (installed or loaded)"

_DATABASE_FILES = "select path from duckdb_databases() where path is not null"


class Located(NamedTuple):
    """An object of the catalog."""

    database: str
    schema: str
    name: str
    kind: str


def locate(engine: Engine, table: Table) -> Located | None:
    """The object that a name means, or None."""
    found = engine.ask_catalog(_OBJECTS, name=table.name)
    for place in _places(engine, table.schema):
        for row in found:
            if (row[0].lower(), row[1].lower()) == place:
                return Located(*row)
    return None


def identity(engine: Engine, table: Table) -> tuple[str, str, str]:
    """Database, schema and name, folded: of the object if there is one, else of what the name would create."""
    found = locate(engine, table)
    database, schema = (found.database, found.schema) if found else _places(engine, table.schema)[0]
    return database.lower(), schema.lower(), table.name.lower()


def has_schema(engine: Engine, schema: tuple[str, ...]) -> bool:
    """Whether a qualifier means a schema that is there."""
    # Folded here as everywhere in this room: not every letter has one small form, and DuckDB's is another.
    found = {(row[0].lower(), row[1].lower()) for row in engine.ask_catalog(_SCHEMAS)}
    return not found.isdisjoint(_places(engine, schema))


def is_empty(engine: Engine) -> bool:
    """Whether nobody has made anything in the database."""
    ((number,),) = engine.query(Statement("session", fill(_ANYTHING, "duckdb")))
    return int(number) == 0


def comments(engine: Engine, table: Table) -> dict[str, str]:
    """The comments of a table's columns."""
    found = locate(engine, table)
    if found is None:
        return {}
    place = {"database": found.database, "schema": found.schema, "name": found.name}
    return {str(name): str(text) for name, text in engine.ask_catalog(_COLUMN_COMMENTS, **place)}


def view_query(engine: Engine, view: Table) -> exp.Query | None:
    """What a view reads; None for anything else, and for a definition that only DuckDB understands."""
    found = locate(engine, view)
    if found is None or found.kind != "view":
        return None
    place = {"database": found.database, "schema": found.schema, "name": found.name}
    for (sql,) in engine.ask_catalog(_VIEW, **place):
        with suppress(SqlglotError):
            definition = parsed(sql, "duckdb")
            if isinstance(definition, exp.Create) and isinstance(definition.expression, exp.Query):
                return definition.expression
    return None


def macro_queries(engine: Engine, name: str) -> list[exp.Query]:
    """What the macros of that name read, of a table or of a value; SourceError for what only DuckDB understands."""
    found: list[exp.Query] = []
    for (sql,) in engine.ask_catalog(_MACROS, name=name):
        try:
            definition = parsed(sql, "duckdb")
        except SqlglotError:
            raise SourceError(f"the macro {name} is not understood") from None
        found.append(definition if isinstance(definition, exp.Query) else exp.select(definition))
    return found


def database_files(engine: Engine) -> list[str]:
    """The files of the databases that the session has open."""
    return [str(path) for (path,) in engine.ask_catalog(_DATABASE_FILES)]


def has_extension(engine: Engine, name: str) -> bool:
    """Whether an extension can be loaded without fetching it."""
    [(number,)] = engine.ask_catalog(_EXTENSION, name=name)
    return bool(number)


def leftovers(engine: Engine, schema: tuple[str, ...]) -> list[Table]:
    """Scratch objects in the schema whose run no longer lives in this process, the only one that can use the file."""
    places = _places(engine, schema)
    return [
        Table((*schema, name))
        for database, schema_name, name in engine.query(Statement("leftovers", fill(_SCRATCH, "duckdb")))
        if (database.lower(), schema_name.lower()) in places and _abandoned(name)
    ]


def replace(engine: Engine, staging: Table, target: Table) -> None:
    """Let `staging` take the place of `target`; comments and the indexes of surviving columns are made again."""
    require_transaction(engine)
    found = locate(engine, target)
    if found and found.kind == "view":
        raise EngineError(f"the target {target} is a view: drop it first or choose another target")
    surviving = {column.name.lower() for column in engine.columns(staging)}
    kept = _keepsakes(engine, found, target, surviving) if found else []
    drop, rename = swap_by_name(staging, target)
    if found:
        _run(engine, drop)
    _move(engine, staging, target, rename)
    for statement in kept:
        _make_again(engine, target, statement)


def _places(engine: Engine, schema: tuple[str, ...]) -> list[tuple[str, str]]:
    """The (database, schema) pairs that a qualifier can mean, the likeliest first."""
    ((database, current),) = engine.ask_catalog(_HERE)
    folded = tuple(part.lower() for part in schema)
    match folded:
        case ():
            return [(database.lower(), current.lower()), ("temp", "main")]
        case (only,):
            return [(database.lower(), only), (only, "main")]
        case _:
            return [(folded[-2], folded[-1])]


def _abandoned(name: str) -> bool:
    run = scratch.run_of(name)
    return run is not None and not scratch.is_live(run)


def _move(engine: Engine, staging: Table, target: Table, rename: exp.Alter) -> None:
    if identity(engine, staging)[:2] == identity(engine, target)[:2]:
        _run(engine, rename)
        return
    # DuckDB cannot move a table to another schema: the rows are copied within the transaction.
    select = exp.select("*").from_(table_expression(staging))
    _run(engine, exp.Create(this=table_expression(target), kind="TABLE", expression=select))
    _run(engine, exp.Drop(tables=[table_expression(staging)], kind="TABLE"))


def _keepsakes(engine: Engine, found: Located, target: Table, surviving: set[str]) -> list[exp.Expression]:
    place = {"database": found.database, "schema": found.schema, "name": found.name}
    kept: list[exp.Expression] = []
    for (comment,) in engine.query(Statement("replace", fill(_TABLE_COMMENT, "duckdb", **place))):
        kept.append(exp.Comment(this=table_expression(target), kind="TABLE", expression=literal(comment)))
    for name, comment in engine.query(Statement("replace", fill(_COLUMN_COMMENTS, "duckdb", **place))):
        if name.lower() in surviving:
            kept.append(exp.Comment(this=_column_of(target, name), kind="COLUMN", expression=literal(comment)))
    for _, sql in engine.query(Statement("replace", fill(_INDEXES, "duckdb", **place))):
        index = parsed(sql, "duckdb").copy()
        if {column.name.lower() for column in index.find_all(exp.Column)} <= surviving:
            index.this.set("table", table_expression(target))
            kept.append(index)
    return kept


def _make_again(engine: Engine, target: Table, statement: exp.Expression) -> None:
    try:
        _run(engine, statement)
    except EngineError as error:
        what = f"index {statement.this.name}" if isinstance(statement, exp.Create) else "the comments"
        message = f"cannot keep {what} of {target}, drop it before publishing: {error}"
        raise type(error)(message, detail=error.detail) from None


def _column_of(table: Table, name: str) -> exp.Column:
    parts = [identifier(part) for part in (*table.parts, name)]
    names = dict(zip(("this", "table", "db", "catalog"), reversed(parts), strict=False))
    return exp.Column(**names)


def _run(engine: Engine, expression: exp.Expression) -> None:
    engine.execute(Statement("replace", expression))


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
    """The size of what is read, blocks of tables or files; None where it lies elsewhere, or is not known."""
    match relation:
        case File():
            sizes = [_file_bytes(engine, path) for path in relation.patterns]
            known = [size for size in sizes if size is not None]
            return sum(known) if len(known) == len(sizes) else None
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
    found = locate(engine, table)
    if found is None:
        return None
    if found.kind == "view":
        query = view_query(engine, table)
        return None if query is None else _query_bytes(engine, query)
    name = quoted_name(Table((found.database, found.schema, found.name)), "duckdb")
    [(size,)] = engine.query(Statement("size of source", fill(_STORED, "duckdb", name=name)))
    return int(size)
