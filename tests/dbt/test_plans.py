"""The one query of a dbt model on PostgreSQL: its joins are the same with and without statistics on the source."""

from __future__ import annotations

import re
from pathlib import Path
from random import Random
from typing import Any

import psycopg
import pytest

from sqlanon.dbt.writing import release_model
from sqlanon.engines import open_engine
from sqlanon.engines.base import Session
from sqlanon.source.binding import bind
from tests.kit.database import Database, changed

pytestmark = [pytest.mark.postgres, pytest.mark.no_cover]

SPEC: dict[str, Any] = {
    "source": "patients",
    "target": "released",
    "columns": {
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [5, 10, 20]}}},
        "sex": {"role": "quasi_identifier"},
        "job": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 3, "steps": [1, 3]}}},
        "disease": {"role": "sensitive"},
    },
    "privacy": {"k": 5, "suppression": {"limit": "20%"}, "l_diversity": [{"column": "disease", "l": 2}]},
}
LEVELS = {"zip": 2, "age": 1, "sex": 0, "job": 1}


def wasted(session: psycopg.Connection[Any], sql: str) -> int:
    """Pairs of rows that joins looked at in vain."""
    lines = session.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {sql}".encode()).fetchall()
    found = [re.search(r"Rows Removed by Join Filter: (\d+)", line) for (line,) in lines]
    return sum(int(match[1]) for match in found if match)


@pytest.mark.parametrize("mode", ["drop", "blank"])
def test_classes_are_matched_once_all_labels_are_known(postgres_url: str, mode: str) -> None:
    source = Random(2)
    rows = [
        (
            str(94000 + int(300 * source.random() * source.random())),
            source.randrange(18, 93),
            source.choice("mf"),
            f"j{source.randrange(60):02}",
            f"d{source.randrange(4)}",
        )
        for _ in range(10_000)
    ]
    types = {"zip": "text", "age": "integer", "sex": "text", "job": "text", "disease": "text"}
    Database(postgres_url).create("patients", types, rows)
    privacy = {"k": 5, "suppression": {"limit": "20%", "mode": mode}} if mode == "blank" else SPEC["privacy"]
    spec = changed({**SPEC, "privacy": privacy, "connection": postgres_url})
    engine = open_engine(postgres_url, Session(), Path())
    try:
        model = release_model(engine, bind(spec, engine), LEVELS, lambda name: f"seed_{name}")
        sql = engine.traits.render(model.query)
    finally:
        engine.close()
    with psycopg.connect(postgres_url, autocommit=True) as session:
        without = wasted(session, sql)
        session.execute("ANALYZE")
        assert max(without, wasted(session, sql)) < 10 * len(rows)
        published = session.execute(f"SELECT COUNT(*) FROM ({sql}) AS released".encode()).fetchone()
    assert published is not None
    assert 0.8 * len(rows) <= published[0] <= len(rows)
