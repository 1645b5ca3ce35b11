"""The contract on PostgreSQL 15, which Debian 12 brings, and papers on it as on DuckDB."""

from __future__ import annotations

from collections import Counter

import psycopg
import pytest

from sqlanon import pipeline
from tests.engines import test_postgres
from tests.kit.database import Database, case_spec, create_case
from tests.kit.papers import load_case


class TestPostgres15(test_postgres.TestPostgres):
    @pytest.fixture
    def postgres_url(self, older_postgres_url: str) -> str:
        return older_postgres_url

    def test_it_is_the_older_one(self, url: str) -> None:
        with psycopg.connect(url) as session:
            assert session.info.server_version // 10_000 == 15


@pytest.mark.parametrize(("name", "k", "limit"), [("s3", 2, 1), ("c1", 3, 0)])
def test_papers_as_on_duckdb(name: str, k: int, limit: int, older_postgres_url: str, duckdb_url: str) -> None:
    case, found = load_case(name), []
    for url in (older_postgres_url, duckdb_url):
        database = Database(url)
        create_case(database, case)
        result = pipeline.run(case_spec(case, url, k, limit, algorithm="minimal"))
        assert result.plan is not None
        assert list(result.plan.search.minimal) == case.minimal(k, limit)
        rows = Counter(tuple(map(str, row)) for row in database.rows("release_table"))
        found.append((result.levels, result.publication.suppressed, result.audit.classes, rows))
    assert found[0] == found[1]
