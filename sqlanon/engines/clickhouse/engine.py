"""Statements on ClickHouse: one session of a folder that chdb opens in this process, or of a server.

There are no transactions: what a block creates is dropped when the block fails, and a release takes its target's place
by EXCHANGE TABLES: readers see the old one or the new one. Names are what they are, in upper and lower case.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar, NamedTuple

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.expressions import DType

from sqlanon.engines import scratch
from sqlanon.engines.base import ROW_LIMIT, Capability, ColumnInfo, Engine, Inspection, Row, Session, Statement
from sqlanon.engines.clickhouse.traits import CLICKHOUSE, SETTINGS
from sqlanon.engines.clickhouse.transport import (
    ABOUT_NAMES,
    ALIAS_OF,
    NAMED_TWICE,
    Embedded,
    Lost,
    Refused,
    Reply,
    Server,
    Transport,
    bare_type,
    rows_of,
    translate,
    words_of,
)
from sqlanon.engines.dialects import data_type, family, fill, quoted_name
from sqlanon.engines.session import (
    Runner,
    TimeLimitReached,
    alone_in_process,
    ran_too_long,
    require_transaction,
    undoing,
    undone_on_failure,
)
from sqlanon.errors import ConnectionFailed, EngineError, SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import create_table_as, drop_table
from sqlanon.sql.relations import File, Query, Relation, Table, identifier, literal, named_tables, table_expression

BATCH = 10_000
"""Rows of a hierarchy definition that are sent at once."""

_MANY = 1_000_000_000
_OF_SESSIONS: dict[str, str | int] = {
    **SETTINGS,
    "session_timezone": "UTC",
    # Types are those of other databases: they may be NULL, also where a cast does not say so.
    "data_type_default_nullable": 1,
    "cast_keep_nullable": 1,
    "union_default_mode": "DISTINCT",
    # What is dropped or changed is so when the statement ends.
    "database_atomic_wait_for_drop_and_detach_synchronously": 1,
    "mutations_sync": 2,
    # A reader of a view needs no right to what it reads.
    "default_normal_view_sql_security": "DEFINER",
    # Statements of wide specs are long.
    "max_query_size": _MANY,
    "max_ast_elements": _MANY,
    "max_expanded_ast_elements": _MANY,
    "max_ast_depth": 100_000,
    "max_parser_depth": 100_000,
    "max_parser_backtracks": _MANY,
    # Every statement is another: none is worth compiling.
    "compile_expressions": 0,
    "compile_aggregate_expressions": 0,
    "compile_sort_description": 0,
    # What is inserted is there when the statement ends.
    "async_insert": 0,
    # How values are written in answers.
    "date_time_output_format": "simple",
    "output_format_decimal_trailing_zeros": 0,
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_quote_decimals": 1,
    "output_format_json_quote_denormals": 1,
}

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


class ClickHouseEngine(Engine):
    """One session."""

    name: ClassVar[str] = "clickhouse"
    dialect: ClassVar[str] = "clickhouse"
    capabilities: ClassVar[frozenset[Capability]] = frozenset()
    traits = CLICKHOUSE

    def __init__(self, session: Session, scheme: str, url: str, rest: str, folder: Path) -> None:
        super().__init__(session)
        self._closed = False
        self.made: list[exp.Drop] | None = None
        """What the block that is under way has created; None outside of one."""
        opened: Embedded | Server = (
            Embedded(rest, folder, _OF_SESSIONS) if scheme == "chdb" else Server(url, _OF_SESSIONS)
        )
        self.lasting = opened.lasting
        self._transport: Transport = opened
        if not opened.alone:
            # Capabilities belong to the class of an engine; a server has one more than a folder.
            vars(self)["capabilities"] = frozenset({Capability.SERVER})
        self._runner = Runner(self._transport.stop)
        scratch.enter(session.run)

    # -- running statements ------------------------------------------------------------------------------------

    def _execute(self, sql: str) -> int:
        if self.made is not None and (drop := undoing(sql, self.dialect)) is not None:
            self.made.append(drop)
        return self._run(partial(self._transport.ask, sql)).written or -1

    def _query(self, sql: str, limit: int) -> list[Row]:
        return rows_of(self._run(partial(self._transport.ask, sql)), limit)

    def _load(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
        names = ", ".join(identifier(name).sql(dialect=self.dialect) for name in columns)
        insert = (
            f"/* {self.tag} */ INSERT INTO {quoted_name(table, self.dialect)} ({names}) FORMAT JSONCompactEachRow\n"
        )
        remaining = iter(rows)
        while batch := list(islice(remaining, BATCH)):
            lines = "\n".join(json.dumps(list(row), ensure_ascii=False) for row in batch)
            self._run(partial(self._transport.ask, f"{insert}{lines}\n"))

    def _run(self, action: Callable[[], Reply]) -> Reply:
        seconds = self.session.statement_seconds
        try:
            return self._runner.run(action, seconds)
        except TimeLimitReached:
            raise ran_too_long(self.step, seconds) from None
        except Refused as error:
            raise translate(error, self.step) from None
        except Lost as error:
            lost = f"step '{self.step}': the connection to the database was lost"
            raise ConnectionFailed(lost, detail=str(error)) from None

    # -- the rest of the contract --------------------------------------------------------------------------------

    def transaction(self) -> AbstractContextManager[None]:
        return undone_on_failure(self)

    def columns(self, relation: Relation) -> tuple[ColumnInfo, ...]:
        if isinstance(relation, File):
            raise SourceError(f"{self.name} does not read files: load '{relation}' into a table or use DuckDB")
        if isinstance(relation, Table) and self.relation_kind(relation) is None:
            raise SourceError(f"there is no table or view {relation}")
        select = relation.select if isinstance(relation, Query) else exp.select("*").from_(table_expression(relation))
        described = self._described(select, relation)
        if isinstance(relation, Query):
            _refuse_duplicates([name for name, _ in described])
        return columns_of(described)

    def _described(self, select: exp.Query, relation: Relation) -> list[tuple[str, str]]:
        """Names and types of a query's columns; no row is read."""
        sql = self.render(Statement("describe", exp.Describe(this=exp.Subquery(this=select.copy()))))
        try:
            answer: Reply = self._traced("describe", sql, lambda: self._runner.run(partial(self._transport.ask, sql)))
        except Refused as error:
            if error.code == NAMED_TWICE and (found := ALIAS_OF.search(str(error))):
                _refuse_duplicates([found["name"]] * 2)
            if error.code in ABOUT_NAMES:
                raise SourceError(f"cannot read {relation}: {words_of(error)}") from None
            raise translate(error, self.step) from None
        return [(str(row[0]), str(row[1])) for row in rows_of(answer, ROW_LIMIT)]

    def relation_kind(self, table: Table) -> str | None:
        found = locate(self, table)
        return None if found is None else found.kind

    def has_schema(self, schema: tuple[str, ...]) -> bool:
        return has_schema(self, schema)

    def is_reserved(self, table: Table) -> bool:
        return super().is_reserved(table) or table.schema[-1:] == ("system",)

    def same_object(self, left: Table, right: Table) -> bool:
        return identity(self, left) == identity(self, right)

    def reads(self, relation: Relation, table: Table) -> bool:
        """Follows views too: ClickHouse lets the tables under a view be replaced."""
        query = None
        if isinstance(relation, Table):
            with suppress(SourceError):
                query = view_query(self, relation)
        return super().reads(relation, table) or (query is not None and self.reads(Query(query), table))

    def view_query(self, view: Table) -> exp.Query | None:
        return view_query(self, view)

    def replace(self, staging: Table, target: Table) -> None:
        replace(self, staging, target)
        self.swapped = "by one statement that exchanges two tables"

    def write_file(self, step: str, table: Table, target: File, inspect: Inspection | None = None) -> None:
        raise EngineError(f"step '{step}': {self.name} writes no files; name a table as the target of {table}")

    def leftovers(self, schema: tuple[str, ...]) -> list[Table]:
        """Of a server nobody can tell whether the run that made a table is still alive: nothing is dropped."""
        return leftovers(self, schema) if self._transport.alone else []

    def alone_with(self, target: Table, seconds: float) -> AbstractContextManager[None]:
        """Other runs of this process wait; a server has no lock for all processes."""
        key = ("clickhouse", *self._transport.place, *identity(self, target))
        return alone_in_process(self, key, target, seconds)

    @property
    def forgets(self) -> bool:
        return not self.lasting

    def comments(self, table: Table) -> dict[str, str]:
        return {str(name): str(text) for name, text in self.ask_catalog(_COMMENTS, **_names(table))}

    def scan_bytes(self, relation: Relation) -> int | None:
        return scan_bytes(self, relation)

    def version(self) -> str:
        [(version,)] = self.query(Statement("session", exp.select(exp.Anonymous(this="version"))))
        return f"ClickHouse {version}"

    def cancel(self) -> None:
        self._transport.stop()

    def close(self) -> None:
        """Nothing of the session remains; a block that is under way is undone."""
        if self._closed:
            return
        self._closed = True
        scratch.leave(self.session.run)
        with suppress(EngineError):
            self._runner.run(self._transport.close)
        self._runner.close()


def _refuse_duplicates(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise SourceError(f"the source query has two columns named '{name}': give one of them another name")
        seen.add(name.lower())


def locate(engine: ClickHouseEngine, table: Table) -> Located | None:
    """The object that a name means, or None."""
    if len(table.schema) > 1:
        return None
    found = engine.ask_catalog(_OBJECT, **_names(table))
    return Located(*found[0]) if found else None


def default_schema(engine: ClickHouseEngine) -> str:
    [(name,)] = engine.ask_catalog(_HERE)
    return str(name)


def identity(engine: ClickHouseEngine, table: Table) -> tuple[str, ...]:
    """Database and name, as they are written."""
    return (*(table.schema or (default_schema(engine),)), table.name)


def has_schema(engine: ClickHouseEngine, schema: tuple[str, ...]) -> bool:
    """Whether a qualifier means a database that is there."""
    return not schema or (len(schema) == 1 and engine.ask_catalog(_SCHEMA, name=schema[0]) == [(1,)])


def view_query(engine: ClickHouseEngine, view: Table) -> exp.Query | None:
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


def scan_bytes(engine: ClickHouseEngine, relation: Relation) -> int | None:
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


def leftovers(engine: ClickHouseEngine, schema: tuple[str, ...]) -> list[Table]:
    """Scratch objects of runs that no longer live in this process, the only one that can use the folder."""
    names = engine.ask_catalog(_SCRATCH, schema=schema[-1] if schema else None) if has_schema(engine, schema) else []
    runs = ((name, scratch.run_of(name)) for (name,) in names)
    return [Table((*schema, name)) for name, run in runs if run is not None and not scratch.is_live(run)]


# -- the swap ----------------------------------------------------------------------------------------------------------


def replace(engine: ClickHouseEngine, staging: Table, target: Table) -> None:
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


def _require_plain(engine: ClickHouseEngine, target: Table, found: Located) -> None:
    [(projections,)] = engine.query(Statement("replace", _filled(_OTHERS, target)))
    if found.kind != "table" or projections or not _PLAIN.fullmatch(found.whole_engine):
        raise EngineError(
            f"the target {target} has a table engine, a sorting key, partitions, a TTL, projections or settings that a "
            f"release would lose: drop it first or choose another target"
        )


def _move(engine: ClickHouseEngine, staging: Table, target: Table) -> None:
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


def _copy(engine: ClickHouseEngine, table: Table, target: Table) -> None:
    select = exp.select("*").from_(table_expression(table))
    _run(engine, create_table_as(target, select, engine.traits, scratch=False))


def _keepsakes(
    engine: ClickHouseEngine, target: Table, onto: Table, found: Located, surviving: set[str]
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


def _make_again(engine: ClickHouseEngine, target: Table, what: str, statement: exp.Expr) -> None:
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


def _run(engine: ClickHouseEngine, expression: exp.Expr) -> None:
    engine.execute(Statement("replace", expression))
