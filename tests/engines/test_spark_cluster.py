"""A Spark of several processes: one is killed while the search asks it, another talks to it through Spark Connect."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from tests.kit import spark_cluster_program
from tests.kit.database import Database
from tests.kit.engine import ROOT
from tests.kit.spark import require_java, url_of

pytestmark = [pytest.mark.spark, pytest.mark.no_cover, pytest.mark.soak]

SETTINGS = {
    "spark.executor.memory": "1g",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def port() -> int:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return int(unused.getsockname()[1])


@pytest.fixture(scope="module")
def cluster(folder: Path, port: int) -> Iterator[subprocess.Popen[str]]:
    """The program on a Spark with two executors, each a process."""
    require_java()
    more = {**SETTINGS, "spark.connect.grpc.binding.port": str(port)}
    url = url_of("local-cluster[2,1,1024]", str(folder / "warehouse"), **more)
    environment = {**os.environ, "SPARK_HOME": str(home_of_its_own(folder)), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "tests.kit.spark_cluster_program", url]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, cwd=ROOT, env=environment)
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def home_of_its_own(folder: Path) -> Path:
    """Workers write into the home of Spark: not into that of the installed package."""
    import pyspark

    home = folder / "spark"
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    return home


@pytest.fixture(scope="module")
def answer(cluster: subprocess.Popen[str]) -> Any:
    assert cluster.stdout is not None
    line = cluster.stdout.readline()
    assert line, cluster.communicate()[1]
    return json.loads(line)


def test_a_killed_executor_changes_nothing(answer: Any, duckdb_url: str) -> None:
    assert len(answer["before"]) == 2
    assert answer["killed"] in answer["before"]
    assert answer["killed"] not in answer["after"]
    Database(duckdb_url).run(spark_cluster_program.GENERATED)
    expected = pipeline.plan(spark_cluster_program.spec_at(duckdb_url))
    verdicts = [[list(verdict.node), verdict.suppressed, verdict.classes] for verdict in expected.verdicts]
    assert answer["levels"] == expected.levels
    assert answer["verdicts"] == verdicts
    assert answer["fingerprint"] == expected.fingerprint


def test_a_release_through_spark_connect(answer: Any, cluster: subprocess.Popen[str], port: int) -> None:
    """From another process, on the same Spark; neither says a word on the terminal."""
    command = [sys.executable, "-c", CLIENT, f"sc://127.0.0.1:{port}"]
    client = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=1200)
    assert (client.returncode, client.stderr) == (0, "")
    told = json.loads(client.stdout)
    assert told["levels"] == answer["levels"]
    assert told["released"] == 20000 - told["suppressed"]
    assert told["left"] == ["released", "t"]
    assert told["cancelled"] == "step 'long' was cancelled"
    _, errors = cluster.communicate("\n", timeout=300)
    assert (cluster.returncode, errors) == (0, "")


CLIENT = """
import json, sys, threading
from sqlanon import pipeline
from sqlanon.errors import EngineError
from sqlanon.sql.relations import Table
from tests.kit.engine import open_at, query
from tests.kit.spark_cluster_program import spec_at

engine = open_at(sys.argv[1])
result = pipeline.run(spec_at(sys.argv[1]))
timer = threading.Timer(0.5, engine.cancel)
timer.start()
try:
    query(engine, "SELECT COUNT(*) FROM range(100000000000) AS a, range(1000) AS b", step="long")
except EngineError as error:
    cancelled = str(error)
[(released,)] = query(engine, "SELECT COUNT(*) FROM released")
print(json.dumps({
    "levels": result.levels,
    "suppressed": result.publication.suppressed,
    "released": released,
    "left": [name for _, name, _ in query(engine, "SHOW TABLES")],
    "cancelled": cancelled,
}))
engine.close()
"""
