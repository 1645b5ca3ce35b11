"""Any database that SQLAlchemy knows: what it can do is asked when the session begins, what it lacks is said at once.

Proven on SQLite and MariaDB. PostgreSQL, DuckDB and Spark have engines of their own, which know their databases better.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, ClassVar

import sqlalchemy
from sqlglot import exp

from sqlanon.engines.base import Capability, ColumnInfo, Inspection, Session, Statement
from sqlanon.engines.session import alone_in_process, require_transaction, transaction, undoing, undone_on_failure
from sqlanon.engines.sqlalchemy import catalog
from sqlanon.engines.sqlalchemy.base import SQLAlchemyBase
from sqlanon.engines.sqlalchemy.catalog import identity, kind_of, schema_of
from sqlanon.engines.sqlalchemy.probe import probe
from sqlanon.engines.sqlalchemy.traits import TRAITS
from sqlanon.errors import EngineError, SourceError, UsageError
from sqlanon.sql.build import create_table_as, drop_table, rename_table, subquery, swap_by_name
from sqlanon.sql.relations import File, Query, Relation, Table, column, identifier, literal, table_expression
from sqlanon.sql.traits import Traits


def replace(engine: SQLAlchemyEngine, staging: Table, target: Table, surviving: set[str]) -> None:
    """Let `staging` take the place of `target`. `surviving` are the names of its columns, folded.

    Indexes and comments of the old table are kept, as far as SQLAlchemy can tell them. Within a transaction where
    tables take part in them; else by renaming: the old table away, the new one in, and only then is the old one
    dropped.
    """
    kind = kind_of(engine, target)
    if kind == "view":
        raise EngineError(f"the target {target} is a view: drop it first or choose another target")
    if Capability.TRANSACTIONAL_DDL in engine.capabilities:
        kept = _keepsakes(engine, target, target, surviving) if kind else []
        if kind:
            _run(engine, swap_by_name(staging, target)[0])
        _move(engine, staging, target)
        _make_again(engine, target, kept)
    elif kind:
        _swap(engine, staging, target, surviving)
    else:
        _move(engine, staging, target)


def _swap(engine: SQLAlchemyEngine, staging: Table, target: Table, surviving: set[str]) -> None:
    """Everything that may fail comes first. Only while names are exchanged can nobody have a table under this name."""
    beside = target.beside(f"sqlanon_{engine.session.run}_moved")
    kept = _keepsakes(engine, target, beside, surviving)
    away = target.beside(f"sqlanon_{engine.session.run}_replaced")
    try:
        _move(engine, staging, beside)
        _make_again(engine, target, kept)
        engine.exchange(beside, target, away)
    except BaseException:
        with suppress(EngineError):
            _run(engine, drop_table(beside))
        raise
    with suppress(EngineError):
        _run(engine, drop_table(away))


def _move(engine: SQLAlchemyBase, table: Table, target: Table) -> None:
    if identity(engine, table)[0] == identity(engine, target)[0]:
        _run(engine, rename_table(table, target))
        return
    select = exp.select("*").from_(table_expression(table))
    _run(engine, create_table_as(target, select, engine.traits, scratch=False))
    _run(engine, drop_table(table))


def _keepsakes(engine: SQLAlchemyEngine, target: Table, onto: Table, surviving: set[str]) -> list[exp.Expression]:
    """Statements that give the table `onto` what the target has."""
    indexes, comment, column_comments = engine.inspected(f"what {target} has", lambda found: _read(found, target))
    kept: list[exp.Expression] = []
    for index in indexes:
        if not _is_plain(index):
            raise EngineError(
                f"cannot keep index {index['name']} of {target}, drop it first: it is not on columns alone"
            )
        if {str(name).lower() for name in index["column_names"]} <= surviving:
            kept.append(_index(index, onto))
    if comment:
        kept.append(engine.commented(onto, comment))
    for name, text in column_comments.items() if engine.comments_columns else ():
        if name.lower() in surviving:
            kept.append(exp.Comment(this=_column_of(onto, name), kind="COLUMN", expression=literal(text)))
    return kept


def _read(inspector: sqlalchemy.Inspector, target: Table) -> tuple[list[Any], str | None, dict[str, str]]:
    schema = schema_of(target)
    with warnings.catch_warnings(record=True) as unsaid:
        warnings.simplefilter("always")
        indexes = inspector.get_indexes(target.name, schema=schema)
    if unsaid:
        # SQLAlchemy warns of an index that it cannot describe and leaves it out.
        raise EngineError(f"{target} has an index on an expression, which would be lost: drop it first")
    try:
        comment = inspector.get_table_comment(target.name, schema=schema)["text"]
    except NotImplementedError:
        # The dialect knows no comments.
        comment = None
    columns = inspector.get_columns(target.name, schema=schema)
    own = [index for index in indexes if not index.get("duplicates_constraint")]
    return own, comment, {item["name"]: text for item in columns if (text := item.get("comment"))}


def _is_plain(index: Any) -> bool:
    """Without expressions and without a condition."""
    conditions = [value for option, value in index.get("dialect_options", {}).items() if option.endswith("_where")]
    return None not in index["column_names"] and not any(value is not None for value in conditions)


def _index(index: Any, table: Table) -> exp.Create:
    columns = [column(name) for name in index["column_names"]]
    made = exp.Index(
        this=identifier(index["name"]), table=table_expression(table), params=exp.IndexParameters(columns=columns)
    )
    return exp.Create(this=made, kind="INDEX", unique=bool(index["unique"]))


def _make_again(engine: SQLAlchemyBase, target: Table, kept: list[exp.Expression]) -> None:
    for statement in kept:
        try:
            _run(engine, statement)
        except EngineError as error:
            what = f"index {statement.this.name}" if isinstance(statement, exp.Create) else "the comments"
            message = f"cannot keep {what} of {target}, drop it before publishing: {error}"
            raise type(error)(message, detail=error.detail) from None


def _column_of(table: Table, name: str) -> exp.Column:
    parts = [identifier(part) for part in (*table.parts, name)]
    return exp.Column(**dict(zip(("this", "table", "db", "catalog"), reversed(parts), strict=False)))


def _run(engine: SQLAlchemyBase, expression: exp.Expression) -> None:
    engine.execute(Statement("replace", expression))


_STRICT = (
    "SET sql_mode = 'STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION,NO_UNSIGNED_SUBTRACTION,"
    "PIPES_AS_CONCAT'"
)
"""MySQL: what does not fit is an error, differences may be negative, two pipes join texts."""

_SETTINGS: dict[str, tuple[str, ...]] = {
    "postgres": ("SET TIME ZONE 'UTC'", "SET DATESTYLE = 'ISO, YMD'"),
    "mysql": ("SET time_zone = '+00:00'", _STRICT, "SET max_sort_length = 65536", "SET sort_buffer_size = 67108864"),
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
    comments_columns: ClassVar[bool] = True
    """A comment can be given to a column without repeating its type."""

    def __init__(self, session: Session, url: str, folder: Path) -> None:
        super().__init__(session, url, folder)
        self.made: list[exp.Drop] | None = None
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
        if self.made is not None and (drop := undoing(sql, self.dialect)) is not None:
            self.made.append(drop)
        return super()._execute(sql)

    # -- the rest of the contract --------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[None]:
        if Capability.TRANSACTIONAL_DDL in self.capabilities:
            return transaction(self)
        return undone_on_failure(self)

    def columns(self, relation: Relation) -> tuple[ColumnInfo, ...]:
        if isinstance(relation, File):
            raise SourceError(f"{self.name} does not read files: load '{relation}' into a table or use DuckDB")
        if isinstance(relation, Table):
            if self.relation_kind(relation) is None:
                raise SourceError(f"there is no table or view {relation}")
            return self.columns_of_table(relation)
        return self._columns_of_query(relation)

    def _columns_of_query(self, query: Query) -> tuple[ColumnInfo, ...]:
        """Drivers tell no types that are alike: an empty table made from the query does."""
        catalog.refuse_duplicates(self.names_of(_without_rows(query.select), query))
        table = Table((f"sqlanon_{self.session.run}_described",))
        empty = exp.select("*").from_(self.traits.relation(query, "source")).limit(0)
        self.create(Statement("describe", create_table_as(table, empty, self.traits, scratch=True)), table)
        try:
            return self.columns_of_table(table)
        finally:
            self.execute(Statement("describe", drop_table(table)))

    def columns_of_table(self, table: Table) -> tuple[ColumnInfo, ...]:
        """The columns of a table or view that is there."""
        return catalog.columns_of(self, table, self._unspelled)

    def relation_kind(self, table: Table) -> str | None:
        return catalog.kind_of(self, table)

    def has_schema(self, schema: tuple[str, ...]) -> bool:
        return catalog.has_schema(self, schema)

    def is_reserved(self, table: Table) -> bool:
        return super().is_reserved(table) or (self.dialect == "sqlite" and table.name.lower().startswith("sqlite_"))

    def same_object(self, left: Table, right: Table) -> bool:
        return catalog.identity(self, left) == catalog.identity(self, right)

    def replace(self, staging: Table, target: Table) -> None:
        require_transaction(self)
        replace(self, staging, target, {info.name.lower() for info in self.columns(staging)})

    def commented(self, table: Table, text: str) -> exp.Expression:
        """The statement that gives a table a comment."""
        return exp.Comment(this=table_expression(table), kind="TABLE", expression=literal(text))

    def exchange(self, table: Table, target: Table, away: Table) -> None:
        """Let a table take the target's name, and the target another: by two renames, undone where the second fails."""
        _run(self, rename_table(target, away))
        try:
            _run(self, rename_table(table, target))
        except BaseException:
            _run(self, rename_table(away, target))
            raise

    def view_query(self, view: Table) -> exp.Query | None:
        return catalog.view_query(self, view)

    def write_file(self, step: str, table: Table, target: File, inspect: Inspection | None = None) -> None:
        raise EngineError(f"step '{step}': {self.name} writes no files; name a table as the target of {table}")

    def leftovers(self, schema: tuple[str, ...]) -> list[Table]:
        """Where scratch tables are temporary and the rest is made within transactions, what others see is left over.

        Elsewhere nobody can tell whether the run that made a table is still alive: nothing is dropped.
        """
        certain = self.traits.temporary_scratch and Capability.TRANSACTIONAL_DDL in self.capabilities
        return catalog.leftovers(self, schema) if certain else []

    def files(self) -> list[str]:
        """SQLite's database is a file; others lie behind their server."""
        if self.dialect != "sqlite":
            return []
        lying = exp.select("file").from_("pragma_database_list").where("file <> ''")
        return [str(path) for (path,) in self.query(Statement("catalog", lying)) if path]

    def alone_with(self, target: Table, seconds: float) -> AbstractContextManager[None]:
        """Other runs of this process wait; a lock for all processes is nothing that every database has."""
        place = self.url.set(password=None).render_as_string()
        return alone_in_process(self, (place, *catalog.identity(self, target)), target, seconds)

    def version(self) -> str:
        found = self.inspected("version", lambda inspector: inspector.dialect.server_version_info)
        return ".".join(map(str, found)) if found else ""


def _without_rows(select: exp.Query) -> exp.Query:
    """The query without its rows, its columns under their own names."""
    if isinstance(select, exp.Select) and not select.args.get("limit"):
        return select.limit(0)
    return exp.select("*").from_(subquery(select.copy(), "source")).limit(0)
