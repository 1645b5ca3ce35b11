"""Searches over schemes end with their budget: statements are stopped by it, and none of them scans for each lookup."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest

import sqlanon.engines.base as base
from sqlanon import pipeline
from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Session, Statement, TraceEvent
from sqlanon.engines.dialects import parsed
from sqlanon.errors import StatementTimeout
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.engine import execute, open_at

COLUMNS = [f"q{number}" for number in range(6)]
COUNTING = (
    "with recursive numbers(n) as (select 1 as n union all select n + 1 as n from numbers where n < 1000000000) "
    "select max(n) from numbers"
)
"""Takes minutes, of which nothing is kept."""


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return f"{request.param}:///{tmp_path}/people.{request.param}"


def spec_of(url: str, algorithm: str, **budget: Any) -> Spec:
    """Thirty people with six columns of four values."""
    source = Random(1)
    rows = [tuple(f"v{source.randrange(4)}" for _ in COLUMNS) for _ in range(30)]
    engine = open_at(url)
    execute(engine, f"CREATE TABLE people ({', '.join(f'{name} TEXT' for name in COLUMNS)})")
    execute(engine, f"INSERT INTO people VALUES {', '.join(map(str, rows))}")
    engine.close()
    search = {"algorithm": algorithm, "metric": "dm", "budget": budget}
    columns = {name: {"role": "quasi_identifier"} for name in COLUMNS}
    values = {"connection": url, "source": "people", "target": "released", "columns": columns, "privacy": {"k": 3}}
    return spec_from_dict({**values, "search": search})


def test_a_statement_is_stopped_within_a_block_and_the_limit_is_as_before(
    url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(base, "SHORTEST", 0.3)
    engine = open_engine(url, Session(statement_seconds=600.0), tmp_path)
    with pytest.raises(StatementTimeout), engine.within(0.0):
        engine.query(Statement("count", parsed(COUNTING, engine.dialect)))
    assert engine.session.statement_seconds == 600.0
    with engine.within(900.0):
        assert engine.session.statement_seconds == 600.0
    assert engine.query(Statement("one", parsed("select 1", engine.dialect))) == [(1,)]
    engine.close()


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize("algorithm", ["sps", "ops", "tds"])
def test_statements_are_given_what_is_left_of_the_budget(
    url: str, algorithm: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float | None] = []
    usual = Engine.within

    @contextmanager
    def within(self: Engine, seconds: float | None) -> Iterator[None]:
        given.append(seconds)
        with usual(self, seconds):
            yield

    monkeypatch.setattr(Engine, "within", within)
    pipeline.plan(spec_of(url, algorithm, seconds=400, nodes=300))
    assert len(given) > 2
    assert all(seconds is not None and 0 < seconds <= 400 for seconds in given)


def test_a_statement_that_the_budget_stops_ends_the_search(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first is answered, no other one; what is left is the answer that all rows are one class."""
    stopped: list[str] = []

    @contextmanager
    def within(self: Engine, seconds: float | None) -> Iterator[None]:
        yield
        if seconds is not None:
            stopped.append(self.step)
            raise StatementTimeout("too long")

    monkeypatch.setattr(Engine, "within", within)
    found = pipeline.plan(spec_of(url, "sps", seconds=400))
    assert len(stopped) == 1
    assert not found.search.proven
    assert found.satisfied
    assert found.chosen.classes == 1


def test_lookups_of_sqlite_use_an_index(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/people.sqlite"
    plans: list[list[str]] = []
    opened: list[Engine] = []

    def opening(where: str, session: Session, folder: Path) -> Engine:
        opened.append(open_engine(where, session, folder))
        return opened[-1]

    def explain(event: TraceEvent) -> None:
        if event.step == "cost candidates" and event.seconds is None and not plans:
            plans.append([str(row[3]) for row in opened[-1]._query(f"EXPLAIN QUERY PLAN {event.sql}", 1000)])

    pipeline.plan(spec_of(url, "sps", nodes=100), Options(hooks=(explain,), open=opening))
    [plan] = plans
    lookups = [line for line in plan if line.startswith("SEARCH")]
    assert len(lookups) >= len(COLUMNS), plan
    assert len([line for line in plan if line.startswith("SCAN") and "sqlanon" in line]) <= 2, plan
