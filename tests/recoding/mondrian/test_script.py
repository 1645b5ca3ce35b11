"""A strict partition as a script: the regions as written lookup rows, the same release by the database's own client."""

from __future__ import annotations

from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.engines.generated_dialects import SCRIPT_DIALECTS
from sqlanon.errors import UsageError
from sqlanon.release.lock import Lock
from tests.kit.database import Database, changed
from tests.kit.scripts import run_script
from tests.recoding.mondrian.test_release import CHAPTER, SPEC

ROWS = [*CHAPTER, (None, None, "F", "flu"), ("22030", None, "M", None), ("it's", "wid\\ow", "F", "flu")]


def filled(url: str) -> Database:
    database = Database(url)
    database.create("people", dict.fromkeys(("zip", "marital", "sex", "disease"), "text"), ROWS)
    return database


@pytest.fixture
def people(engine_url: str) -> Database:
    return filled(engine_url)


def values(database: Database, **changes: Any) -> dict[str, Any]:
    columns = {name: {"role": "quasi_identifier"} for name in ("zip", "marital", "sex")} | {
        "disease": {"role": "sensitive"}
    }
    return {**SPEC, "connection": database.url, "columns": columns, **changes}


@pytest.mark.one_engine
def test_the_script_publishes_the_same(people: Database) -> None:
    search = {"algorithm": "mondrian", "mondrian": {"bounds": "values"}}
    privacy = {"k": 2, "l_diversity": [{"column": "disease", "l": 2}]}
    spec = changed(values(people, search=search, privacy=privacy))
    text = pipeline.script(spec, None)
    assert "sqlanon_script_regions" in text
    pipeline.run(spec)
    expected = people.counted("released")
    assert len(expected) > 2
    people.run("DROP TABLE released")
    run_script(people, text)
    assert people.counted("released") == expected


def test_a_script_stops_at_values_it_does_not_know(duckdb_url: str) -> None:
    people = filled(duckdb_url)
    text = pipeline.script(changed(values(people)), None)
    people.run("INSERT INTO people VALUES ('99999', 'married', 'F', 'flu')")
    with pytest.raises(Exception, match="outside the regions"):
        run_script(people, text)
    assert "released" not in {name for (name,) in people.run("SELECT table_name FROM information_schema.tables")}


def test_a_lock_of_other_rows_is_refused(duckdb_url: str) -> None:
    people = filled(duckdb_url)
    spec = changed(values(people))
    lock = Lock.of(spec, pipeline.plan(spec), "people.yaml")
    people.run("UPDATE people SET sex = 'M'")
    with pytest.raises(UsageError, match="plan again"):
        pipeline.script(spec, lock)


@pytest.mark.parametrize("search", [{"algorithm": "local"}, {"algorithm": "mondrian", "mondrian": {"kind": "relaxed"}}])
def test_other_assignments_are_no_script(duckdb_url: str, search: dict[str, Any]) -> None:
    database = filled(duckdb_url)
    with pytest.raises(UsageError, match="a script cannot say"):
        pipeline.script(changed(values(database, search=search)), None)


def test_other_dialects_write_it(duckdb_url: str) -> None:
    database = filled(duckdb_url)
    spec = changed(values(database))
    recoding = pipeline.plan(spec).recoding
    for dialect in sorted(SCRIPT_DIALECTS)[:4]:
        assert "regions" in pipeline.scripted(spec, recoding, dialect=dialect).text
