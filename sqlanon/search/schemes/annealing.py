"""`annealing`: simulated annealing over cuts (Winkler 2002). Reproducible by its seed. Pure."""

from __future__ import annotations

from math import exp
from random import Random

from sqlanon.search.base import Progress
from sqlanon.search.budget import Budget, BudgetSpent
from sqlanon.search.schemes.clock import Clock
from sqlanon.search.schemes.costs import Evaluator, Measured
from sqlanon.search.schemes.cuts import Best, neighbours
from sqlanon.search.schemes.problem import Solution, Space

STEPS = 150
PROPOSED = 8
"""Neighbours asked for at once; the first one that is accepted is the next cut."""
WARMTH = 0.1
"""The first temperature, as a share of the first cost."""
COOLING = 0.96


def anneal(
    space: Space, evaluator: Evaluator, budget: Budget, seed: int = 0, progress: Progress | None = None
) -> Solution:
    """The best cut on a walk that takes worse cuts ever more rarely."""
    source, best = Random(seed), Best(evaluator, Clock(budget, evaluator))
    try:
        cut, [found] = space.top, best.ask([space.top])
        here = _energy(found, evaluator)
        temperature = WARMTH * max(here, 1.0)
        for step in range(STEPS):
            around = neighbours(space, cut)
            if not around:
                break
            proposed = source.sample(around, min(PROPOSED, len(around)))
            for candidate, answer in zip(proposed, best.ask(proposed), strict=True):
                energy = _energy(answer, evaluator)
                if energy <= here or source.random() < exp((here - energy) / temperature):
                    cut, here = candidate, energy
                    break
            temperature *= COOLING
            if progress is not None:
                progress(evaluator.checks, STEPS - step)
    except BudgetSpent:
        pass
    return best.solution()


def _energy(found: Measured, evaluator: Evaluator) -> float:
    """The cost; rows above the limit weigh more than any cost."""
    excess = max(0, found.suppressed - evaluator.limit)
    return found.cost * (1 + excess) if excess else found.cost
