"""What SQLAlchemy's inspector knows of a database: columns and their families, which object a name means, leftovers.

Names are compared without regard to case: where two differ by nothing else, the release is refused rather than risked.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import sqlalchemy
from sqlalchemy.exc import CompileError, DBAPIError, NoSuchTableError, SAWarning, UnsupportedCompilationError
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlanon.engines import scratch
from sqlanon.engines.base import ColumnInfo
from sqlanon.engines.dialects import data_type, family
from sqlanon.engines.sqlalchemy.base import SQLAlchemyBase
from sqlanon.errors import SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import Table


def schema_of(table: Table) -> str | None:
    """The qualifier as SQLAlchemy wants it; None means the default schema."""
    return ".".join(table.schema) or None


def kind_of(engine: SQLAlchemyBase, table: Table) -> str | None:
    """'table', 'view' or None."""

    def look(inspector: sqlalchemy.Inspector) -> str | None:
        schema = schema_of(table)
        try:
            if not inspector.has_table(table.name, schema=schema):
                return None
            return "view" if _is_among(table.name, _views(inspector, schema)) else "table"
        except DBAPIError:
            # Of a schema that does not exist some databases say so as an error.
            return None

    return engine.inspected(f"look for {table}", look)


def _views(inspector: sqlalchemy.Inspector, schema: str | None) -> list[str]:
    names = list(inspector.get_view_names(schema=schema))
    if schema is None:
        try:
            names += inspector.get_temp_view_names()
        except NotImplementedError:
            # What SQLAlchemy raises where a dialect has no such thing.
            return names
    return names


def _is_among(name: str, names: Iterable[str]) -> bool:
    return name.lower() in {other.lower() for other in names}


def view_query(engine: SQLAlchemyBase, view: Table) -> exp.Query | None:
    """What a view reads; None for anything but a view. SourceError when its definition cannot be read."""

    def look(inspector: sqlalchemy.Inspector) -> str | None:
        schema = schema_of(view)
        spelled = [name for name in _views(inspector, schema) if name.lower() == view.name.lower()]
        try:
            # The database folds names where it reads them, not where it is asked for a definition.
            return inspector.get_view_definition(view.name if view.name in spelled else spelled[0], schema=schema)
        except (DBAPIError, NotImplementedError, NoSuchTableError):
            return None

    if kind_of(engine, view) != "view":
        return None
    try:
        text = engine.inspected(f"definition of {view}", look)
        definition = parse_one(text or "", dialect=engine.dialect)
    except SqlglotError:
        definition = None
    query = definition.expression if isinstance(definition, exp.Create) else definition
    if not isinstance(query, exp.Query):
        raise SourceError(f"the definition of view {view} cannot be read")
    return query


def identity(engine: SQLAlchemyBase, table: Table) -> tuple[str, str]:
    """Schema and name, folded."""
    schema = schema_of(table) or default_schema(engine)
    return schema.lower(), table.name.lower()


def default_schema(engine: SQLAlchemyBase) -> str:
    """The schema that a name without one lies in; empty where there are none."""
    return engine.inspected("default schema", lambda inspector: inspector.default_schema_name) or ""


def has_schema(engine: SQLAlchemyBase, schema: tuple[str, ...]) -> bool:
    """Whether a schema is there; where the database does not say, it counts as there."""

    def look(inspector: sqlalchemy.Inspector) -> bool:
        try:
            return not schema or inspector.has_schema(".".join(schema))
        except (DBAPIError, NotImplementedError):
            return True

    return engine.inspected("schema", look)


def columns_of(engine: SQLAlchemyBase, table: Table, unspelled: frozenset[Family]) -> tuple[ColumnInfo, ...]:
    """The columns of a table or view in their order."""

    def look(inspector: sqlalchemy.Inspector) -> list[tuple[str, str]]:
        with warnings.catch_warnings():
            # SQLAlchemy warns of types that it does not know.
            warnings.simplefilter("ignore", SAWarning)
            try:
                found = inspector.get_columns(table.name, schema=schema_of(table))
            except NoSuchTableError:
                return []
        return [(column["name"], _type_text(column["type"], inspector)) for column in found]

    described = engine.inspected(f"columns of {table}", look)
    if not described:
        raise SourceError(f"there is no table or view {table}")
    return tuple(_column(name, text, engine.dialect, unspelled) for name, text in described)


def _type_text(kind: Any, inspector: sqlalchemy.Inspector) -> str:
    """The type as the dialect spells it, without its collation: what a CAST can name."""
    if getattr(kind, "collation", None):
        kind = kind.copy()
        kind.collation = None
    try:
        return str(kind.compile(dialect=inspector.dialect))
    except (CompileError, UnsupportedCompilationError):
        return ""


def _column(name: str, text: str, dialect: str, unspelled: frozenset[Family]) -> ColumnInfo:
    if not text or text.upper() == "NULL":
        # On SQLite a column without a type holds what it is given, told apart by its text; elsewhere nobody knows it.
        return ColumnInfo(name, exp.DataType.build("text"), Family.TEXT if dialect == "sqlite" else Family.OTHER)
    kind = data_type(text, dialect)
    found = family(kind)
    return ColumnInfo(name, kind, Family.TEXT if found in unspelled else found)


def refuse_duplicates(names: Iterable[str]) -> None:
    """A query whose columns cannot be told apart by name is no source."""
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise SourceError(f"the source query has two columns named '{name}': give one of them another name")
        seen.add(name.lower())


def leftovers(engine: SQLAlchemyBase, schema: tuple[str, ...]) -> list[Table]:
    """Scratch objects whose run does not live in this process."""

    def look(inspector: sqlalchemy.Inspector) -> list[str]:
        place = ".".join(schema) or None
        try:
            return sorted({*inspector.get_table_names(schema=place), *inspector.get_view_names(schema=place)})
        except DBAPIError:
            return []

    names = engine.inspected("scratch objects", look)
    runs = {name: scratch.run_of(name) for name in names}
    return [Table((*schema, name)) for name, run in runs.items() if run is not None and not scratch.is_live(run)]
