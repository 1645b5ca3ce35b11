"""What each privacy model promises when classes merge, confirmed by the oracle; counterexamples where it promises less.

Generalizing a column and leaving it out of the quasi-identifier both merge classes. A model is monotone with
suppression when a class that contains a passing one passes: suppressed rows can only become fewer. It is monotone
without suppression when the union of two passing classes passes: above a satisfying node all nodes satisfy.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import chain, combinations, permutations
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.kit.counterexamples import (
    ORDER,
    SENSITIVE,
    WITH_RESPONDENTS,
    WITH_SUPPRESSION,
    WITHOUT_SUPPRESSION,
    Counterexample,
)
from tests.kit.examples import share
from tests.kit.oracle import (
    Alpha,
    Asked,
    BetaLikeness,
    Block,
    DeltaDisclosure,
    DeltaPresence,
    DistinctL,
    EntropyL,
    Holdings,
    K,
    KMap,
    Labels,
    Model,
    Problem,
    PSensitive,
    RecursiveL,
    Table,
    TEqual,
    THierarchical,
    TOrdered,
    below,
)

MANY = settings(max_examples=share(250), deadline=None, derandomize=True)
SOME = settings(max_examples=share(50), deadline=None, derandomize=True)

COUNTS = range(1, 5)
SHARES = [Fraction(n, 20) for n in range(0, 20, 3)]
FACTORS = [Fraction(n, 4) for n in range(1, 17, 3)]

COUNTING: dict[str, list[Model]] = {
    "k": [K(k) for k in COUNTS],
    "distinct l": [DistinctL(least) for least in COUNTS],
    "p-sensitive": [PSensitive(least) for least in COUNTS],
    "k-map": [KMap(k) for k in COUNTS],
}
"""Monotone with and without suppression, counting rows or respondents."""

SHARING: dict[str, list[Model]] = {
    "entropy": [EntropyL(Fraction(n, 4)) for n in range(5, 13)],
    "recursive": [RecursiveL(c, place) for c in FACTORS for place in (1, 2, 3)],
    "alpha": [Alpha(value, alpha) for value in ORDER for alpha in SHARES],
    "t equal": [TEqual(t) for t in SHARES],
    "t ordered": [TOrdered(t, ORDER) for t in SHARES],
    "t hierarchical": [THierarchical(t, SENSITIVE) for t in SHARES],
    "beta basic": [BetaLikeness(beta) for beta in FACTORS],
    "beta enhanced": [BetaLikeness(beta, enhanced=True) for beta in FACTORS],
    "delta all": [DeltaDisclosure(delta, every=True) for delta in FACTORS],
    "delta presence": [DeltaPresence(least, greatest) for least, greatest in combinations(SHARES, 2)],
}
"""Monotone only without suppression, and only where every row is a respondent of its own."""

NEVER = ("delta occurring",)
"""Not monotone at all."""


@dataclass(frozen=True)
class Merged:
    """Two classes of a source, and their union."""

    one: Block
    other: Block
    union: Block


@st.composite
def merged(draw: st.DrawFn, *, respondents: bool) -> Merged:
    """Two classes and the rest of a source: people with values, and how many of the population match each class."""
    values = st.lists(st.sampled_from(ORDER), max_size=7)
    parts: list[list[tuple[int, str]]]
    if respondents:
        pairs = st.lists(st.tuples(st.integers(0, 4), st.sampled_from(ORDER)), max_size=7)
        parts = [draw(pairs), draw(pairs), draw(pairs)]
    else:
        parts = [[(100 * number + i, value) for i, value in enumerate(draw(values))] for number in range(3)]
    one, other, rest = parts
    assume(one and other)
    source = Holdings(tuple(one + other + rest))
    sizes = draw(st.integers(0, 6)), draw(st.integers(0, 6))
    return Merged(
        Block(Holdings(tuple(one)), source, sizes[0]),
        Block(Holdings(tuple(other)), source, sizes[1]),
        Block(Holdings(tuple(one + other)), source, sum(sizes)),
    )


# -- what holds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("respondents", [False, True], ids=["rows", "respondents"])
def test_a_class_that_contains_a_passing_one_passes(respondents: bool) -> None:
    @given(merged(respondents=respondents))
    @MANY
    def holds(classes: Merged) -> None:
        for model in chain.from_iterable(COUNTING.values()):
            assert model.passes(classes.union) or not (model.passes(classes.one) or model.passes(classes.other)), model

    holds()


@given(merged(respondents=False))
@MANY
def test_the_union_of_two_passing_classes_passes(classes: Merged) -> None:
    for model in chain.from_iterable(SHARING.values()):
        assert model.passes(classes.union) or not (model.passes(classes.one) and model.passes(classes.other)), model


@given(merged(respondents=True))
@MANY
def test_the_upper_bound_of_presence_is_monotone_with_respondents(classes: Merged) -> None:
    for model in (DeltaPresence(0, greatest) for greatest in SHARES):
        assert model.passes(classes.union) or not (model.passes(classes.one) and model.passes(classes.other)), model


# -- what does not -----------------------------------------------------------------------------------------------------


def name_of(example: Any) -> str:
    return str(example.name)


def misleads(example: Counterexample) -> None:
    assert example.problem.acceptable((0,))
    assert not example.problem.acceptable((1,))


@pytest.mark.parametrize("example", WITH_SUPPRESSION, ids=name_of)
def test_not_monotone_with_suppression(example: Counterexample) -> None:
    misleads(example)
    assert not example.respondents


@pytest.mark.parametrize("example", WITHOUT_SUPPRESSION, ids=name_of)
def test_not_monotone_without_suppression(example: Counterexample) -> None:
    misleads(example)
    assert not example.limit
    assert not example.respondents


@pytest.mark.parametrize("example", WITH_RESPONDENTS, ids=name_of)
def test_not_monotone_with_respondents(example: Counterexample) -> None:
    misleads(example)
    assert not example.limit


def test_every_model_has_its_counterexamples() -> None:
    where = "tests/kit/counterexamples.py has one for each name in SHARING or NEVER: "
    assert {example.name for example in WITH_SUPPRESSION} == {*SHARING, *NEVER}, f"{where}WITH_SUPPRESSION"
    assert {example.name for example in WITHOUT_SUPPRESSION} == {*NEVER}, f"{where}WITHOUT_SUPPRESSION, of NEVER alone"
    assert {example.name for example in WITH_RESPONDENTS} == {*SHARING, *NEVER}, f"{where}WITH_RESPONDENTS"


# -- whole lattices ----------------------------------------------------------------------------------------------------

PLACES: Labels = {"a1": ("a1", "a", "*"), "a2": ("a2", "a", "*"), None: (None, None, "*")}
AGES: Labels = {"1": ("1", "*"), "2": ("2", "*")}
ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "place": st.sampled_from([*PLACES]),
            "age": st.sampled_from([*AGES]),
            "doctor": st.sampled_from([*AGES]),
            "s": st.sampled_from(ORDER),
            "r": st.sampled_from(["p", "q", "r", None]),
        }
    ),
    min_size=1,
    max_size=12,
)
PATIENT, DOCTOR = ("place", "age"), ("doctor",)
ASKED = st.sampled_from(COUNTS)


def lattice(table: Table, *requirement: Asked) -> Problem:
    return Problem(table, {"place": PLACES, "age": AGES, "doctor": AGES}, requirement)


def pairs_of(problem: Problem) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    nodes = list(problem.nodes())
    return [(low, high) for low in nodes for high in nodes if below(low, high)]


@given(rows=ROWS, k=ASKED, others=ASKED, diversity=ASKED, respondent=st.sampled_from([None, "r"]))
@SOME
def test_suppression_of_counting_models_falls_also_with_several_groupings(
    rows: list[dict[str, Any]], k: int, others: int, diversity: int, respondent: str | None
) -> None:
    asked = Asked(K(k), PATIENT), Asked(K(others), DOCTOR), Asked(DistinctL(diversity), (*PATIENT, "doctor"), "s")
    problem = lattice(Table(rows, respondent), *asked)
    suppressed = {node: problem.suppressed(node) for node in problem.nodes()}
    assert all(suppressed[high] <= suppressed[low] for low, high in pairs_of(problem))


@given(
    rows=ROWS,
    model=st.sampled_from([model for name in SHARING if name != "delta presence" for model in SHARING[name]]),
    k=ASKED,
)
@SOME
def test_satisfying_nodes_have_satisfying_nodes_above(rows: list[dict[str, Any]], model: Model, k: int) -> None:
    problem = lattice(Table(rows), Asked(model, PATIENT, "s"), Asked(K(k), DOCTOR))
    satisfied = {node: problem.acceptable(node) for node in problem.nodes()}
    assert all(satisfied[high] or not satisfied[low] for low, high in pairs_of(problem))


# -- rows that fit each other ------------------------------------------------------------------------------------------

CELLS = st.lists(st.tuples(st.sampled_from([*PLACES]), st.integers(0, 2), st.integers(0, 2)), min_size=1, max_size=5)


def fitting(originals: list[Any], released: list[Any]) -> tuple[int, int, int]:
    """The fewest released rows that an original fits, the fewest originals of a released row, and the fewest released
    rows that an original can have when each has one of its own."""
    fits = [[label in PLACES[value] for label in released] for value in originals]
    partners: list[set[int]] = [set() for _ in originals]
    for chosen in permutations(range(len(released))):
        if all(fits[o][r] for o, r in enumerate(chosen)):
            for o, r in enumerate(chosen):
                partners[o].add(r)
    return min(map(sum, fits)), min(map(sum, zip(*fits, strict=True))), min(map(len, partners))


@given(cells=CELLS)
@SOME
def test_rows_that_fit_become_more_where_no_row_is_suppressed(cells: list[tuple[Any, int, int]]) -> None:
    """Each cell at a level, and at a level that is no lower."""
    originals = [value for value, _, _ in cells]
    low = fitting(originals, [PLACES[value][level] for value, level, _ in cells])
    high = fitting(originals, [PLACES[value][max(level, other)] for value, level, other in cells])
    assert all(before <= after for before, after in zip(low, high, strict=True))
