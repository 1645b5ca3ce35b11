"""Every exact search finds what trying all generalizations finds, in each scheme, direction and technique."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlanon.errors import InfeasibleError
from sqlanon.search.base import Budget
from sqlanon.search.schemes.domain import LeafDomain
from sqlanon.search.schemes.exact import search
from sqlanon.search.schemes.families import SCHEMES, EnumerationTree
from sqlanon.search.schemes.problem import Direction, Solution, Space, Techniques
from tests.kit.examples import share
from tests.kit.fake_schemes import FakeEvaluator, brute_force
from tests.recoding.schemes.test_families import WORK_CLASS, domains

ALL = Techniques()
DIRECTIONS: tuple[Direction, ...] = ("bottom_up", "top_down")
TECHNIQUES = {
    "all": ALL,
    "no pivot": replace(ALL, pivot=False),
    "plain": Techniques(False, False, False, False, False),
    "seeding": Techniques(True, False, False, False, False),
    "reconsider": Techniques(False, True, False, False, False),
    "order": Techniques(False, False, True, True, False),
}


@st.composite
def problems(draw: st.DrawFn) -> tuple[Space, FakeEvaluator]:
    columns = [draw(domains(most=4)) for _ in range(draw(st.integers(1, 3)))]
    schemes = [draw(st.sampled_from(sorted(SCHEMES))) for _ in columns]
    space = Space(tuple(EnumerationTree(SCHEMES[name], domain) for name, domain in zip(schemes, columns, strict=True)))
    combination = st.tuples(*(st.integers(0, domain.size - 1) for domain in columns))
    counts = draw(st.dictionaries(combination, st.integers(1, 6), min_size=1, max_size=12))
    rows = sum(counts.values())
    limit = draw(st.sampled_from([0, rows // 10, rows // 3, rows]))
    evaluator = FakeEvaluator(
        counts,
        [domain.size for domain in columns],
        draw(st.integers(1, 8)),
        limit,
        draw(st.sampled_from(["dm", "hdm"])),
    )
    return space, evaluator


def solved(
    space: Space, evaluator: FakeEvaluator, direction: Direction, techniques: Techniques = ALL
) -> Solution | None:
    try:
        return search(space, evaluator, direction, techniques, Budget())
    except InfeasibleError:
        return None


@pytest.mark.parametrize("direction", ["bottom_up", "top_down"])
@pytest.mark.parametrize("name", TECHNIQUES)
@settings(max_examples=share(25), deadline=None)
@given(problem=problems())
def test_equals_brute_force(name: str, direction: Direction, problem: tuple[Space, FakeEvaluator]) -> None:
    space, evaluator = problem
    expected = brute_force(space, evaluator)
    found = solved(space, evaluator, direction, TECHNIQUES[name])
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert found.proven
    assert found.gap == 0
    assert found.cost == pytest.approx(expected, abs=1e-6)
    assert space.allows(found.generalization)
    cost, suppressed = evaluator.cost(found.generalization)
    assert cost == pytest.approx(found.cost)
    assert suppressed == found.suppressed
    assert found.suppressed <= evaluator.limit


@settings(max_examples=share(25), deadline=None)
@given(problem=problems(), nodes=st.integers(1, 40))
def test_a_budget_leaves_a_bound_that_holds(problem: tuple[Space, FakeEvaluator], nodes: int) -> None:
    space, evaluator = problem
    expected = brute_force(space, evaluator)
    # Without seeds, which on tables this small are often the optimum themselves.
    for direction, techniques in product(DIRECTIONS, (replace(ALL, seeding=False), TECHNIQUES["order"])):
        try:
            found = search(space, evaluator, direction, techniques, Budget(nodes=nodes))
        except InfeasibleError:
            continue
        assert expected is not None
        assert found.bound <= expected + 1e-6
        assert found.cost >= expected - 1e-6
        assert found.proven <= (abs(found.cost - expected) < 1e-6)


def test_l4_penalties_of_the_hierarchical_discernibility_metric() -> None:
    counts: dict[tuple[int, ...], int] = {(4,): 50, (5,): 200, (0,): 750}
    evaluator = FakeEvaluator(counts, [8], 2, 1000, "hdm")
    merged = ((0, 1, 2, 3, 4, 4, 5, 6),)
    assert evaluator.penalty(merged, (4,)) == pytest.approx(4 / 19)
    assert evaluator.penalty(merged, (5,)) == pytest.approx(1 / 16)
    found = solved(Space((EnumerationTree(SCHEMES["sps"], WORK_CLASS),)), evaluator, "bottom_up")
    assert found is not None
    assert found.cost == 0


@settings(max_examples=share(20), deadline=None)
@given(
    columns=st.lists(domains(most=4), min_size=1, max_size=2),
    numbers=st.lists(st.integers(0, 5), min_size=16, max_size=16),
    metric=st.sampled_from(["dm", "hdm"]),
)
def test_l5_costs_never_rise_with_the_space(columns: list[LeafDomain], numbers: list[int], metric: str) -> None:
    combinations = product(*(range(domain.size) for domain in columns))
    counts = {item: rows for item, rows in zip(combinations, numbers, strict=False) if rows}
    if not counts:
        return
    cost = {}
    for name, scheme in SCHEMES.items():
        evaluator = FakeEvaluator(counts, [domain.size for domain in columns], 3, sum(counts.values()), metric)
        found = solved(Space(tuple(EnumerationTree(scheme, domain) for domain in columns)), evaluator, "bottom_up")
        assert found is not None
        cost[name] = found.cost
    for smaller, larger in [("bhs", "ghs"), ("ghs", "gops"), ("gops", "ops"), ("ops", "sps"), ("gops", "gsps")]:
        assert cost[larger] <= cost[smaller] + 1e-6
    assert cost["sps"] <= cost["gsps"] + 1e-6
