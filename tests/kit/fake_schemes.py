"""An evaluator over a handful of counted combinations, and the cheapest generalization by trying all of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from itertools import product

from sqlanon.search.schemes.domain import Block, identity, of_blocks
from sqlanon.search.schemes.problem import BlockCost, CostInterval, CostSide, Generalization, Measured, Space

Combination = tuple[int, ...]
Counts = Mapping[Combination, int]


class FakeEvaluator:
    """Straight from the definitions: one pass over the combinations for each question."""

    def __init__(self, counts: Counts, sizes: Sequence[int], k: int, limit: int, metric: str) -> None:
        self.counts = counts
        self.k = k
        self.limit = limit
        self.metric = metric
        self.checks = 0
        self.separable = True
        self.pause: Callable[[], None] = lambda: None
        self.left: Callable[[], float | None] = lambda: None
        self.rows = sum(counts.values())
        self.frequencies = [[0] * size for size in sizes]
        for combination, rows in counts.items():
            for column, leaf in enumerate(combination):
                self.frequencies[column][leaf] += rows

    def classes(self, generalization: Generalization) -> dict[tuple[int, ...], int]:
        found: dict[tuple[int, ...], int] = defaultdict(int)
        for combination, rows in self.counts.items():
            found[self.key(generalization, combination)] += rows
        return found

    @staticmethod
    def key(generalization: Generalization, combination: Combination) -> tuple[int, ...]:
        return tuple(part[leaf] for part, leaf in zip(generalization, combination, strict=True))

    def penalty(self, generalization: Generalization, combination: Combination) -> float:
        """Li and Li 2007, section 4.1: the mean over columns."""
        parts = []
        for column, (partition, leaf) in enumerate(zip(generalization, combination, strict=True)):
            own = self.frequencies[column][leaf]
            group = sum(
                rows for other, rows in enumerate(self.frequencies[column]) if partition[other] == partition[leaf]
            )
            parts.append((group - own) / (self.rows - own) if self.rows > own else 0.0)
        return sum(parts) / len(parts)

    def cost(self, generalization: Generalization) -> tuple[float, int]:
        classes = self.classes(generalization)
        suppressed = sum(rows for rows in classes.values() if rows < self.k)
        if self.metric == "dm":
            return sum(rows * rows for rows in classes.values() if rows >= self.k) + self.rows * suppressed, suppressed
        return self._sum(generalization, lambda c: classes[self.key(generalization, c)] < self.k), suppressed

    def _sum(self, generalization: Generalization, gone: Callable[[Combination], bool]) -> float:
        return sum(
            rows * (1.0 if gone(combination) else self.penalty(generalization, combination))
            for combination, rows in self.counts.items()
        )

    def measure(self, intervals: Sequence[CostInterval], own: CostSide) -> list[Measured]:
        self.checks += len(intervals)
        return [self._measure(interval, own) for interval in intervals]

    def _measure(self, interval: CostInterval, own: CostSide) -> Measured:
        above, below = self.classes(interval.upper), self.classes(interval.lower)
        cost, suppressed = self.cost(interval.end(own))

        def gone(combination: Combination) -> bool:
            return above[self.key(interval.upper, combination)] < self.k

        dead = sum(rows for combination, rows in self.counts.items() if gone(combination))
        if self.metric == "hdm":
            static = self._sum(interval.lower, lambda _: False)
            return Measured(cost, suppressed, self._sum(interval.lower, gone), dead, static)
        bound = sum(
            rows * (self.rows if gone(c) else max(self.k, below[self.key(interval.lower, c)]))
            for c, rows in self.counts.items()
        )
        return Measured(cost, suppressed, bound, dead, sum(rows * rows for rows in below.values()))

    def block_costs(
        self,
        intervals: Sequence[CostInterval],
        own: CostSide,
        pivot: int,
        blocks: Sequence[Block],
        slacks: Sequence[float],
    ) -> list[list[BlockCost]]:
        size = len(self.frequencies[pivot])
        found = []
        for interval, slack in zip(intervals, slacks, strict=True):
            costs = []
            single = identity(size)
            for index, block in enumerate(blocks):
                part = of_blocks([block], size)
                only = {c: rows for c, rows in self.counts.items() if c[pivot] in block}
                there = FakeEvaluator(only, [len(f) for f in self.frequencies], self.k, self.limit, self.metric)
                there.rows, there.frequencies = self.rows, self.frequencies
                ends = [(*end[:pivot], part, *end[pivot + 1 :]) for end in (interval.lower, interval.upper)]
                alone = (*interval.lower[:pivot], single, *interval.lower[pivot + 1 :])
                answer = there._measure(CostInterval(*ends), own)
                extra = answer.static - there._measure(CostInterval.point(alone), own).static
                if extra <= slack:
                    costs.append(BlockCost(index, answer.cost, answer.suppressed, answer.bound))
            found.append(costs)
        return found


def brute_force(space: Space, evaluator: FakeEvaluator) -> float | None:
    """The least cost over all valid generalizations within the limit."""
    everything = product(*(tree.scheme.generalizations(tree.domain) for tree in space.trees))
    costs = [evaluator.cost(generalization) for generalization in everything]
    return min((cost for cost, suppressed in costs if suppressed <= evaluator.limit), default=None)
