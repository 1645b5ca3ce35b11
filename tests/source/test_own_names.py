"""Columns that are called as sqlanon calls what it adds to rows: refused, lest one be taken for the other."""

from __future__ import annotations

import pytest

from sqlanon import pipeline
from sqlanon.errors import SourceError
from sqlanon.spec import spec_from_dict
from tests.kit.database import Database
from tests.kit.series import SECRET, VARIABLE

OURS = ("sqlanon person", "Sqlanon Class", "sqlanon told", "sqlanon left", "sqlanon value_0")
LATER = ("sqlanon own key", "SQLANON true value", "sqlanon row cost", "sqlanon place cost")


@pytest.mark.one_engine
@pytest.mark.parametrize("name", [*OURS, *LATER])
def test_names_of_our_own_are_refused(name: str, duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """On DuckDB the ledger held the values of such a column in the place of people."""
    monkeypatch.setenv(VARIABLE, SECRET)
    database = Database(duckdb_url)
    database.run(
        f'CREATE TABLE people (id TEXT, a TEXT, "{name}" TEXT)',
        "INSERT INTO people VALUES ('1', 'x', 'u'), ('2', 'x', 'u'), ('3', 'x', 'v'), ('4', 'x', 'v')",
    )
    roles = {"id": {"role": "identifier"}, "a": {"role": "quasi_identifier"}, name: {"role": "insensitive"}}
    values = {
        "connection": duckdb_url,
        "source": "people",
        "target": "release",
        "columns": roles,
        "privacy": {"k": 2},
        "history": {"key": "id", "ledger": "ledger", "secret": "${" + VARIABLE + "}"},
    }
    with pytest.raises(SourceError, match=f"columns.{name}: sqlanon gives this name to a column of its own"):
        pipeline.run(spec_from_dict(values))
