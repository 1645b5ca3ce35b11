"""Runs statements on a thread of their own, so that the caller can always be interrupted.

A driver that waits inside C code may not see Ctrl-C until the statement ends. Here the caller waits on a future: Ctrl-C
and the time limit stop the statement in the database first, and only then leave.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future, wait
from queue import SimpleQueue
from typing import Any, TypeVar

from sqlanon.errors import EngineError

Result = TypeVar("Result")
Tasks = SimpleQueue[tuple[Future[Any], Callable[[], Any]] | None]

STOP_INTERVAL = 0.2
"""Seconds between attempts to stop a statement: the first may come before the database has started it."""


class TimeLimitReached(Exception):
    """The statement was stopped because its time was up."""


class Runner:
    """One worker thread; statements run on it one at a time, in order."""

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
