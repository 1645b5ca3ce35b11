"""`kill -9` before and after every statement of a publish, and Ctrl-C: the old release stands, nothing is left behind.

A process that has everything imported is forked for each kill; in it, a hook on the trace ends the process for good.
"""

from __future__ import annotations

import os
import signal
import time
from dataclasses import dataclass
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.source.run import Options
from sqlanon.spec import Spec
from tests.kit.database import Database, changed
from tests.kit.examples import share
from tests.kit.processes import fork

pytestmark = [pytest.mark.reopened, pytest.mark.process]

ROWS = [(zip_, disease) for zip_ in ("94138", "94139", "94141") for disease in ("flu", "cold")] * 2
SPEC: dict[str, Any] = {
    "source": "patients",
    "target": "released",
    "columns": {
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2]}}},
        "disease": {"role": "sensitive"},
    },
    "privacy": {"k": 2, "suppression": {"limit": 1}},
    "search": {"algorithm": "samarati"},
}
BEGIN = "begin"
"""The step that a publish begins with."""


@pytest.fixture
def database(engine_url: str) -> Database:
    """A source, and the release of an earlier run that differs from what the next one would publish."""
    found = Database(engine_url)
    found.create("patients", {"zip": "text", "disease": "text"}, ROWS)
    pipeline.run(spec_on(found))
    found.run("INSERT INTO patients VALUES ('94142', 'new'), ('94142', 'new'), ('94141', 'new')")
    return found


def spec_on(database: Database) -> Spec:
    return changed({**SPEC, "connection": database.url})


@dataclass(frozen=True)
class Moment:
    """When to kill: at which event, counted from the first event of a step; events before and after a statement count.

    Between the event after a statement and the one before the next, the database does nothing: killing at one of them
    is killing at both.
    """

    step: str
    number: int


def steps_of(spec: Spec) -> list[str]:
    """The steps of a whole run, a name for each event: before and after each statement."""
    events: list[str] = []
    pipeline.run(spec, Options(hooks=(lambda event: events.append(event.step),)))
    return events


def killed_at(spec: Spec, moment: Moment) -> None:
    """Run in a process of its own that kills itself at an event of the trace."""
    _, status = os.waitpid(fork(lambda: _run_until(spec, moment)), 0)
    assert os.WIFSIGNALED(status), "the run ended before it was killed"
    assert os.WTERMSIG(status) == signal.SIGKILL


def _run_until(spec: Spec, moment: Moment) -> int:
    seen: int | None = None

    def hook(event: TraceEvent) -> None:
        nonlocal seen
        if seen is not None or event.step == moment.step:
            seen = 0 if seen is None else seen + 1
        if seen == moment.number:
            os.kill(os.getpid(), signal.SIGKILL)

    pipeline.run(spec, Options(hooks=(hook,)))
    return 0


def settled(database: Database) -> None:
    """Wait until the server has noticed that the killed process is gone."""
    if database.is_duckdb:
        return
    gone = "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'sqlanon run=%'"
    deadline = time.monotonic() + 10
    while database.run(gone) != [(0,)]:
        assert time.monotonic() < deadline, "the session of a killed process lives on"
        time.sleep(0.01)


@pytest.mark.no_cover
def test_kill_at_every_statement_of_a_publish(database: Database) -> None:
    spec = spec_on(database)
    old, source = database.rows("released"), database.counted("patients")
    new = sum(source.values())
    # The events of a run that replaces a target, seen on a copy: the old release is to be replaced by none.
    rehearsal = changed({**SPEC, "connection": database.url, "target": "rehearsed"})
    database.run("CREATE TABLE rehearsed AS SELECT * FROM released", "CREATE TABLE kept AS SELECT * FROM released")
    steps = steps_of(rehearsal)
    database.run("DROP TABLE rehearsed")
    before, publish = steps[: steps.index(BEGIN)], steps[steps.index(BEGIN) :]
    committed = publish.index("commit") + 1
    early, late = share(12), share(len(publish) // 2)
    moments = [Moment(steps[0], number) for number in range(1, len(before), max(2, len(before) // early))]
    spread = range(0, len(publish), len(publish) // late)
    moments += [Moment(BEGIN, number) for number in sorted({*spread, committed - 1, committed})]
    for moment in moments:
        killed_at(spec, moment)
        settled(database)
        rows = database.rows("released")
        if moment.step == BEGIN and moment.number >= committed:
            assert len(rows) == new, f"killed after the commit, at {moment}"
            database.run("DELETE FROM released", "INSERT INTO released SELECT * FROM kept")
            old = database.rows("released")
        else:
            assert rows == old, f"killed at {moment}"
    assert database.counted("patients") == source
    pipeline.run(spec)
    assert len(database.rows("released")) == new
    assert database.leftovers() == []


@pytest.mark.postgres
def test_leftovers_are_reclaimed(postgres_url: str) -> None:
    database = Database(postgres_url)
    database.create("patients", {"zip": "text", "disease": "text"}, ROWS)
    spec = spec_on(database)
    killed_at(spec, Moment(BEGIN, 0))
    settled(database)
    assert database.leftovers()
    pipeline.run(spec)
    assert database.leftovers() == []


def _run_and_wait(spec: Spec, step: str, there: int) -> int:
    """Run until a statement of a step is about to begin, say so, and wait to be interrupted. 130 if that is the end."""
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def hook(event: TraceEvent) -> None:
        if event.step == step and event.seconds is None:
            os.write(there, b"there")
            time.sleep(30)

    try:
        pipeline.run(spec, Options(hooks=(hook,)))
    except KeyboardInterrupt:
        return 130
    return 0


@pytest.mark.no_cover
@pytest.mark.parametrize("step", ["scan source", "stage release"])
def test_ctrl_c_leaves_nothing_behind(database: Database, step: str) -> None:
    old = database.rows("released")
    spec = spec_on(database)
    seen, there = os.pipe()
    child = fork(lambda: _run_and_wait(spec, step, there))
    os.close(there)
    assert os.read(seen, 5) == b"there"
    os.close(seen)
    os.kill(child, signal.SIGINT)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 130
    settled(database)
    assert database.rows("released") == old
    assert database.leftovers() == []
