"""Bottom-up generalization: within the limit, minimal, in the paper's greedy order, alike on every engine."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError
from sqlanon.recoding import Cuts
from sqlanon.search.base import Budget
from sqlanon.search.schemes.domain import LeafDomain, Partition, refines
from sqlanon.search.schemes.families import SCHEMES, EnumerationTree
from sqlanon.search.schemes.heuristics import generalizations, generalize
from sqlanon.search.schemes.problem import Generalization, Space
from tests.kit.database import Database, changed
from tests.kit.examples import share
from tests.kit.fake_schemes import FakeEvaluator, brute_force
from tests.recoding.schemes.test_families import domains
from tests.recoding.schemes.test_releases import ROWS, SPEC, TYPES, check_heuristic, filled

GHS = SCHEMES["ghs"]


def space_of(*columns: LeafDomain) -> Space:
    return Space(tuple(EnumerationTree(GHS, domain) for domain in columns))


@st.composite
def problems(draw: st.DrawFn) -> tuple[Space, FakeEvaluator]:
    columns = [draw(domains(most=4)) for _ in range(draw(st.integers(1, 2)))]
    combination = st.tuples(*(st.integers(0, domain.size - 1) for domain in columns))
    counts = draw(st.dictionaries(combination, st.integers(1, 6), min_size=1, max_size=10))
    limit = draw(st.sampled_from([0, 0, sum(counts.values()) // 4]))
    metric = draw(st.sampled_from(["dm", "hdm"]))
    return space_of(*columns), FakeEvaluator(
        counts, [domain.size for domain in columns], draw(st.integers(1, 8)), limit, metric
    )


def taken_back(space: Space, cut: Generalization) -> list[Generalization]:
    """Every cut just below: one column finer, with no cut of the column between. From the definition."""
    found = []
    for place, tree in enumerate(space.trees):
        every = list(GHS.generalizations(tree.domain))
        below = [part for part in every if part != cut[place] and refines(part, cut[place])]

        def is_next(part: Partition, below: list[Partition] = below) -> bool:
            return not any(other != part and refines(part, other) for other in below)

        found += [(*cut[:place], part, *cut[place + 1 :]) for part in below if is_next(part)]
    return found


@settings(max_examples=share(120), deadline=None)
@given(problem=problems())
def test_nothing_can_be_taken_back(problem: tuple[Space, FakeEvaluator]) -> None:
    space, evaluator = problem
    least = brute_force(space, evaluator)
    try:
        found = generalize(space, evaluator, Budget())
    except InfeasibleError:
        # The coarsest cut suppresses all rows or none: where it is not within the limit, no cut is.
        assert least is None
        return
    assert least is not None
    assert found.cost >= least - 1e-9
    assert not found.proven
    assert space.allows(found.generalization)
    cost, suppressed = evaluator.cost(found.generalization)
    assert cost == pytest.approx(found.cost)
    assert suppressed == found.suppressed <= evaluator.limit
    for finer in taken_back(space, found.generalization):
        dearer, outliers = evaluator.cost(finer)
        assert outliers > evaluator.limit or dearer > cost
        if not evaluator.limit:
            assert outliers


def test_what_saves_most_rows_for_what_it_loses_goes_first() -> None:
    """a 1, b 2, and c, d, e, f 1 each; k = 2, one row may be suppressed. Of the classes' squares {a, b} adds 4 and
    saves one row; {c, d, e, f} adds 12 and saves four: 3 for each row."""
    counts: dict[tuple[int, ...], int] = {(0,): 1, (1,): 2, (2,): 1, (3,): 1, (4,): 1, (5,): 1}
    found = generalize(
        space_of(LeafDomain.of(6, [(0, 0, 1, 1, 1, 1)])), FakeEvaluator(counts, [6], 2, 1, "dm"), Budget()
    )
    assert found.generalization == ((0, 1, 2, 2, 2, 2),)
    assert (found.suppressed, found.cost) == (1, 16 + 4 + 7)


def test_what_turns_out_unneeded_is_taken_back() -> None:
    """Both columns have to be merged, the third value of the first column not: it has no rows, and costs nothing."""
    counts: dict[tuple[int, ...], int] = {(0, 0): 1, (1, 0): 2, (1, 1): 1}
    space = space_of(LeafDomain.of(3, [(0, 0, 1)]), LeafDomain.of(2))
    found = generalize(space, FakeEvaluator(counts, [3, 2], 2, 0, "dm"), Budget())
    assert found.generalization == ((0, 0, 1), (0, 0))


def test_a_node_that_stands_at_several_levels_has_a_parent() -> None:
    """Levels a, b, c, d | a, b, {c, d} | {a, b}, {c, d}: the node above a is {a, b}, although a level lies between."""
    space = space_of(LeafDomain.of(4, [(0, 1, 2, 2), (0, 0, 1, 1)]))
    assert set(generalizations(space, space.bottom)) == {((0, 0, 1, 2),), ((0, 1, 2, 2),)}


def test_a_release_on_both_engines(engine_url: str) -> None:
    check_heuristic(filled(engine_url), "bottom_up")


def groups_of(url: str, rows: list[Any], **search: Any) -> tuple[Any, ...]:
    database = Database(url)
    database.run("DROP TABLE IF EXISTS people")
    database.create("people", TYPES, rows)
    recoding = pipeline.plan(changed(SPEC, connection=url, search={"algorithm": "bottom_up", **search})).recoding
    assert isinstance(recoding, Cuts)
    return recoding.groups


def test_engines_and_the_order_of_rows_change_nothing(duckdb_url: str, postgres_url: str) -> None:
    shuffled = list(ROWS)
    Random(3).shuffle(shuffled)
    for metric in ("dm", "hdm"):
        answers = [groups_of(url, rows, metric=metric) for url, rows in ((duckdb_url, ROWS), (postgres_url, shuffled))]
        assert answers[0] == answers[1]


def test_other_models_are_satisfied(duckdb_url: str) -> None:
    database = filled(duckdb_url)
    privacy = {"k": 2, "l_diversity": [{"column": "disease", "l": 2}], "suppression": {"limit": 0}}
    result = pipeline.run(
        changed(SPEC, connection=database.url, privacy=privacy, search={"algorithm": "bottom_up", "metric": "hdm"})
    )
    assert result.audit.satisfied
    assert result.publication.suppressed == 0
