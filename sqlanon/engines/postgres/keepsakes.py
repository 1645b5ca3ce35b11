"""Queries by which PostgreSQL writes the statements that make again what hung on a replaced table.

Each returns (statement, description) and has three holes: `:target` and `:staging`, the ids of the old and the new
table, and `:name`, the quoted name both have in turn. They run in this order.
"""

from __future__ import annotations

from typing import Final

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
