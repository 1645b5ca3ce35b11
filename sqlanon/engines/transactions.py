"""A transaction as traced statements, the same on every engine that has them.

Touches the engine only through its public members.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import EngineError


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
