"""The oracle itself: against Earth Mover's Distance as a transport problem, against pycanon, and against the papers.

What the oracle decides by a formula is decided here another way. No database.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import log
from typing import Any

import pandas
import pycanon.anonymity
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.kit.examples import share
from tests.kit.oracle import (
    Asked,
    BetaLikeness,
    Block,
    DeltaDisclosure,
    DeltaPresence,
    DistinctL,
    EntropyL,
    Holdings,
    K,
    Labels,
    LargestShare,
    Model,
    Problem,
    RecursiveL,
    Table,
    TEqual,
    THierarchical,
    TOrdered,
    average_class_size,
    discernibility,
    height,
    suppression,
)
from tests.kit.papers import load_case

SOME = settings(max_examples=share(25), deadline=None, derandomize=True)
COLUMNS = ("q1", "q2", "q3")


# -- Earth Mover's Distance --------------------------------------------------------------------------------------------

TAXONOMY: Labels = {
    "flu": ("flu", "infection", "lung", "*"),
    "pneumonia": ("pneumonia", "infection", "lung", "*"),
    "asthma": ("asthma", "asthma", "lung", "*"),
    "ulcer": ("ulcer", "stomach", "digestion", "*"),
    "gastritis": ("gastritis", "stomach", "digestion", "*"),
    None: (None, None, None, "*"),
}
DISEASES = [*TAXONOMY]
Ground = Callable[[Any, Any], Fraction]


def transport(differences: dict[Any, Fraction], ground: Ground) -> Fraction:
    """The least work that carries every surplus to a deficit: shortest paths until nothing is left to carry."""
    left = {value: amount for value, amount in differences.items() if amount}
    flow: dict[tuple[Any, Any], Fraction] = {}
    givers = [value for value, amount in left.items() if amount > 0]
    takers = [value for value, amount in left.items() if amount < 0]
    while any(left[giver] for giver in givers):
        distance = {giver: Fraction(0) for giver in givers if left[giver]}
        before: dict[Any, Any] = {}
        for _ in left:
            for giver, taker in itertools.product(givers, takers):
                cost = ground(giver, taker)
                relax(distance, before, giver, taker, cost)
                if flow.get((giver, taker)):
                    relax(distance, before, taker, giver, -cost)
        end = min((taker for taker in takers if left[taker]), key=distance.__getitem__)
        path = [end]
        while path[-1] in before:
            path.append(before[path[-1]])
        edges = [(one, other) for other, one in itertools.pairwise(path)]
        backwards = [flow[other, one] for one, other in edges if one in takers]
        amount = min(left[path[-1]], -left[end], *backwards)
        for one, other in edges:
            edge, sign = ((one, other), 1) if one in givers else ((other, one), -1)
            flow[edge] = flow.get(edge, Fraction(0)) + sign * amount
        left[path[-1]] -= amount
        left[end] += amount
    return sum((amount * ground(*edge) for edge, amount in flow.items()), Fraction(0))


def relax(distance: dict[Any, Fraction], before: dict[Any, Any], one: Any, other: Any, cost: Fraction) -> None:
    if one in distance and (other not in distance or distance[one] + cost < distance[other]):
        distance[other], before[other] = distance[one] + cost, one


def lowest_common_level(one: Any, other: Any) -> int:
    return next(level for level in range(4) if TAXONOMY[one][level] == TAXONOMY[other][level])


@given(members=st.lists(st.sampled_from(DISEASES), min_size=1, max_size=9), rest=st.lists(st.sampled_from(DISEASES)))
@example(members=["flu"], rest=[])
@SOME
def test_every_distance_is_the_least_work_of_a_transport(members: list[Any], rest: list[Any]) -> None:
    block = block_of(members, rest)
    differences = block.single.differences
    places = {value: place for place, value in enumerate(value for value in DISEASES if value in differences)}
    grounds: list[tuple[Model, Ground]] = [
        (TEqual(1), lambda one, other: Fraction(1)),
        (
            TOrdered(1, tuple(DISEASES)),
            lambda one, other: Fraction(abs(places[one] - places[other]), max(1, len(places) - 1)),
        ),
        (THierarchical(1, TAXONOMY), lambda one, other: Fraction(lowest_common_level(one, other), 3)),
    ]
    for model, ground in grounds:
        assert model.figure(block) == transport(differences, ground), model


@given(members=st.lists(st.sampled_from(DISEASES), min_size=1), rest=st.lists(st.sampled_from(DISEASES)))
@SOME
def test_hierarchical_distance_is_the_mean_of_equal_distances(members: list[Any], rest: list[Any]) -> None:
    levels = [
        TEqual(1).figure(block_of([label(value, level) for value in members], [label(value, level) for value in rest]))
        for level in range(3)
    ]
    assert THierarchical(1, TAXONOMY).figure(block_of(members, rest)) == sum(levels) / 3


def label(value: Any, level: int) -> Any:
    return TAXONOMY[value][level]


def block_of(members: Sequence[Any], rest: Sequence[Any]) -> Block:
    """A class and the rest of its source, every row a person."""
    source = tuple(enumerate([*members, *rest]))
    return Block(Holdings(source[: len(members)]), Holdings(source))


# -- thresholds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("counts", "diversity"),
    [((1,), 1), ((3, 3), 2), ((4, 1, 1, 1, 1), 4), ((8, 2, 2, 2, 2), 4), ((1,) * 7, 7)],
)
def test_entropy_ties_pass_and_any_more_fails(counts: tuple[int, ...], diversity: int) -> None:
    block = block_of([value for value, count in enumerate(counts) for _ in range(count)], [])
    assert EntropyL(diversity).passes(block)
    assert not EntropyL(diversity + Fraction(1, 10**9)).passes(block)
    assert EntropyL(diversity).figure(block) == pytest.approx(diversity, rel=1e-14)


def test_recursive_diversity_is_strict_and_needs_its_values() -> None:
    block = block_of("vvvwwx", [])
    assert RecursiveL(1, 2).figure(block) == 1
    assert not RecursiveL(1, 2).passes(block)
    assert RecursiveL(1 + Fraction(1, 10**9), 2).passes(block)
    assert RecursiveL(100, 4).figure(block) is None
    assert not RecursiveL(100, 4).passes(block)


def test_enhanced_likeness_bounds_frequent_values_however_large_beta_is() -> None:
    # The class makes certain what 3 of 4 have: a gain of 1/3, above -ln(3/4).
    block = block_of("vvv", "w" * 1)
    assert BetaLikeness(Fraction(1, 3)).passes(block)
    assert not BetaLikeness(Fraction(1, 3) - Fraction(1, 10**9)).passes(block)
    assert not BetaLikeness(100, enhanced=True).passes(block)


# -- respondents and several groupings ---------------------------------------------------------------------------------


def test_one_person_never_makes_a_class_safe() -> None:
    rows = [{"q": "a", "s": value, "r": "one"} for value in "vwxyz"] + [{"q": "a", "s": "v", "r": "two"}]
    table = Table(rows, "r")
    people, values = Asked(K(3), ("q",)), Asked(DistinctL(3), ("q",), "s")
    assert (table.figure(people), table.figure(values)) == (2, 2)
    assert table.failing(values) == (1, 6)
    # One holds five values, but counts for the one that both hold.
    assert table.figure(Asked(EntropyL(2), ("q",), "s")) == 1


@given(values=st.lists(st.sampled_from(DISEASES), min_size=1), rest=st.lists(st.sampled_from(DISEASES)))
@SOME
def test_one_row_each_counts_as_rows_do(values: list[Any], rest: list[Any]) -> None:
    block = block_of(values, rest)
    assert block.members.distinct == len(set(values))
    assert block.shares.held == block.single.held == {value: values.count(value) for value in values}
    assert block.shares.source == block.single.source


def test_suppression_in_rounds() -> None:
    # Dropping the patient that is alone leaves doctor y with one row, and that leaves patient class b with one.
    rows = [
        {"patient": patient, "doctor": doctor}
        for patient, doctor in [("a", "y"), ("b", "y"), ("b", "z"), ("c", "z"), ("c", "z")]
    ]
    requirement = (Asked(K(2), ("patient",)), Asked(K(2), ("doctor",)))
    assert Table(rows).kept(requirement[:1]).rows == rows[1:]
    assert Table(rows).kept(requirement[1:]).rows == rows
    kept = Table(rows).kept(requirement)
    assert kept.rows == rows[3:]
    assert kept.satisfied(requirement)


def test_a_class_of_the_population_without_rows_is_beyond_mending() -> None:
    table = Table([{"q": "a"}], population=[{"q": "a"}, {"q": "b"}])
    hierarchies: dict[str, Labels] = {"q": {"a": ("a", "*"), "b": ("b", "*")}}
    asked = Asked(DeltaPresence(Fraction(1, 2), 1), ("q",))
    assert table.figures(asked) == {("a",): 1, ("b",): 0}
    assert table.failing(asked) == (1, 0)
    assert Problem(table, hierarchies, (asked,), limit=1).minimal() == [(1,)]


# -- the papers' lattices ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["s1", "s2", "f1", "c1"])
def test_nodes_of_the_papers(name: str) -> None:
    case = load_case(name)
    rows = [dict(zip(case.quasi_identifier, row, strict=True)) for row in case.tuples]
    hierarchies = dict(zip(case.quasi_identifier, case.labels, strict=True))
    for entry in case.expected["minimal"]:
        asked = (Asked(K(entry["k"]), case.quasi_identifier),)
        problem = Problem(Table(rows), hierarchies, asked, entry["limit"])
        assert [list(node) for node in problem.minimal()] == entry["vectors"]
        for node in problem.nodes():
            assert problem.suppressed(node) == case.outliers(entry["k"], node)
        lowest = min(sum(vector) for vector in entry["vectors"])
        assert problem.best(height) == [tuple(v) for v in entry["vectors"] if sum(v) == lowest]


def test_best_nodes_of_figure_8() -> None:
    case = load_case("s2")
    rows = [dict(zip(case.quasi_identifier, row, strict=True)) for row in case.tuples]
    hierarchies = dict(zip(case.quasi_identifier, case.labels, strict=True))
    problem = Problem(Table(rows), hierarchies, (Asked(K(2), case.quasi_identifier),), limit=2)
    assert problem.best(suppression) == [(1, 1), (1, 2)]
    # [0,1] keeps three classes of 2 rows and suppresses 2; [1,0] keeps classes of 4 and 3 rows and suppresses 1.
    assert discernibility(problem, (0, 1)) == 3 * 2**2 + 8 * 2
    assert discernibility(problem, (1, 0)) == 4**2 + 3**2 + 8 * 1
    assert problem.best(discernibility) == [(0, 1)]
    assert average_class_size(problem, (0, 1)) == Fraction(8, 4)


# -- pycanon -----------------------------------------------------------------------------------------------------------

ROWS = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("12"), st.just("z"), st.integers(0, 3)), min_size=1, max_size=20
)


def frame_of(rows: Sequence[tuple[Any, ...]]) -> Any:
    return pandas.DataFrame(rows, columns=[*COLUMNS, "s"])


def figure_of(rows: Sequence[tuple[Any, ...]], model: Model) -> Any:
    """What the oracle says; 0 is NULL to it, which comes before the numbers too and which pycanon cannot count."""
    rows = [(*row[:3], row[3] or None) for row in rows]
    return Table([dict(zip((*COLUMNS, "s"), row, strict=True)) for row in rows]).figure(Asked(model, COLUMNS, "s"))


@given(rows=ROWS)
@SOME
def test_oracle_equals_pycanon(rows: list[tuple[Any, ...]]) -> None:
    numbers = frame_of(rows)
    texts = frame_of([(*row[:3], f"s{row[3]}") for row in rows])
    peer, columns, sensitive = pycanon.anonymity, list(COLUMNS), ["s"]

    assert peer.k_anonymity(texts, columns) == figure_of(rows, K(1))
    assert peer.alpha_k_anonymity(texts, columns, sensitive)[0] == pytest.approx(
        float(figure_of(rows, LargestShare(1)))
    )
    assert peer.l_diversity(texts, columns, sensitive) == figure_of(rows, DistinctL(1))
    # pycanon cuts to a whole number, also a 3 that came out as 2.9999999999999996.
    entropy = figure_of(rows, EntropyL(1))
    assert peer.entropy_l_diversity(texts, columns, sensitive) in {int(entropy - 1e-9), int(entropy + 1e-9)}
    assert peer.t_closeness(texts, columns, sensitive) == pytest.approx(float(figure_of(rows, TEqual(1))))
    if len({row[3] for row in rows}) > 1:  # pycanon divides by D - 1
        assert peer.t_closeness(numbers, columns, sensitive) == pytest.approx(float(figure_of(rows, TOrdered(1))))
    assert peer.delta_disclosure(texts, columns, sensitive) == pytest.approx(figure_of(rows, DeltaDisclosure(1)))
    gain = float(figure_of(rows, BetaLikeness(1)))
    assert peer.basic_beta_likeness(texts, columns, sensitive) == pytest.approx(gain)
    # pycanon's figure for the enhanced model: the greatest gain, cut at -ln of the rarest value's share.
    rarest = min(Fraction([row[3] for row in rows].count(value), len(rows)) for value in {row[3] for row in rows})
    assert peer.enhanced_beta_likeness(texts, columns, sensitive) == pytest.approx(min(gain, -log(rarest)))


@given(classes=st.lists(st.tuples(st.integers(2, 4), st.integers(1, 3)), min_size=1, max_size=4))
@SOME
def test_recursive_diversity_equals_pycanon_where_values_are_equally_frequent(classes: list[tuple[int, int]]) -> None:
    rows = [
        (str(number), "1", "z", f"s{value}")
        for number, (values, times) in enumerate(classes)
        for value in range(values)
        for _ in range(times)
    ]
    c, place = pycanon.anonymity.recursive_c_l_diversity(frame_of(rows), list(COLUMNS), ["s"])
    assert place == min(values for values, _ in classes)
    # pycanon reports a whole c, the least that is greater than the figure.
    assert c == int(figure_of(rows, RecursiveL(1, place))) + 1


def test_pycanon_ranks_the_values_of_recursive_diversity_upwards() -> None:
    """Three rows against one: the paper asks for c above 3; pycanon takes the rarest value for r1 and says 1."""
    rows = [("a", "1", "z", value) for value in ("v", "v", "v", "w")]
    assert figure_of(rows, RecursiveL(1, 2)) == 3
    assert pycanon.anonymity.recursive_c_l_diversity(frame_of(rows), list(COLUMNS), ["s"]) == (1, 2)
