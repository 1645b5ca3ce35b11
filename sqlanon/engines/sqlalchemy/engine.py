"""Any database that SQLAlchemy knows: what it can do is asked when the session begins, what it lacks is said at once.

Proven on SQLite. An engine of its own (`postgres`, `duckdb`, `spark`) knows its database better.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import ClassVar

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlanon.engines.base import Capability, ColumnInfo, Session, Statement
from sqlanon.engines.locks import alone_in_process
from sqlanon.engines.sqlalchemy import catalog
from sqlanon.engines.sqlalchemy.base import SQLAlchemyBase
from sqlanon.engines.sqlalchemy.probe import probe
from sqlanon.engines.sqlalchemy.replacement import replace
from sqlanon.engines.sqlalchemy.traits import TRAITS
from sqlanon.engines.transactions import require_transaction, transaction
from sqlanon.errors import EngineError, SourceError, UsageError
from sqlanon.sql.build import create_table_as, drop_table, drop_view, subquery
from sqlanon.sql.relations import File, Query, Relation, Table
from sqlanon.sql.traits import Traits

_SETTINGS: dict[str, tuple[str, ...]] = {
    "postgres": ("SET TIME ZONE 'UTC'", "SET DATESTYLE = 'ISO, YMD'"),
    "mysql": ("SET time_zone = '+00:00'", "SET sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO'"),
    "oracle": ("ALTER SESSION SET TIME_ZONE = 'UTC'", "ALTER SESSION SET NLS_DATE_FORMAT = 'YYYY-MM-DD'"),
    "snowflake": ("ALTER SESSION SET TIMEZONE = 'UTC'",),
}
"""By sqlglot's dialect: the session speaks UTC and ISO dates."""


class SQLAlchemyEngine(SQLAlchemyBase):
    """One session of a database that has no engine of its own."""

    name: ClassVar[str] = "sqlalchemy"
    dialect: ClassVar[str] = ""
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    traits = Traits("")

    def __init__(self, session: Session, url: str, folder: Path) -> None:
        super().__init__(session, url, folder)
        self._made: list[exp.Drop] | None = None
        try:
            self._set_up()
        except BaseException:
            self.close()
            raise

    def _set_up(self) -> None:
        backend = self.url.get_backend_name()
        vars(self)["name"] = backend
        known = TRAITS.get(backend)
        if known is None:
            raise UsageError(
                f"SQLAlchemy knows '{backend}', but sqlanon does not know how to write its SQL; "
                f"it can for {', '.join(sorted(TRAITS))}"
            )
        self.write_as(known)
        for setting in _SETTINGS.get(known.dialect, ()):
            verb, _, rest = setting.partition(" ")
            self.execute(Statement("session", exp.Command(this=verb, expression=rest)))
        abilities = probe(self, known)
        self._unspelled = abilities.unspelled
        found = {Capability.TRANSACTIONAL_DDL} if abilities.transactional else set()
        if backend != "sqlite":
            found.add(Capability.SERVER)
        vars(self)["capabilities"] = frozenset(found)

    def _execute(self, sql: str) -> int:
        if self._made is not None and (drop := undoing(sql, self.dialect)) is not None:
            self._made.append(drop)
        return super()._execute(sql)

    # -- the rest of the contract --------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[None]:
        if Capability.TRANSACTIONAL_DDL in self.capabilities:
            return transaction(self)
        return self._undone_on_failure()

    @contextmanager
    def _undone_on_failure(self) -> Iterator[None]:
        """Where tables take no part in transactions: what the block has created is dropped when it fails."""
        if self.in_transaction:
            raise RuntimeError("transactions do not nest")
        self.in_transaction, self._made = True, []
        try:
            yield
        except BaseException:
            made, self._made = self._made, None
            for drop in reversed(made):
                # The first error is the one to report.
                with suppress(EngineError):
                    self.execute(Statement("rollback", drop))
            raise
        finally:
            self.in_transaction, self._made = False, None

    def columns(self, relation: Relation) -> tuple[ColumnInfo, ...]:
        if isinstance(relation, File):
            raise SourceError(f"{self.name} does not read files: load '{relation}' into a table or use DuckDB")
        if isinstance(relation, Table):
            if self.relation_kind(relation) is None:
                raise SourceError(f"there is no table or view {relation}")
            return catalog.columns_of(self, relation, self._unspelled)
        return self._columns_of_query(relation)

    def _columns_of_query(self, query: Query) -> tuple[ColumnInfo, ...]:
        """Drivers tell no types that are alike: an empty table made from the query does."""
        catalog.refuse_duplicates(self.names_of(_without_rows(query.select), query))
        table = Table((f"sqlanon_{self.session.run}_described",))
        empty = exp.select("*").from_(self.traits.relation(query, "source")).limit(0)
        self.execute(Statement("describe", create_table_as(table, empty, self.traits, scratch=True)))
        try:
            return catalog.columns_of(self, table, self._unspelled)
        finally:
            self.execute(Statement("describe", drop_table(table)))

    def relation_kind(self, table: Table) -> str | None:
        return catalog.kind_of(self, table)

    def has_schema(self, schema: tuple[str, ...]) -> bool:
        return catalog.has_schema(self, schema)

    def same_object(self, left: Table, right: Table) -> bool:
        return catalog.identity(self, left) == catalog.identity(self, right)

    def replace(self, staging: Table, target: Table) -> None:
        require_transaction(self)
        replace(self, staging, target, {info.name.lower() for info in self.columns(staging)})

    def write_file(self, step: str, table: Table, target: File) -> None:
        raise EngineError(f"step '{step}': {self.name} writes no files; name a table as the target of {table}")

    def leftovers(self, schema: tuple[str, ...]) -> list[Table]:
        """Where scratch tables are temporary and the rest is made within transactions, what others see is left over.

        Elsewhere nobody can tell whether the run that made a table is still alive: nothing is dropped.
        """
        certain = self.traits.temporary_scratch and Capability.TRANSACTIONAL_DDL in self.capabilities
        return catalog.leftovers(self, schema) if certain else []

    def alone_with(self, target: Table, seconds: float) -> AbstractContextManager[None]:
        """Other runs of this process wait; a lock for all processes is nothing that every database has."""
        place = self.url.set(password=None).render_as_string()
        return alone_in_process(self, (place, *catalog.identity(self, target)), target, seconds)

    def version(self) -> str:
        found = self.inspected("version", lambda inspector: inspector.dialect.server_version_info)
        return ".".join(map(str, found)) if found else ""


def undoing(sql: str, dialect: str) -> exp.Drop | None:
    """What drops the table or view that a statement creates; None for one that may replace what was there.

    >>> undoing('CREATE TABLE "a b".t AS SELECT 1 AS x', "sqlite").sql("sqlite")
    'DROP TABLE IF EXISTS "a b"."t"'
    """
    if "CREATE " not in sql[:200].upper():
        return None
    try:
        statement = parse_one(sql, dialect=dialect)
    except SqlglotError:
        return None
    if not isinstance(statement, exp.Create) or statement.args.get("replace"):
        return None
    target = statement.this.find(exp.Table)
    if target is None or statement.args["kind"] not in ("TABLE", "VIEW"):
        return None
    table = Table(tuple(part.name for part in target.parts))
    return drop_view(table) if statement.args["kind"] == "VIEW" else drop_table(table)


def _without_rows(select: exp.Query) -> exp.Query:
    """The query without its rows, its columns under their own names."""
    if isinstance(select, exp.Select) and not select.args.get("limit"):
        return select.limit(0)
    return exp.select("*").from_(subquery(select.copy(), "source")).limit(0)
