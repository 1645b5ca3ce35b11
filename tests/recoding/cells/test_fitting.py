"""Labels of single rows: the slides' table, brute force over all labels, never dearer than equal rows."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlanon import pipeline
from sqlanon.recoding.cells import fitting, forest
from sqlanon.recoding.cells.exact import GroupingLimits, Vertex
from sqlanon.recoding.cells.fitting import best_labels, enough
from sqlanon.release.results import RecodedPlan
from sqlanon.spec import spec_from_dict
from tests.kit.cells import enough as enough_by_trying
from tests.kit.cells import fitting as figures_of
from tests.kit.cells import least_fitting_cost
from tests.kit.database import Database
from tests.kit.examples import share
from tests.kit.papers import PAPERS, Row, load_case, read_csv
from tests.recoding.cells.test_cells import LABELS, SUPPRESSED, details, released, values

GLOBAL = "global (1,k)"
letters = st.sampled_from(["a", "b", "c", "d", None])


@pytest.mark.representative(1)
@pytest.mark.parametrize(("algorithm", "name", "cost"), [("forest", "classic", 4.5), ("fitting", "relaxed", 4)])
def test_the_slides_cheaper_table(engine_url: str, algorithm: str, name: str, cost: float) -> None:
    """The second table of the slide, where `forest` releases the first: one of two equal rows keeps its value."""
    case = load_case("f3")
    database = Database(engine_url)
    database.create("original", case.types, case.rows)
    given_ = {**case.spec, "connection": engine_url, "source": "original", "target": "released"}
    given_["privacy"] = {"k": 2, "anonymity": GLOBAL}
    given_["search"] = {"algorithm": algorithm, "model": "CG_"}
    result = pipeline.run(spec_from_dict(given_, case.directory))
    assert database.counted("released") == Counter(read_csv(PAPERS / "f3" / "releases" / f"{name}.csv")[1])
    assert details(result)["cost"] == cost
    found = result.audit.consistency
    assert found is not None
    assert (found.one_k, found.k_one, found.global_one_k) == (2, 2, 2)
    assert result.plan is not None
    assert result.plan.search.proven == (algorithm == "fitting")


def test_no_table_is_cheaper_than_the_slides() -> None:
    case = load_case("f3")
    assert least_fitting_cost(case.rows, case.labels, 2, cells=False) == 4


def vertices_of(rows: list[Row]) -> list[Vertex]:
    codes = {value: number for number, value in enumerate(("a", "b", "c", "d", None))}
    above = {"a": 0, "b": 0, "c": 1, "d": 1, None: 2}
    return [
        Vertex(number, rows_of, tuple((codes[cell], above[cell]) for cell in row))
        for number, (row, rows_of) in enumerate(Counter(rows).items(), 1)
    ]


def at_the_top(vertices: list[Vertex], width: int) -> dict[int, list[tuple[int, ...]]]:
    return {vertex.number: [(2,) * width] * vertex.rows for vertex in vertices}


def found_by_search(rows: list[Row], k: int, steps: int | None = None) -> fitting.BestLabels:
    vertices, width = vertices_of(rows), len(rows[0])
    return best_labels(vertices, [(1, 2)] * width, k, [at_the_top(vertices, width)], GroupingLimits(steps))


def labelled(rows: list[Row], found: fitting.BestLabels) -> list[Row]:
    return [
        tuple(LABELS[cell][step] for cell, step in zip(row, label, strict=True))
        for number, row in enumerate(Counter(rows), 1)
        for label in found.labels[number]
    ]


@settings(max_examples=share(40), deadline=None)
@given(
    st.one_of(
        st.lists(st.tuples(letters, letters), min_size=3, max_size=4),
        st.lists(st.tuples(letters), min_size=3, max_size=5),
    ),
    st.integers(2, 3),
)
def test_the_best_labels_are_those_of_brute_force(rows: list[Row], k: int) -> None:
    found = found_by_search(rows, k)
    labels = [LABELS] * len(rows[0])
    assert Fraction(found.cost, 2) == least_fitting_cost(rows, labels, k, cells=False)
    assert found.least == found.cost
    published = labelled(rows, found)
    _, k_one, everywhere = figures_of(rows, published, labels)
    assert min(k_one, everywhere) >= k


@settings(max_examples=share(40), deadline=None)
@given(st.lists(st.tuples(letters, letters, letters), min_size=5, max_size=7), st.integers(2, 3), st.integers(1, 9))
def test_a_budget_leaves_a_bound_that_holds(rows: list[Row], k: int, steps: int) -> None:
    """And what is published holds all the same; no label can be exchanged for a cheaper one."""
    ended, free = found_by_search(rows, k, steps), found_by_search(rows, k)
    assert ended.least <= free.cost <= ended.cost
    assert free.least == free.cost
    published = labelled(rows, ended)
    _, k_one, everywhere = figures_of(rows, published, [LABELS] * 3)
    assert min(k_one, everywhere) >= k


@settings(max_examples=share(150), deadline=None)
@given(st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=5, max_size=5), st.integers(2, 3))
def test_circles_are_exchanges_of_assignments(drawn: list[list[bool]], k: int) -> None:
    """`enough` against all permutations, on any graph in which every row fits its own."""
    found = [[fits or o == r for r, fits in enumerate(row)] for o, row in enumerate(drawn)]
    bits = [sum(found[o][r] << o for o in range(5)) for r in range(5)]
    assert enough(bits, k) == enough_by_trying(found, k)


@pytest.mark.representative(1)
@pytest.mark.parametrize(("model", "k"), [("CG_", 2), ("_CS", 3)])
@pytest.mark.one_engine
def test_releases_hold_and_cost_no_more_than_by_the_forest(engine_url: str, model: str, k: int) -> None:
    cells = ["a", "b", "c", "d", None]
    drawn = random.Random(7)
    labels = [LABELS if model == "CG_" else SUPPRESSED] * 2
    rows: list[Row] = [tuple(drawn.choice(cells[:4] if i % 2 else cells) for i in range(2)) for _ in range(7)]
    costs = []
    for algorithm in ("forest", "fitting"):
        given_ = values(engine_url, 2, model, algorithm, k=k, anonymity=GLOBAL)
        result, found = released(Database(engine_url), rows, given_)
        one_k, k_one, everywhere = figures_of(rows, found, labels)
        assert min(one_k, k_one, everywhere) >= k
        assert result.audit.consistency is not None
        assert result.audit.consistency.global_one_k == everywhere
        costs.append(details(result)["cost"])
    assert costs[1] <= costs[0]


def groups_of_three(number: int) -> list[Row]:
    """Of each letter two rows of one code and one of another: the slide's Asian rows, many times."""
    return [(f"g{group}", zip_) for group in range(number) for zip_ in ("94141", "94141", "94142")]


def many(url: str, search: dict[str, Any], anonymity: str = GLOBAL) -> dict[str, Any]:
    columns = {
        "x0": {"role": "quasi_identifier"},
        "x1": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
    }
    privacy = {"k": 2, "anonymity": anonymity}
    places = {"connection": url, "source": "original", "target": "released"}
    return {**places, "columns": columns, "privacy": privacy, "search": search}


@pytest.mark.representative(1)
@pytest.mark.parametrize("anonymity", [GLOBAL, "(k,k)"])
def test_the_database_alone_finds_them_in_larger_tables(duckdb_url: str, anonymity: str) -> None:
    rows = groups_of_three(30)
    assert len(rows) > fitting.MOST_ROWS
    result, found = released(Database(duckdb_url), rows, many(duckdb_url, {"algorithm": "fitting"}, anonymity))
    expected = {(f"g{group}", "94141"): 1 for group in range(30)} | {(f"g{group}", "9414*"): 2 for group in range(30)}
    assert Counter(found) == expected
    assert isinstance(result.plan, RecodedPlan)
    assert result.plan.search.chosen.classes == 60
    assert result.plan.scores["dm"] == 30 * (1 + 4)
    assert result.plan.figures()["gap"] > 0


def test_neighbours_in_windows(duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(forest, "MOST_PAIRS", 0)
    cells: list[str | None] = ["a", "b", "c", "d", None]
    rows: list[Row] = [(cells[i % 5], cells[i // 5 % 5], cells[i * i % 5]) for i in range(70)]
    given_ = values(duckdb_url, 3, "CG_", "fitting", k=5, anonymity=GLOBAL)
    result, found = released(Database(duckdb_url), rows, given_)
    assert len(found) == 70
    assert result.audit.consistency is not None
    assert (result.audit.consistency.global_one_k or 0) >= 5
    assert (result.audit.consistency.k_one or 0) >= 5
    assert result.plan is not None
    assert result.plan.figures()["gap"] is None


def test_of_many_equal_rows_only_those_needed_are_recoded(duckdb_url: str) -> None:
    rows: list[Row] = [*[("a", "a")] * 80, ("b", "a")]
    given_ = values(duckdb_url, 2, "CG_", "fitting", k=5, anonymity=GLOBAL)
    _, found = released(Database(duckdb_url), rows, given_)
    assert Counter(found) == {("a", "a"): 76, ("ab", "a"): 5}


def test_columns_first_and_weights(duckdb_url: str) -> None:
    """AG_CS suppresses cells after the levels of columns; a heavy column keeps its cells."""
    rows: list[Row] = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    for heavy, expected in (("x0", {("a", "*"): 2, ("b", "*"): 2}), ("x1", {("*", "a"): 2, ("*", "b"): 2})):
        given_ = values(duckdb_url, 2, "_CS", "fitting", k=2, anonymity=GLOBAL)
        given_["columns"][heavy] = {**given_["columns"][heavy], "weight": 2.5}
        _, found = released(Database(duckdb_url), rows, given_)
        assert Counter(found) == expected
    given_ = values(duckdb_url, 2, "AG_CS", "fitting", k=2, anonymity=GLOBAL, suppression={"limit": "50%"})
    more: list[Row] = [("a", "b"), ("a", "b"), ("b", "a"), ("b", "b"), ("c", "c"), ("d", "c")]
    result, _ = released(Database(duckdb_url), more, given_)
    assert result.plan is not None
    assert not result.plan.search.proven
    assert result.plan.figures()["gap"] is None


def test_the_order_of_rows_and_the_engine_change_nothing(duckdb_url: str, postgres_url: str) -> None:
    cells: list[str | None] = ["a", "b", "c", "d", None]
    drawn = random.Random(3)
    rows: list[Row] = [(drawn.choice(cells), drawn.choice(cells)) for _ in range(12)]
    answers = []
    for url in (duckdb_url, postgres_url):
        _, found = released(Database(url), rows, values(url, 2, "CG_", "fitting", k=3, anonymity=GLOBAL))
        answers.append(Counter(found))
        drawn.shuffle(rows)
    assert answers[0] == answers[1]
