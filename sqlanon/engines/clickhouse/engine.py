"""Statements on ClickHouse: one session of a folder that chdb opens in this process, or of a server.

There are no transactions: what a block creates is dropped when the block fails, and a release takes its target's place
by one statement (`clickhouse.catalog`). Errors become sqlanon's: one safe line each, ClickHouse's own text as detail.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import ClassVar

from sqlglot import exp

from sqlanon.engines import scratch
from sqlanon.engines.base import ROW_LIMIT, Capability, ColumnInfo, Engine, Inspection, Row, Session, Statement
from sqlanon.engines.clickhouse import catalog
from sqlanon.engines.clickhouse.traits import CLICKHOUSE, SETTINGS
from sqlanon.engines.clickhouse.transport import Embedded, Lost, Refused, Reply, Server, Transport, rows_of
from sqlanon.engines.dialects import quoted_name
from sqlanon.engines.session import (
    Runner,
    TimeLimitReached,
    alone_in_process,
    ran_too_long,
    undoing,
    undone_on_failure,
)
from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied, SourceError
from sqlanon.sql.relations import File, Query, Relation, Table, identifier, table_expression

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
    # How values are written in answers.
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_quote_decimals": 1,
    "output_format_json_quote_denormals": 1,
}

_NAMED = re.compile(
    r"(?:table expression identifier|identifier|Table|Database|table|database|function|column)s?:? "
    r"(?P<name>'[^'\n]+'|`[^`\n]+`|[\w.]+)"
)
_TOLD = {
    46: "there is no function {}",
    47: "there is no column {}",
    57: "{} stands already",
    60: "there is no table {}",
    81: "there is no database {}",
}
"""By the number of the error: what names an object, and may be told."""
_TWICE = 179
_ALIAS = re.compile(r"for alias (?P<name>.+?)\. ")
_FORBIDDEN, _STOPPED, _MEMORY = frozenset({164, 291, 497}), frozenset({159, 394}), frozenset({173, 241})


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
        return catalog.columns_of(described)

    def _described(self, select: exp.Query, relation: Relation) -> list[tuple[str, str]]:
        """Names and types of a query's columns; no row is read."""
        sql = self.render(Statement("describe", exp.Describe(this=exp.Subquery(this=select.copy()))))
        try:
            answer: Reply = self._traced("describe", sql, lambda: self._runner.run(partial(self._transport.ask, sql)))
        except Refused as error:
            if error.code == _TWICE and (found := _ALIAS.search(str(error))):
                _refuse_duplicates([found["name"]] * 2)
            if error.code in _TOLD:
                raise SourceError(f"cannot read {relation}: {_words(error)}") from None
            raise translate(error, self.step) from None
        return [(str(row[0]), str(row[1])) for row in rows_of(answer, ROW_LIMIT)]

    def relation_kind(self, table: Table) -> str | None:
        found = catalog.locate(self, table)
        return None if found is None else found.kind

    def has_schema(self, schema: tuple[str, ...]) -> bool:
        return catalog.has_schema(self, schema)

    def is_reserved(self, table: Table) -> bool:
        return super().is_reserved(table) or table.schema[-1:] == ("system",)

    def same_object(self, left: Table, right: Table) -> bool:
        return catalog.identity(self, left) == catalog.identity(self, right)

    def reads(self, relation: Relation, table: Table) -> bool:
        """Follows views too: ClickHouse lets the tables under a view be replaced."""
        query = None
        if isinstance(relation, Table):
            with suppress(SourceError):
                query = catalog.view_query(self, relation)
        return super().reads(relation, table) or (query is not None and self.reads(Query(query), table))

    def view_query(self, view: Table) -> exp.Query | None:
        return catalog.view_query(self, view)

    def replace(self, staging: Table, target: Table) -> None:
        catalog.replace(self, staging, target)
        self.swapped = "by one statement that exchanges two tables"

    def write_file(self, step: str, table: Table, target: File, inspect: Inspection | None = None) -> None:
        raise EngineError(f"step '{step}': {self.name} writes no files; name a table as the target of {table}")

    def leftovers(self, schema: tuple[str, ...]) -> list[Table]:
        """Of a server nobody can tell whether the run that made a table is still alive: nothing is dropped."""
        return catalog.leftovers(self, schema) if self._transport.alone else []

    def alone_with(self, target: Table, seconds: float) -> AbstractContextManager[None]:
        """Other runs of this process wait; a server has no lock for all processes."""
        key = ("clickhouse", *self._transport.place, *catalog.identity(self, target))
        return alone_in_process(self, key, target, seconds)

    @property
    def forgets(self) -> bool:
        return not self.lasting

    def scan_bytes(self, relation: Relation) -> int | None:
        return catalog.scan_bytes(self, relation)

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


def translate(error: Refused, step: str) -> EngineError:
    """The error to raise for a statement that ClickHouse refused. Of messages that may quote data the class is told."""
    detail = str(error)
    if error.code in _STOPPED:
        return EngineError(f"step '{step}' was cancelled", detail=detail)
    if error.code in _FORBIDDEN:
        return PermissionDenied(f"step '{step}': permission denied", detail=detail)
    if error.code in _MEMORY:
        return EngineError(f"step '{step}': out of memory", detail=detail)
    return EngineError(f"step '{step}': {_words(error)}", detail=detail)


def _words(error: Refused) -> str:
    found = _NAMED.search(str(error))
    if error.code in _TOLD and found is not None:
        return _TOLD[error.code].format(found["name"].strip("'`"))
    symbol = re.search(r"\(([A-Z][A-Z_]+)\)[^()]*$", str(error))
    return f"ClickHouse reports {symbol[1].replace('_', ' ').lower()}" if symbol else "ClickHouse refused it"


def _refuse_duplicates(names: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name.lower() in seen:
            raise SourceError(f"the source query has two columns named '{name}': give one of them another name")
        seen.add(name.lower())
