"""A generated table of a million rows: what is planned on DuckDB is what PostgreSQL and Spark plan and publish."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.generator import CENSUS, generate
from benchmarks.measure import SOURCE, spec_for
from sqlanon import pipeline
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from tests.kit.engine import open_at, query

ROWS = 1_000_000
COLUMNS = CENSUS[:9]

pytestmark = [pytest.mark.soak, pytest.mark.postgres, pytest.mark.spark, pytest.mark.no_cover]


def compiling(url: str) -> str:
    """Tests on few rows do without compiled statements; a million rows want them."""
    return url.replace("wholeStage=false", "wholeStage=true").replace("NO_CODEGEN", "FALLBACK")


def made(url: str, rows: int) -> str:
    engine = open_at(url)
    generate(engine, SOURCE, rows, COLUMNS)
    engine.close()
    return url


def figures(plan: PlanResult) -> tuple[object, ...]:
    verdicts = sorted((verdict.node, verdict.suppressed, verdict.classes) for verdict in plan.verdicts)
    return plan.levels, plan.rows, plan.combinations, plan.fingerprint, verdicts


def class_counts(url: str) -> bytes:
    """The classes of the release with their rows, as bytes: values as texts, in the order of their bytes."""
    engine = open_at(url)
    names = ", ".join(attribute.name for attribute in COLUMNS)
    rows = query(engine, f"SELECT {names}, COUNT(*) FROM bench_release GROUP BY {names}")
    engine.close()
    return "\n".join(sorted(json.dumps([str(value) for value in row]) for row in rows)).encode()


def test_one_plan_gives_the_same_classes_everywhere(tmp_path: Path, postgres_url: str, spark_url: str) -> None:
    urls = (f"duckdb:///{tmp_path / 'a.duckdb'}", postgres_url, compiling(spark_url))
    first, *others = (made(url, ROWS) for url in urls)
    spec = spec_for(first, COLUMNS, algorithm="samarati")
    planned = pipeline.plan(spec)
    lock = Lock.of(spec, planned, "spec.yaml")
    released = pipeline.apply(spec, lock)
    expected = class_counts(first)
    assert expected.count(b"\n") + 1 == released.audit.classes
    for url in others:
        there = spec_for(url, COLUMNS, algorithm="samarati")
        assert figures(pipeline.plan(there)) == figures(planned)
        assert pipeline.apply(there, lock).audit.to_dict() == released.audit.to_dict()
        assert class_counts(url) == expected
