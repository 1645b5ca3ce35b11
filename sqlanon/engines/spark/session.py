"""From a Spark URL to a session: one that runs already, one of a Spark Connect server, or one of a Spark started here.

Each engine gets a session of its own; only the one of `spark://active` is borrowed.
"""

from __future__ import annotations

import socket
from typing import Any, NamedTuple

from sqlanon.engines.spark.errors import text_of
from sqlanon.engines.spark.start import CATALOG, WAREHOUSE, is_temporary, new_session, without_warnings
from sqlanon.engines.spark.url import ACTIVE, Master, master_of, server_of
from sqlanon.errors import ConnectionFailed, UsageError

CONNECT_SECONDS = 10.0
"""How long a server may take to answer."""

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class Opened(NamedTuple):
    """A session, and what may be done with it."""

    session: Any
    borrowed: bool = False
    """Somebody else's."""
    remote: bool = False
    """It speaks to a Spark Connect server."""
    alone: bool = False
    """No other program can use its catalog."""
    fleeting: bool = False
    """Tables that it makes end with this process."""


def open_session(scheme: str, rest: str) -> Opened:
    """Open what the URL names."""
    _prepare_pyspark()
    if scheme == "sc":
        return Opened(_connect(rest), remote=True)
    master = master_of(rest)
    return _active() if master.name == ACTIVE else _started(master)


def _prepare_pyspark() -> None:
    try:
        with without_warnings():
            from pyspark.logger import PySparkLogger
    except ImportError:
        raise UsageError("Spark needs the package pyspark: pip install 'sqlanon[spark]'") from None
    # These log every error, values and statement included, before anybody can catch it.
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).disabled = True


def _active() -> Opened:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise UsageError("spark://active: no Spark session is active in this process; make one, or name a master")
    remote = type(session).__module__.startswith("pyspark.sql.connect")
    return Opened(session, borrowed=True, remote=remote, alone=not remote and _is_in_memory(session))


def _started(master: Master) -> Opened:
    session = new_session(master)
    for key, value in master.settings.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    if master.schema and not session.catalog.databaseExists(master.schema):
        raise ConnectionFailed(f"the catalog of Spark has no schema '{master.schema}'")
    if master.schema:
        session.catalog.setCurrentDatabase(master.schema)
    alone = _is_in_memory(session)
    return Opened(session, alone=alone, fleeting=alone and is_temporary(session.conf.get(WAREHOUSE)))


def _is_in_memory(session: Any) -> bool:
    return bool(session.conf.get(CATALOG) == "in-memory")


def _connect(rest: str) -> Any:
    from pyspark.sql import SparkSession

    _require_server(*server_of(rest))
    try:
        with without_warnings():
            session = SparkSession.builder.remote(f"sc://{rest}").create()
            # The first question opens the connection.
            session.conf.get(WAREHOUSE)
    except ImportError:
        raise UsageError("Spark Connect needs more packages: pip install 'pyspark[connect]'") from None
    except Exception as error:
        # The transport has exceptions of its own, which are no part of Spark.
        message = "the Spark Connect server opens no session: look at its token, version and settings"
        raise ConnectionFailed(message, detail=text_of(error)) from None
    return session


def _require_server(host: str, port: int) -> None:
    """Pyspark itself would try for minutes."""
    try:
        socket.create_connection((host, port), timeout=CONNECT_SECONDS).close()
    except OSError as error:
        message = f"cannot reach the Spark Connect server at {host}:{port}: {error.strerror or 'no answer'}"
        raise ConnectionFailed(message) from None
