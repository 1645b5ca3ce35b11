"""How scratch objects are named after their run, so that what a dead run left behind can be found.

Pure, apart from the register of the runs that live in this process.
"""

from __future__ import annotations

import re
import threading
from collections import Counter

SCRATCH_NAME = re.compile(r"sqlanon_(?P<run>[0-9a-f]{12})_.+", re.DOTALL)
RUN = re.compile(r"[0-9a-f]{12}")

_live: Counter[str] = Counter()
_guard = threading.Lock()


def run_of(name: str) -> str | None:
    """The run that a scratch object belongs to; None for any other name.

    >>> run_of("sqlanon_0123456789ab_staging"), run_of("sqlanon_staging")
    ('0123456789ab', None)
    """
    match = SCRATCH_NAME.fullmatch(name)
    return match["run"] if match else None


def is_run(run: str) -> bool:
    """Whether this is the id of a run that makes scratch objects, not the name of ad hoc work."""
    return RUN.fullmatch(run) is not None


def enter(run: str) -> None:
    """A run of this process begins to use a database."""
    with _guard:
        _live[run] += 1


def leave(run: str) -> None:
    """The opposite of `enter`, once for each."""
    with _guard:
        _live[run] -= 1


def is_live(run: str) -> bool:
    """Whether the run uses a database in this process."""
    with _guard:
        return _live[run] > 0
