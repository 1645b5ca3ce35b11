"""`kill -9` at statements of a publish with a ledger, and two runs at once: ledger and table always agree."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import duckdb
import pytest

from sqlanon import pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.planning import ledgers
from sqlanon.source.run import Options
from sqlanon.spec import Spec
from tests.kit.examples import share
from tests.kit.processes import fork
from tests.kit.series import SECRET, VARIABLE, Row, Series
from tests.release.test_crash import settled

pytestmark = [pytest.mark.process]

TABLES = ("people", "released", "for_others", "kept", "kept_tracks", "kept_releases")
BEGIN = "begin"


@pytest.fixture(autouse=True)
def _secret(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, SECRET)


def night(first: int) -> dict[str, Row]:
    return {f"p{number}": ("A1", "flu") for number in range(first, first + 9)}


def begun(series: Series) -> None:
    """One release stands, and the source of the next is there."""
    series.database.run(*(f"DROP TABLE IF EXISTS {name}" for name in TABLES))
    series.source(night(1))
    pipeline.run(series.spec())
    series.source(night(4))


def killed_at(spec: Spec, place: int) -> None:
    """Run in a process that kills itself at an event of the trace, counted from the beginning of the publish."""

    def act() -> int:
        seen = -1

        def hook(event: TraceEvent) -> None:
            nonlocal seen
            seen += 1 if seen >= 0 or event.step == BEGIN else 0
            if seen == place:
                os.kill(os.getpid(), signal.SIGKILL)

        pipeline.run(spec, Options(hooks=(hook,)))
        return 0

    _, status = os.waitpid(fork(act), 0)
    assert os.WIFSIGNALED(status), "the run ended before it was killed"


@pytest.mark.no_cover
@pytest.mark.reopened
def test_kill_at_statements_of_a_publish(engine_url: str) -> None:
    """Both are as before until the commit, and both are new after it; the next run goes on from either."""
    series = Series(engine_url)
    spec = series.spec()
    begun(series)
    steps: list[str] = []
    pipeline.run(spec, Options(hooks=(lambda event: steps.append(event.step),)))
    publish = steps[steps.index(BEGIN) :]
    committed = publish.index("commit") + 1
    begun(series)
    spread = range(0, len(publish) - 1, max(1, len(publish) // share(12)))
    for place in sorted({*spread, committed - 1, committed}):
        killed_at(spec, place)
        settled(series.database)
        state = ledgers.verify(spec)
        rows = len(series.database.rows("released"))
        assert state.problems == (), f"killed at {publish[place]}, event {place}"
        assert (rows, len(state.events)) == ((9, 2) if place >= committed else (9, 1))
        assert (state.people == 12) == (place >= committed)
        if place >= committed:
            begun(series)
    pipeline.run(spec)
    assert ledgers.verify(spec).problems == ()
    assert not series.database.leftovers()


@pytest.mark.no_cover
def test_two_processes_at_once(postgres_url: str) -> None:
    """Runs of two specs, with a target each, wait for each other at the ledger that they share."""
    series = Series(postgres_url)
    begun(series)
    specs = (series.spec(), series.spec(target="for_others"))

    def act(spec: Spec) -> int:
        pipeline.run(spec)
        return 0

    children = [fork(lambda spec=spec: act(spec)) for spec in specs for _ in range(2)]  # type: ignore[misc]
    codes = [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    assert codes == [0, 0, 0, 0]
    for spec in specs:
        state = ledgers.verify(spec)
        assert state.problems == ()
        assert [event["release"] for event in state.events] == [1, 2, 3, 4, 5]


def test_two_threads_at_once(duckdb_url: str) -> None:
    series = Series(duckdb_url)
    begun(series)
    specs = (series.spec(), series.spec(target="for_others"))
    with duckdb.connect(duckdb_url.removeprefix("duckdb:///")), ThreadPoolExecutor(2) as pool:
        list(pool.map(pipeline.run, specs))
    for spec in specs:
        assert ledgers.verify(spec).problems == ()
    assert len(series.database.rows("kept_releases")) == 3
