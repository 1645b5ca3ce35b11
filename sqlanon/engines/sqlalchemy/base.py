"""Running statements through SQLAlchemy and any driver: on a thread of their own, as they are rendered.

The probes, the catalog and the swap of tables know the engine by this class.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from decimal import Decimal
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy
from sqlalchemy.exc import DBAPIError, SQLAlchemyError
from sqlglot import exp

from sqlanon.engines import scratch
from sqlanon.engines.base import Capability, Engine, Row, Session, Statement
from sqlanon.engines.session import Runner, TimeLimitReached, ran_too_long
from sqlanon.engines.sqlalchemy.connection import connect, create, in_memory, is_about_names, parse, told, translate
from sqlanon.errors import EngineError, SourceError, UsageError
from sqlanon.sql.relations import Table
from sqlanon.sql.traits import Traits

Result = TypeVar("Result")

BATCH = 2_000
"""Rows of a hierarchy definition that are bound at once."""

_STOPPERS = ("interrupt", "cancel_safe", "cancel")
"""What drivers call the request to stop a statement from another thread."""


class SQLAlchemyBase(Engine):
    """One connection of SQLAlchemy's and its statement thread."""

    def __init__(self, session: Session, url: str, folder: Path) -> None:
        super().__init__(session)
        self.url = parse(url, folder)
        self.lasting = not in_memory(self.url)
        engine = create(self.url)
        self._closed = False
        self._runner = Runner(self._stop)
        # Some drivers let only the thread that connected use a connection.
        self._connection: sqlalchemy.Connection = self._opened(engine)
        self._driver: Any = self._connection.connection.driver_connection
        scratch.enter(session.run)
        if session.statement_seconds is not None and not self._can_stop():
            if not session.limit_asked:
                session.statement_seconds = None
                return
            self.close()
            raise UsageError(
                f"limits.statement_seconds: the driver {engine.dialect.driver} cannot stop a statement; "
                f"name another driver in the connection URL, or leave this limit out"
            )

    def _opened(self, engine: sqlalchemy.Engine) -> sqlalchemy.Connection:
        try:
            return self._runner.run(partial(connect, engine, self.url))
        except BaseException:
            self._runner.close()
            raise

    def write_as(self, traits: Traits) -> None:
        """From now on statements are written by these traits."""
        # Traits belong to the class of an engine; here the database decides, so each object has its own.
        vars(self)["traits"] = traits
        vars(self)["dialect"] = traits.dialect

    # -- running statements ------------------------------------------------------------------------------------

    def _execute(self, sql: str) -> int:
        def action() -> int:
            with self._connection.exec_driver_sql(sql) as result:
                return result.rowcount

        return self._run(action)

    def _query(self, sql: str, limit: int) -> list[Row]:
        def action() -> list[Row]:
            with self._connection.exec_driver_sql(sql) as result:
                return [tuple(map(_plain, row)) for row in result.fetchmany(limit)]

        return self._run(action)

    def _load(self, table: Table, columns: Sequence[str], rows: Iterable[Sequence[str | None]]) -> None:
        schema = ".".join(table.schema) or None
        target = sqlalchemy.Table(
            table.name,
            sqlalchemy.MetaData(),
            *(sqlalchemy.Column(name, sqlalchemy.Text, key=f"c_{position}") for position, name in enumerate(columns)),
            schema=schema,
            quote=True,
        )
        keys = [f"c_{position}" for position in range(len(columns))]
        remaining = (dict(zip(keys, row, strict=True)) for row in rows)
        self._run(lambda: self._insert(target.insert(), remaining))

    def _insert(self, insert: sqlalchemy.Insert, rows: Iterator[dict[str, str | None]]) -> None:
        """Values are bound: only here are there parameters. In one transaction: one for each row would take minutes."""
        own = Capability.TRANSACTIONAL_DDL in self.capabilities and not self.in_transaction
        if own:
            self._connection.exec_driver_sql(self.traits.render(exp.Transaction()))
        try:
            while batch := list(islice(rows, BATCH)):
                self._connection.execute(insert, batch, execution_options={"no_parameters": False})
        except BaseException:
            if own:
                self._connection.exec_driver_sql(self.traits.render(exp.Rollback()))
            raise
        if own:
            self._connection.exec_driver_sql(self.traits.render(exp.Commit()))

    def _run(self, action: Callable[[], Result]) -> Result:
        seconds = self.session.statement_seconds
        try:
            return self._runner.run(action, seconds)
        except TimeLimitReached:
            raise ran_too_long(self.step, seconds) from None
        except SQLAlchemyError as error:
            raise translate(error, self.step) from None

    # -- asking SQLAlchemy ---------------------------------------------------------------------------------------

    def inspected(self, words: str, action: Callable[[sqlalchemy.Inspector], Result], step: str = "catalog") -> Result:
        """What SQLAlchemy's inspector says, traced as a statement by a comment; nothing is cached."""

        def asked() -> Result:
            try:
                return action(sqlalchemy.inspect(self._connection))
            finally:
                if not self.in_transaction:
                    # Looking has begun a transaction of SQLAlchemy's own, which is nothing in the driver.
                    self._connection.commit()

        self.step = step
        text = f"/* {self.tag} */ -- {words}"
        result: Result = self._traced(step, text, lambda: self._run(asked))
        return result

    def names_of(self, select: exp.Query, relation: object) -> list[str]:
        """The names of a query's columns; no row is read."""
        sql = self.render(Statement("describe", select))

        def action() -> list[str]:
            with self._connection.exec_driver_sql(sql) as result:
                return list(result.keys())

        def described() -> list[str]:
            try:
                return self._runner.run(action, self.session.statement_seconds)
            except DBAPIError as error:
                if is_about_names(error):
                    raise SourceError(f"cannot read {relation}: {told(error)}") from None
                raise translate(error, self.step) from None

        found: list[str] = self._traced("describe", sql, described)
        return found

    # -- stopping and closing ------------------------------------------------------------------------------------

    def cancel(self) -> None:
        self._stop()

    def _can_stop(self) -> bool:
        return any(callable(getattr(self._driver, name, None)) for name in _STOPPERS)

    def _stop(self) -> None:
        """Drivers without a way to stop a statement let it run to its end."""
        for name in _STOPPERS:
            stop = getattr(self._driver, name, None)
            if callable(stop):
                # The driver's own errors have no common class: there is then nothing left that could be stopped.
                with suppress(Exception):
                    stop()
                return

    def close(self) -> None:
        """The database rolls back what was not committed, and drops the temporary tables."""
        if self._closed:
            return
        self._closed = True
        scratch.leave(self.session.run)
        with suppress(SQLAlchemyError, EngineError):
            self._runner.run(self._connection.close)
        self._runner.close()


def _plain(value: Any) -> Any:
    """Sums of integers are decimals on some databases: without a fraction they come back as int, as elsewhere."""
    if isinstance(value, Decimal) and value.is_finite():
        exponent = value.as_tuple().exponent
        return int(value) if isinstance(exponent, int) and exponent >= 0 else value
    return value
