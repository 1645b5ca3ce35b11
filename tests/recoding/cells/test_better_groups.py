"""Groups of cell recodings: improved by splits and merges, and the best of all for small tables."""

from __future__ import annotations

import random
from collections import Counter
from fractions import Fraction

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sqlanon import pipeline
from sqlanon.errors import UsageError
from sqlanon.recoding.cells import recoder
from sqlanon.recoding.cells.exact import GroupingLimits, Vertex, best_groups
from sqlanon.recoding.cells.recoder import Cells, Divided
from sqlanon.spec import spec_from_dict
from tests.kit.cells import cost, least_cost, least_cost_of_all
from tests.kit.database import Database
from tests.kit.examples import share
from tests.kit.papers import Row, load_case
from tests.recoding.cells.test_cells import LABELS, SUPPRESSED, check_cost, details, f2_spec, released, values

FIGURE_6 = ["1100", "1010", "0110", "1001", "0101", "0011"]
"""The chapter's table T: a row for each edge of a graph of four vertices."""
FIGURE_7 = ["120012002100", "102020101020", "012002100210", "200110021002", "020101020201", "002100210012"]
"""The chapter's table T', of the same graph."""

letters = st.sampled_from(["a", "b", "c", "d", None])


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize("algorithm", ["forest", "exact"])
@pytest.mark.parametrize(("figure", "cells"), [(FIGURE_6, 18), (FIGURE_7, 60)], ids=["figure 6", "figure 7"])
def test_the_figures_of_the_chapter(engine_url: str, figure: list[str], cells: int, algorithm: str) -> None:
    rows: list[Row] = [tuple(row) for row in figure]
    database = Database(engine_url)
    database.create("original", {f"x{position}": "text" for position in range(len(figure[0]))}, rows)
    columns = {f"x{position}": {"role": "quasi_identifier"} for position in range(len(figure[0]))}
    given_ = {"connection": engine_url, "source": "original", "target": "released", "columns": columns}
    search = {"model": "_CS", "algorithm": algorithm}
    result = pipeline.run(spec_from_dict({**given_, "privacy": {"k": 3}, "search": search}))
    found = database.rows("released")
    assert sum(cell == "*" for row in found for cell in row) == cells
    assert min(Counter(found).values()) == 3
    assert result.plan is not None
    assert result.plan.search.proven or algorithm == "forest"


@pytest.mark.one_engine
def test_the_slides_table_loses_twelve_cells(engine_url: str) -> None:
    case = load_case("f2")
    database = Database(engine_url)
    database.create("original", case.types, case.rows)
    spec = f2_spec(engine_url, "_CS")
    spec = spec.model_copy(update={"search": spec.search.model_copy(update={"algorithm": "exact"})})
    result = pipeline.run(spec)
    assert details(result)["cells_suppressed"] == 12
    assert result.plan is not None
    assert result.plan.search.proven


@pytest.mark.one_engine
@pytest.mark.parametrize("model", ["CG_", "_CS"])
def test_exact_is_the_least_cost(engine_url: str, model: str) -> None:
    rows: list[Row] = [("a", "a"), ("a", "a"), ("b", "a"), ("a", "b"), ("c", None), ("d", None), ("d", "d"), ("c", "a")]
    for k in (2, 3):
        result, found = released(Database(engine_url), rows, values(engine_url, 2, model, "exact", k=k))
        assert min(Counter(found).values()) >= k
        labels = [LABELS if model == "CG_" else SUPPRESSED] * 2
        assert Fraction(details(result)["cost"]).limit_denominator(1000) == least_cost(
            rows, labels, k, cells=model == "_CS"
        )
        assert details(result)["factor"] == 1
        check_cost(result, rows, k, model)


@settings(max_examples=share(60))
@given(st.lists(st.tuples(letters, letters, letters), min_size=4, max_size=12), st.integers(2, 4))
@example([(x, y, z) for x, y, z in zip("abcdabcdabcd", "aabbccddabab", "acbdbdacdcba", strict=True)], 3)
def test_the_best_groups_are_those_of_brute_force(rows: list[Row], k: int) -> None:
    codes = {value: number for number, value in enumerate(("a", "b", "c", "d", None))}
    above = {"a": 0, "b": 0, "c": 1, "d": 1, None: 2}
    counted = Counter(rows)
    vertices = [
        Vertex(number, rows_of, tuple((codes[cell], above[cell]) for cell in row))
        for number, (row, rows_of) in enumerate(counted.items(), 1)
    ]
    found = best_groups(vertices, [(1, 2)] * 3, k, 6 * len(rows) + 1, GroupingLimits())
    least = least_cost(rows, [LABELS] * 3, k, cells=False)
    assert Fraction(found.cost, 2) == least
    assert found.least == found.cost
    assert Counter(piece.number for piece in found.pieces for _ in range(piece.rows)) == {
        vertex.number: vertex.rows for vertex in vertices
    }
    order = list(counted)
    groups: dict[int, list[Row]] = {}
    for piece in found.pieces:
        groups.setdefault(piece.group, []).extend([order[piece.number - 1]] * piece.rows)
    assert sum(cost(group, [LABELS] * 3, cells=False) for group in groups.values()) == least
    assert all(len(group) >= k for group in groups.values())


@settings(max_examples=share(25))
@given(st.lists(st.tuples(letters, letters, letters), min_size=2, max_size=8), st.integers(2, 3), st.booleans())
def test_larger_groups_are_never_needed(rows: list[Row], k: int, cells: bool) -> None:
    """The brute force of the other tests looks at groups of k to 2k - 1 rows; here it looks at all."""
    if len(rows) >= k:
        labels = [SUPPRESSED if cells else LABELS] * 3
        assert least_cost(rows, labels, k, cells=cells) == least_cost_of_all(rows, labels, k, cells=cells)


@settings(max_examples=share(40))
@given(st.lists(st.tuples(letters, letters), min_size=4, max_size=12), st.integers(0, 6))
def test_a_budget_leaves_a_bound_that_holds(rows: list[Row], steps: int) -> None:
    codes = {value: number for number, value in enumerate(("a", "b", "c", "d", None))}
    vertices = [
        Vertex(number, rows_of, tuple((codes[cell],) for cell in row))
        for number, (row, rows_of) in enumerate(Counter(rows).items(), 1)
    ]
    found = best_groups(vertices, [(1,), (1,)], 2, 2 * len(rows), GroupingLimits(steps))
    least = least_cost(rows, [SUPPRESSED] * 2, 2, cells=True)
    assert found.least <= least <= found.cost


def test_better_groups_never_cost_more(duckdb_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random tables with and without the improvement: never worse, somewhere better, and k holds."""
    saved = []
    cells = ["a", "b", "c", "d", None]
    improve = recoder.improved

    def not_at_all(cells_: Cells, divided: Divided) -> Divided:
        return divided

    for seed in range(share(6)):
        rows: list[Row] = [
            (cells[(i * 7 + seed) % 5], cells[(i * i + seed) % 5], cells[(i * 3 + i // 4) % 5]) for i in range(24)
        ]
        given_ = values(duckdb_url, 3, "_CS" if seed % 2 else "CG_", "forest", k=3)
        costs = []
        for way in (not_at_all, improve):
            monkeypatch.setattr(recoder, "improved", way)
            result, found = released(Database(duckdb_url), rows, given_)
            assert min(Counter(found).values()) >= 3
            costs.append(details(result)["cost"])
        saved.append(costs[0] - costs[1])
    assert min(saved) >= 0
    assert max(saved) > 0


def test_groups_are_tried_together_that_no_neighbours_link(duckdb_url: str) -> None:
    """Pairs of the forest hold the nearest rows of their rows already, and cost 21 where 10 is the least."""
    lines = ["bbbcb", "bbbbc", "ccaac", "bbbbc", "cbcaa", "aaccb"]
    rows: list[Row] = [tuple(line) for line in lines]
    result, _ = released(Database(duckdb_url), rows, values(duckdb_url, 5, "CG_", "forest", k=2))
    assert details(result)["cost"] == least_cost(rows, [LABELS] * 5, 2, cells=False) == 10


def test_a_spent_budget_is_told(duckdb_url: str) -> None:
    cells = ["a", "b", "c", "d", None]
    drawn = random.Random(5)
    rows: list[Row] = [tuple(drawn.choice(cells) for _ in range(3)) for _ in range(30)]
    given_ = values(duckdb_url, 3, "_CS", "exact", k=3)
    given_["search"] = {**given_["search"], "budget": {"nodes": 2}}
    result, found = released(Database(duckdb_url), rows, given_)
    assert min(Counter(found).values()) >= 3
    assert result.plan is not None
    assert not result.plan.search.proven
    assert details(result)["factor"] is None
    assert 0 < result.plan.figures()["gap"] < 1


def test_time_ends_the_search_within_one_row() -> None:
    """Thirty rows of which no two are alike, k = 8: the groups of the first row alone are tens of millions."""
    vertices = [Vertex(number, 1, tuple((number,) for _ in range(4))) for number in range(1, 31)]
    looks = []

    def in_time() -> bool:
        looks.append(1)
        return len(looks) < 5

    found = best_groups(vertices, [(1,)] * 4, 8, 121, GroupingLimits(None, in_time))
    assert len(looks) == 5
    assert found.least < found.cost == 121
    assert found.pieces == ()


def test_levels_are_not_proven_with_their_cells(duckdb_url: str) -> None:
    """AG_CS compares a few levels: cells that cost nothing at one of them prove nothing of the others."""
    rows: list[Row] = [("a", "b"), ("a", "b"), ("b", "a"), ("b", "b"), ("c", "c"), ("d", "c")]
    given_ = values(duckdb_url, 2, "AG_CS", "exact", k=2, suppression={"limit": "50%"})
    result, _ = released(Database(duckdb_url), rows, given_)
    assert result.plan is not None
    assert not result.plan.search.proven
    assert result.plan.figures()["gap"] is None
    assert details(result)["factor"] is None


@pytest.mark.representative(1)
@pytest.mark.parametrize(("weights", "proven"), [((0.004, 0.001), False), ((2.5, 1.25), True), ((1, 3), True)])
def test_weights_that_are_rounded_prove_nothing(duckdb_url: str, weights: tuple[float, float], proven: bool) -> None:
    rows: list[Row] = [("a", "a"), ("a", "b"), ("b", "a"), ("b", "b")]
    given_ = values(duckdb_url, 2, "_CS", "exact", k=2)
    for name, weight in zip(("x0", "x1"), weights, strict=True):
        given_["columns"][name] = {**given_["columns"][name], "weight": weight}
    result, _ = released(Database(duckdb_url), rows, given_)
    assert result.plan is not None
    assert result.plan.search.proven == proven


def test_large_tables_are_refused(duckdb_url: str) -> None:
    rows: list[Row] = [("a", "b")] * 65
    with pytest.raises(UsageError, match="exact looks through at most 64 rows, and there are 65; take forest"):
        released(Database(duckdb_url), rows, values(duckdb_url, 2, "_CS", "exact", k=3))
