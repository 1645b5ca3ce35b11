"""Printed scripts: compared with snapshots, run by the databases' own clients, stopped by data that fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import duckdb
import psycopg
import pytest
from sqlglot import exp, parse

from sqlanon import pipeline
from sqlanon.engines.generated_dialects import SCRIPT_DIALECTS
from sqlanon.release.lock import Lock
from sqlanon.release.script import compiled
from sqlanon.spec import Spec
from tests.kit.database import Database
from tests.kit.golden import SPELLINGS, hold
from tests.kit.golden_cases import CASES, GENERATED, LEVELS, spec_of
from tests.kit.papers import load_case
from tests.kit.scripts import run_script

OTHERS = sorted(SCRIPT_DIALECTS.keys() - {"duckdb", "postgres"}, key=lambda name: (name in SPELLINGS, name))
"""Scripts that are kept whole come first: others are compared with them."""
LONG = ("models", "groups")


@pytest.mark.parametrize("name", CASES)
def test_script_is_the_snapshot_and_gives_the_same_table(engine_url: str, name: str, update_golden: bool) -> None:
    database = Database(engine_url)
    spec = spec_of(database, name)
    plan = pipeline.plan(spec)
    assert name not in LEVELS or plan.levels == LEVELS[name]
    text = pipeline.scripted(spec, plan.recoding).text
    hold("duckdb" if database.is_duckdb else "postgresql", name, text, update=update_golden)
    result = pipeline.apply(spec, Lock.of(spec, plan, "spec.yaml"))
    expected = database.counted("release_table")
    types = database.types("release_table")
    database.run("DROP TABLE release_table")
    for _ in range(2):
        run_script(database, text)
        assert database.counted("release_table") == expected
    assert database.types("release_table") == types
    assert sum(expected.values()) == result.audit.rows
    assert database.leftovers() == []


# -- other dialects ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Planned:
    """A case on DuckDB, and the script of the levels that a search chose in DuckDB's own dialect."""

    name: str
    spec: Spec

    @cached_property
    def own(self) -> list[exp.Expr]:
        return statements(compiled(self.spec, LEVELS[self.name]).text, "duckdb")


@pytest.fixture(scope="module", params=GENERATED)
def planned(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Planned]:
    path = tmp_path_factory.mktemp("golden") / f"{request.param}.duckdb"
    with duckdb.connect(path) as connection:
        connection.execute("SET threads = 1")
        yield Planned(request.param, spec_of(Database(f"duckdb:///{path}"), request.param))


def statements(text: str, dialect: str) -> list[exp.Expr]:
    return [statement for statement in parse(text, dialect=dialect) if statement is not None]


@pytest.mark.parametrize("dialect", OTHERS)
def test_scripts_for_other_dialects(
    planned: Planned, dialect: str, update_golden: bool, caplog: pytest.LogCaptureFixture
) -> None:
    script = compiled(planned.spec, LEVELS[planned.name], dialect=dialect)
    assert not caplog.records, "something has no words in this dialect"
    hold(dialect, planned.name, script.text, update=update_golden)
    # What is read back from a text stays what it is as long as the text does; `make soak` reads the long ones again.
    if planned.name not in LONG or update_golden:
        reads_back(script.text, dialect, planned)


@pytest.mark.soak
@pytest.mark.parametrize("dialect", OTHERS)
def test_scripts_for_other_dialects_read_back(planned: Planned, dialect: str) -> None:
    reads_back(compiled(planned.spec, LEVELS[planned.name], dialect=dialect).text, dialect, planned)


def reads_back(text: str, dialect: str, planned: Planned) -> None:
    """The dialect's own grammar knows every statement, and they say what those for DuckDB say."""
    parsed = statements(text, dialect)
    assert not [statement for statement in parsed if isinstance(statement, exp.Command)]
    repeats = SCRIPT_DIALECTS[dialect].traits.copies(exp.Literal.number(1)) is not None
    assert created(parsed) == [name for name in created(planned.own) if repeats or name != "alike"]
    assert texts(parsed) >= texts(planned.own) - ONLY_DUCKDB


MARK = re.compile("^sqlanon_script_([0-9a-f]{8}_)?")
ONLY_DUCKDB = {"UTC", "", "nulls_last", "1", "sqlanon: rows were lost after the audit"}
"""Texts of its settings, of an assertion by a cast, and of a check between staging twice: without a rename in a
transaction the audited rows go into the target at once.
"""


def created(script: list[exp.Expr]) -> list[str]:
    """What a script calls its scratch tables, without the mark of the release; dialects stage and swap differently."""
    tables = [found.find(exp.Table) for found in script if isinstance(found, exp.Create)]
    names = [MARK.sub("", table.name.lower()) for table in tables if table is not None]
    return [name for name in names if name not in ("staging", "staged", "release_table")]


def texts(script: list[exp.Expr]) -> set[str]:
    """The texts of a script but for those of infinite dates, which only some dialects have."""
    found = {item.name for one in script for item in one.find_all(exp.Literal) if item.is_string}
    return found - {"infinity", "-infinity"}


def test_a_script_for_another_dialect_is_that_of_its_own_engine(duckdb_url: str, postgres_url: str) -> None:
    """Catalogs that agree give the same script, whichever is asked."""
    scripts = []
    for url in (duckdb_url, postgres_url):
        spec = spec_of(Database(url), "models")
        scripts.append(compiled(spec, LEVELS["models"], dialect="postgres").text)
    assert scripts[0] == scripts[1]


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


@pytest.mark.parametrize(
    ("dialect", "barrier"),
    [
        ("snowflake", "CREATE OR REPLACE SECURE VIEW"),
        ("postgres", "security_barrier"),
        ("clickhouse", "LIMIT 92233720"),
    ],
)
def test_views_hide_rows_from_functions_of_the_reader(duckdb_url: str, dialect: str, barrier: str) -> None:
    spec = spec_of(Database(duckdb_url), "c1", target={"view": "release_table"})
    recoding = pipeline.plan(spec).recoding
    assert barrier in pipeline.scripted(spec, recoding, dialect=dialect).text


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
