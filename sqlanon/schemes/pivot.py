"""One column solved at once, the others being given: its groups share the rows, so the costs of groups just add up.

The cheapest partition is then a shortest path over sets of leaves; potentials of the leaves bound it from below and
leave few groups to try (linear programming duality). Pure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf

from sqlanon.schemes.partitions import Block

PASSES = 3
MOST_BLOCKS = 40_000
"""Groups that a column may have to be solved this way: 15 leaves in any sets, some 280 in ranges."""


@dataclass(frozen=True)
class Offer:
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


def potentials(offers: Sequence[Offer], size: int, start: Sequence[float] | None = None) -> list[float]:
    """For each leaf a price, such that no group costs less than its leaves' prices: their sum bounds any partition.

    `start` may be the prices of a problem whose groups cost no more than these.
    """
    alone = [inf] * size
    for offer in offers:
        if len(offer.members) == 1:
            alone[offer.members[0]] = offer.cost
    if start is None:
        prices = list(alone)
        for offer in offers:
            if len(offer.members) > 1:
                total = sum(alone[leaf] for leaf in offer.members)
                ratio = offer.cost / total if total > 0 else 0.0
                for leaf in offer.members:
                    prices[leaf] = min(prices[leaf], alone[leaf] * ratio)
    else:
        prices = list(start)
    by_leaf: list[list[int]] = [[] for _ in range(size)]
    slack = []
    for index, offer in enumerate(offers):
        slack.append(offer.cost - sum(prices[leaf] for leaf in offer.members))
        for leaf in offer.members:
            by_leaf[leaf].append(index)
    for _ in range(PASSES):
        raised = False
        for leaf in sorted(range(size), key=lambda item: alone[item]):
            room = min((slack[index] for index in by_leaf[leaf]), default=0.0)
            if room > 0:
                raised = True
                prices[leaf] += room
                for index in by_leaf[leaf]:
                    slack[index] -= room
        if not raised:
            break
    return prices


def cheapest(
    offers: Sequence[Offer], size: int, prices: Sequence[float], below: float, limit: int | None = None
) -> Choice | None:
    """The cheapest partition that costs less than `below` and suppresses no more than the limit; None: there is none.

    The offers must have every leaf alone. States are the leaves still to be covered, least leaf first; of equal
    states only the ones that no other beats in cost and suppression are kept.
    """
    total = sum(prices)
    starting: list[list[tuple[int, Offer]]] = [[] for _ in range(size)]
    for index, offer in enumerate(offers):
        reduced = offer.cost - sum(prices[leaf] for leaf in offer.members)
        if total + reduced < below:
            starting[offer.members[0]].append((index, offer))
    states: dict[int, list[tuple[float, float, int, tuple[int, ...]]]] = {(1 << size) - 1: [(total, 0.0, 0, ())]}
    done: list[tuple[float, float, int, tuple[int, ...]]] = []
    for leaf in range(size):
        following: dict[int, list[tuple[float, float, int, tuple[int, ...]]]] = {}
        for left, labels in states.items():
            if not left >> leaf & 1:
                _merge(following, left, labels, limit)
                continue
            for index, offer in starting[leaf]:
                if offer.leaves & ~left:
                    continue
                reduced = offer.cost - sum(prices[member] for member in offer.members)
                extended = [
                    (bound + reduced, cost + offer.cost, suppressed + offer.suppressed, (*chosen, index))
                    for bound, cost, suppressed, chosen in labels
                    if bound + reduced < below and (limit is None or suppressed + offer.suppressed <= limit)
                ]
                if extended:
                    _merge(following, left & ~offer.leaves, extended, limit)
        states = following
    done = states.get(0, [])
    if not done:
        return None
    _, cost, suppressed, chosen = min(done, key=lambda label: (label[1], label[2], label[3]))
    return Choice(cost, suppressed, chosen) if cost < below else None


def _merge(
    states: dict[int, list[tuple[float, float, int, tuple[int, ...]]]],
    left: int,
    labels: list[tuple[float, float, int, tuple[int, ...]]],
    limit: int | None,
) -> None:
    """Keep labels that no other of the same state beats; without a limit only the cheapest."""
    together = sorted([*states.get(left, ()), *labels], key=lambda label: label[1:])
    if limit is None:
        states[left] = together[:1]
        return
    kept: list[tuple[float, float, int, tuple[int, ...]]] = []
    for label in together:
        if not kept or label[2] < kept[-1][2]:
            kept.append(label)
    states[left] = kept
