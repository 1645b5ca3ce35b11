"""What sessions of all engines share: interruptible statements, traced transactions, one run at a time on a target.

Statements run on a thread of their own, so that the caller can always be interrupted. Touches the engine only through
its public members.
"""

from __future__ import annotations

import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import EngineError, StatementTimeout
from sqlanon.sql.build import drop_table, drop_view
from sqlanon.sql.relations import Table

Result = TypeVar("Result")
Tasks = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]

STOP_INTERVAL = 0.2
"""Seconds between attempts to stop a statement: the first may come before the database has started it."""


class TimeLimitReached(Exception):
    """The statement was stopped because its time was up."""


def ran_too_long(step: str, seconds: float | None, detail: str = "") -> StatementTimeout:
    """The error of a statement that was stopped because its time was up."""
    words = (
        f"step '{step}' ran longer than {seconds or 0:g} seconds; limits.statement_seconds allows more (none lifts it)"
    )
    return StatementTimeout(words, detail=detail)


class Runner:
    """One worker thread; statements run on it one at a time, in order.

    A driver that waits inside C code may not see Ctrl-C until the statement ends. Here the caller waits on a future:
    Ctrl-C and the time limit stop the statement in the database first, and only then leave.
    """

    def __init__(self, stop: Callable[[], None]) -> None:
        self._stop = stop
        self._tasks: Tasks = SimpleQueue()
        # A daemon: a statement that cannot be stopped must not keep the process alive. The thread knows only the
        # queue, so that a runner nobody closed is still collected, and its thread with it.
        threading.Thread(target=_work, args=(self._tasks,), name="sqlanon-statement", daemon=True).start()
        self._end = weakref.finalize(self, self._tasks.put, None)

    def run(self, action: Callable[[], Result], seconds: float | None = None) -> Result:
        """The action's result or exception. On Ctrl-C and after `seconds` the statement is stopped first."""
        if not self._end.alive:
            raise EngineError("the session is closed")
        future: Future[Result] = Future()
        try:
            self._tasks.put((future, action))
            wait([future], timeout=seconds)
            if not future.done():
                self._stop_and_wait(future)
                if future.exception() is not None:
                    raise TimeLimitReached
        except KeyboardInterrupt:
            self._stop_and_wait(future)
            raise
        return future.result()

    def close(self) -> None:
        """Let the thread end after what it still has to do."""
        self._end()

    def _stop_and_wait(self, future: Future[Any]) -> None:
        while not future.done():
            self._stop()
            wait([future], timeout=STOP_INTERVAL)


def _work(tasks: Tasks) -> None:
    while (task := tasks.get()) is not None:
        future, action = task
        try:
            future.set_result(action())
        except BaseException as error:  # handed to the caller, who waits for it
            future.set_exception(error)
        del task, future, action


@contextmanager
def transaction(engine: Engine, *modes: str) -> Iterator[None]:
    """Begin, then commit; on any exception, Ctrl-C too, roll back and let it through."""
    if engine.in_transaction:
        raise RuntimeError("transactions do not nest")
    engine.in_transaction = True
    try:
        engine.execute(Statement("begin", exp.Transaction(modes=list(modes))))
        yield
        engine.execute(Statement("commit", exp.Commit()))
    except BaseException:
        # The first error is the one to report; a lost connection has rolled back by itself.
        with suppress(EngineError):
            engine.execute(Statement("rollback", exp.Rollback()))
        raise
    finally:
        engine.in_transaction = False


class Undoing(Protocol):
    """An engine without transactions, which remembers what a block has created."""

    in_transaction: bool
    made: list[exp.Drop] | None

    def execute(self, statement: Statement) -> int: ...


@contextmanager
def undone_on_failure(engine: Undoing) -> Iterator[None]:
    """Where tables take no part in transactions: what the block has created is dropped when it fails."""
    if engine.in_transaction:
        raise RuntimeError("transactions do not nest")
    engine.in_transaction, engine.made = True, []
    try:
        yield
    except BaseException:
        made, engine.made = engine.made, None
        for drop in reversed(made):
            # The first error is the one to report.
            with suppress(EngineError):
                engine.execute(Statement("rollback", drop))
        raise
    finally:
        engine.in_transaction, engine.made = False, None


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


def require_transaction(engine: Engine) -> None:
    """Replacing a table outside a transaction would show readers a moment without it."""
    if not engine.in_transaction:
        raise RuntimeError("a table is replaced only within a transaction")


def refuse_transaction(engine: Engine) -> None:
    """Waiting within a transaction would go on with a snapshot from before the wait."""
    if engine.in_transaction:
        raise RuntimeError("a run waits for its target only outside a transaction")


def busy(target: Table, seconds: float, error: EngineError | None = None) -> EngineError:
    """The error of a run that waited for its target in vain."""
    if isinstance(error, StatementTimeout):
        waited, key = "as long as a statement may run", "limits.statement_seconds"
    else:
        waited, key = f"{seconds:g} seconds", "limits.lock_seconds"
    return EngineError(
        f"another run is publishing to {target}; waited {waited} for it, and nothing was published: "
        f"run again when it has finished, or raise {key}",
        detail=error.detail if error is not None else "",
    )


_locks: defaultdict[Hashable, threading.Lock] = defaultdict(threading.Lock)
_guard = threading.Lock()


@contextmanager
def alone_in_process(engine: Engine, key: Hashable, target: Table, seconds: float) -> Iterator[None]:
    """Wait for the lock that the key names, and give it back.

    For databases that one process has to itself: only runs of this process wait for each other.
    """
    refuse_transaction(engine)
    with _guard:
        lock = _locks[key]
    if not lock.acquire(timeout=seconds):
        raise busy(target, seconds)
    try:
        yield
    finally:
        lock.release()
