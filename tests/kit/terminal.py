"""A command on a pseudo-terminal: what it shows, what is typed, how it ends."""

from __future__ import annotations

import os
import pty
import re
import select
import signal
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal:
    """One command; it is stopped when the block ends."""

    def __init__(self, folder: Path, *arguments: str, **variables: str) -> None:
        self.shown = self.raw = ""
        self._read = 0
        self.pid, self._descriptor = pty.fork()
        if not self.pid:
            os.chdir(folder)
            root = str(Path(__file__).parents[2])
            os.environ.update({"TERM": "xterm", "COLUMNS": "120", "PYTHONPATH": root, **variables})
            os.execv(sys.executable, [sys.executable, "-m", "sqlanon", *arguments])

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass

    def expect(self, text: str, seconds: float = 60.0) -> str:
        """Wait until a text is shown after the one before; what was shown until then, without colours."""
        until = monotonic() + seconds
        while (place := self.shown.find(text, self._read)) < 0:
            if not self._more(until - monotonic()):
                raise AssertionError(f"{text!r} was not shown:\n{self.shown[self._read :]}")
        found, self._read = self.shown[self._read : place], place + len(text)
        return found

    def type(self, keys: str) -> None:
        with suppress(OSError):  # it has ended, and so has its terminal
            os.write(self._descriptor, keys.encode())

    def answer(self, text: str, keys: str) -> str:
        """Wait for a question and answer it."""
        found = self.expect(text)
        self.type(keys)
        return found

    def end(self, seconds: float = 60.0) -> int:
        """Wait until the command ends; its exit code."""
        until = monotonic() + seconds
        while self._more(until - monotonic()):
            pass
        assert monotonic() < until, f"it has not ended:\n{self.shown[self._read :]}"
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])

    def interrupt(self, seconds: float = 60.0) -> int:
        """Type Ctrl-C, as a person does, until the command ends; its exit code.

        Python sees one that comes just before it waits for a key only at the next key.
        """
        until = monotonic() + seconds
        while monotonic() < until:
            self.type("\x03")
            again = min(until, monotonic() + 1.0)
            while self._more(again - monotonic()):
                pass
            if (ended := os.waitpid(self.pid, os.WNOHANG))[0]:
                return os.waitstatus_to_exitcode(ended[1])
        raise AssertionError(f"it has not ended:\n{self.shown[self._read :]}")

    def _more(self, seconds: float) -> bool:
        if seconds <= 0 or not select.select([self._descriptor], [], [], seconds)[0]:
            return False
        try:
            read = os.read(self._descriptor, 65536)
        except OSError:
            return False
        self.raw += read.decode(errors="replace")
        self.shown += ESCAPES.sub("", read.decode(errors="replace")).replace("\r\n", "\n")
        return bool(read)
