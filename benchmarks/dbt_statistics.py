"""The one query of a dbt model on PostgreSQL, before and after ANALYZE of its source: statistics must not slow it."""

from __future__ import annotations

import time
from statistics import median

from sqlglot import exp

from benchmarks.generator import Attribute
from benchmarks.measure import REPEATS, SOURCE, make, opened, spec_for, table
from sqlanon import pipeline
from sqlanon.dbt.writing import release_model
from sqlanon.engines.base import Engine, Statement
from sqlanon.source.binding import bind
from sqlanon.sql.build import create_table_as, create_text_table, drop_table
from sqlanon.sql.relations import Table, table_expression

MOST = 1.5
"""How much longer a build may take with statistics than without."""

_BUILT = Table(("built",))


def with_and_without(url: str, rows: int, attributes: tuple[Attribute, ...]) -> tuple[str, dict[str, float]]:
    """Median seconds of a build each, and their ratio."""
    make(url, rows, attributes)
    spec = spec_for(url, attributes, algorithm="optimal", metric="loss")
    levels = pipeline.plan(spec).levels
    engine = opened(url)
    try:
        model = release_model(engine, bind(spec, engine), levels, lambda name: f"seed_{name}")
        for seed in model.seeds:
            engine.execute(Statement("seed", create_text_table(Table((seed.name,)), seed.columns, engine.traits)))
            engine.load("seed", Table((seed.name,)), seed.columns, seed.rows)
        before = _seconds(engine, model.query)
        engine.execute(Statement("statistics", exp.Analyze(tables=[table_expression(SOURCE)])))
        after = _seconds(engine, model.query)
    finally:
        engine.close()
    name = f"PostgreSQL {rows:,} rows, dbt model"
    row = [name, f"{before:.2f}", f"{after:.2f}", f"{after / before:.2f}x", "yes" if after <= MOST * before else "NO"]
    page = table(["what", "before s", "after ANALYZE s", "ratio", f"at most {MOST}x"], [row])
    return page, {f"{name}: after ANALYZE / before": after / before}


def _seconds(engine: Engine, query: exp.Select) -> float:
    found = []
    for _ in range(REPEATS):
        engine.execute(Statement("build", drop_table(_BUILT)))
        started = time.perf_counter()
        engine.execute(Statement("build", create_table_as(_BUILT, query.copy(), engine.traits, scratch=False)))
        found.append(time.perf_counter() - started)
    return median(found)
