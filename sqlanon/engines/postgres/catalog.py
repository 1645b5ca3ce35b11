"""PostgreSQL's catalog: settings of the session, types, which object a name means, its size, which runs are alive.

A run is alive while a session holds the advisory lock that its id stands for. Reads no data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

import psycopg
import sqlalchemy
from sqlglot import exp

from sqlanon.engines import scratch
from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.engines.dialects import data_type, family, fill, quoted_name
from sqlanon.engines.ledgers import OPEN_TO_OTHERS
from sqlanon.errors import SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import Query, Relation, Table, literal, named_tables

_LOCK_SPACE = 0x5371 << 48
"""The upper bits of every lock key of ours; the run id fills the lower 48."""

HASH_MEMORY = 262_144
"""Kilobytes that a hash table may take. Nothing is known of how many groups computed keys have, and of many PostgreSQL
fears that they do not fit: by its defaults, 8 MB, it sorts the whole table instead.
"""

TUPLE_COST = "0.01"
"""What a row that a worker hands over costs, a tenth of what PostgreSQL believes: by that it groups a table in one
process, because it expects as many groups of computed keys as a tenth of the rows.
"""

_SETTINGS = {
    "TimeZone": "UTC",
    "DateStyle": "ISO, YMD",
    "IntervalStyle": "postgres",
    "extra_float_digits": "1",
    "standard_conforming_strings": "on",
}

LONGEST_NAME = 63
"""Bytes of a name that PostgreSQL keeps, as it is built everywhere."""

_TEXT_TYPES = frozenset({"citext", "name", '"char"'})

_KINDS = {"r": "table", "p": "table", "f": "foreign table", "v": "view", "m": "view"}

_DATABASE = "select cast(current_database() as text)"

_OBJECT = """
select cast(c.oid as bigint), cast(c.relkind as text) from pg_class as c where c.oid = to_regclass(:name)
"""

_OF_THE_SYSTEM = """
select count(*) from pg_class as c
where c.oid = to_regclass(:name) and c.relnamespace = to_regnamespace('pg_catalog')
"""

_COMMENTS = """
select a.attname, col_description(a.attrelid, a.attnum) from pg_attribute as a
where a.attrelid = to_regclass(:name) and a.attnum > 0 and not a.attisdropped
    and col_description(a.attrelid, a.attnum) is not null
order by a.attnum
"""

_HERE = "select current_schema()"

_SCHEMA = "select count(*) from pg_namespace where nspname = coalesce(:schema, current_schema())"

_VERSION = "select current_setting('server_version')"

_SCRATCH = """
select c.relname from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where n.nspname = coalesce(:schema, current_schema()) and c.relkind in ('r', 'p', 'v', 'm')
    and starts_with(c.relname, 'sqlanon_') and pg_has_role(c.relowner, 'USAGE')
order by c.relname
"""

_LOCKS = """
select cast(l.classid as bigint), cast(l.objid as bigint) from pg_locks as l
join pg_database as d on d.oid = l.database
where l.locktype = 'advisory' and l.objsubid = 1 and l.granted and d.datname = current_database()
"""

_LOCK = "select pg_advisory_lock_shared(:key)"

_KIND_OF_TYPE = "(select cast(t.typtype as text) from pg_type as t where t.oid = :oid)"


class Described(NamedTuple):
    """A column of a result as the protocol describes it."""

    name: str
    type: int
    modifier: int


def driver_of(connection: sqlalchemy.Connection) -> psycopg.Connection[Any]:
    """The psycopg connection underneath."""
    driver = connection.connection.driver_connection
    if not isinstance(driver, psycopg.Connection):
        raise TypeError("the PostgreSQL engine needs psycopg 3")
    return driver


def settings(statement_seconds: float | None) -> exp.Expression:
    """What every session is set to, in one statement."""
    milliseconds = 0 if statement_seconds is None else max(1, round(statement_seconds * 1000))
    chosen = {**_SETTINGS, "statement_timeout": str(milliseconds)}
    return exp.select(
        *(exp.func("set_config", literal(name), literal(value), exp.false()) for name, value in chosen.items())
    )


_GROUPING = """
select set_config(s.name, case s.name when 'parallel_tuple_cost' then :tuple_cost
        else cast(cast(:kilobytes as double precision) / cast(w.setting as bigint) as text) end, false)
from pg_settings as s join pg_settings as w on w.name = 'work_mem'
where (s.name = 'hash_mem_multiplier'
        and cast(s.setting as double precision) * cast(w.setting as bigint) < :kilobytes)
    or (s.name = 'parallel_tuple_cost' and s.source = 'default')
"""


def grouping() -> exp.Expression:
    """Lets hash tables take more than sorts may, and workers of the server group a table together.

    A session that allows hash tables more already keeps what it has, and so does one whose costs somebody has set. How
    much hash tables may take came with version 13; before it that is not set.
    """
    return fill(_GROUPING, "postgres", kilobytes=HASH_MEMORY, tuple_cost=TUPLE_COST)


_OTHER_JOINS = """
select set_config(s.name, case when :allowed = 1 then s.reset_val else 'off' end, false)
from pg_settings as s
where s.name in ('enable_nestloop', 'enable_mergejoin')
"""


def other_joins(allowed: bool) -> exp.Expression:
    """Whether joins may be made otherwise than by hashes, where these will do; allowed is as the session began."""
    return fill(_OTHER_JOINS, "postgres", allowed=int(allowed))


_TOLD_APART = """
select a.attname
from pg_attribute as a join pg_collation as l on l.oid = a.attcollation
where a.attrelid = to_regclass(:name) and a.attnum > 0 and not a.attisdropped and l.collisdeterministic
    and a.atttypid in (cast('text' as regtype), cast('varchar' as regtype))
"""


def open_to_others(engine: Engine, table: Table) -> bool:
    """Whether a table or a column of it was granted to anybody but its owner."""
    filled = fill(OPEN_TO_OTHERS, "postgres", name=quoted_name(table, "postgres"))
    [(number,)] = engine.query(Statement("rights", filled, fresh=True))
    return bool(number)


def told_apart(engine: Engine, relation: Relation) -> frozenset[str]:
    """The columns of a table or view that hold text of the server's own types in a deterministic collation."""
    if not isinstance(relation, Table):
        return frozenset()
    return frozenset(str(name) for (name,) in engine.ask_catalog(_TOLD_APART, name=quoted_name(relation, "postgres")))


def lock_of(run: str) -> exp.Expression:
    """Takes the lock that says the run is alive; the session holds it to its end."""
    return fill(_LOCK, "postgres", key=_LOCK_SPACE | int(run, 16))


def described(cursor: psycopg.Cursor[Any]) -> list[Described]:
    """The columns of the result that the cursor holds."""
    result = cursor.pgresult
    columns = cursor.description or ()
    return [
        Described(column.name, column.type_code, result.fmod(position) if result else -1)
        for position, column in enumerate(columns)
    ]


def columns_of(engine: Engine, found: Sequence[Described]) -> tuple[ColumnInfo, ...]:
    """The same columns with their types as the server writes them."""
    names = [column.name for column in found]
    for name in names:
        if names.count(name) > 1:
            raise SourceError(f"the source query has two columns named '{name}': give one of them another name")
    if not found:
        return ()
    texts = [exp.func("format_type", literal(column.type), literal(column.modifier)) for column in found]
    kinds = [fill(_KIND_OF_TYPE, "postgres", oid=column.type) for column in found]
    (row,) = engine.query(Statement("describe", exp.select(*texts, *kinds)))
    return tuple(
        _column(name, text, kind) for name, text, kind in zip(names, row[: len(found)], row[len(found) :], strict=True)
    )


def relation_kind(engine: Engine, table: Table) -> str | None:
    """'table', 'view', 'foreign table', 'other' for an index or a sequence, None for nothing."""
    found = _object(engine, table)
    return _KINDS.get(found[1], "other") if found else None


def identity(engine: Engine, table: Table) -> object:
    """The object's id; for a name that means nothing yet, the schema and name it would be created under."""
    found = _object(engine, table)
    return found[0] if found else (schema_of(engine, table), table.name)


def comments(engine: Engine, table: Table) -> dict[str, str]:
    """The comments of a table's columns."""
    rows = engine.ask_catalog(_COMMENTS, name=quoted_name(table, "postgres"))
    return {str(name): str(text) for name, text in rows}


def is_reserved(engine: Engine, table: Table) -> bool:
    """Whether a name lies in a schema of the system, also without saying so."""
    if table.schema:
        return table.schema[-1] == "information_schema" or table.schema[-1].startswith("pg_")
    name = quoted_name(table, "postgres")
    [(number,)] = engine.query(Statement("catalog", fill(_OF_THE_SYSTEM, "postgres", name=name)))
    return bool(number)


def schema_of(engine: Engine, table: Table) -> str:
    """The schema that a name is created in."""
    if table.schema:
        return table.schema[-1]
    ((schema,),) = engine.query(Statement("catalog", fill(_HERE, "postgres")))
    return str(schema)


def has_schema(engine: Engine, schema: tuple[str, ...]) -> bool:
    """Whether a schema is there; of the default one, whether the search path names any that is."""
    ((number,),) = engine.query(Statement("catalog", fill(_SCHEMA, "postgres", schema=schema[-1] if schema else None)))
    return bool(number)


def version(engine: Engine) -> str:
    """The version of the server."""
    ((text,),) = engine.query(Statement("session", fill(_VERSION, "postgres")))
    return str(text)


def leftovers(engine: Engine, schema: tuple[str, ...]) -> list[Table]:
    """Scratch objects of dead runs that this session may drop."""
    statement = Statement("leftovers", fill(_SCRATCH, "postgres", schema=schema[-1] if schema else None))
    names = [name for (name,) in engine.query(statement)]
    # Names first: a run takes its lock before it makes a table, so every name read belongs to a lock taken by now.
    alive = {(high << 32) | low for high, low in engine.query(Statement("leftovers", fill(_LOCKS, "postgres")))}
    return [
        Table((*schema, name))
        for name in names
        if (run := scratch.run_of(name)) is not None and (_LOCK_SPACE | int(run, 16)) not in alive
    ]


def _refuse_long(table: Table) -> None:
    """The server would cut a longer name off, and mean another object by it."""
    for part in table.parts:
        if len(part.encode()) > LONGEST_NAME:
            raise SourceError(
                f"the name '{part}' has {len(part.encode())} bytes; PostgreSQL allows {LONGEST_NAME}: use a shorter one"
            )


def _refuse_elsewhere(engine: Engine, table: Table) -> None:
    """A session sees one database."""
    if len(table.parts) > 2:
        ((here,),) = engine.query(Statement("catalog", fill(_DATABASE, "postgres")))
        if table.parts[0] != here:
            raise SourceError(f"{table} lies in another database than the connection, '{here}': leave its name out")


def _object(engine: Engine, table: Table) -> tuple[int, str] | None:
    _refuse_long(table)
    _refuse_elsewhere(engine, table)
    statement = Statement("catalog", fill(_OBJECT, "postgres", name=quoted_name(table, "postgres")))
    for identifier, kind in engine.query(statement):
        return identifier, kind
    return None


def _column(name: str, text: str, kind: str) -> ColumnInfo:
    type_ = data_type(text, "postgres")
    textual = kind == "e" or text.rpartition(".")[2] in _TEXT_TYPES
    return ColumnInfo(name, type_, Family.TEXT if textual else family(type_))


# A materialized view is stored itself; what it was made from is not read again.
_SIZE = """
with recursive below(parent, child) as (
    select w.ev_class, d.refobjid
    from pg_rewrite as w
    join pg_class as v on v.oid = w.ev_class and v.relkind = 'v'
    join pg_depend as d on d.objid = w.oid and d.classid = cast('pg_rewrite' as regclass)
        and d.refclassid = cast('pg_class' as regclass)
    union all
    select i.inhparent, i.inhrelid from pg_inherits as i
),
reached(id) as (
    select c.oid from pg_class as c where c.oid = to_regclass(:name)
    union
    select below.child from reached join below on below.parent = reached.id
)
select count(*), sum(case when c.relkind in ('r', 'p', 'm', 'v', 'S') then 0 else 1 end),
    cast(sum(case when c.relkind in ('r', 'm') then pg_table_size(c.oid) else 0 end) as bigint)
from reached join pg_class as c on c.oid = reached.id
"""


_REACHED = """
with recursive below(parent, child) as (
    select w.ev_class, d.refobjid
    from pg_rewrite as w
    join pg_depend as d on d.objid = w.oid and d.classid = cast('pg_rewrite' as regclass)
        and d.refclassid = cast('pg_class' as regclass)
    union all
    select i.inhparent, i.inhrelid from pg_inherits as i
),
reached(id) as (
    select c.oid from pg_class as c where c.oid = to_regclass(:name)
    union
    select below.child from reached join below on below.parent = reached.id
),
written(id) as (
    select c.oid from pg_class as c where c.oid = to_regclass(:written)
    union
    select i.inhrelid from written join pg_inherits as i on i.inhparent = written.id
)
select count(*) from reached join written on reached.id = written.id
"""


def reads(engine: Engine, table: Table, written: Table) -> bool:
    """Whether a table or view shows rows of another table: through views, partitions and inheritance."""
    names = {"name": quoted_name(table, "postgres"), "written": quoted_name(written, "postgres")}
    [(number,)] = engine.query(Statement("catalog", fill(_REACHED, "postgres", **names)))
    return bool(number)


_MADE_FUNCTIONS = """
with recursive below(parent, child) as (
    select w.ev_class, d.refobjid
    from pg_rewrite as w
    join pg_depend as d on d.objid = w.oid and d.classid = cast('pg_rewrite' as regclass)
        and d.refclassid = cast('pg_class' as regclass)
),
reached(id) as (
    select c.oid from pg_class as c where c.oid = to_regclass(:name)
    union
    select below.child from reached join below on below.parent = reached.id
),
made(id, called, body) as (
    select p.oid, p.proname,
        case when p.prokind in ('f', 'p') then lower(pg_get_functiondef(p.oid)) else '' end
    from pg_proc as p
    join pg_namespace as n on n.oid = p.pronamespace
    join pg_language as l on l.oid = p.prolang
    where n.nspname not in ('pg_catalog', 'information_schema') and l.lanname not in ('c', 'internal')
)
select
    (select count(*) from made where made.called = :function)
    + (
        select count(*)
        from reached
        join pg_rewrite as w on w.ev_class = reached.id
        join pg_depend as d on d.objid = w.oid and d.classid = cast('pg_rewrite' as regclass)
            and d.refclassid = cast('pg_proc' as regclass)
        join made on made.id = d.refobjid
    ),
    (select count(*) from made where made.body ~ :pattern)
"""


def may_read_by_function(engine: Engine, relation: str, function: str, written: Table) -> bool:
    """Whether a view, or a function of that name, calls a function that somebody has made, and one of those that there
    are names the table or runs texts: what a function reads the catalog does not know."""
    words = f"{re.escape(written.name.lower())}|execute"
    holes = {"name": relation, "function": function, "pattern": rf"(^|\W)({words})(\W|$)"}
    [(called, naming)] = engine.query(Statement("catalog", fill(_MADE_FUNCTIONS, "postgres", **holes)))
    return bool(called) and bool(naming)


def scan_bytes(engine: Engine, relation: Relation) -> int | None:
    """The size of the tables that are read; None where one of them lies elsewhere, or is not known.

    Views are followed to the tables under them, partitioned tables to their partitions.
    """
    match relation:
        case Table():
            sizes = [_table_bytes(engine, relation)]
        case Query(select=select):
            sizes = [_table_bytes(engine, table) for table in named_tables(select)]
        case _:
            return None
    known = [size for size in sizes if size is not None]
    return sum(known) if known and len(known) == len(sizes) else None


def _table_bytes(engine: Engine, table: Table) -> int | None:
    statement = Statement("size of source", fill(_SIZE, "postgres", name=quoted_name(table, "postgres")))
    [(found, elsewhere, size)] = engine.query(statement)
    return int(size) if found and not elsewhere else None
