"""No plan of PostgreSQL is a guess: what is joined again and again is analyzed first, and joined by hashes."""

from __future__ import annotations

import re
from contextlib import suppress
from random import Random
from typing import Any

import psycopg
import pytest

from sqlanon import pipeline
from sqlanon.engines.base import TraceEvent
from sqlanon.errors import InfeasibleError
from sqlanon.source.run import Options
from sqlanon.spec import spec_from_dict
from tests.kit.database import Database, changed

pytestmark = [pytest.mark.postgres, pytest.mark.no_cover]

ROWS = [(f"9{1 + number % 4}13{number % 5}", 20 + 2 * number, "mf"[number % 2]) for number in range(20)]
SPEC: dict[str, Any] = {
    "source": "patients",
    "target": "released",
    "columns": {
        "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2, 5]}}},
        "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [5, 10, 20], "min": 0, "max": 100}}},
        "sex": {"role": "quasi_identifier"},
    },
    "privacy": {"k": 2, "suppression": {"limit": "10%"}},
    "search": {"algorithm": "sps", "budget": {"nodes": 500}},
    "limits": {"statement_seconds": 60},
}


def test_candidates_of_schemes_are_joined_by_what_is_known_of_them(postgres_url: str) -> None:
    Database(postgres_url).create("patients", {"zip": "text", "age": "integer", "sex": "text"}, ROWS)
    wasted: list[int] = []

    def explain(event: TraceEvent) -> None:
        if event.step == "cost candidates" and event.seconds is None:
            with psycopg.connect(postgres_url, autocommit=True) as session:
                lines = session.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {event.sql}".encode()).fetchall()
            found = [re.search(r"Rows Removed by Join Filter: (\d+)", line) for (line,) in lines]
            wasted.append(sum(int(match[1]) for match in found if match))

    # The budget may end the search before it has an answer.
    with suppress(InfeasibleError):
        pipeline.plan(changed({**SPEC, "connection": postgres_url}), Options(hooks=(explain,)))
    assert wasted, "no candidates were costed"
    assert max(wasted) < 100_000


def test_costs_of_groups_are_joined_by_what_is_known_of_them(postgres_url: str) -> None:
    """No join has many times the rows that its plan was made for."""
    Database(postgres_url).create("patients", {"zip": "text", "age": "integer", "sex": "text"}, ROWS)
    wrong: list[float] = []

    def explain(event: TraceEvent) -> None:
        if event.step == "cost groups" and event.seconds is None:
            with psycopg.connect(postgres_url, autocommit=True) as session:
                lines = session.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {event.sql}".encode()).fetchall()
            for (line,) in lines:
                found = re.search(r"(?:Join|Nested Loop) .* rows=(\d+) .*actual rows=([\d.]+)", line)
                if found:
                    wrong.append(float(found[2]) / max(1.0, float(found[1])))

    search = {"algorithm": "ops", "budget": {"nodes": 3000}}
    with suppress(InfeasibleError):
        pipeline.plan(changed({**SPEC, "search": search, "connection": postgres_url}), Options(hooks=(explain,)))
    assert wrong, "no groups were costed"
    assert max(wrong) < 10


def test_classes_of_schemes_are_assigned_by_what_is_known_of_them(postgres_url: str) -> None:
    """Of what was loaded as text no planner knows anything: a thousand combinations took minutes."""
    rows = [(f"94{1 + number % 4}{number % 25:02}", number % 40, "mf"[number % 2]) for number in range(1000)]
    Database(postgres_url).create("patients", {"zip": "text", "age": "integer", "sex": "text"}, rows)
    read: list[int] = []

    def explain(event: TraceEvent) -> None:
        found = re.search(r" AS (SELECT .*)", event.sql, re.DOTALL)
        if event.step == "assign classes" and event.seconds is None and found:
            with psycopg.connect(postgres_url, autocommit=True) as session:
                lines = session.execute(f"EXPLAIN (ANALYZE, TIMING OFF) {found[1]}".encode()).fetchall()
            removed = [re.search(r"Rows Removed by (?:Join )?Filter: (\d+)", line) for (line,) in lines]
            passed = [re.search(r"actual rows=([\d.]+) loops=(\d+)", line) for (line,) in lines]
            read.append(sum(int(match[1]) for match in removed if match))
            read.append(max(int(float(match[1]) * int(match[2])) for match in passed if match))

    search = {"algorithm": "bhs"}
    planned = pipeline.plan(changed({**SPEC, "search": search, "connection": postgres_url}), Options(hooks=(explain,)))
    assert planned.satisfied
    assert read, "no classes were assigned"
    assert max(read) < 10 * len(rows)


def test_verdicts_of_models_are_joined_to_candidates_by_hashes(postgres_url: str) -> None:
    """Forty rows: every class was looked through once for each of the others, half a minute a statement."""
    draw = Random(8)
    values = [[f"{name}{number}" for number in range(1, size + 1)] for name, size in (("a", 4), ("b", 4), ("c", 5))]
    rows = [
        (*(draw.choice(own) for own in values), draw.choice(["flu", "gout", "burn"]), draw.choice("xy"))
        for _ in range(40)
    ]
    Database(postgres_url).create("patients", dict.fromkeys(["a", "b", "c", "disease", "ward"], "text"), rows)
    spec = {
        **SPEC,
        "connection": postgres_url,
        "columns": {
            **{name: {"role": "quasi_identifier"} for name in "abc"},
            **{name: {"role": "sensitive"} for name in ("disease", "ward")},
        },
        "privacy": {
            "k": 4,
            "beta_likeness": [{"column": "disease", "beta": 0.5, "kind": "enhanced"}],
            "alpha": [{"column": "ward", "value": "x", "alpha": 0.6}],
            "suppression": {"limit": 3},
        },
        "search": {"algorithm": "gsps", "metric": "dm", "budget": {"nodes": 400}},
    }
    seconds: list[float] = []

    def measure(event: TraceEvent) -> None:
        if event.step == "cost candidates" and event.seconds is not None:
            seconds.append(event.seconds)

    with suppress(InfeasibleError):
        pipeline.plan(spec_from_dict(spec), Options(hooks=(measure,)))
    assert len(seconds) > 1, "no candidates were costed"
    assert max(seconds) < 1.5
