"""Random tables and hierarchies through the pipeline, on both engines, against brute force over all nodes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlanon import pipeline
from sqlanon.evaluation.problem import problem_of
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database, literal, prepared, solved
from tests.kit.examples import share
from tests.kit.papers import Case, Row, Vector, below

VALUES = "abcdef"
CHECKS = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.data_too_large]

pytestmark = [pytest.mark.no_cover]


def profile(examples: int) -> settings:
    return settings(max_examples=share(examples), deadline=None, suppress_health_check=CHECKS, derandomize=True)


@st.composite
def trees(draw: st.DrawFn) -> Any:
    """A tree over all values, of one to three levels; sometimes with one root, sometimes with several."""
    groups: Any = draw(_partitions([*VALUES]))
    tree: dict[str, Any] = {f"one {number}": group for number, group in enumerate(groups)}
    if draw(st.booleans()):
        halves = draw(_partitions([*tree]))
        tree = {f"two {number}": {name: tree[name] for name in half} for number, half in enumerate(halves)}
    return tree


def _partitions(items: list[str]) -> st.SearchStrategy[list[list[str]]]:
    numbers = st.lists(st.integers(0, max(0, len(items) - 2)), min_size=len(items), max_size=len(items))
    return numbers.map(
        lambda chosen: [
            [item for item, number in zip(items, chosen, strict=True) if number == group]
            for group in sorted(set(chosen))
        ]
    )


@st.composite
def cases(draw: st.DrawFn) -> tuple[Case, int, int]:
    """A table with its hierarchies, a k and a limit that some node satisfies."""
    columns = [f"c{number}" for number in range(draw(st.integers(1, 3)))]
    value = st.sampled_from([*VALUES, *VALUES[:2], None])
    rows = draw(st.lists(st.tuples(*(value for _ in columns)), min_size=1, max_size=14))
    roles = {name: {"role": "quasi_identifier", "hierarchy": {"tree": draw(trees())}} for name in columns}
    expected = {"quasi_identifier": columns, "types": dict.fromkeys(columns, "text")}
    case = Case("random", Path(), {"columns": roles}, expected, tuple(columns), tuple(rows))
    return case, draw(st.integers(1, min(4, len(rows)))), draw(st.integers(0, 4))


def spec_of(case: Case, rows: tuple[Row, ...], url: str, k: int, limit: int, **search: Any) -> Spec:
    values = ", ".join("(" + ", ".join(f"CAST({literal(value)} AS text)" for value in row) + ")" for row in rows)
    return spec_from_dict(
        {
            "connection": url,
            "source": {"query": f"SELECT * FROM (VALUES {values}) AS given({', '.join(case.columns)})"},
            "target": "released",
            "columns": case.spec["columns"],
            "privacy": {"k": k, "suppression": {"limit": limit}},
            "search": search,
        }
    )


def score_dm(case: Case, k: int, node: Vector) -> float:
    """The discernibility of a node (CASES, section 6)."""
    kept = sum(size * size for size in case.classes(node).values() if size >= k)
    return kept + len(case.rows) * case.outliers(k, node)


def score_precision(case: Case, k: int, node: Vector) -> float:
    rows, suppressed = len(case.rows), case.outliers(k, node)
    shares = [level / height for level, height in zip(node, case.heights, strict=True)]
    return sum(((rows - suppressed) * share + suppressed) / rows for share in shares) / len(shares)


def check_searches(url: str, drawn: tuple[Case, int, int]) -> None:
    case, k, limit = drawn
    rows = case.rows
    acceptable, minimal = case.acceptable(k, limit), case.minimal(k, limit)

    def asked(**search: Any) -> Spec:
        return spec_of(case, rows, url, k, limit, **search)

    with prepared(asked()) as (run, frequency):
        nodes = list(case.vectors())
        counted = problem_of(run, frequency).evaluator().check(nodes)
        suppressed = {verdict.node: verdict.suppressed for verdict in counted}
        assert suppressed == {node: case.outliers(k, node) for node in nodes}
        assert all(suppressed[lower] >= suppressed[upper] for lower in nodes for upper in nodes if below(lower, upper))

        lowest = min(map(sum, minimal))
        for satisfies in ("counts", "matrix"):
            samarati = solved(run, frequency, asked(algorithm="samarati", satisfies=satisfies))
            assert samarati.chosen.node == min(vector for vector in minimal if sum(vector) == lowest)
            assert list(solved(run, frequency, asked(algorithm="minimal", satisfies=satisfies)).minimal) == minimal
        assert list(solved(run, frequency, asked(algorithm="incognito")).acceptable or ()) == acceptable
        scores: list[tuple[str, Callable[[Case, int, Vector], float]]] = [
            ("dm", score_dm),
            ("precision", score_precision),
        ]
        for metric, score in scores:
            best = solved(run, frequency, asked(algorithm="optimal", metric=metric))
            expected = min(score(case, k, node) for node in acceptable)
            assert best.score == pytest.approx(expected, rel=1e-9), metric
            assert score(case, k, best.chosen.node) == pytest.approx(expected, rel=1e-9)

    shuffled = tuple(random.Random(k).sample(rows, len(rows)))
    with prepared(spec_of(case, shuffled, url, k, limit)) as (_, again):
        assert again.fingerprint == frequency.fingerprint


def check_release(url: str, drawn: tuple[Case, int, int]) -> None:
    case, k, limit = drawn
    spec = spec_of(case, case.rows, url, k, limit, algorithm="samarati")
    node = tuple(pipeline.plan(spec).levels.values())
    kept = [row for number, row in enumerate(case.rows, start=1) if number not in case.outlier_rows(k, node)]
    if not kept:
        return
    expected = Counter(case.generalize(row, node) for row in kept)
    pipeline.run(spec)
    assert Database(url).counted("released") == expected
    result = pipeline.run(spec)
    assert Database(url).counted("released") == expected
    assert result.publication.suppressed == len(case.rows) - len(kept)
    assert result.audit.k == min(expected.values())


@given(cases())
@profile(8)
def test_searches_on_duckdb(drawn: tuple[Case, int, int]) -> None:
    check_searches("duckdb:///:memory:", drawn)


@pytest.mark.postgres
@given(drawn=cases())
@profile(3)
def test_searches_on_postgres(postgres_url: str, drawn: tuple[Case, int, int]) -> None:
    check_searches(postgres_url, drawn)


@given(drawn=cases())
@profile(6)
def test_release_on_duckdb(duckdb_url: str, drawn: tuple[Case, int, int]) -> None:
    check_release(duckdb_url, drawn)


@pytest.mark.postgres
@given(drawn=cases())
@profile(3)
def test_release_on_postgres(postgres_url: str, drawn: tuple[Case, int, int]) -> None:
    check_release(postgres_url, drawn)


@pytest.mark.soak
@pytest.mark.parametrize("check", [check_searches, check_release])
@given(drawn=cases())
@profile(100)
def test_many_on_each_engine(engine_url: str, check: Callable[[str, tuple[Case, int, int]], None], drawn: Any) -> None:
    check(engine_url, drawn)
