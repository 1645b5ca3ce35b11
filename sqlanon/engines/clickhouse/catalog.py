"""What ClickHouse's system tables say of tables, and the swap of a table for a new release.

Names are what they are, in upper and lower case. A release takes its target's place by EXCHANGE TABLES: readers see the
old one or the new one.
"""

from __future__ import annotations

import re
from contextlib import suppress
from typing import NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.expressions import DType

from sqlanon.engines import scratch
from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.engines.clickhouse.transport import bare_type
from sqlanon.engines.dialects import data_type, family, fill, quoted_name
from sqlanon.engines.session import require_transaction
from sqlanon.errors import EngineError, SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import create_table_as, drop_table
from sqlanon.sql.relations import File, Query, Relation, Table, identifier, literal, named_tables, table_expression

_OBJECT = """
select database, engine, as_select, engine_full, comment, total_bytes from system.tables
where database = coalesce(:schema, currentDatabase()) and name = :name
"""
_HERE = "select currentDatabase()"
_SCHEMA = "select count(*) from system.databases where name = :name"
_SCRATCH = """
select name from system.tables
where database = coalesce(:schema, currentDatabase()) and startsWith(name, 'sqlanon_') order by name
"""
_COMMENTS = """
select name, comment from system.columns
where database = coalesce(:schema, currentDatabase()) and table = :name and comment <> '' order by position
"""
_INDEXES = """
select name, expr, type_full, granularity from system.data_skipping_indices
where database = coalesce(:schema, currentDatabase()) and table = :name and toString(creation) = 'Explicit'
order by name
"""
_OTHERS = """
select count(*) from system.projections
where database = coalesce(:schema, currentDatabase()) and table = :name
"""

_TABLES = frozenset({"MergeTree", "SharedMergeTree", "Memory", "Log", "TinyLog", "StripeLog"})
"""Engines of tables that hold their rows themselves, without more words."""
_HOLDING = re.compile(
    r"(Replicated|Shared)?(Replacing|Summing|Aggregating|Collapsing|VersionedCollapsing|Graphite)?MergeTree"
)
_PLAIN = re.compile(r"(Shared)?MergeTree(\([^()]*\))? ORDER BY tuple\(\)( SETTINGS index_granularity = \d+)?")
_WIDER = frozenset({DType.UBIGINT, DType.INT128, DType.UINT128, DType.INT256, DType.UINT256})
"""Whole numbers that a signed one of 64 bits does not hold."""
_CAST_TO = {Family.INTEGER: "Int64", Family.DATE: "Date32", Family.TIMESTAMP: "DateTime64(6)"}
"""The widest type of a family, for casts."""
_ZONED = re.compile(r"DateTime(64)?\(.*'(?P<zone>[^']+)'\)")
_TEXTS = frozenset({DType.ENUM8, DType.ENUM16, DType.ENUM, DType.FIXEDSTRING})


class Located(NamedTuple):
    """An object of the catalog."""

    database: str
    engine: str
    query: str
    whole_engine: str
    comment: str
    bytes: int | None

    @property
    def kind(self) -> str:
        if self.engine == "View":
            return "view"
        return "table" if self.engine in _TABLES or _HOLDING.fullmatch(self.engine) else "other"


def _names(table: Table) -> dict[str, str | None]:
    return {"schema": table.schema[-1] if table.schema else None, "name": table.name}


def locate(engine: Engine, table: Table) -> Located | None:
    """The object that a name means, or None."""
    if len(table.schema) > 1:
        return None
    found = engine.ask_catalog(_OBJECT, **_names(table))
    return Located(*found[0]) if found else None


def default_schema(engine: Engine) -> str:
    [(name,)] = engine.ask_catalog(_HERE)
    return str(name)


def identity(engine: Engine, table: Table) -> tuple[str, ...]:
    """Database and name, as they are written."""
    return (*(table.schema or (default_schema(engine),)), table.name)


def has_schema(engine: Engine, schema: tuple[str, ...]) -> bool:
    """Whether a qualifier means a database that is there."""
    return not schema or (len(schema) == 1 and engine.ask_catalog(_SCHEMA, name=schema[0]) == [(1,)])


def view_query(engine: Engine, view: Table) -> exp.Query | None:
    """What a view reads; None for a table. SourceError for what reads others without saying so in a query."""
    found = locate(engine, view)
    if found is None or found.kind == "table":
        return None
    query = None
    if found.engine == "View":
        with suppress(SqlglotError):
            query = parse_one(found.query, dialect="clickhouse")
    if not isinstance(query, exp.Query):
        raise SourceError(f"the definition of view {view} cannot be read")
    return query


def columns_of(described: list[tuple[str, str]]) -> tuple[ColumnInfo, ...]:
    """Columns from their names and types as ClickHouse prints them."""
    return tuple(_column(name, text) for name, text in described)


def _column(name: str, text: str) -> ColumnInfo:
    text = bare_type(text)
    zone = _ZONED.fullmatch(text)
    kind = data_type(text, "clickhouse")
    found = family(kind)
    if zone is not None and zone["zone"] != "UTC":
        # Its clock is that of another place, which a cast would lose.
        found = Family.OTHER
    elif kind.this in _TEXTS:
        kind, found = exp.DataType.build("text"), Family.TEXT
    elif kind.this in _WIDER:
        # What is computed with them would wrap around without a word.
        found = Family.OTHER
    elif found in _CAST_TO and (kind.this is not DType.DATETIME64 or zone is not None):
        kind = exp.DataType.build(_CAST_TO[found], dialect="clickhouse")
    if found is not Family.OTHER:
        kind.set("nullable", True)
    return ColumnInfo(name, kind, found)


def scan_bytes(engine: Engine, relation: Relation) -> int | None:
    """The size of the tables that are read; None where it is not known."""
    match relation:
        case File():
            return None
        case Query(select=select):
            tables = list(named_tables(select))
            sizes = [scan_bytes(engine, table) for table in tables]
            known = [size for size in sizes if size is not None]
            return sum(known) if known and len(known) == len(sizes) else None
        case Table():
            found = locate(engine, relation)
            query = view_query(engine, relation) if found is not None and found.kind == "view" else None
            if query is not None:
                return scan_bytes(engine, Query(query))
            return None if found is None or found.bytes is None else int(found.bytes)


def leftovers(engine: Engine, schema: tuple[str, ...]) -> list[Table]:
    """Scratch objects of runs that no longer live in this process, the only one that can use the folder."""
    names = engine.ask_catalog(_SCRATCH, schema=schema[-1] if schema else None) if has_schema(engine, schema) else []
    runs = ((name, scratch.run_of(name)) for (name,) in names)
    return [Table((*schema, name)) for name, run in runs if run is not None and not scratch.is_live(run)]


# -- the swap ----------------------------------------------------------------------------------------------------------


def replace(engine: Engine, staging: Table, target: Table) -> None:
    """Let `staging` take the place of `target`; comments and skipping indexes of surviving columns are made again."""
    require_transaction(engine)
    found = locate(engine, target)
    if found is None:
        _move(engine, staging, target)
        return
    if found.kind == "view":
        raise EngineError(f"the target {target} is a view: drop it first or choose another target")
    _require_plain(engine, target, found)
    surviving = {column.name for column in engine.columns(staging)}
    fresh = staging
    if identity(engine, staging)[:-1] != identity(engine, target)[:-1]:
        fresh = target.beside(f"sqlanon_{engine.session.run}_moved")
        _copy(engine, staging, fresh)
    for what, statement in _keepsakes(engine, target, fresh, found, surviving):
        _make_again(engine, target, what, statement)
    both = f"{quoted_name(fresh, 'clickhouse')} AND {quoted_name(target, 'clickhouse')}"
    _run(engine, exp.Command(this="EXCHANGE TABLES", expression=both))
    # The release is in place: what cannot be dropped now is left over.
    for table in {fresh, staging}:
        with suppress(EngineError):
            _run(engine, drop_table(table))


def _require_plain(engine: Engine, target: Table, found: Located) -> None:
    [(projections,)] = engine.query(Statement("replace", _filled(_OTHERS, target)))
    if found.kind != "table" or projections or not _PLAIN.fullmatch(found.whole_engine):
        raise EngineError(
            f"the target {target} has a table engine, a sorting key, partitions, a TTL, projections or settings that a "
            f"release would lose: drop it first or choose another target"
        )


def _move(engine: Engine, staging: Table, target: Table) -> None:
    if identity(engine, staging)[:-1] == identity(engine, target)[:-1]:
        names = f"{quoted_name(staging, 'clickhouse')} TO {quoted_name(target, 'clickhouse')}"
        _run(engine, exp.Command(this="RENAME TABLE", expression=names))
        return
    # A table of another database is copied under a name that nobody reads, and then renamed: it appears whole.
    beside = target.beside(f"sqlanon_{engine.session.run}_moved")
    _copy(engine, staging, beside)
    _move(engine, beside, target)
    with suppress(EngineError):
        _run(engine, drop_table(staging))


def _copy(engine: Engine, table: Table, target: Table) -> None:
    select = exp.select("*").from_(table_expression(table))
    _run(engine, create_table_as(target, select, engine.traits, scratch=False))


def _keepsakes(
    engine: Engine, target: Table, onto: Table, found: Located, surviving: set[str]
) -> list[tuple[str, exp.Expr]]:
    """What the new table is given of the old one, each with its name for messages."""
    kept: list[tuple[str, str]] = []
    if found.comment:
        kept.append(("the comments", f"MODIFY COMMENT {_text(found.comment)}"))
    for name, comment in engine.query(Statement("replace", _filled(_COMMENTS, target))):
        if name in surviving:
            kept.append(("the comments", f"COMMENT COLUMN {_name(name)} {_text(comment)}"))
    for name, told, kind, granularity in engine.query(Statement("replace", _filled(_INDEXES, target))):
        used = {column.name for column in parse_one(f"tuple({told})", dialect="clickhouse").find_all(exp.Column)}
        if used <= surviving:
            index = f"index {name}"
            kept.append((index, f"ADD INDEX {_name(name)} ({told}) TYPE {kind} GRANULARITY {int(granularity)}"))
            kept.append((index, f"MATERIALIZE INDEX {_name(name)}"))
    return [
        (what, exp.Command(this="ALTER TABLE", expression=f"{quoted_name(onto, 'clickhouse')} {change}"))
        for what, change in kept
    ]


def _make_again(engine: Engine, target: Table, what: str, statement: exp.Expr) -> None:
    try:
        _run(engine, statement)
    except EngineError as error:
        message = f"cannot keep {what} of {target}, drop it before publishing: {error}"
        raise type(error)(message, detail=error.detail) from None


def _filled(template: str, table: Table) -> exp.Expr:
    return fill(template, "clickhouse", **_names(table))


def _name(name: str) -> str:
    return identifier(name).sql(dialect="clickhouse")


def _text(text: str) -> str:
    return literal(text).sql(dialect="clickhouse")


def _run(engine: Engine, expression: exp.Expr) -> None:
    engine.execute(Statement("replace", expression))
