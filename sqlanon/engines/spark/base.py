"""Running statements on a Spark session: on a thread of their own, under a label by which they are stopped.

The catalog, the files and the swap of tables know the engine by this class.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlanon.engines import scratch
from sqlanon.engines.base import Engine, Row, Session, Statement
from sqlanon.engines.session import STOP_INTERVAL, Runner, TimeLimitReached, ran_too_long
from sqlanon.engines.spark.session import open_session, translate
from sqlanon.errors import EngineError
from sqlanon.sql.build import drop_table
from sqlanon.sql.relations import Table, identifier, table_expression

Result = TypeVar("Result")

BATCH = 5_000
"""Rows of a hierarchy definition that are bound at once."""

SETTINGS: dict[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    # A sum that overflows or a cast that fails must be an error, not NULL.
    "spark.sql.ansi.enabled": "true",
    # A text like ${HOME} means itself, and a backslash is escaped as the generated statements escape it.
    "spark.sql.variable.substitute": "false",
    "spark.sql.parser.escapedStringLiterals": "false",
    # Columns say that they are char(n): their padding is no part of the value.
    "spark.sql.preserveCharVarcharTypeInfo": "true",
}


FEW = 2_000_000
"""Rows that one task reads in the time that planning for several takes."""

FEW_ROWS: dict[str, str] = {
    # One task without a shuffle, planned once: each exchange would be a job, after which the rest is planned anew.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # Interpreted: to generate and compile code for a plan takes longer than to read the rows.
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
"""Settings of statements that read few rows."""


class SparkBase(Engine):
    """A Spark session and its statement thread."""

    def __init__(self, session: Session, scheme: str, rest: str) -> None:
        super().__init__(session)
        self.opened = open_session(scheme, rest)
        self._spark = self.opened.session
        self._before: dict[str, str] = {}
        """The settings that were changed, as they were."""
        self._label = f"sqlanon-{session.run}-{id(self):x}"
        self._runner = Runner(self._stop)
        self._cancelled = False
        self._idle = threading.Event()
        self._idle.set()
        self._closed = False
        self.made: list[Table] | None = None
        """What the block that is under way has created; None outside of one."""
        scratch.enter(session.run)
        try:
            self.on_spark("session", "settings", self._set_up)
        except BaseException:
            self.close()
            raise

    def _set_up(self, spark: Any) -> None:
        found = {name: spark.conf.get(name) for name in SETTINGS}
        self._before = {name: value for name, value in found.items() if value != SETTINGS[name]}
        for name in self._before:
            spark.conf.set(name, SETTINGS[name])
        if self.opened.remote:
            spark.addTag(self._label)
        else:
            spark.sparkContext.setJobGroup(self._label, f"sqlanon run={self.session.run}")

    @contextmanager
    def few_rows(self, most: int) -> Iterator[None]:
        if most > FEW:
            yield
            return
        before = self.on_spark("session", "settings for few rows", partial(_exchanged, FEW_ROWS))
        try:
            yield
        finally:
            # A session that was lost has no settings to give back.
            with suppress(EngineError):
                self.on_spark("session", "settings as before", partial(_exchanged, before))

    # -- running statements ------------------------------------------------------------------------------------

    def _execute(self, sql: str) -> int:
        if self.made is not None and (table := made_by(sql)) is not None:
            self.made.append(table)
        self._run(lambda: self._spark.sql(sql).collect())
        return -1

    def _query(self, sql: str, limit: int) -> list[Row]:
        return self._run(lambda: [tuple(row) for row in self._spark.sql(sql).collect()[:limit]])

    def _load(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
        sql = self.traits.render(_insert(table, columns), self.tag)
        remaining = iter(rows)
        while batch := list(islice(remaining, BATCH)):
            values = {"rows": json.dumps([dict(zip(_fields(columns), row, strict=True)) for row in batch])}
            self._run(partial(self._spark.sql, sql, values))

    def on_spark(self, step: str, words: str, action: Callable[[Any], Result]) -> Result:
        """Work of pyspark's own that is no statement, traced as one by a comment that says what it does."""
        self.step = step
        text = f"/* {self.tag} */ -- {words}"
        result: Result = self._traced(step, text, lambda: self._run(lambda: action(self._spark)))
        return result

    def schema_of(self, step: str, select: exp.Query) -> list[tuple[str, str]]:
        """Names and types of a query's columns. Nothing is read."""
        sql = self.render(Statement(step, select))

        def fields() -> list[tuple[str, str]]:
            return [(field.name, field.dataType.simpleString()) for field in self._spark.sql(sql).schema.fields]

        found: list[tuple[str, str]] = self._traced(step, sql, lambda: self._run(fields))
        return found

    def _run(self, action: Callable[[], Result]) -> Result:
        seconds = self.session.statement_seconds
        self._cancelled = False
        self._idle.clear()
        try:
            return self._runner.run(action, seconds)
        except TimeLimitReached:
            raise ran_too_long(self.step, seconds) from None
        except EngineError:
            raise
        except Exception as error:
            # Connect, the gateway and Spark each have a tree of exceptions, some made only once Spark runs.
            if self._cancelled:
                raise EngineError(f"step '{self.step}' was cancelled", detail=type(error).__name__) from None
            raise translate(error, self.step) from None
        finally:
            self._idle.set()

    # -- stopping and closing ------------------------------------------------------------------------------------

    def cancel(self) -> None:
        """Again and again: a statement that is still being planned has no jobs yet that could be stopped."""
        self._cancelled = True
        self._stop()
        while not self._idle.wait(STOP_INTERVAL):
            self._stop()

    def _stop(self) -> None:
        with suppress(Exception):
            if self.opened.remote:
                self._spark.interruptTag(self._label)
            else:
                self._spark.sparkContext.cancelJobGroup(self._label)

    def undo(self) -> None:
        """Drop what the block under way has created."""
        made, self.made = self.made or [], None
        # Undoing is not cut short by the limit that made it necessary.
        limit, self.session.statement_seconds = self.session.statement_seconds, None
        for table in reversed(made):
            # The first error is the one to report; what cannot be dropped now is left to the next run.
            with suppress(EngineError):
                self.execute(Statement("rollback", drop_table(table)))
        self.session.statement_seconds = limit

    def close(self) -> None:
        """A borrowed session gets its settings back; a session of our own ends. Spark itself goes on."""
        if self._closed:
            return
        self._closed = True
        self.undo()
        with suppress(Exception):
            self._runner.run(self._give_back)
        scratch.leave(self.session.run)
        self._runner.close()

    def _give_back(self) -> None:
        for name, value in self._before.items():
            self._spark.conf.set(name, value)
        if self.opened.remote and not self.opened.borrowed:
            self._spark.stop()


def _exchanged(settings: dict[str, str], spark: Any) -> dict[str, str]:
    """Set these, and return them as they were."""
    before = {name: str(spark.conf.get(name)) for name in settings}
    for name, value in settings.items():
        spark.conf.set(name, value)
    return before


def _fields(columns: Sequence[str]) -> list[str]:
    return [f"c_{position}" for position in range(len(columns))]


def _insert(table: Table, columns: Sequence[str]) -> exp.Insert:
    """Rows come as one bound text: needs no Python where Spark computes, and is parsed faster than many literals."""
    types = exp.Literal.string(f"array<struct<{', '.join(f'{name}: string' for name in _fields(columns))}>>")
    given = exp.func("from_json", exp.Placeholder(this="rows"), types, dialect="spark")
    into = exp.Schema(this=table_expression(table), expressions=[identifier(name) for name in columns])
    return exp.Insert(this=into, expression=exp.select(exp.func("inline", given, dialect="spark")))


def made_by(sql: str) -> Table | None:
    """The table or view that a statement creates; None for any other, and for one that may replace what was there.

    >>> made_by("/* tag */ CREATE TABLE `a b`.t AS SELECT 1 AS x")
    Table(parts=('a b', 't'))
    """
    if "CREATE " not in sql[:200].upper():
        return None
    try:
        statement = parse_one(sql, dialect="spark")
    except SqlglotError:
        return None
    if not isinstance(statement, exp.Create) or statement.args.get("replace"):
        return None
    target = statement.find(exp.Table)
    return None if target is None else Table(tuple(part.name for part in target.parts))
