"""PostgreSQL through SQLAlchemy and psycopg 3: one session of its own, outside any pool.

Statements are sent as they are rendered: no parameters, so that a percent sign or a colon means itself. The privileges
that a run needs are told as statements for somebody who may grant them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Any, ClassVar, NamedTuple, TypeVar

import psycopg
import sqlalchemy
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlglot import exp

from sqlanon.engines import scratch
from sqlanon.engines.base import COMMENT, Capability, ColumnInfo, Engine, Inspection, Needs, Row, Session, Statement
from sqlanon.engines.dialects import POSTGRES, fill, names_of_call, quoted_name
from sqlanon.engines.ledgers import closed_to_others
from sqlanon.engines.postgres import catalog as postgres_catalog
from sqlanon.engines.postgres import connection as postgres_locks
from sqlanon.engines.postgres import replacement as postgres_replace
from sqlanon.engines.postgres.catalog import schema_of
from sqlanon.engines.postgres.connection import connect, is_about_names, is_cancelled, told, translate
from sqlanon.engines.session import Runner, ran_too_long, transaction
from sqlanon.errors import ConnectionFailed, EngineError, SourceError
from sqlanon.sql.relations import File, Query, Relation, Table, identifier, table_expression

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
    """The statements, in the order in which they are run.

    Reads the catalog: which schema a name means, who owns what exists.
    """
    reads = [_found(engine, table).table for table in needs.read if isinstance(table, Table)]
    target = _found(engine, needs.target) if isinstance(needs.target, Table) else None
    written = [] if target is None else [target.table.schema[-1]]
    scratch = needs.scratch[-1] if needs.scratch else schema_of(engine, Table(("scratch",)))
    remembers = [] if needs.ledger is None else [_found(engine, needs.ledger).table.schema[-1]]
    makes = list(dict.fromkeys([*written, scratch, *remembers]))
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


Result = TypeVar("Result")

STOP_SECONDS = 5.0
"""How long the server may take to accept a request to stop a statement."""


class PostgresEngine(Engine):
    """One session of a PostgreSQL server."""

    name: ClassVar[str] = "postgresql"
    dialect: ClassVar[str] = "postgres"
    capabilities: ClassVar[frozenset[Capability]] = frozenset({Capability.TRANSACTIONAL_DDL, Capability.SERVER})
    traits = POSTGRES

    def __init__(self, session: Session, url: str) -> None:
        super().__init__(session)
        self._connect(url)
        try:
            self._set_up()
        except ConnectionFailed:
            # The server was told nothing yet but how to answer: a second session is as good as the first.
            self._connect(url)
            self._set_up()

    def _connect(self, url: str) -> None:
        self._connection: sqlalchemy.Connection = connect(url, f"sqlanon run={self.session.run}")
        self._driver: psycopg.Connection[Any] = postgres_catalog.driver_of(self._connection)
        self._runner = Runner(self._stop)
        self._cancelled = False

    def _set_up(self) -> None:
        try:
            self.query(Statement("session", postgres_catalog.settings(self.session.statement_seconds)))
            self.query(Statement("session", postgres_catalog.grouping()))
            if scratch.is_run(self.session.run):
                self.query(Statement("session", postgres_catalog.lock_of(self.session.run)))
        except BaseException:
            self.close()
            raise

    def _bound(self, seconds: float | None) -> None:
        super()._bound(seconds)
        self.query(Statement("session", postgres_catalog.settings(seconds)))

    @contextmanager
    def by_hashes(self) -> Iterator[None]:
        self.query(Statement("session", postgres_catalog.other_joins(False)))
        try:
            yield
        except BaseException:
            # A transaction that failed takes its settings back itself, and hears nothing until it is rolled back.
            with suppress(EngineError):
                self.query(Statement("session", postgres_catalog.other_joins(True)))
            raise
        self.query(Statement("session", postgres_catalog.other_joins(True)))

    # -- running statements ------------------------------------------------------------------------------------

    def _execute(self, sql: str) -> int:
        def action() -> int:
            with self._connection.exec_driver_sql(sql) as result:
                return result.rowcount

        return self._run(action)

    def _closed_to_others(self, table: Table) -> exp.Expr:
        # Statements that are sent together are one transaction: nobody sees the table before this has run.
        return closed_to_others(quoted_name(table, "postgres"))

    def _query(self, sql: str, limit: int) -> list[Row]:
        def action() -> list[Row]:
            with self._connection.exec_driver_sql(sql) as result:
                return [tuple(row) for row in result.fetchmany(limit)]

        return self._run(action)

    def _load(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
        into = exp.Schema(this=table_expression(table), expressions=[identifier(name) for name in columns])
        copy = exp.Copy(this=into, kind=True, files=[exp.var("STDIN")])
        sql = self.traits.render(copy, self.tag)

        def action() -> None:
            with self._driver.cursor() as cursor, cursor.copy(sql.encode()) as stream:
                for row in rows:
                    stream.write_row(row)

        self._run(action)

    def _run(self, action: Callable[[], Result]) -> Result:
        try:
            return self._run_bare(action)
        except psycopg.Error as error:
            raise self._translated(error) from None

    def _run_bare(self, action: Callable[[], Result]) -> Result:
        """Run on the statement thread; the errors that come out are psycopg's own."""
        self._cancelled = False
        try:
            return self._runner.run(action)
        except DBAPIError as error:
            if isinstance(error.orig, psycopg.Error):
                raise error.orig from None
            raise EngineError(f"step '{self.step}': the driver failed", detail=str(error)) from None
        except SQLAlchemyError as error:
            message = f"step '{self.step}': the connection to the server was lost"
            raise ConnectionFailed(message, detail=str(error)) from None

    def _translated(self, error: psycopg.Error) -> EngineError:
        if not is_cancelled(error):
            return translate(error, self.step)
        seconds = self.session.statement_seconds
        if seconds is None or self._cancelled:
            return EngineError(f"step '{self.step}' was cancelled", detail=str(error))
        return ran_too_long(self.step, seconds, str(error))

    # -- the rest of the contract --------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[None]:
        return transaction(self, "ISOLATION LEVEL REPEATABLE READ")

    def columns(self, relation: Relation) -> tuple[ColumnInfo, ...]:
        if isinstance(relation, File):
            raise SourceError(f"PostgreSQL does not read files: load '{relation}' into a table or use DuckDB")
        if isinstance(relation, Table) and self.relation_kind(relation) in (None, "other"):
            raise SourceError(f"there is no table or view {relation}")
        select = exp.select("*").from_(self.traits.relation(relation, "source")).limit(0)
        sql = self.render(Statement("describe", select))
        try:
            described = self._traced("describe", sql, lambda: self._run_bare(lambda: self._describe(sql)))
        except psycopg.Error as error:
            if is_about_names(error):
                raise SourceError(f"cannot read {relation}: {told(error)}") from None
            raise self._translated(error) from None
        return postgres_catalog.columns_of(self, described)

    def _describe(self, sql: str) -> list[postgres_catalog.Described]:
        with self._driver.cursor() as cursor:
            cursor.execute(sql.encode())
            return postgres_catalog.described(cursor)

    def relation_kind(self, table: Table) -> str | None:
        return postgres_catalog.relation_kind(self, table)

    def has_schema(self, schema: tuple[str, ...]) -> bool:
        return postgres_catalog.has_schema(self, schema)

    def is_reserved(self, table: Table) -> bool:
        return postgres_catalog.is_reserved(self, table)

    def same_object(self, left: Table, right: Table) -> bool:
        return postgres_catalog.identity(self, left) == postgres_catalog.identity(self, right)

    def replace(self, staging: Table, target: Table) -> None:
        postgres_replace.replace(self, staging, target)

    def reads(self, relation: Relation, table: Table) -> bool:
        """Follows views, partitions and inheritance as the catalog knows them; functions by what they may read."""
        if isinstance(relation, Table):
            name = quoted_name(relation, "postgres")
            if postgres_catalog.reads(self, relation, table) or postgres_catalog.may_read_by_function(
                self, name, "", table
            ):
                return True
        if isinstance(relation, Query):
            calls = relation.select.find_all(exp.Func)
            called = {name for node in calls for name in names_of_call(node, self.dialect)}
            if any(postgres_catalog.may_read_by_function(self, "", name, table) for name in sorted(called)):
                return True
        return super().reads(relation, table)

    def write_file(self, step: str, table: Table, target: File, inspect: Inspection | None = None) -> None:
        raise EngineError(f"step '{step}': PostgreSQL writes no files; name a table as the target of {table}")

    def leftovers(self, schema: tuple[str, ...]) -> list[Table]:
        return postgres_catalog.leftovers(self, schema)

    def alone_with(self, target: Table, seconds: float) -> AbstractContextManager[None]:
        return postgres_locks.alone_with(self, target, seconds)

    def open_to_others(self, table: Table) -> bool:
        return postgres_catalog.open_to_others(self, table)

    def told_apart(self, relation: Relation) -> frozenset[str]:
        return postgres_catalog.told_apart(self, relation)

    def comments(self, table: Table) -> dict[str, str]:
        return postgres_catalog.comments(self, table)

    def scan_bytes(self, relation: Relation) -> int | None:
        return postgres_catalog.scan_bytes(self, relation)

    def version(self) -> str:
        return postgres_catalog.version(self)

    def grants(self, needs: Needs, role: str) -> list[str]:
        return grants(self, needs, role)

    def cancel(self) -> None:
        self._cancelled = True
        self._stop()

    def _stop(self) -> None:
        with suppress(psycopg.Error):
            self._driver.cancel_safe(timeout=STOP_SECONDS)

    def close(self) -> None:
        """Ends the session: the server rolls back, and the lock that marks the run as alive goes with it."""
        self._runner.close()
        with suppress(SQLAlchemyError, psycopg.Error):
            self._connection.close()
        self._driver.close()
