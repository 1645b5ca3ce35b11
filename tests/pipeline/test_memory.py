"""The memory of the Python process does not grow with the table: no source row enters it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.generator import CENSUS, generate
from sqlanon.engines import open_engine
from sqlanon.engines.base import Session
from sqlanon.sql.relations import Table

ROOT = Path(__file__).parents[2]
ATTRIBUTES = CENSUS[:6]
"""Sex, age, race, marital status, education and country: tens of thousands of combinations."""

_RUN = """
import resource, sys
from benchmarks.generator import hierarchies
from sqlanon import pipeline
from sqlanon.spec import spec_from_dict
from tests.pipeline.test_memory import ATTRIBUTES

url, source = sys.argv[1:]
result = pipeline.run(spec_from_dict({
    "connection": url, "source": source, "target": "released_" + source, "columns": hierarchies(ATTRIBUTES),
    "privacy": {"k": 5, "suppression": {"limit": "4%"}}, "search": {"algorithm": "samarati"},
}))
assert result.audit.satisfied
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, result.plan.combinations, result.publication.rows)
"""


def peak_megabytes(url: str, rows: int) -> float:
    """The peak of a process that anonymizes a table of so many rows."""
    source = f"people_{rows}"
    engine = open_engine(url, Session(), ROOT)
    try:
        generate(engine, Table((source,)), rows, ATTRIBUTES)
    finally:
        engine.close()
    command = [sys.executable, "-c", _RUN, url, source]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    kilobytes, combinations, released_from = map(int, done.stdout.split())
    assert released_from == rows
    assert combinations > rows // 1000
    return kilobytes / 1024


@pytest.mark.postgres
def test_memory_does_not_grow_with_rows(postgres_url: str) -> None:
    few, many = peak_megabytes(postgres_url, 5_000), peak_megabytes(postgres_url, 100_000)
    assert many - few < 30, f"{few:.1f} MB at 5 thousand rows, {many:.1f} MB at 100 thousand"


@pytest.mark.soak
@pytest.mark.postgres
def test_memory_at_five_million_rows(postgres_url: str) -> None:
    few, many = peak_megabytes(postgres_url, 50_000), peak_megabytes(postgres_url, 5_000_000)
    sys.stdout.write(f"{few:.1f} MB at 50 thousand rows, {many:.1f} MB at 5 million\n")
    assert many - few < 30, f"{few:.1f} MB at 50 thousand rows, {many:.1f} MB at 5 million"
