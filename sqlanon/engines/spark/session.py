"""Spark sessions by URL: one that runs already, one of a Spark Connect server, or one of a Spark started here.

Each engine gets a session of its own; only the one of `spark://active` is borrowed. A Spark that was started lives
until the process ends. Spark's exceptions become sqlanon's: errors about names, paths and what a catalog cannot do are
told in Spark's words, errors about values only by the name of their condition, for they quote data; never a stack
trace.
"""

from __future__ import annotations

import atexit
import os
import re
import shutil
import socket
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, unquote

from sqlanon.errors import ConnectionFailed, EngineError, PermissionDenied, UsageError

ACTIVE = "active"
CONNECT_PORT = 15002

_LOCAL = re.compile(r"local(\[(?P<cores>\*|\d+)(,\d+)?\])?|local-cluster\[(?P<workers>\d+),(?P<each>\d+),\d+\]")
_STANDALONE = re.compile(r"[^/?#\s:]+:\d+(,[^/?#\s:]+:\d+)*")
_SERVER = re.compile(r"(?P<host>\[[0-9a-fA-F:]+\]|[^/:;\s]+)(:(?P<port>\d+))?(?=[/;]|$)")


class Master(NamedTuple):
    """A master as Spark calls it, the schema that names without one mean, and settings of Spark."""

    name: str
    schema: str = ""
    settings: dict[str, str] = {}  # noqa: RUF012 - a tuple's default, which nobody changes

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
    >>> master_of("head.example.org:7077").name
    'spark://head.example.org:7077'
    """
    place, _, query = rest.partition("?")
    name, _, schema = (unquote(part) for part in place.partition("/"))
    settings = dict(parse_qsl(query, keep_blank_values=True))
    for key in settings:
        if not key.startswith("spark."):
            raise UsageError(f"a Spark URL takes settings that begin with 'spark.', not '{key}'")
    if name == ACTIVE and (settings or schema):
        raise UsageError("spark://active is a session that runs already: set it up where it is made")
    if _STANDALONE.fullmatch(name):
        return Master(f"spark://{name}", schema, settings)
    if name not in (ACTIVE, "yarn") and not _LOCAL.fullmatch(name):
        raise UsageError("a Spark URL is spark://active, spark://local[2]/schema, spark://yarn or spark://host:port")
    return Master(name, schema, settings)


def server_of(rest: str) -> tuple[str, int]:
    """Host and port of a Spark Connect URL, from the part after `sc://`.

    >>> server_of("spark.example.org/;use_ssl=true"), server_of("[::1]:15003")
    (('spark.example.org', 15002), ('::1', 15003))
    """
    place = _SERVER.match(rest)
    if place is None:
        raise UsageError("a Spark Connect URL is sc://host:port, with settings after a slash")
    return place["host"].strip("[]"), int(place["port"] or CONNECT_PORT)


WAREHOUSE = "spark.sql.warehouse.dir"
CATALOG = "spark.sql.catalogImplementation"
PARTITIONS = "spark.sql.shuffle.partitions"

QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
ON_ONE_MACHINE = {"spark.ui.enabled": "false"}

_FOLDER = "sqlanon-spark-"

_started_with: dict[str, str] = {}
"""The settings of the Spark that was started here."""


def new_session(master: Master) -> Any:
    """A new session of the Spark of this process, started if there is none yet.

    What Spark has to say goes to a file of its own, never to the terminal; it is read when Spark does not start.
    """
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

    if SparkContext._active_spark_context is None:
        _start(master.name, _settings_of(master))
        _started_with.update(master.settings)
    _refuse_other(SparkContext._active_spark_context, master)
    with without_warnings():
        return SparkSession.builder.getOrCreate().newSession()


def _settings_of(master: Master) -> dict[str, str]:
    settings = dict(QUIET)
    if (cores := master.cores) is not None:
        settings |= ON_ONE_MACHINE | {PARTITIONS: str(cores)}
        if CATALOG not in master.settings and WAREHOUSE not in master.settings:
            settings[WAREHOUSE] = _temporary_folder()
    return settings | master.settings


def _temporary_folder() -> str:
    """For tables of a catalog that is in memory itself, out of the way of the working directory."""
    folder = tempfile.mkdtemp(prefix=_FOLDER)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def is_temporary(folder: str) -> bool:
    """Whether a warehouse is one of those that end with their process."""
    return Path(folder.removeprefix("file:")).name.startswith(_FOLDER)


def _refuse_other(running: Any, master: Master) -> None:
    if running.master != master.name:
        raise UsageError(f"Spark runs in this process already, as {running.master}: use spark://active or that master")
    # What it was asked for counts: Spark adds to some of its settings.
    known = dict(running.getConf().getAll()) | _started_with
    for key, value in master.settings.items():
        if not key.startswith("spark.sql.") and known.get(key) != value:
            raise UsageError(f"Spark runs in this process already, and '{key}' can only be set when it starts")


def _start(name: str, settings: dict[str, str]) -> None:
    from pyspark import SparkConf, SparkContext, java_gateway

    _require_java()
    conf = SparkConf().setMaster(name).setAppName("sqlanon").setAll(list(settings.items()))
    launch: Callable[..., Any] = java_gateway.launch_gateway
    with tempfile.TemporaryFile() as log:
        try:
            # The file stays open in Spark's own process.
            gateway = launch(conf, {"stdout": log, "stderr": log})
            with without_warnings():
                SparkContext(conf=conf, gateway=gateway)
        except Exception as error:
            # What comes through the gateway is of classes that exist only once it has been opened.
            log.seek(0)
            raise _did_not_start(log.read().decode(errors="replace"), text_of(error)) from None


def _require_java() -> None:
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    if java is None and "PYSPARK_GATEWAY_PORT" not in os.environ:
        raise ConnectionFailed("Spark needs Java 17 or newer: install it and put it on the PATH, or set JAVA_HOME")


def _did_not_start(log: str, error: str) -> EngineError:
    if "UnsupportedClassVersionError" in log:
        return ConnectionFailed("Spark needs Java 17 or newer: the one that JAVA_HOME or the PATH names is older")
    return ConnectionFailed("Spark did not start; --debug shows what it said", detail=f"{log}\n{error}".strip())


@contextmanager
def without_warnings() -> Iterator[None]:
    """What a driver thinks of the packages beside it is no concern of the one who runs sqlanon."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


CONNECT_SECONDS = 10.0
"""How long a server may take to answer."""

_LOGGERS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")


class OpenedSpark(NamedTuple):
    """A session, and what may be done with it."""

    session: Any
    borrowed: bool = False
    """The session was running before and is not ours to stop."""
    remote: bool = False
    """It speaks to a Spark Connect server."""
    alone: bool = False
    """No other program can use its catalog."""
    fleeting: bool = False
    """Tables that it makes end with this process."""


def open_session(scheme: str, rest: str) -> OpenedSpark:
    """Open what the URL names."""
    _prepare_pyspark()
    if scheme == "sc":
        return OpenedSpark(_connect(rest), remote=True)
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


def _active() -> OpenedSpark:
    from pyspark.sql import SparkSession

    session = SparkSession.getActiveSession()
    if session is None:
        raise UsageError("spark://active: no Spark session is active in this process; make one, or name a master")
    remote = type(session).__module__.startswith("pyspark.sql.connect")
    return OpenedSpark(session, borrowed=True, remote=remote, alone=not remote and _is_in_memory(session))


def _started(master: Master) -> OpenedSpark:
    session = new_session(master)
    for key, value in master.settings.items():
        if session.conf.isModifiable(key):
            session.conf.set(key, value)
    if master.schema and not session.catalog.databaseExists(master.schema):
        raise ConnectionFailed(f"the catalog of Spark has no schema '{master.schema}'")
    if master.schema:
        session.catalog.setCurrentDatabase(master.schema)
    alone = _is_in_memory(session)
    return OpenedSpark(session, alone=alone, fleeting=alone and is_temporary(session.conf.get(WAREHOUSE)))


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


NOT_FOUND = frozenset({"TABLE_OR_VIEW_NOT_FOUND", "SCHEMA_NOT_FOUND", "PATH_NOT_FOUND", "CATALOG_NOT_FOUND"})

_TOLD = re.compile(
    r"(\w+_)?NOT_FOUND\b.*|(\w+_)?ALREADY_EXISTS\b.*|UNRESOLVED_\w+.*|AMBIGUOUS_\w+.*|INVALID_SCHEMA_OR_RELATION_NAME"
    r"|UNSUPPORTED_\w+.*|EXPECT_\w+.*|RENAME_TABLE_\w+|INVALID_TEMP_OBJ_REFERENCE|PARSE_\w+"
    r"|FAILED_READ_FILE\..*|UNABLE_TO_INFER_SCHEMA|CANNOT_READ_FILE_FOOTER|TABLE_\w+|NOT_ALLOWED_IN_FROM\..*"
    r"|RECURSION_\w+|UNION_NOT_SUPPORTED_IN_RECURSIVE_CTE|INCOMPATIBLE_DATA_FOR_TABLE\..*"
)
"""Conditions whose text has names of the catalog and paths in it, but no values."""


class SparkError(EngineError):
    """Spark refused a statement; `told` is what may be shown of its own words."""

    def __init__(self, message: str, *, detail: str = "", told: str = "") -> None:
        super().__init__(message, detail=detail)
        self.told = told


class NotThere(SparkError):
    """A table, schema or path does not exist."""


_CONDITION = re.compile(r"\[([A-Z][A-Z0-9_]+(?:\.[A-Z0-9_]+)?)\]")
_PREFIX = re.compile(r"\[[A-Z0-9_.]+\]\s*")
_STATE = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_ADVICE = re.compile(r"\s+(Verify|If you|To tolerate|Correct|Did you|Please|Use)\b.*", re.DOTALL)
_LOST = ("Connection refused", "Answer from Java side is empty", "UNAVAILABLE", "SparkContext was shut down")
_DENIED = ("Permission denied", "AccessControlException", "AccessDenied")


def condition_of(error: BaseException) -> str | None:
    """Spark's name for what went wrong; that of the innermost cause where several are nested."""
    with suppress(Exception):
        ask = getattr(error, "getCondition", None)
        found = ask() if ask is not None else None
        if found:
            return str(found)
    nested = _CONDITION.findall(text_of(error))
    return str(nested[-1]) if nested else None


def text_of(error: BaseException) -> str:
    """What Spark said, without the trace."""
    with suppress(Exception):
        return re.split(r"\n\s*(?:at |JVM stacktrace)", str(error), maxsplit=1)[0].strip()
    return type(error).__name__


def told(error: BaseException) -> str:
    """The first sentence of Spark's message."""
    line = _PREFIX.sub("", text_of(error).partition("\n")[0], count=1)
    return _ADVICE.sub("", _STATE.sub("", line)).strip().rstrip(".")


def translate(error: BaseException, step: str) -> EngineError:
    """The error to raise for a statement that Spark refused."""
    detail = text_of(error)
    condition = condition_of(error)
    if condition is not None and _TOLD.fullmatch(condition):
        words = told(error)
        kind = NotThere if condition in NOT_FOUND else SparkError
        return kind(f"step '{step}': {words}", detail=detail, told=words)
    if any(sign in detail for sign in _DENIED):
        return PermissionDenied(f"step '{step}': Spark may not read or write what this needs", detail=detail)
    if any(sign in detail for sign in _LOST) or _lost_gateway(error):
        return ConnectionFailed(f"step '{step}': the connection to Spark was lost", detail=detail)
    known = condition is not None
    words = f"Spark reports {_words(condition or '')}" if known else f"Spark failed ({_java_class(error)})"
    return SparkError(f"step '{step}': {words}", detail=detail, told=words)


def _lost_gateway(error: BaseException) -> bool:
    return type(error).__name__ in ("Py4JNetworkError", "ConnectionRefusedError", "ConnectionResetError")


def _words(condition: str) -> str:
    return condition.replace("_", " ").replace(".", ", ").lower()


def _java_class(error: BaseException) -> str:
    java: Any = getattr(error, "java_exception", None)
    with suppress(Exception):
        if java is not None:
            return str(java.getClass().getSimpleName())
    return type(error).__name__
