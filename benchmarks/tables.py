"""Several tables: people and ten visits each, released whole, beside the engine's own GROUP BY of their join."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from statistics import median
from typing import Any

import duckdb

from benchmarks.measure import table
from sqlanon.planning.tables import run_tables
from sqlanon.spec import SeveralTables, any_from_dict

VISITS = 10
VARIABLE = "SQLANON_BENCH_KEY"
PEOPLE = """
create or replace table patients as
select i as id, 1930 + (hash(i) % 80)::int as birth, (hash(i * 7) % 5)::int as region, (hash(i * 11) % 2)::int as sex
from range(cast(? as bigint)) as numbers(i)
"""
SEEN = """
create or replace table visits as
select (hash(i) % cast(? as bigint))::bigint as patient, (hash(i * 3) % 24)::int as month,
    (hash(i * 5) % 20)::int as ward, (hash(i * 13) % 1000)::int as diagnosis
from range(cast(? as bigint)) as numbers(i)
"""
BASE = """
select count(*), min(people) from (
    select count(distinct id) as people from patients join visits on patients.id = visits.patient
    group by birth, region, sex, month, ward
) as classes
"""


def several_tables(url: str, people: int) -> tuple[str, dict[str, float]]:
    """The table of figures, and the ratio that a history keeps."""
    os.environ.setdefault(VARIABLE, "a key for benchmarks alone")
    path = url.removeprefix("duckdb:///")
    with duckdb.connect(path) as session:
        session.execute(PEOPLE, [people])
        session.execute(SEEN, [people, people * VISITS])
    spec = any_from_dict(values(url))
    if not isinstance(spec, SeveralTables):
        raise TypeError("a spec of several tables")
    pairs = [(_seconds(lambda: _base(path)), _seconds(lambda: run_tables(spec))) for _ in range(3)]
    base, whole = (median(taken) for taken in zip(*pairs, strict=True))
    ratio = median(run / scan for scan, run in pairs)
    name = f"DuckDB {people:,} people, {people * VISITS:,} visits"
    line = [name, f"{base:.2f}", f"{whole:.2f}", f"{ratio:.2f}x"]
    return table(["what", "GROUP BY of the join s", "run s", "ratio"], [line]), {f"{name}: run / base": ratio}


def values(url: str) -> dict[str, Any]:
    """A spec in which nothing has to be generalized much: the finest classes of the join are counted."""
    key = {"role": "identifier", "pseudonym": {"secret": "${" + VARIABLE + "}", "format": "integer"}}
    quasi = {"role": "quasi_identifier"}

    def widths(*numbers: int) -> dict[str, Any]:
        return {**quasi, "hierarchy": {"interval": {"widths": list(numbers)}}}

    return {
        "connection": url,
        "tables": {
            "patients": {
                "source": "patients",
                "target": "released_patients",
                "key": "id",
                "columns": {"id": key, "birth": widths(5, 10, 20), "region": quasi, "sex": quasi},
            },
            "visits": {
                "source": "visits",
                "target": "released_visits",
                "references": "patients",
                "key": "patient",
                "columns": {
                    "patient": key,
                    "month": widths(3, 6, 12),
                    "ward": widths(5, 10),
                    "diagnosis": {"role": "insensitive", "accept": "a benchmark"},
                },
            },
        },
        "known": {"visits": 1},
        "privacy": {"k": 5},
    }


def _base(path: str) -> None:
    with duckdb.connect(path) as session:
        session.execute(BASE).fetchall()


def _seconds(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return time.perf_counter() - started
