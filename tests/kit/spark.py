"""Spark for tests: one local session per process, small and quiet, and a schema of its own for each test."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

SETTINGS = {
    "spark.driver.memory": "1g",
    # Tests are many small statements: compiling them well would take longer than running them. What the first compiler
    # makes has by default little room, full after some tests: from then on Java compiles the same again and again.
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=256m -XX:MetaspaceSize=256m"
    ),
    # Each aggregate begins with a page, of 16 MB by default, that is filled with zeros; and the past is kept for a UI.
    "spark.buffer.pageSize": "256k",
    "spark.ui.retainedJobs": "5",
    "spark.ui.retainedStages": "5",
    "spark.ui.retainedTasks": "50",
    "spark.sql.ui.retainedExecutions": "5",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # Tests insert texts into columns of every type.
    "spark.sql.storeAssignmentPolicy": "legacy",
}


OLDEST_JAVA = 17


def require_java() -> None:
    """Spark needs Java and pyspark: without them tests are skipped, in CI they fail."""
    if missing := what_is_missing():
        stop = pytest.fail if os.environ.get("CI") == "true" else pytest.skip
        stop(f"tests of Spark need {missing}")


def what_is_missing() -> str | None:
    """What this machine lacks, and what to do about it."""
    if importlib.util.find_spec("pyspark") is None:
        return "the package pyspark: pip install 'sqlanon[spark]'"
    found = java_version()
    if found is None:
        return f"Java {OLDEST_JAVA} or newer: put it on the PATH, or set JAVA_HOME"
    return f"Java {OLDEST_JAVA} or newer: the one found is {found}" if found < OLDEST_JAVA else None


def java_version() -> int | None:
    """The version of the Java that Spark would start, as a whole number; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    if java is None:
        return None
    told = subprocess.run([java, "-version"], capture_output=True, text=True)
    match = re.search(r'version "(?:1\.)?(\d+)', told.stderr + told.stdout)
    return int(match[1]) if match else None


def url_of(master: str, warehouse: str, **more: str) -> str:
    """A URL whose tables lie in a folder."""
    return f"spark://{master}?{urlencode(SETTINGS | more | {'spark.sql.warehouse.dir': warehouse})}"


@pytest.fixture(scope="session")
def spark_base() -> Iterator[str]:
    """The URL of a Spark on this machine, started by the first test that opens it."""
    require_java()
    folder = tempfile.mkdtemp(prefix="sqlanon-test-")
    yield url_of("local[2]", folder)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def spark_url(spark_base: str) -> Iterator[str]:
    """A URL whose default schema is empty and belongs to the test alone."""
    from tests.kit.engine import execute, open_at

    schema = f"test_{uuid.uuid4().hex[:12]}"
    client = open_at(spark_base)
    execute(client, f"CREATE SCHEMA {schema}")
    yield spark_base.replace("]?", f"]/{schema}?")
    execute(client, f"DROP SCHEMA {schema} CASCADE")
    client.close()
