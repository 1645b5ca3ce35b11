"""Moves between cuts of hierarchies, the space of the heuristic searches. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from math import inf
from random import Random

from sqlanon.errors import InfeasibleError
from sqlanon.search.schemes.clock import Clock
from sqlanon.search.schemes.costs import Evaluator, Generalization, Measured
from sqlanon.search.schemes.partitions import Partition, blocks, of_blocks
from sqlanon.search.schemes.problem import Solution, Space, joined, replaced
from sqlanon.search.schemes.seeds import measured, rank
from sqlanon.search.schemes.trees import Tree


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
            level = tree.domain.meeting_level(block) + 1
            if level < len(tree.domain.levels):
                found[joined(tree, cut[column], tree.domain.group(level, block[0]))] = None
        for parent in found:
            if parent != cut[column]:
                yield replaced(cut, column, parent)


def _children(tree: Tree, partition: Partition) -> Iterator[Partition]:
    groups = blocks(partition)
    for index, block in enumerate(groups):
        units = tree.domain.units(block)
        if len(units) > 1:
            yield of_blocks([*groups[:index], *units, *groups[index + 1 :]], tree.domain.size)


def neighbours(space: Space, cut: Generalization) -> list[Generalization]:
    """All cuts one move away."""
    return list(dict.fromkeys([*specializations(space, cut), *generalizations(space, cut)]))


def random_cut(space: Space, source: Random) -> Generalization:
    """A cut reached from the top by random specializations."""
    cut = space.top
    for _ in range(source.randrange(1 + sum(tree.domain.size for tree in space.trees))):
        below = list(specializations(space, cut))
        if not below:
            break
        cut = source.choice(below)
    return cut


@dataclass
class Best:
    """The best cut that a heuristic has seen, by rows above the limit and then cost; every answer is kept."""

    evaluator: Evaluator
    clock: Clock
    known: dict[Generalization, Measured] = field(default_factory=dict)
    cut: Generalization | None = None
    rank: tuple[float, float] = (inf, inf)

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
