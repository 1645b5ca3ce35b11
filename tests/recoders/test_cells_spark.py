"""Cell recoding on Spark: the release that DuckDB makes."""

from __future__ import annotations

import pytest

from sqlanon import pipeline
from sqlanon.spec import spec_from_dict
from tests.engines.test_spark_cases import on_spark, read_back
from tests.fixtures_support import load_case
from tests.pipeline.support import Database

pytestmark = [pytest.mark.spark, pytest.mark.soak, pytest.mark.no_cover]


def test_spark_says_what_duckdb_says(spark_url: str, duckdb_url: str) -> None:
    case = load_case("f2")
    Database(duckdb_url).create("original", case.types, case.rows)
    on_spark(spark_url, "original", dict.fromkeys(case.types, "string"), case.rows)
    values = {**case.spec, "source": "original", "target": "released", "search": {"model": "CG_"}}
    results = [
        pipeline.run(spec_from_dict({**values, "connection": url}, case.directory)) for url in (spark_url, duckdb_url)
    ]
    assert results[0].audit.satisfied
    assert read_back(spark_url, "released") == Database(duckdb_url).counted("released")
    assert results[0].recoding.to_dict() == results[1].recoding.to_dict()
