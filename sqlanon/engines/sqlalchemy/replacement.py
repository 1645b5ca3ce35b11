"""Putting a staging table in the target's place, with what SQLAlchemy can tell about the old one: indexes and comments.

Within a transaction where tables take part in them. Else by renaming: the old table away, the new one in, and only then
is the old one dropped.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import sqlalchemy
from sqlglot import exp

from sqlanon.engines.base import Capability, Statement
from sqlanon.engines.sqlalchemy.base import SQLAlchemyBase
from sqlanon.engines.sqlalchemy.catalog import identity, kind_of, schema_of
from sqlanon.errors import EngineError
from sqlanon.sql.build import create_table_as, drop_table, rename_table
from sqlanon.sql.relations import Table, column, identifier, literal, table_expression


def replace(engine: SQLAlchemyBase, staging: Table, target: Table, surviving: set[str]) -> None:
    """Let `staging` take the place of `target`. `surviving` are the names of its columns, folded."""
    kind = kind_of(engine, target)
    if kind == "view":
        raise EngineError(f"the target {target} is a view: drop it first or choose another target")
    if Capability.TRANSACTIONAL_DDL in engine.capabilities:
        kept = _keepsakes(engine, target, target, surviving) if kind else []
        if kind:
            _run(engine, exp.Drop(tables=[table_expression(target)], kind="TABLE"))
        _move(engine, staging, target)
        _make_again(engine, target, kept)
    elif kind:
        _swap(engine, staging, target, surviving)
    else:
        _move(engine, staging, target)


def _swap(engine: SQLAlchemyBase, staging: Table, target: Table, surviving: set[str]) -> None:
    """Everything that may fail comes first. Only between the two renames has nobody a table under this name."""
    beside = target.beside(f"sqlanon_{engine.session.run}_moved")
    kept = _keepsakes(engine, target, beside, surviving)
    away = target.beside(f"sqlanon_{engine.session.run}_replaced")
    try:
        _move(engine, staging, beside)
        _make_again(engine, target, kept)
        _run(engine, rename_table(target, away))
    except BaseException:
        with suppress(EngineError):
            _run(engine, drop_table(beside))
        raise
    try:
        _run(engine, rename_table(beside, target))
    except BaseException:
        _run(engine, rename_table(away, target))
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


def _keepsakes(engine: SQLAlchemyBase, target: Table, onto: Table, surviving: set[str]) -> list[exp.Expression]:
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
        kept.append(exp.Comment(this=table_expression(onto), kind="TABLE", expression=literal(comment)))
    for name, text in column_comments.items():
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
