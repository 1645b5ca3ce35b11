"""Local recoding against brute force: each iteration's node is the best one for the rows that are left, whole source
compared; what earlier nodes kept loses nothing; suppression falls."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError
from sqlanon.recoding import Assigned
from sqlanon.release.lock import Lock
from tests.kit.database import Database, changed
from tests.kit.oracle import Table, discernibility, key_of
from tests.kit.random_tables import ASKINGS, QUASI_IDENTIFIER, Asking, load, random_table, with_respondents
from tests.kit.tables import at

NAMES = ("k", "distinct", "t equal", "alpha")
LOCAL = {"algorithm": "local", "metric": "dm"}


def asking_named(name: str) -> Asking:
    return next(asking for asking in ASKINGS if asking.name == name)


def checked(url: str, asking: Asking, seed: int, limit: int, leave: int | None = None) -> None:
    source, population = random_table(seed, rows=30)
    with at(url) as engine:
        load(engine, source, population)
    spec = asking.spec(limit, connection=url, search={**LOCAL, "local": {} if leave is None else {"leave": leave}})
    if not Table(source, "person" if asking.respondent else None).satisfied(whole(asking, source, limit)):
        with pytest.raises(InfeasibleError):
            pipeline.run(spec)
        return
    result = pipeline.run(spec)
    assert isinstance(result.recoding, Assigned)
    problem = asking.problem(source, (), limit)
    remaining, expected = list(source), Counter[tuple[Any, ...]]()
    for step in result.recoding.details["iterations"]:
        node = tuple(step["levels"].values())
        now = replace(problem, table=replace(problem.table, rows=remaining, source=source))
        may_leave = len(remaining) - 1 if expected else leave if leave is not None else limit
        # Where too little would be left to ever be released, an iteration may leave only what may be suppressed.
        assert any(node in replace(now, limit=most).best(discernibility) for most in (may_leave, limit))
        kept = now.kept(node).rows
        assert len(kept) == step["rows"]
        expected += Counter(key_of(row, QUASI_IDENTIFIER) for row in kept)
        counted = Counter(key_of(row, tuple(row)) for row in kept)
        generalized = now.generalized(node).rows
        remaining = [
            row for row, label in zip(remaining, generalized, strict=True) if not counted[key_of(label, tuple(label))]
        ]
    assert len(remaining) == result.publication.suppressed <= limit
    columns = ", ".join(f'CAST("{name}" AS text)' for name in QUASI_IDENTIFIER)
    released = Database(url).counted("released", columns)
    texts = {tuple(None if value is None else str(value) for value in key): n for key, n in expected.items()}
    assert released == texts


def whole(asking: Asking, source: Any, limit: int) -> list[Any]:
    return [replace(item, columns=()) for item in asking.problem(source, (), limit).requirement]


@pytest.mark.representative(2)
@pytest.mark.parametrize("name", NAMES)
def test_iterations_are_what_brute_force_says(duckdb_url: str, name: str) -> None:
    checked(duckdb_url, asking_named(name), seed=4, limit=6)


@pytest.mark.representative(1)
@pytest.mark.parametrize(("name", "limit", "leave"), [("k", 0, 12), ("distinct", 2, 15)])
def test_more_may_be_left_than_suppressed(duckdb_url: str, name: str, limit: int, leave: int) -> None:
    checked(duckdb_url, asking_named(name), seed=7, limit=limit, leave=leave)


def test_persons_on_both_engines(engine_url: str) -> None:
    checked(engine_url, with_respondents(asking_named("k")), seed=2, limit=8)


@pytest.mark.soak
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("asking", [asking_named(name) for name in (*NAMES, "entropy", "beta")], ids=lambda a: a.name)
def test_more_tables(engine_url: str, asking: Asking, seed: int) -> None:
    checked(engine_url, asking, seed, limit=5)
    checked(engine_url, asking, seed, limit=1, leave=18)


def test_suppression_falls_and_a_lock_says_the_same_again(duckdb_url: str) -> None:
    database = Database(duckdb_url)
    rows = [("a", "x"), ("a", "x"), ("a", "x"), ("b", "y"), ("b", "z"), ("c", "y"), ("d", "w")]
    database.create("people", {"one": "text", "two": "text"}, rows)
    spec = changed(
        {
            "source": "people",
            "target": "released",
            "columns": {"one": {"role": "quasi_identifier"}, "two": {"role": "quasi_identifier"}},
            "privacy": {"k": 2, "suppression": {"limit": 4}},
            "search": {"algorithm": "local"},
        },
        connection=duckdb_url,
    )
    plain = pipeline.plan(changed(spec_values(spec), search={"algorithm": "optimal"}, connection=duckdb_url))
    planned = pipeline.plan(spec)
    assert plain.chosen.suppressed > planned.chosen.suppressed
    pipeline.apply(spec, Lock.of(spec, planned, "people.yaml"))
    assert database.counted("released")[("a", "x")] == 3
    assert min(database.counted("released").values()) >= 2


def spec_values(spec: Any) -> dict[str, Any]:
    values: dict[str, Any] = spec.model_dump(
        mode="json", include={"source", "columns", "privacy"}, exclude_defaults=True
    )
    return {**values, "source": "people", "target": "released"}
