"""From a spec's settings to a search: requirement, lattice, preferences, and the evaluator that the algorithm asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import monotonic

from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.evaluation.defence import defended
from sqlanon.evaluation.evaluator import SqlEvaluator
from sqlanon.evaluation.matrix import MatrixEvaluator
from sqlanon.evaluation.requirements import requirement_of
from sqlanon.evaluation.rollups import NodeCounts
from sqlanon.hierarchies.lattice import Lattice
from sqlanon.metrics import metric_named
from sqlanon.privacy.base import Requirement
from sqlanon.search import algorithm_named
from sqlanon.search.base import Budget, Evaluator, Objective, Progress, SearchResult
from sqlanon.search.session import Preferences
from sqlanon.source.binding import Binding
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.spec.algorithms import ALGORITHMS


@dataclass(frozen=True)
class Problem:
    """A search problem on a frequency set: everything but the algorithm's answer."""

    run: Run
    frequency: FrequencySet
    counts: NodeCounts
    requirement: int
    """Which of the counted requirements is asked."""
    limit: int
    relaxed: int | None = None
    """Which of them is its monotone part."""

    def evaluator(self) -> SqlEvaluator:
        """The evaluator by GROUP BY counts."""
        metric = metric_named(self.run.binding.spec.search.metric)
        return SqlEvaluator(
            self.counts,
            lattice=lattice_of(self.run.binding, self.frequency.hierarchies),
            limit=self.limit,
            figures=metric.figures(len(self.run.binding.names)),
            requirement=self.requirement,
            relaxed=self.relaxed,
        )


def requirement_on(binding: Binding, frequency: FrequencySet, k: int | None = None) -> Requirement:
    """What every class of this frequency set must satisfy; `k` overrides the spec's."""
    return requirement_of(binding, k, rows=frequency.rows)


def problem_of(run: Run, frequency: FrequencySet) -> Problem:
    """The problem that the spec itself states."""
    requirement = requirement_on(run.binding, frequency)
    limit = run.binding.limit_rows(frequency.rows)
    part = None if requirement.monotone(limit) else requirement.relaxed()
    counted = [requirement, *([] if part is None else [part])]
    counts = NodeCounts(run.engine, frequency, counted, run.scratch)
    return Problem(run, frequency, counts, 0, limit, None if part is None else 1)


def solve(problem: Problem, evaluator: SqlEvaluator) -> SearchResult:
    """Let the algorithm of the spec ask until it knows the node to release."""
    return answer(problem, matrix_of(problem, evaluator) or evaluator)


def matrix_of(problem: Problem, evaluator: SqlEvaluator) -> MatrixEvaluator | None:
    """The distance-vector matrix as an evaluator, where the spec wants nodes to be tested by it."""
    run = problem.run
    settings, preferences = run.binding.spec.search, preferences_of(run.binding)
    if settings.satisfies != "matrix":
        return None
    bounded = ALGORITHMS[settings.algorithm].minimal and not (preferences.before or preferences.forbidden)
    return MatrixEvaluator(run.engine, problem.frequency, evaluator, run.binding.k, run.scratch, bounded=bounded)


def answer(problem: Problem, asked: Evaluator) -> SearchResult:
    """What the algorithm of the spec answers on an evaluator."""
    run = problem.run
    settings = run.binding.spec.search
    preferences = preferences_of(run.binding)
    weights = [run.binding.spec.weight(name) for name in run.binding.names]
    objective = Objective.of(metric_named(settings.metric), asked, weights)
    budget = Budget(settings.budget.nodes, settings.budget.most_seconds)
    started = monotonic()
    found = algorithm_named(settings.algorithm)(asked, objective, preferences, budget, run.options.progress)
    found = defended(run, problem.frequency, asked, objective, found)
    if not run.options.all_minimal:
        return found
    left = budget.after(found.checks, monotonic() - started)
    return with_all_minimal(found, Asked(asked, objective, preferences, left), run.options.progress)


@dataclass(frozen=True)
class Asked:
    """What algorithms are called with."""

    evaluator: Evaluator
    objective: Objective
    preferences: Preferences
    budget: Budget


def with_all_minimal(found: SearchResult, asked: Asked, progress: Progress | None) -> SearchResult:
    """The answer with all minimal nodes, as far as the budget goes."""
    if found.minimal_complete:
        return found
    try:
        listed = algorithm_named("minimal")(asked.evaluator, asked.objective, asked.preferences, asked.budget, progress)
    except InfeasibleError:
        # The answer stands, listed or not: nothing was left of the budget.
        return found
    return replace(
        found,
        minimal=listed.minimal,
        minimal_complete=listed.minimal_complete,
        checks=found.checks + listed.checks,
        verdicts={**listed.verdicts, **found.verdicts},
    )


def lattice_of(binding: Binding, hierarchies: Sequence[StoredHierarchy]) -> Lattice:
    """All vectors between the least and the highest level that each column may have."""
    bottom, top = [], []
    for item, hierarchy in zip(binding.quasi_identifiers, hierarchies, strict=True):
        bounds = binding.spec.columns[item.name].levels
        highest = hierarchy.height if bounds.max is None else bounds.max
        if binding.spec.search.model == "_TS":
            highest = bounds.min
        if max(bounds.min, highest) > hierarchy.height:
            raise UsageError(
                f"columns.{item.name}.levels: level {max(bounds.min, highest)} does not exist, "
                f"the hierarchy ends at level {hierarchy.height}"
            )
        bottom.append(bounds.min)
        top.append(highest)
    return Lattice(tuple(bottom), tuple(top))


def preferences_of(binding: Binding) -> Preferences:
    """Policies and constraints, with columns as positions."""
    settings = binding.spec.search
    position = {name: index for index, name in enumerate(binding.names)}
    return Preferences(
        policies=settings.prefer,
        before=tuple((position[first], position[second]) for first, second in settings.constraints.before),
        forbidden=tuple(
            tuple(sorted((position[name], level) for name, level in levels.items()))
            for levels in settings.constraints.forbidden
        ),
        groups=tuple(
            tuple(sorted(position[name] for name in columns))
            for columns, _ in binding.spec.privacy.groups(binding.names).values()
        ),
    )
