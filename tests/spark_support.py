"""Spark for tests: one local session per process, small and quiet, and a schema of its own for each test."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
import uuid
from collections.abc import Iterator
from urllib.parse import urlencode

import pytest

SETTINGS = {
    "spark.driver.memory": "1g",
    # Tests are many small statements: compiling them well would take longer than running them.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    # Tests insert texts into columns of every type.
    "spark.sql.storeAssignmentPolicy": "legacy",
}


def require_java() -> None:
    """Spark needs Java and pyspark: without them tests are skipped, in CI they fail."""
    home = os.environ.get("JAVA_HOME")
    java = shutil.which("java", path=f"{home}/bin") if home else shutil.which("java")
    missing = "Java 17 or newer" if java is None else None
    if importlib.util.find_spec("pyspark") is None:
        missing = "pyspark"
    if missing and os.environ.get("CI") == "true":
        pytest.fail(f"Spark tests need {missing}")
    if missing:
        pytest.skip(f"Spark tests need {missing}")


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
    from tests.engines.helpers import execute, open_at

    schema = f"test_{uuid.uuid4().hex[:12]}"
    client = open_at(spark_base)
    execute(client, f"CREATE SCHEMA {schema}")
    yield spark_base.replace("]?", f"]/{schema}?")
    execute(client, f"DROP SCHEMA {schema} CASCADE")
    client.close()
