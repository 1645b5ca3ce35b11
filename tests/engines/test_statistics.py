"""Statistics are of one scratch table, never of a whole database; a change lets the catalog be asked anew."""

from __future__ import annotations

from pathlib import Path

import duckdb

from sqlanon import pipeline
from sqlanon.engines import open_engine
from sqlanon.engines.base import Session, TraceEvent
from sqlanon.source.run import Options
from sqlanon.sql.relations import Table
from tests.engines.test_plans import ROWS, SPEC
from tests.kit.database import Database, changed


def test_only_a_table_of_the_run_is_analyzed(postgres_url: str) -> None:
    Database(postgres_url).create("patients", {"zip": "text", "age": "integer", "sex": "text"}, ROWS)
    texts: list[str] = []

    def note(event: TraceEvent) -> None:
        if "ANALYZE" in event.sql and event.seconds is None:
            texts.append(event.sql.rpartition("*/")[2])

    search = {"algorithm": "optimal"}
    pipeline.plan(changed({**SPEC, "connection": postgres_url, "search": search}), Options(hooks=(note,)))
    assert texts
    assert all(text.startswith(' ANALYZE "sqlanon_') for text in texts), texts


def test_what_another_session_made_is_seen_after_the_next_change(tmp_path: Path) -> None:
    path = tmp_path / "two.duckdb"
    with duckdb.connect(path) as other:
        engine = open_engine(f"duckdb:///{path}", Session(), tmp_path)
        try:
            assert engine.relation_kind(Table(("made",))) is None
            other.execute("CREATE TABLE made AS SELECT 1 AS x")
            with engine.transaction():
                assert engine.relation_kind(Table(("made",))) == "table"
        finally:
            engine.close()
