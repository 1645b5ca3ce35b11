"""Counts, figures and bounds of every node, held against a brute force that counts rows in Python."""

from __future__ import annotations

import csv
import itertools
from collections import Counter
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from math import log2, prod
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sqlanon.engines.base import Engine, TraceEvent
from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.evaluation import rollups as rollup
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.matrix import MatrixEvaluator
from sqlanon.hierarchies.lattice import Lattice, Node, dominates
from sqlanon.metrics import METRICS
from sqlanon.metrics.base import Metric, Verdict
from sqlanon.privacy.base import Requirement
from sqlanon.privacy.k_anonymity import KAnonymity
from sqlanon.search import samarati
from sqlanon.search.base import Budget, Evaluator, Objective
from sqlanon.search.session import Preferences
from sqlanon.source import frequency as frequency_set
from sqlanon.source import frequency_statements as packing
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec
from tests.kit.examples import share
from tests.kit.papers import load_case
from tests.kit.tables import create, frequency, rows, run, spec_of

FEWER = settings(
    max_examples=share(6),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
Value = str | None


@dataclass(frozen=True)
class Example:
    """A small table with the labels of every value, and everything about it counted by hand."""

    table: list[tuple[Value, ...]]
    hierarchies: list[list[list[str]]]
    """For each column the rows of its hierarchy, level 0 first, without a constant top."""
    k: int

    @cached_property
    def labels(self) -> list[dict[Value, list[Value]]]:
        return [self._labels_of(position) for position in range(len(self.hierarchies))]

    def _labels_of(self, position: int) -> dict[Value, list[Value]]:
        lines = self.hierarchies[position]
        single = len({line[-1] for line in lines}) == 1 and len(lines[0]) > 1
        labels: dict[Value, list[Value]] = {}
        for line in lines:
            labels[line[0]] = [*line, *([] if single else ["*"])]
        if any(row[position] is None for row in self.table):
            some = next(iter(labels.values()))
            labels[None] = [*(None for _ in some[1:]), some[-1]]
        return labels

    @property
    def heights(self) -> Node:
        return tuple(len(next(iter(labels.values()))) - 1 for labels in self.labels)

    def nodes(self) -> list[Node]:
        return list(itertools.product(*(range(height + 1) for height in self.heights)))

    def at(self, row: tuple[Value, ...], node: Node) -> tuple[Value, ...]:
        return tuple(labels[value][level] for labels, value, level in zip(self.labels, row, node, strict=True))

    def classes(self, node: Node) -> Counter[tuple[Value, ...]]:
        return Counter(self.at(row, node) for row in self.table)

    def suppressed(self, node: Node) -> list[tuple[Value, ...]]:
        classes = self.classes(node)
        return [row for row in self.table if classes[self.at(row, node)] < self.k]

    def leaves(self, position: int, label: Value, level: int) -> int:
        return sum(1 for labels in self.labels[position].values() if labels[level] == label)

    def distance(self, left: tuple[Value, ...], right: tuple[Value, ...]) -> Node:
        return tuple(
            next(level for level, pair in enumerate(zip(labels[one], labels[other], strict=True)) if pair[0] == pair[1])
            for labels, one, other in zip(self.labels, left, right, strict=True)
        )

    # -- the metrics, as their papers define them ---------------------------------------------------------------------

    def score(self, metric: str, node: Node) -> float:
        everyone, kept = len(self.table), [n for n in self.classes(node).values() if n >= self.k]
        lost = len(self.suppressed(node))
        columns = range(len(node))
        match metric:
            case "height":
                return sum(node)
            case "dm*":
                return sum(n * n for n in self.classes(node).values())
            case "dm":
                return sum(n * n for n in kept) + everyone * lost
            case "aecs":
                return everyone / (len(kept) + (lost > 0))
            case "precision":
                relative = [level / height for level, height in zip(node, self.heights, strict=True)]
                return sum(((everyone - lost) * share + lost) / everyone for share in relative) / len(node)
            case "loss":
                return prod(1 + self._loss(position, node) for position in columns) ** (1 / len(node)) - 1
            case "entropy*":
                return sum(self._entropy(position, node[position]) for position in columns)
            case "entropy":
                extra = sum(self._entropy_of_suppressed(position, node) for position in columns)
                return extra + sum(self._entropy(position, node[position]) for position in columns)
            case "hdm":
                return sum(self._hdm(position, node[position]) for position in columns) / len(node)
        raise ValueError(f"no brute force for {metric}")

    def _loss(self, position: int, node: Node) -> float:
        known = len(self.labels[position])
        if known == 1:
            return 0.0
        classes = self.classes(node)
        total = 0.0
        for row in self.table:
            label = self.at(row, node)
            full = classes[label] < self.k
            total += 1 if full else self.leaves(position, label[position], node[position]) / known
        least = len(self.table) / known
        return (total - least) / (len(self.table) - least)

    def counts(self, position: int, level: int) -> Counter[Value]:
        return Counter(self.labels[position][row[position]][level] for row in self.table)

    def _entropy(self, position: int, level: int) -> float:
        own, general = self.counts(position, 0), self.counts(position, level)
        # At level 0 NULL is its own label, above it too, until the top.
        return -sum(
            n * log2(n / general[self.labels[position][value][level]])
            for value, n in Counter(row[position] for row in self.table).items()
            if own
        )

    def _entropy_of_suppressed(self, position: int, node: Node) -> float:
        lost = self.suppressed(node)
        values = Counter(self.at(row, node)[position] for row in lost)
        return -sum(n * log2(n / len(lost)) for n in values.values())

    def _hdm(self, position: int, level: int) -> float:
        everyone, general = len(self.table), self.counts(position, level)
        return sum(
            n * (general[self.labels[position][value][level]] - n) / (everyone - n)
            for value, n in Counter(row[position] for row in self.table).items()
            if n < everyone
        )

    # -- in the database ----------------------------------------------------------------------------------------------

    def spec(self, folder: Path) -> Spec:
        columns: dict[str, Any] = {}
        for position, lines in enumerate(self.hierarchies):
            path = folder / f"hierarchy_{position}.csv"
            with path.open("w", encoding="utf-8", newline="") as stream:
                csv.writer(stream).writerows(lines)
            columns[f"q{position}"] = {"csv": {"path": str(path), "delimiter": ","}}
        return spec_of(columns, k=self.k)

    def load(self, engine: Engine) -> None:
        run(engine, "DROP TABLE IF EXISTS t")
        types = {f"q{position}": "text" for position in range(len(self.hierarchies))} | {"rest": "text"}
        create(engine, ["t"], types, [(*row, "x") for row in self.table])


@st.composite
def hierarchies(draw: st.DrawFn) -> list[list[str]]:
    values = draw(st.integers(1, 6))
    depth = draw(st.integers(0, 3))
    paths = [[f"v{value}"] for value in range(values)]
    for level in range(1, depth + 1):
        below = sorted({path[-1] for path in paths})
        parents = draw(st.lists(st.integers(0, 2), min_size=len(below), max_size=len(below)))
        parent = {label: f"l{level}_{number}" for label, number in zip(below, parents, strict=True)}
        for path in paths:
            path.append(parent[path[-1]])
    return paths


@st.composite
def examples(draw: st.DrawFn) -> Example:
    columns = draw(st.lists(hierarchies(), min_size=1, max_size=3))
    domains = [st.sampled_from([*(line[0] for line in lines), None]) for lines in columns]
    return Example(draw(st.lists(st.tuples(*domains), min_size=1, max_size=14)), columns, draw(st.integers(1, 5)))


def evaluator_of(
    engine: Engine,
    found: FrequencySet,
    scratch: Scratch,
    k: int,
    limit: int,
    heights: Node,
    metrics: Collection[Metric] = tuple(METRICS.values()),
) -> SqlEvaluator:
    figures = {name: value for metric in metrics for name, value in metric.figures(len(heights)).items()}
    requirement = Requirement.of([KAnonymity(k)])
    lattice = Lattice.of_heights(heights)
    return SqlEvaluator.of(engine, found, requirement, lattice=lattice, limit=limit, figures=figures, scratch=scratch)


@contextmanager
def evaluated(
    engine: Engine, example: Example, folder: Path, limit: int = 0
) -> Iterator[tuple[SqlEvaluator, Any, Any]]:
    example.load(engine)
    with frequency(engine, example.spec(folder)) as (found, _, scratch):
        assert found.rows == len(example.table)
        assert found.combinations == len(set(example.table))
        yield evaluator_of(engine, found, scratch, example.k, limit, example.heights), found, scratch


@contextmanager
def steps(engine: Engine) -> Iterator[list[str]]:
    """The steps of every statement that runs meanwhile."""
    seen: list[str] = []

    def hook(event: TraceEvent) -> None:
        if event.seconds is None:
            seen.append(event.step)

    engine.session.hooks.append(hook)
    try:
        yield seen
    finally:
        engine.session.hooks.remove(hook)


def expected_verdicts(example: Example, nodes: list[Node]) -> list[tuple[Node, int, int]]:
    return [
        (node, len(example.suppressed(node)), sum(n >= example.k for n in example.classes(node).values()))
        for node in nodes
    ]


def as_tuples(verdicts: list[Verdict]) -> list[tuple[Node, int, int]]:
    return [(verdict.node, verdict.suppressed, verdict.classes) for verdict in verdicts]


@pytest.mark.no_cover
@FEWER
@given(example=examples())
def test_counts_of_every_node(engine: Engine, tmp_path: Path, example: Example) -> None:
    nodes = example.nodes()
    with evaluated(engine, example, tmp_path) as (evaluator, _, _):
        assert evaluator.heights == example.heights
        assert evaluator.leaves == tuple(len(labels) for labels in example.labels)
        assert as_tuples(evaluator.check(nodes)) == expected_verdicts(example, nodes)


@pytest.mark.no_cover
@FEWER
@given(example=examples())
def test_figures_and_scores_of_every_node(engine: Engine, tmp_path: Path, example: Example) -> None:
    with evaluated(engine, example, tmp_path) as (evaluator, _, _):
        assert_scores(evaluator, example)
        for position, levels in enumerate(evaluator.level_figures()):
            assert len(levels) == example.heights[position] + 1
            for level, figures in enumerate(levels):
                counted = Counter(example.labels[position][row[position]][level] for row in example.table)
                known = len(example.labels[position])
                shares = {label: example.leaves(position, label, level) / known for label in counted}
                assert figures.values == len(counted)
                assert figures.share == pytest.approx(sum(n * shares[label] for label, n in counted.items()))
                assert figures.largest_share == pytest.approx(max(shares.values()))


def assert_scores(evaluator: SqlEvaluator, example: Example) -> None:
    nodes = example.nodes()
    verdicts = evaluator.measure(nodes)
    assert as_tuples(verdicts) == expected_verdicts(example, nodes)
    for metric in METRICS.values():
        objective = Objective.of(metric, evaluator)
        for verdict in verdicts:
            expected = example.score(metric.name, verdict.node)
            assert objective.score(verdict) == pytest.approx(expected, abs=1e-9), (metric.name, verdict.node)


@pytest.mark.no_cover
def test_figures_of_a_single_metric_for_several_nodes_at_once(engine: Engine, tmp_path: Path) -> None:
    """Beside figures of loss no two nodes are measured together: each metric is asked for by itself."""
    lines = [[f"v{value}", f"l{value // 2}"] for value in range(4)]
    table: list[tuple[Value, ...]] = [(f"v{n % 4}", f"v{n * n % 3}") for n in range(14)]
    example = Example(table, [lines, lines], 3)
    nodes = example.nodes()
    example.load(engine)
    with frequency(engine, example.spec(tmp_path)) as (found, _, scratch):
        for metric in METRICS.values():
            evaluator = evaluator_of(engine, found, scratch, example.k, 5, example.heights, [metric])
            assert as_tuples(evaluator.measure(nodes)) == expected_verdicts(example, nodes)
            objective = Objective.of(metric, evaluator)
            for verdict in evaluator.measure(nodes):
                expected = example.score(metric.name, verdict.node)
                assert objective.score(verdict) == pytest.approx(expected, abs=1e-9), (metric.name, verdict.node)


@FEWER
@given(example=examples(), data=st.data())
@pytest.mark.one_engine
def test_roll_ups_change_nothing(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: Example, data: st.DataObject
) -> None:
    monkeypatch.setattr(rollup, "SMALL", 0)
    monkeypatch.setattr(rollup, "MAKING", 0.01)
    monkeypatch.setattr(rollup, "MOST_SETS", 2)
    nodes = example.nodes()
    order = data.draw(st.permutations(nodes))
    with evaluated(engine, example, tmp_path) as (evaluator, _, _):
        for start in range(0, len(order), 5):
            batch = order[start : start + 5]
            assert as_tuples(evaluator.check(batch)) == expected_verdicts(example, batch)
        assert_scores(evaluator, example)


@pytest.mark.no_cover
@FEWER
@given(example=examples())
def test_paths_over_several_words_and_wide_counts(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, example: Example
) -> None:
    """Words of three bits stand for hierarchies of a hundred; no number of rows fits a narrow count."""
    monkeypatch.setattr(packing, "WORD", 3)
    monkeypatch.setattr(frequency_set, "LARGEST_INT", 0)
    nodes = example.nodes()
    with evaluated(engine, example, tmp_path) as (evaluator, found, scratch):
        assert found.shape.count_type == "bigint"
        assert as_tuples(evaluator.check(nodes)) == expected_verdicts(example, nodes)
        assert_scores(evaluator, example)
        matrix = MatrixEvaluator(engine, found, evaluator, example.k, scratch)
        counted = [suppressed for _, suppressed, _ in expected_verdicts(example, nodes)]
        assert [verdict.suppressed for verdict in matrix.check(nodes)] == counted


def test_a_path_of_three_words(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "WORD", 2)
    lines = [[f"v{value}", *(f"l{level}_{value >> level}" for level in (1, 2, 3))] for value in range(16)]
    table: list[tuple[Value, ...]] = [*((line[0],) for line in lines for _ in range(2)), ("v3",)]
    example = Example(table, [lines], 3)
    with evaluated(engine, example, tmp_path) as (evaluator, found, _):
        assert found.shape.layout.words >= 3
        assert len(found.shape.layout.column_masks(0, 0)) >= 3
        assert_scores(evaluator, example)


def test_roll_ups_really_happen_and_are_dropped(
    engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollup, "SMALL", 0)
    lines = [[f"v{value}", f"l{value // 4}", f"m{value // 8}"] for value in range(16)]
    table: list[tuple[Value, ...]] = [(f"v{a}", f"v{b}") for a in range(16) for b in range(16)]
    example = Example(table, [lines, lines], 3)
    with evaluated(engine, example, tmp_path) as (evaluator, _, _), steps(engine) as seen:
        high = [node for node in example.nodes() if min(node) >= 1]
        assert as_tuples(evaluator.check(high)) == expected_verdicts(example, high)
        assert "roll up" in seen
        assert_scores(evaluator, example)
    left = rows(engine, "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'sqlanon%'")
    assert left == []


@pytest.mark.no_cover
@FEWER
@given(example=examples(), limit=st.integers(0, 14))
def test_the_matrix_answers_as_the_counts(engine: Engine, tmp_path: Path, example: Example, limit: int) -> None:
    nodes = example.nodes()
    with evaluated(engine, example, tmp_path, limit) as (counts, found, scratch):
        matrix = MatrixEvaluator(engine, found, counts, example.k, scratch)
        assert [verdict.suppressed for verdict in matrix.check(nodes)] == [
            suppressed for _, suppressed, _ in expected_verdicts(example, nodes)
        ]
        # A node that keeps no row is no release, whatever the limit.
        assert_bounds(matrix, example, matrix.limit)
        assert found_by(matrix) == found_by(counts), "bounds save questions and change no answer"


def found_by(evaluator: Evaluator) -> Verdict | None:
    """What the binary search over heights chooses."""
    objective = Objective.of(METRICS["height"], evaluator)
    with suppress(InfeasibleError):
        return samarati.search(evaluator, objective, Preferences(), Budget()).chosen
    return None


def assert_bounds(matrix: MatrixEvaluator, example: Example, limit: int) -> None:
    """The bounds are what their definition says, and no minimal solution lies outside them."""
    tuples = Counter(example.table)
    outliers = [row for row, n in tuples.items() if n < example.k]
    distances = {row: [example.distance(row, other) for other in tuples] for row in outliers}
    everything = [distance for found in distances.values() for distance in found]
    upper = tuple(map(max, zip(*everything, strict=True))) if everything else (0,) * len(example.heights)
    assert matrix.bounds.least_upper_bound == upper
    acceptable = [node for node in example.nodes() if len(example.suppressed(node)) <= limit]
    assert all(sum(node) >= matrix.bounds.lowest_height for node in acceptable)
    minimal = [node for node in acceptable if not any(n != node and dominates(node, n) for n in acceptable)]
    assert all(dominates(upper, node) for node in minimal)
    assert all(node in matrix.lattice for node in minimal)
    if len(example.table) >= example.k:
        low = tuple(min(1, height) for height in example.heights)
        for bottom in dict.fromkeys([(0,) * len(low), low]):
            assert_floors(matrix, example, Lattice(bottom, example.heights), limit)


def assert_floors(matrix: MatrixEvaluator, example: Example, lattice: Lattice, limit: int) -> None:
    """Rows that are outliers at every node of a height, worked out from the distances; no node suppresses fewer."""
    tuples = Counter(example.table)
    bounds = matrix.matrix.bounds(lattice, limit)

    def near(row: tuple[Value, ...], height: int) -> int:
        return sum(
            n for other, n in tuples.items() if sum(map(max, example.distance(row, other), lattice.bottom)) <= height
        )

    for height in range(lattice.lowest, lattice.highest + 1):
        alone = sum(n for row, n in tuples.items() if near(row, height) < example.k)
        assert next(least for start, least in reversed(bounds.floors) if start <= height) == alone
        assert all(len(example.suppressed(node)) >= alone for node in lattice.at_height(height))
        assert (height < bounds.lowest_height) == (alone > limit)


def test_a_matrix_that_is_too_large_is_refused(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sqlanon.evaluation.matrix.MOST_ENTRIES", 3)
    example = Example([("v0",), ("v1",)], [[["v0", "x"], ["v1", "x"]]], 2)
    refusal = r"search.satisfies: .* 2 x 2 entries, more than 3; use counts"
    with evaluated(engine, example, tmp_path) as (counts, found, scratch), pytest.raises(UsageError, match=refusal):
        MatrixEvaluator(engine, found, counts, 2, scratch)


@pytest.mark.representative(2, postgres=1)
@pytest.mark.parametrize("name", ["f1", "c1", "s3"])
def test_the_matrices_of_the_papers(engine: Engine, name: str) -> None:
    case = load_case(name)
    create(engine, ["t"], case.types, case.rows)
    columns = {column: case.spec["columns"][column]["hierarchy"] for column in case.quasi_identifier}
    for definition in columns.values():
        if "csv" in definition:
            definition["csv"]["path"] = str((case.directory / definition["csv"]["path"]).resolve())
    expected = case.expected["distance_vectors"]
    k = int(expected["k"])
    with frequency(engine, spec_of(columns, k=k)) as (found, _, scratch):
        counts = evaluator_of(engine, found, scratch, k, 0, case.heights)
        matrix = MatrixEvaluator(engine, found, counts, k, scratch)
        if "least_upper_bound" in expected:
            assert matrix.bounds.least_upper_bound == tuple(expected["least_upper_bound"])
        if "lowest_height_keeping" in case.expected:
            assert matrix.bounds.lowest_height == case.expected["lowest_height_keeping"]["height"]
        assert matrix_rows(engine, len(columns)) == expected_matrix(expected)
        for item in case.expected["outliers"]:
            if item["k"] == k:
                [verdict] = matrix.check([tuple(item["vector"])])
                assert verdict.suppressed == item["rows"]


def matrix_rows(engine: Engine, columns: int) -> list[list[tuple[int, ...]]]:
    """Each outlier's distance vectors with how many rows lie there, as a sorted list; the outliers sorted too."""
    [(table,)] = rows(
        engine, "SELECT table_name FROM information_schema.tables WHERE table_name LIKE '%!_matrix' ESCAPE '!'"
    )
    names = ", ".join(f'"d_{position}"' for position in range(columns))
    found: dict[int, list[tuple[int, ...]]] = {}
    for outlier, *entry in rows(engine, f'SELECT "x", {names}, "n" FROM "{table}"'):
        found.setdefault(outlier, []).append(tuple(int(number) for number in entry))
    return sorted(sorted(entries) for entries in found.values())


def expected_matrix(expected: Any) -> list[list[tuple[int, ...]]]:
    sizes = [len(numbers) for numbers in expected["columns"]]
    matrix = []
    for row in expected["rows"]:
        counted: Counter[tuple[int, ...]] = Counter()
        for vector, size in zip(row["vectors"], sizes, strict=True):
            counted[tuple(vector)] += size
        matrix.append(sorted((*vector, n) for vector, n in counted.items()))
    return sorted(matrix)


def test_levels_of_columns_of_different_heights(engine: Engine, tmp_path: Path) -> None:
    """Low columns come first: what they lack must not decide the types of what others have."""
    low, high = [["v0"]], [["v0", "l1", "l2"]]
    example = Example([("v0", "v0", "v0"), ("v0", "v0", None)], [low, low, high], 1)
    with evaluated(engine, example, tmp_path) as (evaluator, _, _):
        assert [len(levels) for levels in evaluator.level_figures()] == [2, 2, 3]
        assert_scores(evaluator, example)


def test_an_empty_source_is_an_error(engine: Engine) -> None:
    create(engine, ["t"], {"q": "text"}, [])
    with pytest.raises(InfeasibleError, match="has no rows"), frequency(engine, spec_of({"q": None})):
        pass
