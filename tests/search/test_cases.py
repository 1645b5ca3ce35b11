"""The papers' worked examples, as every algorithm answers them."""

from __future__ import annotations

from typing import Any

import pytest

from sqlanon.hierarchies.lattice import Node
from sqlanon.search.session import Preferences
from tests.kit.fake_evaluator import Table, k_anonymous, run
from tests.kit.search_tables import C1, F1, S1, S2, S3

MINIMAL: list[tuple[str, Table, int, int, list[Node]]] = [
    ("S1", S1, 2, 0, [(0, 1), (1, 0)]),
    ("S1", S1, 3, 0, [(0, 2), (1, 0)]),
    ("S1", S1, 4, 0, [(0, 2), (1, 1)]),
    ("S1", S1, 6, 0, [(1, 1)]),
    ("S1", S1, 12, 0, [(1, 2)]),
    ("S2", S2, 2, 0, [(1, 1)]),
    ("S2", S2, 2, 1, [(0, 2), (1, 0)]),
    ("S2", S2, 2, 2, [(0, 1), (1, 0)]),
    ("S2", S2, 2, 3, [(0, 1), (1, 0)]),
    ("S2", S2, 2, 4, [(0, 0)]),
    ("S3", S3, 2, 0, [(0, 2, 1, 2, 2), (1, 3, 0, 1, 1)]),
    ("S3", S3, 2, 1, [(0, 1, 0, 0, 0)]),
    ("S3", S3, 2, 2, [(0, 1, 0, 0, 0)]),
    ("S3", S3, 2, 3, [(0, 1, 0, 0, 0)]),
    ("F1", F1, 2, 2, [(0, 1), (1, 0)]),
    ("F1", F1, 2, 0, [(0, 2), (1, 1)]),
    ("C1", C1, 3, 0, [(1, 2, 1), (2, 1, 1), (2, 2, 0)]),
    ("C1", C1, 3, 1, [(0, 2, 1), (1, 1, 0)]),
    ("C1", C1, 3, 2, [(0, 2, 1), (1, 1, 0)]),
    ("C1", C1, 2, 0, [(1, 2, 1), (2, 0, 1), (2, 2, 0)]),
    ("C1", C1, 2, 3, [(0, 2, 1), (1, 0, 0)]),
    ("C1", C1, 2, 4, [(0, 0, 0)]),
]


@pytest.mark.parametrize("algorithm", ["minimal", "incognito", "exhaustive"])
@pytest.mark.parametrize(
    ("table", "k", "limit", "expected"),
    [pytest.param(*case[1:], id=f"{case[0]}-k{case[2]}-limit{case[3]}") for case in MINIMAL],
)
def test_all_minimal_vectors(algorithm: str, table: Table, k: int, limit: int, expected: list[Node]) -> None:
    result = run(algorithm, k_anonymous(table, k, limit))
    assert list(result.minimal) == expected
    assert result.minimal_complete
    assert result.proven


@pytest.mark.parametrize(
    ("table", "k", "limit", "expected"),
    [pytest.param(*case[1:], id=f"{case[0]}-k{case[2]}-limit{case[3]}") for case in MINIMAL],
)
def test_find_vector_returns_a_minimal_vector_of_least_height(
    table: Table, k: int, limit: int, expected: list[Node]
) -> None:
    least = min(map(sum, expected))
    result = run("samarati", k_anonymous(table, k, limit))
    assert result.chosen.node == next(node for node in expected if sum(node) == least)
    assert result.proven


@pytest.mark.parametrize(
    ("table", "k", "outliers"),
    [
        (S2, 2, {(0, 0): 4, (0, 1): 2, (0, 2): 1, (1, 0): 1, (1, 1): 0, (1, 2): 0}),
        (F1, 2, {(0, 0): 6, (0, 1): 2, (0, 2): 0, (1, 0): 2, (1, 1): 0, (1, 2): 0}),
        (C1, 3, {(0, 0, 0): 10, (0, 1, 0): 10, (1, 0, 0): 7, (2, 0, 1): 6, (1, 1, 0): 1, (0, 2, 1): 1, (2, 2, 0): 0}),
    ],
)
def test_the_fake_counts_outliers_as_the_papers_print_them(table: Table, k: int, outliers: dict[Node, int]) -> None:
    evaluator = k_anonymous(table, k)
    assert {node: evaluator.verdict(node).suppressed for node in outliers} == outliers


@pytest.mark.parametrize(
    ("limit", "policy", "expected"),
    [
        (1, "minimum_absolute_distance", [(1, 0)]),
        (1, "minimum_relative_distance", [(0, 2), (1, 0)]),
        (1, "maximum_distribution", [(0, 2), (1, 0)]),
        (1, "minimum_suppression", [(0, 2), (1, 0)]),
        (2, "minimum_absolute_distance", [(0, 1), (1, 0)]),
        (2, "minimum_suppression", [(1, 0)]),
        (2, "minimum_relative_distance", [(0, 1)]),
        (2, "maximum_distribution", [(0, 1)]),
    ],
)
@pytest.mark.parametrize("algorithm", ["minimal", "incognito"])
def test_example_6_1(algorithm: str, limit: int, policy: str, expected: list[Node]) -> None:
    result = run(algorithm, k_anonymous(S2, 2, limit), preferences=Preferences((policy,)))
    assert list(result.ties) == expected
    assert result.chosen.node == expected[0]


def test_samarati_on_the_chapters_table() -> None:
    result = run("samarati", k_anonymous(C1, 3, 2))
    assert result.chosen.node == (1, 1, 0)
    assert result.chosen.suppressed == 1


def _subsets(result_trace: Any, iteration: int) -> dict[tuple[int, ...], Any]:
    [step] = [step for step in result_trace if step.get("iteration") == iteration]
    return {subset["columns"]: subset for subset in step["subsets"]}


def test_incognito_iterates_as_example_3_3() -> None:
    evaluator = k_anonymous(C1, 3, 2)
    result = run("incognito", evaluator)
    zip_code, marital, sex = 0, 1, 2
    first = _subsets(result.trace, 1)
    assert first[(zip_code,)]["survivors"] == [(0,), (1,), (2,)]
    assert first[(marital,)]["survivors"] == [(1,), (2,)]
    assert first[(marital,)]["false"] == [(0,)]
    assert first[(sex,)]["survivors"] == [(0,), (1,)]
    second = _subsets(result.trace, 2)
    assert second[(zip_code, marital)]["candidates"] == 6
    assert second[(zip_code, marital)]["false"] == [(0, 1)]
    assert second[(zip_code, sex)]["false"] == [(0, 0)]
    assert second[(marital, sex)]["false"] == []
    assert second[(marital, sex)]["true"] == [(1, 0)]
    third = _subsets(result.trace, 3)[(zip_code, marital, sex)]
    assert third["false"] == []
    assert sorted(third["true"]) == [(0, 2, 1), (1, 1, 0)]
    above = [node for node in evaluator.lattice if all(a >= b for a, b in zip(node, (1, 1, 0), strict=True))]
    assert third["survivors"] == sorted([*above, (0, 2, 1)])
    assert result.acceptable == tuple(third["survivors"])
    assert third["candidates"] == 9, "<Z0, S0> failed, so that [0,2,0] is no candidate"


def test_datafly_over_generalizes() -> None:
    result = run("datafly", k_anonymous(S1, 3))
    assert result.chosen.node == (1, 1)
    assert [step["node"] for step in result.trace] == [(0, 0), (0, 1), (1, 1)]
    assert not result.proven
    assert result.chosen.node not in run("minimal", k_anonymous(S1, 3)).minimal
