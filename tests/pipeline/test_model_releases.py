"""Releases under every model, rows or persons counted: what is published is exactly what the oracle keeps, audited."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError, RequirementError
from sqlanon.runs import Options
from tests.database.support import at
from tests.oracle import Problem
from tests.pipeline.support import Database
from tests.random_problems import ASKINGS, EVERYTHING, TYPES, Asking, load, random_table

RELEASED = ("zip", "age", "sex", "disease", "stage")
LIMIT = 8


def loaded(url: str, asking: Asking, seed: int = 1, limit: int = LIMIT) -> Problem:
    source, population = random_table(seed)
    with at(url) as engine:
        load(engine, source, population)
    Database(url).run("DROP TABLE IF EXISTS released")
    return asking.problem(source, population, limit)


def expected(problem: Problem, node: tuple[int, ...]) -> Counter[tuple[Any, ...]]:
    """The kept rows of a node as texts."""
    kept = problem.kept(node).rows
    return Counter(tuple(None if row[name] is None else str(row[name]) for name in RELEASED) for row in kept)


def published(url: str) -> Counter[tuple[Any, ...]]:
    columns = ", ".join(f"CAST({name} AS text)" for name in RELEASED)
    return Database(url).counted("released", columns)


@pytest.mark.parametrize("asking", EVERYTHING, ids=lambda asking: asking.name)
def test_releases_are_what_the_oracle_keeps(engine_url: str, asking: Asking) -> None:
    problem = loaded(engine_url, asking)
    spec = asking.spec(LIMIT, connection=engine_url, search={"algorithm": "optimal", "metric": "dm"})
    if not problem.minimal():
        with pytest.raises(InfeasibleError):
            pipeline.run(spec)
        return
    result = pipeline.run(spec)
    node = tuple(result.levels.values())
    assert published(engine_url) == expected(problem, node)
    assert set(Database(engine_url).types("released")) == set(RELEASED)
    assert result.audit.satisfied
    assert result.publication.suppressed == problem.suppressed(node)
    assert Database(engine_url).leftovers() == []
