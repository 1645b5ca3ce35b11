"""ClickHouse scripts, run by chdb where it is installed: the same table, and a stop that leaves the old one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.release.script import compiled
from tests.kit.database import literal
from tests.kit.random_tables import QUASI_IDENTIFIER, TYPES, Asking, random_table
from tests.kit.scripts import LIMIT, RELEASED, asked, loaded, published, statements

chdb = pytest.importorskip(
    "chdb.session", reason="ClickHouse scripts run in chdb, which `pip install sqlanon[chdb]` adds"
)

HANDFUL = asked("k", "t declared", "t hierarchical, persons", "two columns, persons", "others known", "k map")
TYPES_THERE = {name: "Nullable(String)" if kind == "text" else "Nullable(Int32)" for name, kind in TYPES.items()}


@pytest.fixture(scope="module")
def session() -> Iterator[Any]:
    """A database in memory with the random table and its population; a process has only one."""
    with chdb.Session() as opened:
        opened.query("CREATE DATABASE test ENGINE = Atomic")
        opened.query("USE test")
        yield opened


@pytest.fixture
def clickhouse(session: Any) -> Any:
    source, population = random_table(1)
    for name, columns, rows in (("t", list(TYPES), source), ("people", list(QUASI_IDENTIFIER), population)):
        definitions = ", ".join(f"{column} {TYPES_THERE[column]}" for column in columns)
        session.query(f"CREATE OR REPLACE TABLE {name} ({definitions}) ENGINE = MergeTree ORDER BY tuple()")
        lines = ("(" + ", ".join(literal(row[column]) for column in columns) + ")" for row in rows)
        session.query(f"INSERT INTO {name} VALUES {', '.join(lines)}")
    return session


def run_script(session: Any, text: str) -> None:
    for statement in statements(text):
        session.query(statement)


def lines(session: Any, query: str) -> list[list[Any]]:
    return [json.loads(line) for line in str(session.query(f"{query} FORMAT JSONCompactEachRow")).splitlines()]


def released(session: Any) -> Counter[tuple[Any, ...]]:
    columns = ", ".join(f"CAST({name} AS Nullable(String))" for name in RELEASED)
    return Counter(map(tuple, lines(session, f"SELECT {columns} FROM released")))


def leftovers(session: Any) -> list[list[Any]]:
    return lines(session, "SELECT name FROM system.tables WHERE name LIKE 'sqlanon%'")


@pytest.mark.parametrize("asking", HANDFUL, ids=lambda asking: asking.name)
def test_scripts_publish_what_a_run_publishes(clickhouse: Any, duckdb_url: str, asking: Asking) -> None:
    database = loaded(duckdb_url)
    spec = asking.spec(LIMIT, connection=duckdb_url, search={"algorithm": "optimal", "metric": "dm"})
    result = pipeline.run(spec)
    script = compiled(spec, result.levels, dialect="clickhouse")
    run_script(clickhouse, script.text)
    assert released(clickhouse) == published(database)
    assert leftovers(clickhouse) == []
    clickhouse.query("INSERT INTO t VALUES ('n1', 1, 'f', 'plague', 1, 'p'), ('s9', 1, 'f', 'plague', 1, 'p')")
    with pytest.raises(RuntimeError, match="sqlanon: "):
        run_script(clickhouse, script.text)
    assert released(clickhouse) == published(database)
    run_script(clickhouse, script.files["06_clean_up.sql"])
    assert leftovers(clickhouse) == []
