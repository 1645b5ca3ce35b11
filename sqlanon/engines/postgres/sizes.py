"""How many bytes a reading of a PostgreSQL relation takes, from the catalog alone.

Views are followed to the tables under them, partitioned tables to their partitions.
"""

from __future__ import annotations

from sqlanon.engines.base import Engine, Statement
from sqlanon.engines.templates import fill, quoted_name
from sqlanon.sql.relations import Query, Relation, Table, named_tables

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


def scan_bytes(engine: Engine, relation: Relation) -> int | None:
    """The size of the tables that are read; None where one of them lies elsewhere, or is not known."""
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
