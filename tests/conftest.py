"""Databases for tests: a DuckDB file or a fresh PostgreSQL schema for each; and what runs first, and how much of it."""

from __future__ import annotations

import gc
import os
import signal
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb
import pytest
from hypothesis import HealthCheck, settings

from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Session
from tests.kit.commands import CommandLine
from tests.kit.database import kept_session
from tests.kit.examples import ONE_IN
from tests.kit.servers import (
    clickhouse_folder,
    clickhouse_url,
    mariadb_server,
    mariadb_url,
    older_postgres_server,
    older_postgres_url,
    postgres_owner,
    postgres_password_url,
    postgres_server,
    postgres_url,
    schema_of_its_own,
)
from tests.kit.spark import spark_base, spark_url

__all__ = [
    "clickhouse_folder",
    "clickhouse_url",
    "mariadb_server",
    "mariadb_url",
    "older_postgres_server",
    "older_postgres_url",
    "postgres_owner",
    "postgres_password_url",
    "postgres_server",
    "postgres_url",
    "spark_base",
    "spark_url",
]

ENGINES = ("duckdb", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.no_cover]))
"""What runs on both engines is traced for coverage on one; the contract suite covers what PostgreSQL has of its own."""

# Bytecode is kept, whatever the environment says: else each worker rewrites every test anew, and each of the processes
# that tests start compiles the whole package.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)

# Whoever runs the tests in the background of a script ignores Ctrl-C, and hands that down to every process of theirs.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# How long a loaded machine takes to draw an example says nothing of the code.
for name in ONE_IN:
    settings.register_profile(name, deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


NEEDS = {
    "postgres_server": "postgres",
    "mariadb_server": "mariadb",
    "clickhouse_folder": "clickhouse",
    "older_postgres_server": "postgres",
    "spark_base": "spark",
    "story": "dbt",
    "chromium": "browser",
}
"""What a fixture starts, as a mark: a test that asks for it needs no mark of its own."""


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of Spark come first: in one piece on one worker, whose Spark serves them all, while the others go on."""
    for item in items:
        for fixture, mark in NEEDS.items():
            if fixture in getattr(item, "fixturenames", ()) and item.get_closest_marker(mark) is None:
                item.add_marker(mark)
        if item.get_closest_marker("one_engine") is not None and item.get_closest_marker("postgres") is not None:
            item.add_marker("soak")
    leave_repetition_to_soak(items)
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def leave_repetition_to_soak(items: list[pytest.Item]) -> None:
    """Of a test with the mark `representative(n)`, n cases spread over all remain on each engine.

    `representative(n, postgres=m)` leaves m on PostgreSQL.
    """
    cases: dict[tuple[str, bool], list[pytest.Item]] = {}
    for item in items:
        if item.get_closest_marker("representative") is not None and item.get_closest_marker("soak") is None:
            name = item.nodeid.partition("[")[0]
            cases.setdefault((name, item.get_closest_marker("postgres") is not None), []).append(item)
    for (_, on_postgres), same in cases.items():
        mark = same[0].get_closest_marker("representative")
        assert mark is not None
        most = mark.kwargs.get("postgres", mark.args[0]) if on_postgres else mark.args[0]
        kept = spread(len(same), most)
        for place, item in enumerate(same):
            if place not in kept:
                item.add_marker("soak")


def spread(number: int, most: int) -> set[int]:
    """Places of at most so many of a number of things, the first and the last among them."""
    if most == 1:
        return {0}
    return {place * (number - 1) // (most - 1) for place in range(most)}


def pytest_collection_finish() -> None:
    """What stands now stands until the end: looking through it for garbage time and again took a tenth of the run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(200_000, 20, 50)


def pytest_sessionfinish() -> None:
    """Extension modules look for what is left of their objects when the interpreter ends."""
    kept_session.end()
    gc.unfreeze()


@pytest.fixture
def duckdb_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database file that belongs to the test alone; it is created when it is first opened.

    It stays open until the test ends: each session of this process is one more connection to the same instance, where
    opening the file again and again would cost more than many a test. The mark `reopened` is for tests in which other
    processes open it, or which look at the file itself.
    """
    path = tmp_path / "test.duckdb"
    if request.node.get_closest_marker("reopened") is not None:
        yield f"duckdb:///{path}"
        return
    with duckdb.connect(path) as connection:
        # The workers take all cores already: threads of the engine's own would only wait for each other.
        connection.execute("SET threads = 1")
        yield f"duckdb:///{path}"


@pytest.fixture(params=ENGINES)
def engine_url(request: pytest.FixtureRequest) -> str:
    """The test runs once for each engine, on an empty database."""
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
def engine(engine_url: str, tmp_path: Path) -> Iterator[Engine]:
    """An open engine; the test runs once for each."""
    opened = open_engine(engine_url, Session(), tmp_path)
    yield opened
    opened.close()


@pytest.fixture(scope="module", params=ENGINES)
def shared_engine(request: pytest.FixtureRequest) -> Iterator[Engine]:
    """An open engine for all tests of a module that only ask; the tests run once for each."""
    with ExitStack() as stack:
        url = "duckdb:///:memory:"
        if request.param == "postgres":
            server = (request.getfixturevalue("postgres_server"), request.getfixturevalue("postgres_owner"))
            url = stack.enter_context(schema_of_its_own(*server))
        opened = open_engine(url, Session(), Path())
        stack.callback(opened.close)
        yield opened


@pytest.fixture
def sqlanon(capsys: pytest.CaptureFixture[str]) -> CommandLine:
    """The command line, run in this process."""
    return CommandLine(capsys)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory of the test; its database lies elsewhere."""
    place = tmp_path / "folder"
    place.mkdir()
    monkeypatch.chdir(place)
    return place
