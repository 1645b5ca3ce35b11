"""Spark scripts, run by pyspark's own session: the same table, and a stop that leaves the old one."""

from __future__ import annotations

from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.script import compiled
from tests.pipeline.script_support import RELEASED, as_texts, asked, loaded, published, statements
from tests.pipeline.support import literal
from tests.random_problems import QUASI_IDENTIFIER, TYPES, Asking, random_table

pytestmark = pytest.mark.spark

HANDFUL = asked("t declared, persons", "patient and doctor")
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
    source, population = random_table(1)
    for name, columns, rows in (("t", list(TYPES), source), ("people", list(QUASI_IDENTIFIER), population)):
        session.sql(f"CREATE TABLE {name} ({', '.join(f'{column} {SPARK_TYPES[column]}' for column in columns)})")
        lines = (
            "(" + ", ".join(f"CAST({literal(row[column])} AS {SPARK_TYPES[column]})" for column in columns) + ")"
            for row in rows
        )
        session.sql(f"INSERT INTO {name} VALUES {', '.join(lines)}")
    return session


def run_script(session: Any, text: str) -> None:
    for statement in statements(text):
        session.sql(statement).collect()


def leftovers(session: Any) -> list[str]:
    return [row.tableName for row in session.sql("SHOW TABLES").collect() if row.tableName.startswith("sqlanon")]


@pytest.mark.parametrize("asking", HANDFUL, ids=lambda asking: asking.name)
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
    [asking] = asked("t ordered")
    script = compiled(asking.spec(LIMIT, connection=duckdb_url), {"zip": 2, "age": 2, "sex": 1}, dialect="spark")
    run_script(spark, script.text)
    before = as_texts(spark.table("released").collect())
    *early, audit, swap, _ = script.files.values()
    run_script(spark, "".join(early))
    [staging] = [name for name in leftovers(spark) if name.endswith("_staging")]
    spark.sql(f"CREATE TABLE spoiled AS SELECT zip, age, sex, disease, 3 AS stage FROM {staging}")
    spark.sql(f"INSERT OVERWRITE {staging} SELECT * FROM spoiled")
    with pytest.raises(Exception, match="the release fails its audit: t_closeness stage"):
        run_script(spark, audit + swap)
    assert as_texts(spark.table("released").collect()) == before
