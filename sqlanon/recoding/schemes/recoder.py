"""Recoders that partition the values of each column: the schemes of Li and Li 2007 exact, and heuristics over cuts.

They hold the leaves of each column with their labels and rows, never combinations; costs come from `scheme_costs`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from sqlanon.errors import UsageError
from sqlanon.recoding import Cuts
from sqlanon.recoding.assignment import figures_of
from sqlanon.recoding.base import Recoded, requirement_for
from sqlanon.recoding.schemes.evaluator import Leaves, SchemeCosts
from sqlanon.recoding.schemes.leaves import Column, read_column
from sqlanon.search.base import Progress
from sqlanon.search.budget import Budget
from sqlanon.search.schemes import annealing, exact, genetic, top_down
from sqlanon.search.schemes.costs import Evaluator, Generalization
from sqlanon.search.schemes.families import SCHEMES
from sqlanon.search.schemes.problem import Direction, Solution, Space, Techniques
from sqlanon.search.schemes.trees import Tree
from sqlanon.source.combinations import Combinations, combine
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run

Heuristic = Callable[[Space, Evaluator, Budget, int, Progress | None], Solution]

HEURISTICS: dict[str, Heuristic] = {
    "tds": top_down.specialize,
    "genetic": genetic.evolve,
    "annealing": annealing.anneal,
}

MINIMIZED = ("dm", "hdm")
FEW_GENERALIZATIONS = 5000
"""Up to here a search is over before its seeds would have grown."""
SMALL_K = 5
FEW_COLUMNS = 4
WIDE = 4096
"""Groups that the first split of a column may have: beyond, the way down has too many branches."""


@dataclass(frozen=True)
class Problem:
    """A search over the schemes of a spec, all but the algorithm."""

    columns: tuple[Column, ...]
    space: Space
    costs: SchemeCosts
    metric: str


def recode_exact(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """The cheapest generalization in which each column follows its scheme; anytime under a budget."""
    settings = run.binding.spec.search
    made = _combined(run, base, stored)
    problem = problem_on(run, made)
    direction = direction_of(settings.direction, run.binding.k, problem.space)
    budget = Budget(settings.budget.nodes, settings.budget.seconds)
    techniques = Techniques(seeding=problem.space.size > FEW_GENERALIZATIONS)
    found = exact.search(
        problem.space, problem.costs, direction, techniques, budget, settings.seed, run.options.progress
    )
    return _recoded(run, made, problem, found)


def recode_heuristic(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """A good cut, of which nothing is proven."""
    settings = run.binding.spec.search
    made = _combined(run, base, stored)
    problem = problem_on(run, made)
    budget = Budget(settings.budget.nodes, settings.budget.seconds)
    search = HEURISTICS[settings.algorithm]
    found = search(problem.space, problem.costs, budget, settings.seed, run.options.progress)
    return _recoded(run, made, problem, found)


def direction_of(asked: Literal["auto", "bottom_up", "top_down"], k: int, space: Space) -> Direction:
    """As Li and Li 2007, section 5.2, advise: bottom-up for small k and few columns, else top-down.

    Where leaves may form any sets, the way down begins with 2 ** (d - 1) splits: not when these are too many.
    """
    if asked != "auto":
        return asked
    wide = any(tree.scheme.name == "sps" and 2 ** (tree.domain.size - 1) > WIDE for tree in space.trees)
    return "bottom_up" if wide or (k <= SMALL_K and len(space.trees) <= FEW_COLUMNS) else "top_down"


def _combined(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Combinations:
    requirement_for(run)
    constraints = run.binding.spec.search.constraints
    if constraints.before or constraints.forbidden:
        algorithm = run.binding.spec.search.algorithm
        raise UsageError(f"search.constraints: {algorithm} knows no levels to constrain; leave them out")
    return combine(run.engine, run.binding, base, stored, run.scratch)


def problem_on(run: Run, made: Combinations) -> Problem:
    """The columns, schemes and costs that a spec asks for, on these combinations."""
    spec, names = run.binding.spec, run.binding.names
    # A spec's own default, or in a comparison the metric of another algorithm, is none that schemes minimize.
    metric = spec.search.metric if spec.search.metric in MINIMIZED else "dm"
    columns = tuple(
        read_column(run.engine, name, domain, spec.columns[name].levels)
        for name, domain in zip(names, made.domains, strict=True)
    )
    weights = [float(spec.weight(name)) for name in names]
    leaves = [
        Leaves(column.leaf_of, column.rows, weight / sum(weights))
        for column, weight in zip(columns, weights, strict=True)
    ]
    trees = tuple(_tree(run, name, column) for name, column in zip(names, columns, strict=True))
    requirement = requirement_for(run)
    costs = SchemeCosts(
        run.engine,
        run.scratch,
        made,
        leaves,
        requirement,
        limit=run.binding.limit_rows(made.rows),
        least=max(1, run.binding.k),
        metric=metric,
    )
    return Problem(columns, Space(trees), costs, metric)


def _tree(run: Run, name: str, column: Column) -> Tree:
    spec = run.binding.spec
    usual = spec.search.algorithm if spec.search.algorithm in SCHEMES else "ghs"
    scheme = SCHEMES[spec.columns[name].scheme or usual]
    problem = scheme.problem(column.domain)
    if problem is not None:
        raise UsageError(f"columns.{name}.scheme: {problem}")
    return Tree(scheme, column.domain)


def _recoded(run: Run, made: Combinations, problem: Problem, found: Solution) -> Recoded:
    chosen = found.generalization
    groups = tuple(column.groups(part) for column, part in zip(problem.columns, chosen, strict=True))
    scores, classes = _scores(run, problem, chosen)
    step: dict[str, object] = {
        "cost": found.cost,
        "bound": found.bound if found.direction else None,
        "direction": found.direction,
        "expanded": found.expanded,
        "pruned": found.pruned,
        "groups": {column.name: max(part) + 1 for column, part in zip(problem.columns, chosen, strict=True)},
    }
    return Recoded(
        recoding=Cuts(run.binding.names, groups),
        suppressed=found.suppressed,
        classes=classes,
        scores=scores,
        fingerprint=made.fingerprint,
        combinations=made.count,
        checks=found.checks,
        space=problem.space.size,
        proven=found.proven,
        gap=found.gap if found.direction else None,
        metric=problem.metric,
        trace=(step,),
    )


def _scores(run: Run, problem: Problem, chosen: Generalization) -> tuple[dict[str, float], int]:
    """The figures of the release, over the same domains as those of every other recoding."""
    covered = [column.leaves_of_groups(part) for column, part in zip(problem.columns, chosen, strict=True)]
    assignment = problem.costs.assignment(chosen, covered)
    weights = {position: float(run.binding.spec.weight(name)) for position, name in enumerate(run.binding.names)}
    scores = figures_of(run.engine, assignment, weights)
    _, _, classes = assignment.totals(run.engine)
    return scores, classes
