"""A transaction as three traced statements, the same on every engine that has them.

Touches the engine only through its public `execute`.
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
    engine.execute(Statement("begin", exp.Transaction(modes=list(modes))))
    try:
        yield
        engine.execute(Statement("commit", exp.Commit()))
    except BaseException:
        # The first error is the one to report: a lost connection has rolled back by itself.
        with suppress(EngineError):
            engine.execute(Statement("rollback", exp.Rollback()))
        raise
