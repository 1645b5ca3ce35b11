"""Heuristic searches over cuts of hierarchies: `annealing`, `genetic`, `tds`, `bottom_up`, and the moves between cuts.

Pure. What is random is reproducible by its seed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import exp, inf
from random import Random

from sqlanon.errors import InfeasibleError
from sqlanon.search.base import Budget, BudgetSpent, Progress
from sqlanon.search.schemes.domain import Block, LeafDomain, Partition, blocks, of_blocks
from sqlanon.search.schemes.families import EnumerationTree
from sqlanon.search.schemes.problem import (
    Clock,
    CostEvaluator,
    Generalization,
    Measured,
    Solution,
    Space,
    joined,
    measured,
    rank,
    replaced,
)


def specializations(space: Space, cut: Generalization) -> Iterator[Generalization]:
    """One node of one column replaced by its children."""
    for column in space.columns:
        for child in _children(space.trees[column], cut[column]):
            yield replaced(cut, column, child)


def generalizations(space: Space, cut: Generalization) -> Iterator[Generalization]:
    """One node of one column, and what lies beside it, replaced by their parent."""
    for column in space.columns:
        tree = space.trees[column]
        found: dict[Partition, None] = {}
        for block in blocks(cut[column]):
            parent = _parent(tree.domain, block)
            if parent is not None:
                found[joined(tree, cut[column], parent)] = None
        for partition in found:
            yield replaced(cut, column, partition)


def _parent(domain: LeafDomain, node: Block) -> Block | None:
    """The node above one; a node of several levels stands for itself at all of them."""
    for level in range(domain.meeting_level(node) + 1, len(domain.levels)):
        above = domain.group(level, node[0])
        if len(above) > len(node):
            return above
    return None


def _children(tree: EnumerationTree, partition: Partition) -> Iterator[Partition]:
    yield from (_divided(tree, partition, index) for index, block in enumerate(blocks(partition)) if len(block) > 1)


def _divided(tree: EnumerationTree, partition: Partition, index: int) -> Partition:
    """The partition with one of its groups, of several leaves, replaced by its children."""
    groups = blocks(partition)
    units = tree.domain.units(groups[index])
    return of_blocks([*groups[:index], *units, *groups[index + 1 :]], tree.domain.size)


def neighbours(space: Space, cut: Generalization) -> list[Generalization]:
    """All cuts one move away."""
    return list(dict.fromkeys([*specializations(space, cut), *generalizations(space, cut)]))


def random_cut(space: Space, source: Random) -> Generalization:
    """A cut reached from the top by random specializations."""
    cut = space.top
    for _ in range(source.randrange(1 + sum(tree.domain.size for tree in space.trees))):
        places = [
            (column, index)
            for column in space.columns
            for index, block in enumerate(blocks(cut[column]))
            if len(block) > 1
        ]
        if not places:
            break
        column, index = source.choice(places)
        cut = replaced(cut, column, _divided(space.trees[column], cut[column], index))
    return cut


@dataclass
class Best:
    """The best cut that a heuristic has seen, by rows above the limit and then cost; every answer is kept."""

    evaluator: CostEvaluator
    clock: Clock
    known: dict[Generalization, Measured] = field(default_factory=dict)
    cut: Generalization | None = None
    rank: tuple[float, float] = (inf, inf)

    @classmethod
    def within(cls, budget: Budget, evaluator: CostEvaluator) -> Best:
        """Nothing yet, and a budget that has begun to run."""
        clock = Clock(budget, evaluator)
        clock.watch(evaluator)
        return cls(evaluator, clock)

    def ask(self, cuts: list[Generalization]) -> list[Measured]:
        """What these cuts cost; BudgetSpent when no more may be asked."""
        missing = [cut for cut in dict.fromkeys(cuts) if cut not in self.known]
        if missing:
            self.clock.check()
            self.known.update(zip(missing, measured(self.evaluator, missing), strict=True))
        for cut in cuts:
            found = rank(self.known[cut], self.evaluator.limit)
            if found < self.rank:
                self.cut, self.rank = cut, found
        return [self.known[cut] for cut in cuts]

    def solution(self) -> Solution:
        if self.cut is None or self.rank[0] > 0:
            raise InfeasibleError("no cut that satisfies the requirement within the limit of suppression was found")
        found = self.known[self.cut]
        return Solution(self.cut, found.cost, found.suppressed, -inf, proven=False, checks=self.clock.checks)


STEPS = 150
PROPOSED = 8
"""Neighbours asked for at once; the first one that is accepted is the next cut."""
WARMTH = 0.1
"""The first temperature, as a share of the first cost."""
COOLING = 0.96


def anneal(
    space: Space, evaluator: CostEvaluator, budget: Budget, seed: int = 0, progress: Progress | None = None
) -> Solution:
    """Simulated annealing (Winkler 2002): the best cut on a walk that takes worse cuts ever more rarely."""
    source, best = Random(seed), Best.within(budget, evaluator)
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


def _energy(found: Measured, evaluator: CostEvaluator) -> float:
    """The cost; rows above the limit weigh more than any cost."""
    excess = max(0, found.suppressed - evaluator.limit)
    return found.cost * (1 + excess) if excess else found.cost


POPULATION = 48
GENERATIONS = 60
PATIENCE = 15
"""Generations without a better cut, after which evolution ends."""
KEPT = 8
"""The fittest of a generation, which live on."""
MUTATION = 0.5


def evolve(
    space: Space, evaluator: CostEvaluator, budget: Budget, seed: int = 0, progress: Progress | None = None
) -> Solution:
    """Evolution of cuts (Iyengar 2002): the fittest cut of all generations."""
    source, best = Random(seed), Best.within(budget, evaluator)
    living = [space.top, space.bottom]
    idle = 0
    try:
        best.ask([space.top])
        while len(living) < POPULATION:
            best.clock.check_seconds()
            living.append(random_cut(space, source))
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
            living = fittest[:KEPT]
            while len(living) < len(fittest[:KEPT]) + POPULATION - KEPT:
                best.clock.check_seconds()
                living.append(_child(space, fittest, source))
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


def _crossed(domain: LeafDomain, one: Partition, other: Partition, source: Random) -> Partition:
    """Below each node under the top, the cut of one parent or of the other; whole where the first parent is."""
    if len(domain.levels) < 2 or max(one) == 0 or max(other) == 0:
        return source.choice([one, other])
    groups = []
    for node in domain.groups[-2]:
        chosen = source.choice([one, other])
        groups += [block for block in blocks(chosen) if block[0] in node]
    return of_blocks(groups, domain.size)


def specialize(
    space: Space, evaluator: CostEvaluator, budget: Budget, seed: int = 0, progress: Progress | None = None
) -> Solution:
    """Specialize as long as that lowers the cost within the limit. Nothing is random: any seed does the same.

    Top-down specialization (Fung, Wang and Yu 2005). Greedy: from the top, always the node with the greatest reward,
    which is what its specialization saves of the cost for each row that it makes an outlier.
    """
    best = Best.within(budget, evaluator)
    try:
        cut, [here] = space.top, best.ask([space.top])
        while below := list(specializations(space, cut)):
            answers = best.ask(below)
            if progress is not None:
                progress(evaluator.checks, len(below))
            better = [
                index
                for index, found in enumerate(answers)
                if found.suppressed <= evaluator.limit and found.cost < here.cost
            ]
            if not better:
                break
            chosen = max(better, key=lambda index: (_reward(here, answers[index]), below[index]))
            cut, here = below[chosen], answers[chosen]
    except BudgetSpent:
        pass
    return best.solution()


def _reward(before: Measured, after: Measured) -> float:
    """Information gained over anonymity lost."""
    return (before.cost - after.cost) / (1 + max(0, after.suppressed - before.suppressed))


def generalize(
    space: Space, evaluator: CostEvaluator, budget: Budget, seed: int = 0, progress: Progress | None = None
) -> Solution:
    """Generalize until the limit is kept, then take back what need not be. Nothing is random.

    Bottom-up generalization (Wang, Yu and Chakraborty 2004). Greedy: from the leaves, always the node whose children
    lose least information for each row that is no outlier any more. The answer costs no more than any cut that was
    looked at; no node of it can be specialized within the limit at the same cost or less.
    """
    best = Best.within(budget, evaluator)
    try:
        # The top is the answer where the budget ends the way up.
        cut = space.bottom
        here, _ = best.ask([cut, space.top])
        while here.suppressed > evaluator.limit and (above := list(_lifts(space, cut))):
            answers = best.ask(above)
            if progress is not None:
                progress(evaluator.checks, len(above))
            chosen = min(range(len(above)), key=lambda index: (_price(here, answers[index]), above[index]))
            cut, here = above[chosen], answers[chosen]
        while best.cut is not None and best.rank[0] == 0 and (finer := _taken_back(space, best)) is not None:
            best.cut, best.rank = finer, rank(best.known[finer], evaluator.limit)
    except BudgetSpent:
        pass
    return best.solution()


def _lifts(space: Space, cut: Generalization) -> Iterator[Generalization]:
    """Children of one node, all of them nodes of the cut, replaced by it."""
    for column in space.columns:
        tree = space.trees[column]
        nodes = blocks(cut[column])
        parents = dict.fromkeys(_parent(tree.domain, node) for node in nodes)
        for parent in parents:
            if parent is not None and all(child in nodes for child in tree.domain.units(parent)):
                yield replaced(cut, column, joined(tree, cut[column], parent))


def _price(before: Measured, after: Measured) -> tuple[bool, float]:
    """Information lost over anonymity gained, the less the better; what gains none comes last, by what it loses.

    Information is what classes cost apart from suppression: suppressed rows are counted as anonymity.
    """
    lost, gained = after.static - before.static, before.suppressed - after.suppressed
    return gained <= 0, lost / max(1, gained)


def _taken_back(space: Space, best: Best) -> Generalization | None:
    """The best cut with one node specialized that costs no more; None where there is none."""
    if best.cut is None:
        return None
    below = list(specializations(space, best.cut))
    before = rank(best.known[best.cut], best.evaluator.limit)
    ranked = [rank(found, best.evaluator.limit) for found in best.ask(below)]
    kept = [index for index, found in enumerate(ranked) if found <= before]
    return below[min(kept, key=lambda index: (ranked[index], below[index]))] if kept else None
