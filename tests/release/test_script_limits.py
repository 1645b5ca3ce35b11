"""Limits of the spec in scripts: set where the dialect can, else named in the heading; never passed over in silence."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from sqlanon.release.script import compiled
from sqlanon.spec import spec_from_dict
from tests.kit.commands import COLUMNS, patients
from tests.kit.database import Database
from tests.kit.scripts import run_script

LEVELS = {"zip": 1, "age": 1, "race": 1}


def script(url: str, dialect: str | None, limits: dict[str, Any] | None, **more: Any) -> str:
    columns = {name: COLUMNS[name] for name in ("zip", "age", "race", "disease")}
    values = {"connection": url, "source": "patients", "target": "released", "columns": columns, "privacy": {"k": 2}}
    names = [name for name in columns if columns[name]["role"] == "quasi_identifier"]
    bounded = {} if limits is None else {"limits": limits}
    spec = spec_from_dict({**values, "default_role": "identifier", **bounded, **more})
    return compiled(spec, {name: LEVELS[name] for name in names}, dialect=dialect).text


def heading(text: str) -> str:
    lines = text.partition("\n\n")[0].splitlines()
    return " ".join(line.removeprefix("-- ") for line in lines)


@pytest.mark.parametrize(
    ("dialect", "statement"),
    [("postgres", "SET LOCAL statement_timeout = 90500;"), ("redshift", "SET statement_timeout = 90500;")],
)
def test_a_bound_of_statements_is_set(duckdb_url: str, dialect: str, statement: str) -> None:
    patients(duckdb_url)
    text = script(duckdb_url, dialect, {"statement_seconds": 90.5})
    assert statement in text
    assert "does not hold to" not in heading(text)
    for unbounded in ({}, {"statement_seconds": "none"}):
        assert "statement_timeout" not in script(duckdb_url, dialect, unbounded)


@pytest.mark.parametrize("dialect", [None, "snowflake", "bigquery", "spark"])
def test_what_a_script_cannot_hold_to_stands_in_its_heading(duckdb_url: str, dialect: str | None) -> None:
    patients(duckdb_url)
    said = heading(
        script(
            duckdb_url,
            dialect,
            {"statement_seconds": 60, "max_scan_bytes": "20 GB", "memory": "1 GB", "lock_seconds": 5},
        )
    )
    for key in ("statement_seconds", "max_scan_bytes", "memory", "lock_seconds"):
        assert f"limits.{key}" in said
    assert "does not hold to" in said
    assert "does not hold to" not in heading(script(duckdb_url, dialect, {}))
    assert "does not hold to" not in heading(script(duckdb_url, dialect, None))


@pytest.mark.postgres
def test_a_scratch_schema_that_a_dialect_has_no_use_for_is_named(postgres_url: str) -> None:
    patients(postgres_url)
    assert "scratch" in heading(script(postgres_url, "snowflake", {}, scratch="public"))
    assert "does not hold to" not in heading(script(postgres_url, None, {}, scratch="public"))


@pytest.mark.postgres
def test_postgresql_stops_a_statement_that_takes_too_long(postgres_url: str) -> None:
    patients(postgres_url)
    database = Database(postgres_url)
    text = script(postgres_url, None, {"statement_seconds": 2})
    run_script(database, text)
    database.run("ALTER TABLE patients RENAME TO people")
    database.run("CREATE VIEW patients AS SELECT * FROM people WHERE pg_sleep(1) IS NOT NULL")
    with pytest.raises(psycopg.errors.QueryCanceled, match="statement timeout"):
        run_script(database, text)
