"""Spark scripts, run by pyspark's own session: the same table, and a stop that leaves the old one."""

from __future__ import annotations

import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.release.script import compiled
from tests.kit.database import literal
from tests.kit.random_tables import QUASI_IDENTIFIER, TYPES, Asking, random_table
from tests.kit.scripts import RELEASED, as_texts, asked, loaded, published, statements
from tests.kit.spark import SETTINGS, require_java

pytestmark = pytest.mark.spark

HANDFUL = [
    pytest.param(asking, marks=[pytest.mark.soak] if asking.groups else [], id=asking.name)
    for asking in asked("t declared, persons", "patient and doctor")
]
LIMIT = 2
"""Few rounds of suppression: each is a job of its own."""

SPARK_TYPES = {name: "STRING" if kind == "text" else "INT" for name, kind in TYPES.items()}


@pytest.fixture
def spark(spark_url: str) -> Any:
    """A session in the schema of the test, with the random table and its population."""
    from pyspark.sql import SparkSession

    active = SparkSession.getActiveSession()
    assert active is not None
    session = active.newSession()
    session.sql(f"USE {spark_url.partition(']/')[2].partition('?')[0]}")
    for statement in source_tables():
        session.sql(statement)
    return session


def source_tables() -> Iterator[str]:
    """Statements that make the random table and its population."""
    source, population = random_table(1)
    for name, columns, rows in (("t", list(TYPES), source), ("people", list(QUASI_IDENTIFIER), population)):
        typed = ", ".join(f"{column} {SPARK_TYPES[column]}" for column in columns)
        yield f"CREATE TABLE {name} ({typed}) USING parquet"
        lines = (
            "(" + ", ".join(f"CAST({literal(row[column])} AS {SPARK_TYPES[column]})" for column in columns) + ")"
            for row in rows
        )
        yield f"INSERT INTO {name} VALUES {', '.join(lines)}"


def run_script(session: Any, text: str) -> None:
    for statement in statements(text):
        session.sql(statement).collect()


def leftovers(session: Any) -> list[str]:
    return [row.tableName for row in session.sql("SHOW TABLES").collect() if row.tableName.startswith("sqlanon")]


@pytest.mark.parametrize("asking", HANDFUL)
def test_scripts_publish_what_a_run_publishes(spark: Any, duckdb_url: str, asking: Asking) -> None:
    """Planned on DuckDB, run on Spark."""
    database = loaded(duckdb_url)
    spec = asking.spec(LIMIT, connection=duckdb_url, search={"algorithm": "optimal", "metric": "dm"})
    result = pipeline.run(spec)
    script = compiled(spec, result.levels, dialect="spark")
    run_script(spark, script.text)
    assert as_texts(spark.table("released").collect()) == published(database)
    assert spark.table("released").columns == list(RELEASED)
    assert leftovers(spark) == []
    spark.sql("INSERT INTO t VALUES ('n1', 1, 'f', 'plague', 1, 'p'), ('s9', 1, 'f', 'flu', 1, 'p')")
    with pytest.raises(Exception, match=r"sqlanon: a value (of disease is not in its|lies outside its)"):
        run_script(spark, script.text)
    assert as_texts(spark.table("released").collect()) == published(database)
    run_script(spark, script.files["06_clean_up.sql"])
    assert leftovers(spark) == []


def test_the_audit_stops_a_script(spark: Any, duckdb_url: str) -> None:
    loaded(duckdb_url)
    [asking] = asked("distinct")
    script = compiled(asking.spec(LIMIT, connection=duckdb_url), {"zip": 2, "age": 2, "sex": 1}, dialect="spark")
    run_script(spark, script.text)
    before = as_texts(spark.table("released").collect())
    *early, audit, swap, _ = script.files.values()
    run_script(spark, "".join(early))
    [staging] = [name for name in leftovers(spark) if name.endswith("_staging")]
    spark.sql(f"CREATE TABLE spoiled AS SELECT zip, age, sex, 'flu' AS disease, stage FROM {staging}")
    spark.sql(f"INSERT OVERWRITE {staging} SELECT * FROM spoiled")
    with pytest.raises(Exception, match="the release fails its audit: l_diversity disease"):
        run_script(spark, audit + swap)
    assert as_texts(spark.table("released").collect()) == before


@pytest.mark.soak
def test_the_scripts_in_the_shell_of_spark(tmp_path: Path, duckdb_url: str) -> None:
    """`spark-sql -f`, a program of Spark's that has never heard of sqlanon: the same table, and a stop at the audit."""
    require_java()
    database = loaded(duckdb_url)
    [asking] = asked("distinct")
    spec = asking.spec(LIMIT, connection=duckdb_url, search={"algorithm": "optimal", "metric": "dm"})
    script = compiled(spec, pipeline.run(spec).levels, dialect="spark")
    before = "".join(f"{statement};\n" for statement in source_tables())
    good = run_in_shell(tmp_path, before + script.text + READING)
    assert good.returncode == 0, good.stderr[-2000:]
    lines = Counter(line for line in good.stdout.splitlines() if line.startswith("released|"))
    expected = {
        "|".join(["released", *(value or "NULL" for value in row)]): n for row, n in published(database).items()
    }
    assert lines == Counter(expected)
    *early, audit, swap, _ = script.files.values()
    [staging] = set(re.findall(r"`(sqlanon_\w+_staging)`", swap))
    spoil = (
        f"CREATE TABLE spoiled USING parquet AS SELECT zip, age, sex, 'flu' AS disease, stage FROM `{staging}`;\n"
        f"INSERT OVERWRITE `{staging}` SELECT * FROM spoiled;\n"
    )
    bad = run_in_shell(tmp_path, "".join(early) + spoil + audit + "SELECT 'too far';\n" + swap)
    assert bad.returncode != 0
    assert "sqlanon: the release fails its audit: l_diversity disease" in bad.stderr
    assert "too far" not in bad.stdout


READING = "SELECT concat_ws('|', 'released', {}) FROM released;\n".format(
    ", ".join(f"coalesce(CAST({name} AS STRING), 'NULL')" for name in RELEASED)
)


def run_in_shell(folder: Path, text: str) -> subprocess.CompletedProcess[str]:
    """Run a file by Spark's own client. Its catalog lies in the folder and outlives it."""
    import pyspark

    (folder / "script.sql").write_text(text)
    settings = {**SETTINGS, "spark.sql.warehouse.dir": str(folder / "warehouse")}
    settings["spark.hadoop.javax.jdo.option.ConnectionURL"] = f"jdbc:derby:{folder / 'metastore'};create=true"
    # Without this, tables of statements that name no format are Hive's own.
    settings["spark.sql.legacy.createHiveTableByDefault"] = "false"
    options = [word for name, value in settings.items() for word in ("--conf", f"{name}={value}")]
    shell = Path(pyspark.__file__).parent / "bin" / "spark-sql"
    command = [str(shell), "--master", "local[2]", *options, "-S", "-f", "script.sql"]
    return subprocess.run(command, capture_output=True, text=True, cwd=folder, timeout=1800)
