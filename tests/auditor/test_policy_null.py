"""NULL stays NULL below the top of its hierarchy; at the top everybody shows the same, and a NULL would tell."""

from __future__ import annotations

import re
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database
from tests.kit.scripts import run_script

ROWS = [*[("94139", 20)] * 4, *[(None, 20)] * 4]


def spec_of(url: str, levels: dict[str, int], algorithm: str = "optimal", **privacy: Any) -> Spec:
    zips = {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 5]}}, "levels": levels}
    return spec_from_dict(
        {
            "connection": url,
            "source": "people",
            "target": "released",
            "columns": {"zip": zips, "age": {"role": "quasi_identifier"}},
            "privacy": {"k": 2, **privacy},
            "search": {"algorithm": algorithm},
        }
    )


def filled(url: str) -> Database:
    database = Database(url)
    database.create("people", {"zip": "text", "age": "integer"}, ROWS)
    return database


@pytest.mark.parametrize("algorithm", ["optimal", "mondrian"])
def test_a_null_at_the_top_is_no_label(engine_url: str, algorithm: str) -> None:
    database = filled(engine_url)
    database.run("CREATE TABLE released AS SELECT CASE WHEN zip IS NOT NULL THEN '*****' END AS zip, age FROM people")
    spec = spec_of(engine_url, {"min": 2}, algorithm)
    [found] = pipeline.audit_spec(spec).violations
    assert found.startswith("column 'zip': 4 of 8 rows show what is no label of its hierarchy")
    pipeline.run(spec)
    assert pipeline.audit_spec(spec).satisfied
    assert {zip_code for (zip_code,) in database.rows("released", "zip")} == {"*****"}


def test_a_null_below_the_top_is_a_value(engine_url: str) -> None:
    database = filled(engine_url)
    database.run("CREATE TABLE released AS SELECT CASE WHEN zip IS NOT NULL THEN '9413*' END AS zip, age FROM people")
    assert pipeline.audit_spec(spec_of(engine_url, {"min": 1, "max": 1})).satisfied


def test_a_script_stops_at_a_null_at_the_top(engine_url: str) -> None:
    database = filled(engine_url)
    text = pipeline.script(spec_of(engine_url, {"min": 2}), None)
    spoilt = re.sub(r"(CAST\()?'\*{5}'( AS TEXT\))? AS zip", "CASE WHEN 1 = 0 THEN '*****' END AS zip", text)
    assert spoilt != text
    with pytest.raises(Exception, match="zip shows labels of another level"):
        run_script(database, spoilt)
    run_script(database, text)
    assert {zip_code for (zip_code,) in database.rows("released", "zip")} == {"*****"}
