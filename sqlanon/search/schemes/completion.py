"""The pivot of an exact search: which column it is, and its cheapest partition for given partitions of the others.

Asks the evaluator for the costs of groups, solves in memory. Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice

from sqlanon.search.schemes.costs import BlockCost, Evaluator, Interval, Side
from sqlanon.search.schemes.families import BasicHierarchical
from sqlanon.search.schemes.partitions import Block, Partition, of_blocks
from sqlanon.search.schemes.pivot import MOST_BLOCKS, Offer, cheapest, prices_of, worthwhile
from sqlanon.search.schemes.problem import Space


@dataclass(frozen=True)
class Completion:
    """One column of a space, with all groups that its scheme allows."""

    Costs = Sequence[BlockCost]

    column: int
    size: int
    blocks: tuple[Block, ...]
    evaluator: Evaluator
    side: Side
    bits: tuple[int, ...] = field(repr=False)

    @classmethod
    def of(cls, space: Space, evaluator: Evaluator, side: Side) -> Completion | None:
        """The column with most generalizations, where the groups it allows are few enough; None: there is none."""
        if not evaluator.separable:
            return None
        sizes = [(tree.scheme.count(tree.domain), -column) for column, tree in enumerate(space.trees)]
        for _, negative in sorted(sizes, reverse=True):
            tree = space.trees[-negative]
            if isinstance(tree.scheme, BasicHierarchical) or tree.domain.size == 1:
                continue
            groups = (
                group
                for first in range(tree.domain.size)
                for group in tree.scheme.starting(tree.domain, range(first, tree.domain.size))
            )
            found = tuple(islice(groups, MOST_BLOCKS + 1))
            if len(found) <= MOST_BLOCKS:
                bits = tuple(sum(1 << leaf for leaf in block) for block in found)
                return cls(-negative, tree.domain.size, found, evaluator, side, bits)
        return None

    def ask(self, intervals: Sequence[Interval], slacks: Sequence[float]) -> list[list[BlockCost]]:
        """The costs of groups for the other columns of each interval."""
        return self.evaluator.block_costs(intervals, self.side, self.column, self.blocks, slacks)

    def own(self, costs: Costs, start: Sequence[float] | None, below: float) -> tuple[Partition, float, int] | None:
        """The cheapest partition with the others at the interval's own end, if it costs less than `below`."""
        limit = None if self.evaluator.limit >= self.evaluator.rows else self.evaluator.limit
        offers = self._offers([(item.block, item.cost, item.suppressed) for item in costs], limited=limit is not None)
        prices = prices_of(offers, self.size, start)
        if sum(prices) >= below:
            return None
        found = cheapest(offers, self.size, prices, below, limit)
        if found is None:
            return None
        chosen = (offers[index].members for index in found.chosen)
        return of_blocks(chosen, self.size), found.cost, found.suppressed

    def bound(self, costs: Costs, start: Sequence[float] | None, below: float) -> tuple[float, tuple[float, ...]]:
        """What everything in the interval costs at least, `below` if no less; and the prices that show it."""
        offers = self._offers([(item.block, item.bound, 0) for item in costs], limited=False)
        prices = prices_of(offers, self.size, start)
        total = sum(prices)
        if total < below:
            found = cheapest(offers, self.size, prices, below)
            total = below if found is None else found.cost
        return total, tuple(prices)

    def _offers(self, costs: Sequence[tuple[int, float, int]], *, limited: bool) -> list[Offer]:
        found = [Offer(self.bits[index], self.blocks[index], cost, lost) for index, cost, lost in costs]
        return worthwhile(found, self.size, limited=limited)
