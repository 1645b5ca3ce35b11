"""Snowflake scripts, run by the emulator fakesnow: the same table as a run of DuckDB's, and a stop that leaves it."""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.release.script import compiled
from tests.kit.database import literal
from tests.kit.random_tables import QUASI_IDENTIFIER, TYPES, Asking, random_table
from tests.kit.scripts import LIMIT, RELEASED, asked, loaded, published, statements

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-fakesnow" / "bin" / "python"
PROGRAM = ROOT / "tests" / "kit" / "snowflake_program.py"

pytestmark = [pytest.mark.soak, pytest.mark.process]

HANDFUL = asked("k", "t declared", "t hierarchical, persons", "two columns, persons", "others known", "k map")


def tables() -> list[str]:
    found = []
    source, population = random_table(1)
    for name, columns, rows in (("t", list(TYPES), source), ("people", list(QUASI_IDENTIFIER), population)):
        found.append(f"CREATE TABLE {name} ({', '.join(f'{column} {TYPES[column]}' for column in columns)})")
        lines = ("(" + ", ".join(literal(row[column]) for column in columns) + ")" for row in rows)
        found.append(f"INSERT INTO {name} VALUES {', '.join(lines)}")
    return found


def run_in_emulator(scripts: list[list[str]]) -> dict[str, Any]:
    if not PYTHON.exists():
        if os.environ.get("CI"):
            pytest.fail("fakesnow is missing: `make soak` installs it")
        pytest.skip("needs fakesnow, which `make soak` installs")
    query = f"SELECT {', '.join(RELEASED)} FROM released"
    text = json.dumps({"tables": tables(), "scripts": scripts, "query": query})
    done = subprocess.run([PYTHON, "-W", "ignore", PROGRAM], input=text, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout[done.stdout.index('{"answers"') :])
    return answer


@pytest.mark.parametrize("asking", HANDFUL, ids=lambda asking: asking.name)
def test_scripts_publish_what_a_run_publishes(duckdb_url: str, asking: Asking) -> None:
    database = loaded(duckdb_url)
    spec = asking.spec(LIMIT, connection=duckdb_url, search={"algorithm": "optimal", "metric": "dm"})
    script = statements(compiled(spec, pipeline.run(spec).levels, dialect="snowflake").text)
    broken = ["INSERT INTO t VALUES ('n1', 1, 'f', 'plague', 1, 'p'), ('s9', 1, 'f', 'plague', 1, 'p')", *script]
    found = run_in_emulator([script, broken])
    first, second = found["answers"]
    assert first["failure"] == ""
    assert Counter(map(tuple, first["rows"])) == published(database)
    # A value that no hierarchy covers stops the second script, and the release stands.
    assert "sqlanon: " in second["failure"]
    assert sorted(map(str, second["rows"])) == sorted(map(str, first["rows"]))
    assert found["left_out"] > 0
