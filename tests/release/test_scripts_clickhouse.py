"""ClickHouse scripts, run by chdb: the same table, and a stop that leaves the old one."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from sqlanon import pipeline
from sqlanon.release.script import compiled
from tests.kit.database import literal
from tests.kit.random_tables import QUASI_IDENTIFIER, TYPES, Asking, random_table
from tests.kit.scripts import LIMIT, RELEASED, asked, loaded, published, statements
from tests.kit.servers import chdb_connection

HANDFUL = asked("k", "t declared", "t hierarchical, persons", "two columns, persons", "others known", "k map")
TYPES_THERE = {name: "Nullable(String)" if kind == "text" else "Nullable(Int32)" for name, kind in TYPES.items()}


@pytest.fixture
def clickhouse(clickhouse_folder: tuple[Path, Any], clickhouse_url: str) -> Iterator[Any]:
    """A connection to a database with the random table and its population."""
    session = chdb_connection(clickhouse_folder[0])
    [database] = parse_qs(urlsplit(clickhouse_url).query)["database"]
    session.query(f"USE {database}")
    source, population = random_table(1)
    for name, columns, rows in (("t", list(TYPES), source), ("people", list(QUASI_IDENTIFIER), population)):
        definitions = ", ".join(f"{column} {TYPES_THERE[column]}" for column in columns)
        session.query(f"CREATE OR REPLACE TABLE {name} ({definitions}) ENGINE = MergeTree ORDER BY tuple()")
        lines = ("(" + ", ".join(literal(row[column]) for column in columns) + ")" for row in rows)
        session.query(f"INSERT INTO {name} VALUES {', '.join(lines)}")
    yield session
    session.close()


def run_script(session: Any, text: str) -> None:
    for statement in statements(text):
        session.query(statement)


def lines(session: Any, query: str) -> list[list[Any]]:
    return [json.loads(line) for line in str(session.query(f"{query} FORMAT JSONCompactEachRow")).splitlines()]


def released(session: Any) -> Counter[tuple[Any, ...]]:
    columns = ", ".join(f"CAST({name} AS Nullable(String))" for name in RELEASED)
    return Counter(map(tuple, lines(session, f"SELECT {columns} FROM released")))


def leftovers(session: Any) -> list[list[Any]]:
    return lines(session, "SELECT name FROM system.tables WHERE database = currentDatabase() AND name LIKE 'sqlanon%'")


@pytest.mark.representative(3)
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
    with pytest.raises(Exception, match="sqlanon: "):
        run_script(clickhouse, script.text)
    assert released(clickhouse) == published(database)
    run_script(clickhouse, script.files["06_clean_up.sql"])
    assert leftovers(clickhouse) == []
