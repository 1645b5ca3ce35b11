"""Audits against two measures that share nothing with them: hand-written SQL and pycanon, on random tables."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pandas
import pycanon.anonymity
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlanon import pipeline
from sqlanon.auditor import audit
from sqlanon.engines import open_engine
from sqlanon.engines.base import Session
from sqlanon.errors import SourceError
from sqlanon.sql.relations import Table
from tests.kit.database import Database, changed
from tests.kit.examples import share

REFERENCE = (Path(__file__).parents[2] / "sql" / "reference" / "k_anonymity.sql").read_text(encoding="utf-8")
COLUMNS = ("q1", "q2", "q3")
TABLES = st.lists(
    st.tuples(st.sampled_from(["x", "X", "", "x ", None]), st.sampled_from(["1", "2", None]), st.just("z")), max_size=30
)
FEW = settings(
    max_examples=share(8), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def measured(url: str, k: int) -> Any:
    engine = open_engine(url, Session(), Path())
    try:
        return audit(engine, Table(("release",)), COLUMNS, k)
    finally:
        engine.close()


@given(rows=TABLES, k=st.integers(1, 6))
@FEW
def test_audit_equals_the_reference_and_pycanon(engine_url: str, rows: list[tuple[Any, ...]], k: int) -> None:
    database = Database(engine_url)
    database.run("DROP TABLE IF EXISTS release")
    database.create("release", dict.fromkeys(COLUMNS, "text"), rows)
    found = measured(engine_url, k)
    by_hand = database.run(REFERENCE)
    assert {(found.rows, found.classes, found.k or None)} == {line[:3] for line in by_hand}
    sizes = Counter({size: classes for *_, size, classes, _ in by_hand if size is not None})
    assert sizes == Counter(Counter(rows).values())
    assert found.rows_at_risk == sum(size * classes for size, classes in sizes.items() if size < k)
    assert found.classes_at_risk == sum(classes for size, classes in sizes.items() if size < k)
    assert sum(bucket.classes for bucket in found.distribution) == found.classes
    assert sum(bucket.rows for bucket in found.distribution) == found.rows
    assert found.satisfied == (bool(rows) and found.k >= k)
    if rows:
        # pycanon leaves rows with NULL out of its count: a text that no value has stands for it.
        frame = pandas.DataFrame(rows, columns=list(COLUMNS)).fillna("NULL")
        assert pycanon.anonymity.k_anonymity(frame, list(COLUMNS)) == found.k


def test_audit_of_a_spec_counts_what_was_suppressed(engine_url: str) -> None:
    database = Database(engine_url)
    database.create("patients", {"q1": "text"}, [("a",)] * 5 + [("b",)] * 2)
    spec = changed(
        {
            "connection": engine_url,
            "source": "patients",
            "target": "release",
            "columns": {"q1": {"role": "quasi_identifier", "levels": {"max": 0}}},
            "privacy": {"k": 3, "suppression": {"limit": 2}},
        }
    )
    with pytest.raises(SourceError):
        pipeline.audit_spec(spec)
    published = pipeline.run(spec).audit
    again = pipeline.audit_spec(spec)
    assert again == published
    assert (again.suppressed, again.k, again.satisfied) == (2, 5, True)
    database.run("INSERT INTO release VALUES ('c')")
    later = pipeline.audit_spec(spec)
    assert not later.satisfied
    assert (later.rows_at_risk, later.classes_at_risk) == (1, 1)
