"""The privileges that a run on PostgreSQL needs, as statements for somebody who may grant them.

Reads the catalog: which schema a name means, who owns what exists.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.engines.grants import COMMENT, Needs
from sqlanon.engines.postgres.catalog import schema_of
from sqlanon.engines.templates import fill, quoted_name
from sqlanon.sql.relations import Table, identifier, table_expression

_OBJECT = """
select cast(n.nspname as text), cast(pg_get_userbyid(c.relowner) as text)
from pg_class as c join pg_namespace as n on n.oid = c.relnamespace
where c.oid = to_regclass(:name)
"""

_SCHEMA = "select count(*) from pg_namespace as n where n.nspname = :name"

_ROLE = "select count(*) from pg_roles as r where r.rolname = :name"

_DATABASE = "select current_database(), has_database_privilege('public', current_database(), 'CONNECT')"

_OWNER = "select format('%s %s OWNER TO %I', cast(:kind as text), cast(:name as text), cast(:role as text))"


class _Found(NamedTuple):
    """A table or view under its full name; who owns it, if it exists."""

    table: Table
    owner: str | None


def grants(engine: Engine, needs: Needs, role: str) -> list[str]:
    """The statements, in the order in which they are run."""
    reads = [_found(engine, table).table for table in needs.read if isinstance(table, Table)]
    target = _found(engine, needs.target) if isinstance(needs.target, Table) else None
    written = [] if target is None else [target.table.schema[-1]]
    scratch = needs.scratch[-1] if needs.scratch else schema_of(engine, Table(("scratch",)))
    makes = list(dict.fromkeys([*written, scratch]))
    lines = list(_notes(engine, role))
    statements = [*_schemas(engine, makes), *_connect(engine, role)]
    used = dict.fromkeys([*(table.schema[-1] for table in reads), *makes])
    statements += [_grant("USAGE", "SCHEMA", Table((schema,)), role) for schema in used]
    statements += [_grant("SELECT", "TABLE", table, role) for table in dict.fromkeys(reads)]
    statements += [_grant("CREATE", "SCHEMA", Table((schema,)), role) for schema in makes]
    statements += _ownership(engine, target, needs, role)
    for kept in needs.kept:
        there = _found(engine, kept)
        if there.owner not in (None, role):
            statements.append(_grant("SELECT, INSERT, DELETE", "TABLE", there.table, role))
    return lines + [f"{engine.traits.render(statement)};" for statement in statements]


def _found(engine: Engine, table: Table) -> _Found:
    statement = Statement("catalog", fill(_OBJECT, "postgres", name=quoted_name(table, "postgres")))
    for schema, owner in engine.query(statement):
        return _Found(Table((schema, table.name)), owner)
    return _Found(Table((schema_of(engine, table), table.name)), None)


def _notes(engine: Engine, role: str) -> Iterator[str]:
    [(there,)] = engine.query(Statement("catalog", fill(_ROLE, "postgres", name=role)))
    if not there:
        yield f"{COMMENT}There is no role {Table((role,))} yet: create it with LOGIN before you run this."


def _schemas(engine: Engine, names: list[str]) -> Iterator[exp.Expr]:
    for name in names:
        [(there,)] = engine.query(Statement("catalog", fill(_SCHEMA, "postgres", name=name)))
        if not there:
            yield exp.Create(this=table_expression(Table((name,))), kind="SCHEMA")


def _connect(engine: Engine, role: str) -> Iterator[exp.Expr]:
    """Everybody may connect unless somebody took that away."""
    [(database, everybody)] = engine.query(Statement("catalog", fill(_DATABASE, "postgres")))
    if not everybody:
        yield _grant("CONNECT", "DATABASE", Table((database,)), role)


def _ownership(engine: Engine, target: _Found | None, needs: Needs, role: str) -> Iterator[exp.Expr]:
    """Only its owner may replace a table."""
    if target is not None and target.owner not in (None, role):
        kind = "VIEW" if needs.as_view else "TABLE"
        named = {"kind": kind, "name": quoted_name(target.table, "postgres"), "role": role}
        [(rest,)] = engine.query(Statement("catalog", fill(_OWNER, "postgres", **named)))
        yield exp.Command(this="ALTER", expression=rest)


def _grant(privileges: str, kind: str, securable: Table, role: str) -> exp.Grant:
    return exp.Grant(
        privileges=[exp.GrantPrivilege(this=exp.var(privilege)) for privilege in privileges.split(", ")],
        kind=kind,
        securable=table_expression(securable),
        principals=[exp.GrantPrincipal(this=identifier(role))],
    )
