"""`genetic`: evolution of cuts (Iyengar 2002). Reproducible by its seed. Pure."""

from __future__ import annotations

from random import Random

from sqlanon.search.base import Progress
from sqlanon.search.budget import Budget, BudgetSpent
from sqlanon.search.schemes.clock import Clock
from sqlanon.search.schemes.costs import Evaluator, Generalization
from sqlanon.search.schemes.cuts import Best, neighbours, random_cut
from sqlanon.search.schemes.domain import Domain
from sqlanon.search.schemes.partitions import Partition, blocks, of_blocks
from sqlanon.search.schemes.problem import Solution, Space
from sqlanon.search.schemes.seeds import rank

POPULATION = 48
GENERATIONS = 60
PATIENCE = 15
"""Generations without a better cut, after which evolution ends."""
KEPT = 8
"""The fittest of a generation, which live on."""
MUTATION = 0.5


def evolve(
    space: Space, evaluator: Evaluator, budget: Budget, seed: int = 0, progress: Progress | None = None
) -> Solution:
    """The fittest cut of all generations."""
    source, best = Random(seed), Best(evaluator, Clock(budget, evaluator))
    living = [space.top, space.bottom, *(random_cut(space, source) for _ in range(POPULATION - 2))]
    idle = 0
    try:
        for _ in range(GENERATIONS):
            before = best.rank
            answers = best.ask(living)
            idle = 0 if best.rank < before else idle + 1
            if idle >= PATIENCE:
                break
            if progress is not None:
                progress(evaluator.checks, GENERATIONS)
            ranked = sorted(zip((rank(found, evaluator.limit) for found in answers), living, strict=True))
            fittest = list(dict.fromkeys(cut for _, cut in ranked))
            living = fittest[:KEPT] + [_child(space, fittest, source) for _ in range(POPULATION - KEPT)]
    except BudgetSpent:
        pass
    return best.solution()


def _child(space: Space, fittest: list[Generalization], source: Random) -> Generalization:
    """Two parents, the fitter the likelier; sometimes a move of its own."""
    first, second = (fittest[min(source.randrange(len(fittest)), source.randrange(len(fittest)))] for _ in range(2))
    child = tuple(
        _crossed(tree.domain, one, other, source) for tree, one, other in zip(space.trees, first, second, strict=True)
    )
    if source.random() < MUTATION and (around := neighbours(space, child)):
        return source.choice(around)
    return child


def _crossed(domain: Domain, one: Partition, other: Partition, source: Random) -> Partition:
    """Below each node under the top, the cut of one parent or of the other; whole where the first parent is."""
    if len(domain.levels) < 2 or max(one) == 0 or max(other) == 0:
        return source.choice([one, other])
    groups = []
    for node in domain.groups[-2]:
        chosen = source.choice([one, other])
        groups += [block for block in blocks(chosen) if block[0] in node]
    return of_blocks(groups, domain.size)
