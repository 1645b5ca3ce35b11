"""One run at a time on a target, among the runs of this process: for databases that one process has to itself.

Pure, apart from the register of the locks.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Hashable, Iterator
from contextlib import contextmanager

from sqlanon.engines.base import Engine
from sqlanon.engines.transactions import busy, refuse_transaction
from sqlanon.sql.relations import Table

_locks: defaultdict[Hashable, threading.Lock] = defaultdict(threading.Lock)
_guard = threading.Lock()


@contextmanager
def alone_in_process(engine: Engine, key: Hashable, target: Table, seconds: float) -> Iterator[None]:
    """Wait for the lock that the key names, and give it back."""
    refuse_transaction(engine)
    with _guard:
        lock = _locks[key]
    if not lock.acquire(timeout=seconds):
        raise busy(target, seconds)
    try:
        yield
    finally:
        lock.release()
