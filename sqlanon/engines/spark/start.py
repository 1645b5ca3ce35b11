"""Starting Spark in this process, where it lives until the process ends.

What Spark has to say goes to a file of its own, never to the terminal; it is read when Spark does not start.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlanon.engines.spark.errors import text_of
from sqlanon.engines.spark.url import Master
from sqlanon.errors import ConnectionFailed, EngineError, UsageError

WAREHOUSE = "spark.sql.warehouse.dir"
CATALOG = "spark.sql.catalogImplementation"
PARTITIONS = "spark.sql.shuffle.partitions"

QUIET = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
ON_ONE_MACHINE = {"spark.ui.enabled": "false"}

_FOLDER = "sqlanon-spark-"

_started_with: dict[str, str] = {}
"""The settings of the Spark that was started here."""


def new_session(master: Master) -> Any:
    """A new session of the Spark of this process, started if there is none yet."""
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
