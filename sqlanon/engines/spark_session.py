"""From a Spark URL to a session: one that runs already, one of a Spark Connect server, or one that is started here.

A started Spark lives as long as the process; each engine gets a session of its own in it. What Spark has to say goes
to a file of its own, never to the terminal.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from sqlanon.errors import ConnectionFailed, EngineError, UsageError

ACTIVE = "active"
WAREHOUSE = "spark.sql.warehouse.dir"
CATALOG = "spark.sql.catalogImplementation"
PARTITIONS = "spark.sql.shuffle.partitions"

_LOCAL = re.compile(r"local(\[(?P<cores>\*|\d+)(,\d+)?\])?|local-cluster\[(?P<workers>\d+),(?P<each>\d+),\d+\]")
_MASTER = re.compile(rf"({_LOCAL.pattern})|yarn|[^/?#\s:]+:\d+(,[^/?#\s:]+:\d+)*")
_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")

_FOLDER = "sqlanon-spark-"

QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
ON_ONE_MACHINE = {"spark.ui.enabled": "false"}

_started_with: dict[str, str] = {}
"""The settings of the Spark that was started here."""


class Opened(NamedTuple):
    """A session, and what may be done with it."""

    session: Any
    borrowed: bool
    """Somebody else's: its settings are put back at the end."""
    remote: bool
    """It speaks to a Spark Connect server."""
    fleeting: bool
    """Tables that it makes end with this process."""
    alone: bool
    """No other program can use its catalog."""


class Master(NamedTuple):
    """What the URL asks for: a master, the schema that names without one mean, and settings of Spark."""

    name: str
    schema: str
    settings: dict[str, str]

    @property
    def cores(self) -> int | None:
        """How many tasks run at once, where all of Spark is on this machine."""
        match = _LOCAL.fullmatch(self.name)
        if match is None:
            return None
        if match["workers"]:
            return int(match["workers"]) * int(match["each"])
        given = match["cores"] or "1"
        return (os.cpu_count() or 1) if given == "*" else int(given)


def master_of(rest: str) -> Master:
    """The part of a URL after `spark://`.

    >>> master_of("local[2]/research?spark.sql.shuffle.partitions=4")
    Master(name='local[2]', schema='research', settings={'spark.sql.shuffle.partitions': '4'})
    """
    place, _, query = rest.partition("?")
    name, _, schema = (unquote(part) for part in place.partition("/"))
    settings = dict(parse_qsl(query, keep_blank_values=True))
    for key in settings:
        if not key.startswith("spark."):
            raise UsageError(f"a Spark URL takes settings that begin with 'spark.', not '{key}'")
    if name != ACTIVE and not _MASTER.fullmatch(name):
        raise UsageError("a Spark URL is spark://active, spark://local[2]/schema, spark://yarn or spark://host:port")
    if name == ACTIVE and (settings or schema):
        raise UsageError("spark://active is a session that runs already: set it up where it is made")
    return Master(f"spark://{name}" if re.search(r":\d+$", name) else name, schema, settings)


def open_session(scheme: str, rest: str) -> Opened:
    """Open what the URL names."""
    _import_pyspark()
    if scheme == "sc":
        return Opened(_connect(f"sc://{rest}"), borrowed=False, remote=True, fleeting=False, alone=False)
    master = master_of(rest)
    if master.name == ACTIVE:
        session = _active()
        remote = is_remote(session)
        return Opened(session, True, remote, fleeting=False, alone=not remote and _is_in_memory(session))
    session = _start(master)
    for key, value in master.settings.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    _use_schema(session, master.schema)
    alone = _is_in_memory(session)
    return Opened(session, False, False, fleeting=alone and _is_temporary(session.conf.get(WAREHOUSE)), alone=alone)


def _use_schema(session: Any, schema: str) -> None:
    if schema and not session.catalog.databaseExists(schema):
        raise ConnectionFailed(f"the catalog of Spark has no schema '{schema}'")
    if schema:
        session.catalog.setCurrentDatabase(schema)


def is_remote(session: Any) -> bool:
    """Whether a session speaks to a Spark Connect server."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def _import_pyspark() -> None:
    try:
        with _without_warnings():
            import pyspark.sql
            from pyspark.logger import PySparkLogger
    except ImportError:
        raise UsageError("Spark needs the package pyspark: pip install 'sqlanon[spark]'") from None
    # These log every error, values and statement included, before anybody can catch it.
    for name in _LOGGERS:
        PySparkLogger.getLogger(name).disabled = True


def _active() -> Any:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise UsageError("spark://active: no Spark session is active in this process; make one, or name a master")
    return session


def _connect(url: str) -> Any:
    from pyspark.errors import PySparkException
    from pyspark.sql import SparkSession

    try:
        with _without_warnings():
            session = SparkSession.builder.remote(url).create()
            session.version  # noqa: B018 - the first question opens the connection
    except ImportError:
        raise UsageError("Spark Connect needs more packages: pip install 'pyspark[connect]'") from None
    except PySparkException as error:
        raise ConnectionFailed("cannot reach the Spark Connect server", detail=str(error)) from None
    except Exception as error:
        # The transport has exceptions of its own, which are no part of Spark.
        raise ConnectionFailed("cannot reach the Spark Connect server", detail=str(error)) from None
    return session


def _start(master: Master) -> Any:
    """A new session of the Spark of this process, started if there is none yet."""
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    running = SparkContext._active_spark_context
    if running is None:
        _start_context(master.name, _settings_of(master))
        _started_with.update(master.settings)
        running = SparkContext._active_spark_context
    _refuse_other(running, master)
    with _without_warnings():
        return SparkSession.builder.getOrCreate().newSession()


def _settings_of(master: Master) -> dict[str, str]:
    settings = dict(QUIET)
    if (cores := master.cores) is not None:
        settings |= ON_ONE_MACHINE
        settings[PARTITIONS] = str(cores)
        if CATALOG not in master.settings and WAREHOUSE not in master.settings:
            settings[WAREHOUSE] = _temporary_folder()
    return settings | master.settings


def _temporary_folder() -> str:
    """For tables of a catalog that is in memory itself, out of the way of the working directory."""
    folder = tempfile.mkdtemp(prefix=_FOLDER)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _is_temporary(folder: str) -> bool:
    return Path(folder.removeprefix("file:")).name.startswith(_FOLDER)


def _is_in_memory(session: Any) -> bool:
    return bool(session.conf.get(CATALOG) == "in-memory")


def _refuse_other(running: Any, master: Master) -> None:
    if running.master != master.name:
        raise UsageError(
            f"Spark runs in this process already, as {running.master}: use spark://active or that master"
        )
    # What it was asked for counts: Spark adds to some of its settings.
    known = dict(running.getConf().getAll()) | _started_with
    for key, value in master.settings.items():
        if not key.startswith("spark.sql.") and known.get(key) != value:
            raise UsageError(f"Spark runs in this process already, and '{key}' can only be set when it starts")


def _start_context(name: str, settings: dict[str, str]) -> None:
    from pyspark import SparkConf, SparkContext
    from pyspark.errors import PySparkException
    from pyspark.java_gateway import launch_gateway

    _require_java()
    conf = SparkConf().setMaster(name).setAppName("sqlanon").setAll(list(settings.items()))
    with tempfile.TemporaryFile() as log:
        try:
            # The file stays open in Spark's own process; here it serves to say why Spark did not start.
            gateway = launch_gateway(conf, {"stdout": log, "stderr": log})
            with _without_warnings():
                SparkContext(conf=conf, gateway=gateway)
        except (PySparkException, OSError) as error:
            log.seek(0)
            raise _did_not_start(log.read().decode(errors="replace"), str(error)) from None
        except Exception as error:
            # What comes through the gateway is of classes that exist only once it has been opened.
            raise _did_not_start("", str(error)) from None


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        raise ConnectionFailed("Spark needs Java 17 or newer: install it and put it on the PATH, or set JAVA_HOME")


def _did_not_start(log: str, error: str) -> EngineError:
    if "UnsupportedClassVersionError" in log:
        return ConnectionFailed("Spark needs Java 17 or newer: the one that JAVA_HOME or the PATH names is older")
    return ConnectionFailed("Spark did not start; --debug shows what it said", detail=(log + "\n" + error).strip())


@contextmanager
def _without_warnings() -> Iterator[None]:
    """What a driver thinks of the packages beside it is no concern of the one who runs sqlanon."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
