"""One run at a time on a target: an advisory lock of the session, named by the target's schema and name.

Its id would not do, for every release makes a new table.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from hashlib import sha256

from sqlanon.engines.base import Engine, Statement
from sqlanon.engines.postgres.catalog import schema_of
from sqlanon.engines.postgres.errors import LockTimeout
from sqlanon.engines.templates import fill
from sqlanon.engines.transactions import busy, refuse_transaction
from sqlanon.errors import EngineError, StatementTimeout
from sqlanon.sql.relations import Table

_SPACE = 0x5372 << 48
"""The upper bits of the keys of targets; those of runs that are alive lie in another space."""

# In one statement, so that the limit ends with it.
_WAIT = "select set_config('lock_timeout', :milliseconds, true), pg_advisory_lock(:key)"

_RELEASE = "select pg_advisory_unlock(:key)"


@contextmanager
def alone_with(engine: Engine, target: Table, seconds: float) -> Iterator[None]:
    """Wait for the lock of a target, and give it back; it also ends with the session."""
    refuse_transaction(engine)
    key = _key(schema_of(engine, target), target.name)
    milliseconds = str(max(1, round(seconds * 1000)))
    try:
        engine.query(Statement("wait for target", fill(_WAIT, "postgres", milliseconds=milliseconds, key=key)))
    except (LockTimeout, StatementTimeout) as error:
        raise busy(target, seconds, error) from None
    try:
        yield
    finally:
        # A session that was lost has given it back.
        with suppress(EngineError):
            engine.query(Statement("release target", fill(_RELEASE, "postgres", key=key)))


def _key(schema: str, name: str) -> int:
    digest = sha256(repr((schema, name)).encode()).digest()
    return _SPACE | int.from_bytes(digest[:6], "big")
