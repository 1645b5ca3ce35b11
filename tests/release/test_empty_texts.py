"""A csv file has one spelling for an empty text and NULL: distributions of both sides are compared by it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.spec import spec_from_dict
from tests.kit.database import Database

ROWS = [(f"z{i % 2}", "" if i % 4 < 2 else "flu") for i in range(20)]


def spec(url: str, target: Path, t: float) -> Any:
    columns = {"zip": {"role": "quasi_identifier"}, "disease": {"role": "sensitive"}}
    privacy = {"k": 5, "t_closeness": [{"column": "disease", "t": t}]}
    return spec_from_dict(
        {"connection": url, "source": "people", "target": str(target), "columns": columns, "privacy": privacy}
    )


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_empty_texts_are_as_far_from_the_whole_as_they_were(duckdb_url: str, tmp_path: Path, ending: str) -> None:
    Database(duckdb_url).create("people", {"zip": "text", "disease": "text"}, ROWS)
    asked = spec(duckdb_url, tmp_path / f"released.{ending}", 0.01)
    result = pipeline.run(asked)
    assert result.audit.satisfied
    assert result.levels == {"zip": 0}
    assert pipeline.audit_spec(asked).satisfied


def test_a_class_that_is_far_is_still_found(duckdb_url: str, tmp_path: Path) -> None:
    """The same file against a source whose values are otherwise."""
    database = Database(duckdb_url)
    database.create("people", {"zip": "text", "disease": "text"}, ROWS)
    asked = spec(duckdb_url, tmp_path / "released.csv", 0.3)
    pipeline.run(asked)
    database.run("UPDATE people SET disease = 'flu'")
    found = pipeline.audit_spec(asked)
    assert not found.satisfied
