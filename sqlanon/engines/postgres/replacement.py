"""The swap of a PostgreSQL table for its staging table, without losing what hangs on it.

The server itself writes, from its catalog, the statements that make grants, comments, constraints and indexes again;
they run as they come. What could not be made again is refused before anything is dropped. `KEEPSAKES` lists the queries
for them in the order in which they run. Each returns (statement, description) and has three holes: `:target` and
`:staging`, the ids of the old and the new table, and `:name`, the quoted name both have in turn.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.engines.dialects import fill, quoted_name
from sqlanon.engines.postgres.catalog import schema_of
from sqlanon.engines.session import require_transaction
from sqlanon.errors import EngineError, SourceError
from sqlanon.sql.build import swap_by_name
from sqlanon.sql.relations import Table, table_expression

OWNER: Final = """
select format('ALTER TABLE %s OWNER TO %I', cast(:name as text), pg_get_userbyid(t.relowner)), 'the owner'
from pg_class as t join pg_class as s on s.oid = :staging
where t.oid = :target and t.relowner <> s.relowner
"""

# Default privileges may have given the staging table grants that the target never had.
DEFAULT_GRANTS: Final = """
select distinct format('REVOKE ALL ON TABLE %s FROM %s', cast(:name as text),
        case when a.grantee = 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(a.grantee)) end), 'the grants'
from pg_class as s cross join lateral aclexplode(s.relacl) as a
where s.oid = :staging and a.grantee <> s.relowner
"""

TABLE_GRANTS: Final = """
select format('GRANT %s ON TABLE %s TO %s%s', a.privilege_type, cast(:name as text),
        case when a.grantee = 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(a.grantee)) end,
        case when a.is_grantable then ' WITH GRANT OPTION' else '' end), 'the grants'
from pg_class as t cross join lateral aclexplode(t.relacl) as a
where t.oid = :target and a.grantee <> t.relowner
order by 1
"""

COLUMN_GRANTS: Final = """
select format('GRANT %s (%I) ON TABLE %s TO %s%s', a.privilege_type, t.attname, cast(:name as text),
        case when a.grantee = 0 then 'PUBLIC' else quote_ident(pg_get_userbyid(a.grantee)) end,
        case when a.is_grantable then ' WITH GRANT OPTION' else '' end), 'the column grants'
from pg_attribute as t
join pg_attribute as s on s.attrelid = :staging and s.attname = t.attname and not s.attisdropped
cross join lateral aclexplode(t.attacl) as a
where t.attrelid = :target and t.attnum > 0 and not t.attisdropped
order by t.attnum, 1
"""

TABLE_COMMENT: Final = """
select format('COMMENT ON TABLE %s IS %L', cast(:name as text), obj_description(t.oid, 'pg_class')), 'the comment'
from pg_class as t
where t.oid = :target and obj_description(t.oid, 'pg_class') is not null
"""

COLUMN_COMMENTS: Final = """
select format('COMMENT ON COLUMN %s.%I IS %L', cast(:name as text), t.attname, col_description(t.attrelid, t.attnum)),
    'a column comment'
from pg_attribute as t
join pg_attribute as s on s.attrelid = :staging and s.attname = t.attname and not s.attisdropped
where t.attrelid = :target and t.attnum > 0 and not t.attisdropped
    and col_description(t.attrelid, t.attnum) is not null
order by t.attnum
"""

# A key needs its columns by name. What computes with values (check, foreign key, exclusion) needs their types as well.
CONSTRAINTS: Final = """
select format('ALTER TABLE %s ADD CONSTRAINT %I %s', cast(:name as text), k.conname, pg_get_constraintdef(k.oid)),
    format('constraint %I', k.conname)
from pg_constraint as k
where k.conrelid = :target and k.contype in ('p', 'u', 'x', 'c', 'f') and not exists (
    select 1
    from pg_depend as d join pg_attribute as t on t.attrelid = d.refobjid and t.attnum = d.refobjsubid
    left join pg_attribute as s on s.attrelid = :staging and s.attname = t.attname and not s.attisdropped
    where d.classid = cast('pg_constraint' as regclass) and d.objid = k.oid
        and d.refclassid = cast('pg_class' as regclass) and d.refobjid = :target and d.refobjsubid > 0
        and (s.attname is null or (k.contype not in ('p', 'u') and s.atttypid <> t.atttypid))
)
order by case when k.contype = 'p' then 0 else 1 end, k.conname
"""

INDEXES: Final = """
select pg_get_indexdef(i.indexrelid), format('index %I', x.relname)
from pg_index as i join pg_class as x on x.oid = i.indexrelid
where i.indrelid = :target
    and not exists (select 1 from pg_constraint as k where k.conindid = i.indexrelid and k.contype in ('p', 'u', 'x'))
    and not exists (
        select 1
        from pg_depend as d join pg_attribute as t on t.attrelid = d.refobjid and t.attnum = d.refobjsubid
        left join pg_attribute as s on s.attrelid = :staging and s.attname = t.attname and not s.attisdropped
        where d.classid = cast('pg_class' as regclass) and d.objid = i.indexrelid
            and d.refclassid = cast('pg_class' as regclass) and d.refobjid = :target and d.refobjsubid > 0
            and (s.attname is null
                or ((i.indexprs is not null or i.indpred is not null) and s.atttypid <> t.atttypid))
    )
order by x.relname
"""

KEEPSAKES: Final = (
    OWNER,
    DEFAULT_GRANTS,
    TABLE_GRANTS,
    COLUMN_GRANTS,
    TABLE_COMMENT,
    COLUMN_COMMENTS,
    CONSTRAINTS,
    INDEXES,
)


_FACTS = """
select cast(c.oid as bigint), cast(c.relkind as text), cast(c.relpersistence as text), cast(n.nspname as text),
    c.relrowsecurity or exists (select 1 from pg_policy as p where p.polrelid = c.oid),
    exists (select 1 from pg_trigger as t where t.tgrelid = c.oid and not t.tgisinternal),
    exists (select 1 from pg_inherits as i where i.inhrelid = c.oid or i.inhparent = c.oid),
    exists (select 1 from pg_constraint as f where f.confrelid = c.oid and f.conrelid <> c.oid and f.contype = 'f')
from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where c.oid = to_regclass(:name)
"""

_VIEWS = """
select distinct cast(cast(r.ev_class as regclass) as text)
from pg_depend as d join pg_rewrite as r on r.oid = d.objid
where d.classid = cast('pg_rewrite' as regclass) and d.refclassid = cast('pg_class' as regclass)
    and d.refobjid = :target and r.ev_class <> :target
order by 1
"""

_SET_SCHEMA = "select format('ALTER TABLE %s SET SCHEMA %I', cast(:staging as text), cast(:schema as text))"


class ReplacedTable(NamedTuple):
    """What decides whether a table can be replaced."""

    oid: int
    kind: str
    persistence: str
    schema: str
    row_security: bool
    triggers: bool
    inheritance: bool
    referenced: bool


def replace(engine: Engine, staging: Table, target: Table) -> None:
    """Drop `target`, give its name to `staging`, make again what hung on it."""
    require_transaction(engine)
    new = _facts(engine, staging)
    if new is None:
        raise SourceError(f"there is no table {staging}")
    old = _facts(engine, target)
    kept: list[tuple[str, str]] = []
    if old is not None:
        _refuse_what_would_be_lost(engine, old, target)
        kept = _keepsakes(engine, old, new, target)
        _run(engine, swap_by_name(staging, target)[0])
    _move(engine, new, staging, target)
    for text, description in kept:
        _make_again(engine, target, text, description)


def _facts(engine: Engine, table: Table) -> ReplacedTable | None:
    name = quoted_name(table, "postgres")
    for row in engine.query(Statement("replace", fill(_FACTS, "postgres", name=name))):
        return ReplacedTable(*row)
    return None


def _refuse_what_would_be_lost(engine: Engine, old: ReplacedTable, target: Table) -> None:
    if old.kind in ("v", "m"):
        raise EngineError(f"the target {target} is a view: drop it first or choose another target")
    if old.kind == "p" or old.inheritance:
        raise EngineError(f"the target {target} is partitioned or inherits, which a replacement cannot keep")
    if old.kind != "r":
        raise EngineError(f"the target {target} is not an ordinary table: choose another target")
    if old.row_security:
        raise EngineError(f"the target {target} has row-level security, which a replacement cannot keep")
    if old.triggers:
        raise EngineError(f"the target {target} has triggers, which a replacement cannot keep: drop them first")
    if old.referenced:
        raise EngineError(f"the target {target} is referenced by foreign keys, which a replacement cannot keep")
    views = engine.query(Statement("replace", fill(_VIEWS, "postgres", target=old.oid)))
    if views:
        count = "1 view depends" if len(views) == 1 else f"{len(views)} views depend"
        raise EngineError(f"{count} on the target {target}, the first is {views[0][0]}: drop them before publishing")


def _keepsakes(engine: Engine, old: ReplacedTable, new: ReplacedTable, target: Table) -> list[tuple[str, str]]:
    name = quoted_name(target, "postgres")
    found: list[tuple[str, str]] = []
    for template in KEEPSAKES:
        filled = fill(template, "postgres", target=old.oid, staging=new.oid, name=name)
        found.extend((text, description) for text, description in engine.query(Statement("replace", filled)))
    return found


def _move(engine: Engine, new: ReplacedTable, staging: Table, target: Table) -> None:
    if new.persistence == "u":
        # A table without write-ahead log is emptied after a crash: good for scratch, not for a release.
        logged = exp.AlterSet(option=exp.var("LOGGED"))
        _run(engine, exp.Alter(this=table_expression(staging), kind="TABLE", actions=[logged]))
    schema = schema_of(engine, target)
    moved = staging
    if schema != new.schema:
        moved = Table((schema, staging.name))
        name = quoted_name(staging, "postgres")
        ((text,),) = engine.query(Statement("replace", fill(_SET_SCHEMA, "postgres", staging=name, schema=schema)))
        _run(engine, _verbatim(text))
    _run(engine, swap_by_name(moved, target)[1])


def _make_again(engine: Engine, target: Table, text: str, description: str) -> None:
    try:
        _run(engine, _verbatim(text))
    except EngineError as error:
        message = f"cannot keep {description} of {target}, drop it before publishing: {error}"
        raise type(error)(message, detail=error.detail) from None


def _verbatim(text: str) -> exp.Command:
    verb, _, rest = text.partition(" ")
    return exp.Command(this=verb, expression=rest)


def _run(engine: Engine, expression: exp.Expression) -> None:
    engine.execute(Statement("replace", expression))
