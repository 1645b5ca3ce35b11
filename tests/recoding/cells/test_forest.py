"""The forest and the matching by themselves: groups that are whole, large enough, not too large, and cheap enough."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations
from random import Random

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sqlglot import exp, parse_one

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError
from sqlanon.recoding.cells import forest as forest_module
from sqlanon.recoding.cells.exact import Vertex
from sqlanon.recoding.cells.forest import Forest
from sqlanon.recoding.cells.matching import groups_of_circles, groups_of_two, least_circles, matched
from sqlanon.recoding.cells.recoder import widened
from sqlanon.recoding.cells.statements import Steps
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Anonymity
from tests.kit.cells import cost, fitting, least_cost, level
from tests.kit.examples import share
from tests.kit.papers import Labels, Row

CHAIN: Labels = {
    "a": ("a", "ab", "*"),
    "b": ("b", "ab", "*"),
    "c": ("c", "cd", "*"),
    "d": ("d", "cd", "*"),
}
CODES = {label: number for number, label in enumerate(["a", "b", "c", "d", "ab", "cd"])}
STEPS = Steps((1, 2))
SOME = settings(
    max_examples=share(8), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
ROWS = st.lists(st.tuples(*[st.sampled_from("abcd")] * 2), min_size=4, max_size=8)


@dataclass(frozen=True)
class Divided:
    """Groups of rows: for each group the vertices, as often as it has rows of them."""

    groups: Mapping[int, list[Row]]
    exact: bool

    def cost(self) -> Fraction:
        return sum((cost(rows, [CHAIN] * len(rows[0]), cells=False) for rows in self.groups.values()), Fraction(0))


def divided(engine: Engine, rows: Sequence[Row], k: int) -> Divided:
    """What the forest makes of rows; every row of every vertex is in one group."""
    counted = sorted(Counter(rows).items())
    with Scratch(engine, ()) as scratch:
        forest = forest_of(engine, scratch, rows, k)
        near = forest.neighbours()
        table = forest.groups(near.table)
        found = engine.query(Statement("test", exp.select("*").from_(exp.to_table(f'"{table.name}"'))))
    groups: dict[int, list[Row]] = defaultdict(list)
    taken: Counter[tuple[int, int]] = Counter()
    for v, first, last, g in found:
        groups[g] += [counted[v - 1][0]] * (last - first + 1)
        taken.update((v, row) for row in range(first, last + 1))
    assert taken == Counter((v, row) for v, (_, n) in enumerate(counted, start=1) for row in range(1, n + 1))
    return Divided(groups, near.exact)


def forest_of(engine: Engine, scratch: Scratch, rows: Sequence[Row], k: int) -> Forest:
    """Rows as vertices, numbered in their order."""
    width = len(rows[0])
    codes = [f"c_{i}_{step}" for i in range(width) for step in (0, 1)]
    content = [
        [number, n, *(CODES[str(CHAIN[value][step])] for value in row for step in (0, 1)), *[0] * width]
        for number, (row, n) in enumerate(sorted(Counter(rows).items()), start=1)
    ]
    names = ["v", "n", *codes, *(f"o_{i}" for i in range(width))]
    vertices = scratch.create("test", "vertices", table_of(names, content))
    return Forest(engine, scratch, vertices, [STEPS] * width, k)


def table_of(names: Sequence[str], content: Sequence[Sequence[int]]) -> exp.Query:
    listed = ", ".join("(" + ", ".join(map(str, row)) + ")" for row in content)
    columns = ", ".join(f'"{name}"' for name in names)
    query = parse_one(f"SELECT {columns} FROM (VALUES {listed}) AS given ({columns})", dialect="duckdb")
    assert isinstance(query, exp.Query)
    return query


@given(rows=ROWS, k=st.integers(2, 4))
@example(rows=[*[("a", "a")] * 9, ("b", "a"), ("a", "b"), ("b", "b")], k=3)
@example(rows=[("a", "a"), ("a", "b"), ("a", "c"), ("a", "d"), ("b", "a"), ("c", "a"), ("d", "a"), ("d", "d")], k=2)
@SOME
def test_groups_are_whole_and_no_dearer_than_the_factor(shared_engine: Engine, rows: list[Row], k: int) -> None:
    found = divided(shared_engine, rows, k)
    assert found.exact
    assert min(map(len, found.groups.values())) >= k
    least = least_cost(tuple(rows[:8]), [CHAIN] * 2, k, cells=False) if len(rows) <= 8 else Fraction(0)
    if len(rows) <= 8:
        assert least <= found.cost() <= (3 * k - 3) * least


@pytest.mark.soak
@given(rows=ROWS, k=st.integers(2, 4))
@settings(SOME, max_examples=share(100))
def test_groups_of_many_tables(shared_engine: Engine, rows: list[Row], k: int) -> None:
    found = divided(shared_engine, rows, k)
    least = least_cost(tuple(rows), [CHAIN] * 2, k, cells=False)
    assert min(map(len, found.groups.values())) >= k
    assert least <= found.cost() <= (3 * k - 3) * least


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize(("k", "pairs"), [(2, 10**7), (5, 10**7), (4, 0)])
def test_groups_of_many_rows(shared_engine: Engine, k: int, pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """No group of several combinations has more than 3k - 3 rows."""
    monkeypatch.setattr(forest_module, "MOST_PAIRS", pairs)
    random = Random(k)
    rows: list[Row] = [tuple(random.choice("aaabccd") for _ in range(5)) for _ in range(400)]
    found = divided(shared_engine, rows, k)
    assert found.exact == (pairs > 0)
    for members in found.groups.values():
        assert len(members) >= k
        assert len(set(members)) == 1 or len(members) <= 3 * k - 3


def test_fewer_rows_than_k(shared_engine: Engine) -> None:
    with pytest.raises(InfeasibleError, match="the source has 2 rows, fewer than k = 3"):
        divided(shared_engine, [("a", "a"), ("b", "b")], 3)


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize("anonymity", ["(1,k)", "(k,1)", "(k,k)", "global (1,k)"])
@given(rows=st.lists(st.tuples(*[st.sampled_from("abcd")] * 2), min_size=4, max_size=7), k=st.integers(2, 4))
@settings(SOME, max_examples=share(3))
def test_labels_are_widened_until_rows_fit(
    shared_engine: Engine, anonymity: Anonymity, rows: list[Row], k: int
) -> None:
    counted = sorted(Counter(rows).items())
    with Scratch(shared_engine, ()) as scratch:
        forest = forest_of(shared_engine, scratch, rows, k)
        table = widened(forest, forest.neighbours(2).table, anonymity)
        assert table is not None
        query = exp.select("*").from_(exp.to_table(f'"{table.name}"'))
        found = {int(g): steps[:2] for g, *steps in shared_engine.query(Statement("test", query))}
    released: list[Row] = [
        tuple(CHAIN[value][step] for value, step in zip(row, found[v], strict=True))
        for v, (row, n) in enumerate(counted, start=1)
        for _ in range(n)
    ]
    one_k, k_one, everywhere = fitting(rows, released, [CHAIN] * 2)
    expected = {"(1,k)": [one_k], "(k,1)": [k_one], "(k,k)": [one_k, k_one], "global (1,k)": [everywhere, k_one]}
    assert min(expected[anonymity]) >= k


# -- matchings ---------------------------------------------------------------------------------------------------------


def distance(one: Row, other: Row) -> int:
    return sum(level(pair, CHAIN) for pair in zip(one, other, strict=True))


def by_matching(rows: Sequence[Row]) -> list[list[Row]]:
    """Groups of rows from distances that Python computes: what is tested is the matching alone."""
    counted = Counter(rows)
    vertices = sorted(counted)
    singles = [v for v, row in enumerate(vertices) if counted[row] == 1]
    nearest, away = {}, {}
    for u in singles:
        away[u], nearest[u] = min((distance(vertices[u], vertices[v]), v) for v in range(len(vertices)) if v != u)
    gains = {(u, v): away[u] + away[v] - distance(vertices[u], vertices[v]) for u in singles for v in singles if u < v}
    groups = groups_of_two(nearest, matched({pair: gain for pair, gain in gains.items() if gain > 0}))
    return list(_with_rows(groups, vertices, counted))


def _with_rows(groups: list[list[int]], vertices: list[Row], counted: Counter[Row]) -> Iterator[list[Row]]:
    """Vertices of three rows or more give one row, of two rows both; what is left is by itself."""
    left = Counter(counted)
    for members in groups:
        taken = [row for v in members for row in [vertices[v]] * (2 if counted[vertices[v]] == 2 else 1)]
        left.subtract(taken)
        yield taken
    yield from ([row] * n for row, n in left.items() if n)


@given(rows=st.lists(st.tuples(*[st.sampled_from("ab")] * 4), min_size=2, max_size=8))
@example(rows=[("a", "a", "a", "a"), ("b", "a", "a", "a"), ("a", "b", "a", "a"), ("a", "a", "b", "a")])
@settings(max_examples=share(60), deadline=None, derandomize=True)
def test_matchings_on_boolean_data_cost_half_more_at_most(rows: list[Row]) -> None:
    check_matching(rows, Fraction(3, 2))


@given(rows=st.lists(st.tuples(*[st.sampled_from("abcd")] * 3), min_size=2, max_size=8))
@settings(max_examples=share(60), deadline=None, derandomize=True)
def test_matchings_on_other_data_cost_twice_as_much_at_most(rows: list[Row]) -> None:
    check_matching(rows, Fraction(2))


def check_matching(rows: list[Row], factor: Fraction) -> None:
    labels = [CHAIN] * len(rows[0])
    groups = by_matching(rows)
    assert Counter(row for group in groups for row in group) == Counter(rows)
    assert min(map(len, groups)) >= 2
    found = sum((cost(group, labels, cells=False) for group in groups), Fraction(0))
    least = least_cost(tuple(rows), labels, 2, cells=False)
    assert least <= found <= factor * least


# -- circles, for k = 3 ------------------------------------------------------------------------------------------------


@given(rows=st.lists(st.tuples(*[st.sampled_from("ab")] * 4), min_size=3, max_size=8))
@example(rows=[("a", "a", "a", "a"), ("a", "a", "b", "b"), ("b", "b", "a", "a"), ("b", "b", "b", "b")])
@settings(max_examples=share(30), deadline=None, derandomize=True)
def test_circles_on_boolean_data_cost_twice_as_much_at_most(rows: list[Row]) -> None:
    check_circles(rows, Fraction(3, 2), Fraction(2))


@given(rows=st.lists(st.tuples(*[st.sampled_from("abcd")] * 2), min_size=3, max_size=8))
@example(rows=[("a", "a")] * 3 + [("b", "a"), ("c", "a"), ("c", "a"), ("d", "d")])
@settings(max_examples=share(30), deadline=None, derandomize=True)
def test_circles_on_other_data_cost_three_times_as_much_at_most(rows: list[Row]) -> None:
    check_circles(rows, Fraction(1), Fraction(3))


def check_circles(rows: list[Row], bound: Fraction, factor: Fraction) -> None:
    """The circles are as short as those of brute force; times `bound` they are no more than any groups cost."""
    counted = Counter(rows)
    vertices = [
        Vertex(number, rows_of, tuple((CODES[str(cell)], CODES[str(CHAIN[cell][1])]) for cell in row))
        for number, (row, rows_of) in enumerate(counted.items(), 1)
    ]
    costs = [STEPS.costs] * len(rows[0])
    length, circles = least_circles(vertices, costs)
    assert length == least_factor(tuple(rows))
    order = list(counted)
    groups = [[order[place] for place in group] for group in groups_of_circles(vertices, costs, circles)]
    assert Counter(row for group in groups for row in group) == counted
    assert min(map(len, groups)) >= 3
    labels = [CHAIN] * len(rows[0])
    found = sum((cost(group, labels, cells=False) for group in groups), Fraction(0))
    least = least_cost(tuple(rows), labels, 3, cells=False)
    assert Fraction(length, STEPS.costs[-1]) * bound <= least <= found <= factor * least


def least_factor(rows: tuple[Row, ...]) -> int:
    """The length of the shortest circles of three rows and more through all rows, of all there are."""

    @cache
    def around(members: tuple[int, ...]) -> int:
        first, *others = members
        return min(
            sum(distance(rows[one], rows[other]) for one, other in zip((first, *way), (*way, first), strict=True))
            for way in permutations(others)
        )

    @cache
    def best(left: tuple[int, ...]) -> int:
        if not left:
            return 0
        first, *others = left
        return min(
            around((first, *chosen)) + best(tuple(row for row in others if row not in chosen))
            for size in range(2, len(others) + 1)
            if len(others) == size or len(others) - size >= 3
            for chosen in combinations(others, size)
        )

    return best(tuple(range(len(rows))))
