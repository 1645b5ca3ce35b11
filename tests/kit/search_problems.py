"""Random search problems: small tables with nested hierarchies, requirements, limits, constraints and preferences."""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from sqlanon.errors import InfeasibleError
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics import METRICS
from sqlanon.search.base import Budget, SearchResult
from sqlanon.search.session import POLICIES, Candidate, Preferences
from tests.kit.fake_evaluator import FakeEvaluator, Hierarchy, Table, at_least, at_least_and_mixed, run, score

CLOSE = 1e-9


@dataclass(frozen=True)
class Problem:
    """Everything a search is given. `evaluator` makes a fresh one, so that questions are counted anew."""

    table: Table
    k: int
    limit: int
    monotone: bool
    relaxed: bool
    """Where it is not monotone, whether its monotone part is told."""
    lattice: Lattice
    metric: str
    weights: tuple[float, ...]
    preferences: Preferences
    least_class: int = 0
    """What the search is told of the size of kept classes."""

    def evaluator(self) -> FakeEvaluator:
        requirement = at_least(self.k) if self.monotone else at_least_and_mixed(self.k, 0.6)
        relaxed = at_least(self.k) if self.relaxed and not self.monotone else None
        return FakeEvaluator(
            self.table,
            requirement,
            self.limit,
            monotone=self.monotone,
            lattice=self.lattice,
            relaxed=relaxed,
            least_class=self.least_class,
        )

    def acceptable(self) -> list[Node]:
        """By brute force: acceptable and allowed."""
        return [node for node in self.evaluator().acceptable() if self.preferences.allows(node, self.lattice)]

    def scores(self, nodes: list[Node]) -> dict[Node, float]:
        """By brute force."""
        evaluator = self.evaluator()
        return {
            node: score(self.metric, self.table, node, self.table.classes(node, evaluator.requirement), self.weights)
            for node in nodes
        }


@st.composite
def hierarchies(draw: st.DrawFn) -> Hierarchy:
    """Values merged at random, level by level, up to one label."""
    values = [f"v{number}" for number in range(draw(st.integers(1, 5)))]
    labels = {value: [value] for value in values}
    current = dict(zip(values, values, strict=True))
    for level in range(1, draw(st.integers(1, 3))):
        groups = {label: draw(st.integers(0, 2)) for label in sorted(set(current.values()))}
        current = {value: f"l{level}g{groups[label]}" for value, label in current.items()}
        for value in values:
            labels[value].append(current[value])
    if len(set(current.values())) > 1 or draw(st.booleans()):
        for value in values:
            labels[value].append("*")
    return {value: tuple(path) for value, path in labels.items()}


@st.composite
def problems(draw: st.DrawFn, *, monotone: bool | None = None, columns: int = 4) -> Problem:
    made = tuple(draw(st.lists(hierarchies(), min_size=1, max_size=columns)))
    row = st.tuples(*(st.sampled_from(sorted(hierarchy)) for hierarchy in made), st.sampled_from("xyz"))
    rows = tuple(draw(st.lists(row, min_size=1, max_size=25)))
    table = Table(rows, made)
    policies = draw(st.lists(st.sampled_from(sorted(POLICIES)), max_size=3, unique=True))
    k = draw(st.integers(1, 5))
    return Problem(
        table=table,
        k=k,
        least_class=draw(st.sampled_from([0, 1, k, k])),
        limit=draw(st.integers(0, len(rows))) if draw(st.booleans()) else draw(st.integers(0, min(3, len(rows)))),
        monotone=draw(st.booleans()) if monotone is None else monotone,
        relaxed=draw(st.booleans()),
        lattice=draw(lattices(table.heights)),
        metric=draw(st.sampled_from(sorted(METRICS))),
        weights=(1.0, *(draw(st.sampled_from([1.0, 1.0, 2.0, 0.5, 0.0])) for _ in made[1:])),
        preferences=draw(preferences(table.heights, tuple(policies))),
    )


@st.composite
def lattices(draw: st.DrawFn, heights: Node) -> Lattice:
    """Mostly the whole lattice, sometimes bounded levels."""
    if draw(st.integers(0, 2)):
        return Lattice.of_heights(heights)
    tops = tuple(draw(st.integers(0, height)) for height in heights)
    return Lattice(tuple(draw(st.integers(0, top)) for top in tops), tops)


@st.composite
def preferences(draw: st.DrawFn, heights: Node, policies: tuple[str, ...]) -> Preferences:
    if draw(st.integers(0, 2)):
        return Preferences(policies)
    column = st.integers(0, len(heights) - 1)
    before = (
        draw(st.lists(st.tuples(column, column).filter(lambda pair: pair[0] < pair[1]), max_size=1))
        if (len(heights) > 1)
        else []
    )
    combination = st.lists(column, min_size=1, max_size=2, unique=True).flatmap(
        lambda columns: st.tuples(*(st.tuples(st.just(c), st.integers(0, heights[c])) for c in columns))
    )
    return Preferences(policies, tuple(before), tuple(draw(st.lists(combination, max_size=3))))


def solve(problem: Problem, algorithm: str, budget: Budget | None = None) -> SearchResult | None:
    """The result; None when there is none."""
    try:
        return run(algorithm, problem.evaluator(), problem.metric, problem.preferences, budget, problem.weights)
    except InfeasibleError:
        return None


def ranked(problem: Problem, nodes: list[Node], policies: tuple[str, ...]) -> list[Node]:
    """What the preferences leave of these nodes, worked out independently: one policy after the other."""
    evaluator = problem.evaluator()
    left = [Candidate(evaluator.verdict(node), evaluator.heights, problem.weights) for node in nodes]
    for policy in policies:
        best = min(POLICIES[policy](candidate) for candidate in left)
        left = [candidate for candidate in left if POLICIES[policy](candidate) <= best + CLOSE]
    return sorted(candidate.node for candidate in left)
