"""A transaction as traced statements, the same on every engine that has them.

Touches the engine only through its public members.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import EngineError, StatementTimeout
from sqlanon.sql.relations import Table


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
