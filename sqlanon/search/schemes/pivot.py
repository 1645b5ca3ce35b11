"""The pivot of an exact search: one column solved at once, for given partitions of the others.

Its groups share the rows, so the costs of groups just add up, and the cheapest partition is a shortest path over sets
of leaves. Prices of the leaves bound it from below and leave few groups to try (linear programming duality). Asks the
evaluator for the costs of groups and solves in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import islice
from math import inf
from typing import NamedTuple

from sqlanon.search.schemes.domain import Block, Partition, of_blocks
from sqlanon.search.schemes.families import BasicHierarchical
from sqlanon.search.schemes.problem import BlockCost, CostEvaluator, CostInterval, CostSide, Space

PASSES = 3
MOST_BLOCKS = 40_000
"""Groups that a column may have to be solved this way: 15 leaves in any sets, some 280 in ranges."""


class Offer(NamedTuple):
    """A group, as a set of bits, with what it costs and suppresses."""

    leaves: int
    members: Block
    cost: float
    suppressed: int = 0


@dataclass(frozen=True)
class Choice:
    """A partition, as the positions of its groups among the offers."""

    cost: float
    suppressed: int
    chosen: tuple[int, ...]


def worthwhile(offers: Sequence[Offer], size: int, *, limited: bool) -> list[Offer]:
    """The offers without those whose leaves cost no more, and where that matters suppress no more, one by one."""
    alone, lost = [inf] * size, [0] * size
    for offer in offers:
        if len(offer.members) == 1:
            alone[offer.members[0]], lost[offer.members[0]] = offer.cost, offer.suppressed
    return [
        offer
        for offer in offers
        if len(offer.members) == 1
        or offer.cost < sum(alone[leaf] for leaf in offer.members)
        or (limited and offer.suppressed < sum(lost[leaf] for leaf in offer.members))
    ]


def prices_of(offers: Sequence[Offer], size: int, start: Sequence[float] | None = None) -> list[float]:
    """For each leaf a price, such that no group costs less than its leaves' prices: their sum bounds any partition.

    `start` may be the prices of a problem whose groups cost no more than these.
    """
    alone = [inf] * size
    for offer in offers:
        if len(offer.members) == 1:
            alone[offer.members[0]] = offer.cost
    prices = _proportional(offers, alone) if start is None else list(start)
    by_leaf: list[list[int]] = [[] for _ in range(size)]
    slack = []
    for index, offer in enumerate(offers):
        slack.append(offer.cost - sum([prices[leaf] for leaf in offer.members]))
        for leaf in offer.members:
            by_leaf[leaf].append(index)
    for _ in range(PASSES):
        raised = False
        for leaf in sorted(range(size), key=lambda item: alone[item]):
            room = min([slack[index] for index in by_leaf[leaf]], default=0.0)
            if room > 0:
                raised = True
                prices[leaf] += room
                for index in by_leaf[leaf]:
                    slack[index] -= room
        if not raised:
            break
    return prices


def _proportional(offers: Sequence[Offer], alone: Sequence[float]) -> list[float]:
    """What each leaf costs alone, lowered in proportion to the cheapest group that it is in."""
    prices = list(alone)
    for offer in offers:
        if len(offer.members) > 1:
            total = sum([alone[leaf] for leaf in offer.members])
            ratio = offer.cost / total if total > 0 else 0.0
            for leaf in offer.members:
                prices[leaf] = min(prices[leaf], alone[leaf] * ratio)
    return prices


def cheapest(
    offers: Sequence[Offer], size: int, prices: Sequence[float], below: float, limit: int | None = None
) -> Choice | None:
    """The cheapest partition that costs less than `below` and suppresses no more than the limit; None: there is none.

    The offers must have every leaf alone. States are the leaves still to be covered, least leaf first; of equal
    states only the ones that no other beats in cost and suppression are kept.
    """
    total = sum(prices)
    starting: list[list[tuple[float, int, int, int]]] = [[] for _ in range(size)]
    for index, offer in enumerate(offers):
        reduced = offer.cost - sum([prices[leaf] for leaf in offer.members])
        if total + reduced < below:
            starting[offer.members[0]].append((reduced, offer.leaves, index, offer.suppressed))
    for group in starting:
        group.sort()
    found = _unlimited(starting, size, total, below) if limit is None else _limited(starting, size, total, below, limit)
    if found is None:
        return None
    cost = sum(offers[index].cost for index in found)
    return Choice(cost, sum(offers[index].suppressed for index in found), found) if cost < below else None


_Starting = Sequence[Sequence[tuple[float, int, int, int]]]
"""For each leaf the offers that begin with it: reduced cost, leaves, position, suppressed rows; cheapest first."""


def _unlimited(starting: _Starting, size: int, total: float, below: float) -> tuple[int, ...] | None:
    full = (1 << size) - 1
    states = {full: total}
    came: dict[int, tuple[int, int]] = {}
    for leaf in range(size):
        bit = 1 << leaf
        following = {left: value for left, value in states.items() if not left & bit}
        for left, value in states.items():
            if not left & bit:
                continue
            for reduced, leaves, index, _ in starting[leaf]:
                reached = value + reduced
                if reached >= below:
                    break
                if leaves & left == leaves:
                    rest = left ^ leaves
                    if reached < following.get(rest, inf):
                        following[rest] = reached
                        came[rest] = (left, index)
        states = following
    if 0 not in states:
        return None
    chosen: list[int] = []
    left = 0
    while left != full:
        left, index = came[left]
        chosen.append(index)
    return tuple(reversed(chosen))


_Label = tuple[float, int, tuple[int, ...]]
"""A partial partition: bound of its cost, rows that it suppresses, its offers."""


def _limited(starting: _Starting, size: int, total: float, below: float, limit: int) -> tuple[int, ...] | None:
    states: dict[int, list[_Label]] = {(1 << size) - 1: [(total, 0, ())]}
    for leaf in range(size):
        following: dict[int, list[_Label]] = {}
        for left, labels in states.items():
            if not left >> leaf & 1:
                _merge(following, left, labels)
                continue
            for reduced, leaves, index, suppressed in starting[leaf]:
                if leaves & left != leaves:
                    continue
                extended = [
                    (value + reduced, lost + suppressed, (*chosen, index))
                    for value, lost, chosen in labels
                    if value + reduced < below and lost + suppressed <= limit
                ]
                if extended:
                    _merge(following, left ^ leaves, extended)
        states = following
    done = states.get(0)
    return min(done)[2] if done else None


def _merge(states: dict[int, list[_Label]], left: int, labels: Sequence[_Label]) -> None:
    """Keep labels that no other of the same state beats in both cost and suppression."""
    kept: list[_Label] = []
    for label in sorted([*states.get(left, ()), *labels]):
        if not kept or label[1] < kept[-1][1]:
            kept.append(label)
    states[left] = kept


@dataclass(frozen=True)
class Completion:
    """One column of a space, with all groups that its scheme allows."""

    Costs = Sequence[BlockCost]

    column: int
    size: int
    blocks: tuple[Block, ...]
    evaluator: CostEvaluator
    side: CostSide
    bits: tuple[int, ...] = field(repr=False)

    @classmethod
    def of(cls, space: Space, evaluator: CostEvaluator, side: CostSide) -> Completion | None:
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

    def ask(self, intervals: Sequence[CostInterval], slacks: Sequence[float]) -> list[list[BlockCost]]:
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
