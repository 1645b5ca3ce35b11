"""Printed scripts: compared with snapshots, run by the databases' own clients, stopped by data that fail."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from sqlanon import pipeline
from sqlanon.demo import generate
from sqlanon.spec import Spec, spec_from_dict
from tests.fixtures_support import FIXTURES, load_case, read_yaml
from tests.pipeline.support import Database

GOLDEN = FIXTURES.parent / "sql" / "golden"
DEMO = Path(generate.__file__).parent
CASES = ("s2", "c1", "demo")
DEMO_TYPES = {"birth_date": "date", "cost": "decimal(10, 2)"}

pytestmark = pytest.mark.kept_open


def spec_of(database: Database, name: str, **changes: Any) -> Spec:
    """The table of a case in the database, and its spec there."""
    if name == "demo":
        rows: list[tuple[Any, ...]] = list(generate.patients())
        types = {column: DEMO_TYPES.get(column, "text") for column in generate.COLUMNS}
        values, folder = read_yaml(DEMO / "spec.yaml"), DEMO
    else:
        case = load_case(name)
        rows, types, values, folder = list(case.rows), dict(case.types), case.spec, case.directory
    database.create("source_table", types, rows)
    places = {"connection": database.url, "source": "source_table", "target": "release_table"}
    return spec_from_dict({**values, **places, **changes}, folder)


def run_script(database: Database, text: str) -> None:
    """As a person would: the whole script through the database's own client."""
    if database.is_duckdb:
        with duckdb.connect(database.url.removeprefix("duckdb:///")) as connection:
            connection.execute(text)
        return
    with psycopg.connect(database.url, autocommit=True) as session:
        session.execute(text.encode())


@pytest.mark.parametrize("name", CASES)
def test_script_is_the_snapshot_and_gives_the_same_table(engine_url: str, name: str, update_golden: bool) -> None:
    database = Database(engine_url)
    spec = spec_of(database, name)
    text = pipeline.script(spec, None)
    golden = GOLDEN / ("duckdb" if database.is_duckdb else "postgresql") / f"{name}.sql"
    if update_golden:
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8")
    assert golden.read_text(encoding="utf-8") == text, "the SQL has changed: review it and run make golden"
    result = pipeline.run(spec)
    expected = database.counted("release_table")
    types = database.types("release_table")
    database.run("DROP TABLE release_table")
    for _ in range(2):
        run_script(database, text)
        assert database.counted("release_table") == expected
    assert database.types("release_table") == types
    assert sum(expected.values()) == result.audit.rows
    assert database.leftovers() == []


def test_script_of_a_view(engine_url: str) -> None:
    database = Database(engine_url)
    spec = spec_of(database, "c1", target={"view": "release_table"})
    text = pipeline.script(spec, None)
    run_script(database, text)
    scripted = database.counted("release_table")
    pipeline.run(spec)
    assert database.counted("release_table") == scripted
    run_script(database, text)
    assert database.leftovers() == []


@pytest.mark.no_cover
@pytest.mark.parametrize("mode", ["drop", "blank"])
def test_script_suppresses_as_a_run_does(engine_url: str, mode: str) -> None:
    database = Database(engine_url)
    columns = dict(load_case("s2").spec["columns"])
    columns = {name: {**column, "levels": {"max": 0}} for name, column in columns.items()}
    privacy = {"k": 2, "suppression": {"limit": "50%", "mode": mode}}
    spec = spec_of(database, "s2", columns=columns, privacy=privacy)
    text = pipeline.script(spec, None)
    assert pipeline.run(spec).publication.suppressed == 4
    expected = database.counted("release_table")
    run_script(database, text)
    assert database.counted("release_table") == expected


@pytest.mark.parametrize(
    ("arrival", "stopped_by"),
    [
        ("INSERT INTO source_table VALUES ('asian', '00000')", "outside its hierarchy"),
        ("INSERT INTO source_table VALUES ('black', '94142'), ('white', '94139'), ('white', '94141')", "suppressed"),
        ("DELETE FROM source_table", "fails its audit"),
    ],
)
@pytest.mark.no_cover
def test_script_stops_when_data_fail(engine_url: str, arrival: str, stopped_by: str) -> None:
    database = Database(engine_url)
    columns = dict(load_case("s2").spec["columns"])
    columns["zip"] = {**columns["zip"], "levels": {"max": 0}}
    columns["race"] = {**columns["race"], "levels": {"max": 0}}
    spec = spec_of(database, "s2", columns=columns, privacy={"k": 2, "suppression": {"limit": 4}})
    text = pipeline.script(spec, None)
    run_script(database, text)
    before = database.rows("release_table")
    database.run(arrival)
    with pytest.raises((duckdb.Error, psycopg.Error), match=stopped_by):
        run_script(database, text)
    assert database.rows("release_table") == before
    assert database.leftovers() == []


@pytest.mark.no_cover
def test_statements_after_the_one_that_stopped_do_nothing(engine_url: str) -> None:
    """A client that goes on after an error: the transaction does not."""
    database = Database(engine_url)
    text = pipeline.script(spec_of(database, "s2"), None)
    run_script(database, text)
    before = database.rows("release_table")
    database.run("DELETE FROM source_table")
    statements = [statement for statement in text.split(";\n") if statement.strip()]
    if database.is_duckdb:
        with duckdb.connect(database.url.removeprefix("duckdb:///")) as connection:
            failed = sum(_fails(connection.execute, statement) for statement in statements)
    else:
        with psycopg.connect(database.url, autocommit=True) as session:
            failed = sum(_fails(session.execute, statement.encode()) for statement in statements)
    assert failed > 1
    assert database.rows("release_table") == before
    assert database.leftovers() == []


def _fails(execute: Any, statement: Any) -> bool:
    try:
        execute(statement)
    except (duckdb.Error, psycopg.Error):
        return True
    return False
