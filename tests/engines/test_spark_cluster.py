"""A Spark of several processes, of which one is killed while the search asks it; quiet, and right all the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from sqlanon import pipeline
from tests.engines import spark_cluster_program
from tests.engines.helpers import ROOT
from tests.pipeline.support import Database
from tests.spark_support import require_java, url_of

pytestmark = [pytest.mark.spark, pytest.mark.no_cover]

SETTINGS = {
    "spark.executor.memory": "512m",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.sql.shuffle.partitions": "2",
}


def home_of_its_own(folder: Path) -> Path:
    """Workers write into the home of Spark: not into that of the installed package."""
    import pyspark

    home = folder / "spark"
    home.mkdir()
    for entry in Path(pyspark.__file__).parent.iterdir():
        (home / entry.name).symlink_to(entry)
    return home


def test_a_killed_executor_changes_nothing(tmp_path: Path, duckdb_url: str) -> None:
    require_java()
    url = url_of("local-cluster[2,1,512]", str(tmp_path / "warehouse"), **SETTINGS)
    environment = {**os.environ, "SPARK_HOME": str(home_of_its_own(tmp_path)), "SPARK_LOCAL_IP": "127.0.0.1"}
    command = [sys.executable, "-m", "tests.engines.spark_cluster_program", url]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=environment, timeout=600)
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert len(answer["before"]) == 2
    assert answer["killed"] in answer["before"]
    assert answer["killed"] not in answer["after"]
    Database(duckdb_url).run(spark_cluster_program.GENERATED.replace("range(20000)", "range(20000) AS r(id)"))
    expected = pipeline.plan(spark_cluster_program.spec_at(duckdb_url))
    assert answer["levels"] == expected.levels
    assert answer["fingerprint"] == expected.fingerprint
    assert answer["verdicts"] == [
        [list(verdict.node), verdict.suppressed, verdict.classes] for verdict in expected.verdicts
    ]
