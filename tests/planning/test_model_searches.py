"""Searches under every model: each algorithm finds what brute force finds, also where pruning would have missed it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sqlanon.errors import InfeasibleError
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.problem import problem_of
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.run import Run
from sqlanon.spec import Spec
from tests.kit import oracle
from tests.kit.database import prepared, solved
from tests.kit.oracle import Problem
from tests.kit.random_tables import ASKINGS, EVERYTHING, Asking, load, random_table, with_respondents
from tests.kit.tables import at

LIMIT = 5
ALGORITHMS = (("optimal", LIMIT), ("incognito", LIMIT), ("minimal", LIMIT), ("optimal", 0), ("samarati", 0))
ERRING = {
    "entropy": (0, 3),
    "recursive": (0, 3),
    "alpha": (0, 1),
    "t equal": (2, 1),
    "t ordered": (4, 5),
    "t hierarchical": (2, 1),
    "beta": (2, 3),
    "delta": (2, 3),
    "delta all": (109, 4),
}
"""Random tables, by their seed, and limits within which a search that prunes goes wrong under these models."""


@contextmanager
def searching(folder: Path, asking: Asking, seed: int, limit: int) -> Iterator[tuple[Run, FrequencySet, Problem]]:
    """A random table with its frequency set standing, and the oracle's view of it."""
    url = f"duckdb:///{folder / 'random.duckdb'}"
    source, population = random_table(seed)
    with at(url) as engine:
        load(engine, source, population)
    with prepared(asking.spec(limit, connection=url)) as (run, frequency):
        yield run, frequency, asking.problem(source, population, limit)


PERSONS = ("distinct", "entropy", "patient and doctor")
"""Verdicts of persons are compared under every model elsewhere; searches meet these kinds, `make soak` all."""


def _search_of(asking: Asking) -> Any:
    rare = asking.respondent and asking.name.removesuffix(", persons") not in PERSONS
    return pytest.param(asking, marks=[pytest.mark.soak] if rare else [], id=asking.name)


@pytest.mark.representative(10)
@pytest.mark.parametrize("asking", [_search_of(asking) for asking in EVERYTHING])
def test_every_search_finds_what_brute_force_finds(asking: Asking, tmp_path: Path) -> None:
    with searching(tmp_path, asking, 1, LIMIT) as (run, frequency, problem):
        for algorithm, limit in ALGORITHMS:
            spec = asking.spec(limit, search={"algorithm": algorithm, "metric": "dm"})
            _compare(run, frequency, spec, replace(problem, limit=limit), algorithm)


def _compare(run: Run, frequency: FrequencySet, spec: Spec, problem: Problem, algorithm: str) -> None:
    minimal = problem.minimal()
    if not minimal:
        with pytest.raises(InfeasibleError):
            solved(run, frequency, spec)
        return
    found = solved(run, frequency, spec)
    assert problem.acceptable(found.chosen.node)
    assert found.chosen.suppressed == problem.suppressed(found.chosen.node)
    if algorithm in ("incognito", "minimal"):
        assert sorted(found.minimal) == minimal
    if algorithm == "optimal":
        assert found.chosen.node in problem.best(oracle.discernibility)
    if algorithm == "samarati":
        assert sum(found.chosen.node) == min(map(sum, minimal))


@pytest.mark.representative(4)
@pytest.mark.parametrize("name", ERRING)
def test_pruning_would_have_missed_it(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that believed the model to be monotone errs on this table; ours does not."""
    asking = next(item for item in ASKINGS if item.name == name)
    seed, limit = ERRING[name]
    with searching(tmp_path, asking, seed, limit) as (run, frequency, problem):
        spec = asking.spec(limit, search={"algorithm": "minimal"})
        assert not problem_of(run, frequency).evaluator().monotone
        with monkeypatch.context() as believing:
            believing.setattr(SqlEvaluator, "monotone", property(lambda _: True))
            assert _minimal(run, frequency, spec) != problem.minimal()
        assert _minimal(run, frequency, spec) == problem.minimal()
        best = solved(run, frequency, asking.spec(limit, search={"algorithm": "optimal", "metric": "dm"}))
        every = solved(run, frequency, asking.spec(limit, search={"algorithm": "exhaustive", "metric": "dm"}))
        assert best.score == every.score
        assert best.chosen.node in problem.best(oracle.discernibility)


def _minimal(run: Run, frequency: FrequencySet, spec: Spec) -> list[tuple[int, ...]] | None:
    try:
        found = solved(run, frequency, spec)
    except InfeasibleError:
        return None
    return sorted(found.minimal)


def test_limit_zero_makes_convex_models_monotone(tmp_path: Path) -> None:
    entropy = next(item for item in ASKINGS if item.name == "entropy")
    for asking, limit, monotone in ((entropy, 0, True), (entropy, 1, False), (with_respondents(entropy), 0, False)):
        with searching(tmp_path, asking, 0, limit) as (run, frequency, _):
            assert problem_of(run, frequency).evaluator().monotone is monotone
