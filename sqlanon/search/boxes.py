"""Open nodes of a lattice too large for a bit per node: boxes of nodes, and antichains of the nodes that close them.

A box is all nodes between two. What is still open is a set of boxes that do not overlap, taken up by their least bound:
a box whose least node cannot be the answer is cut into the parts that may hold one. Nothing is guessed here: a node
that lies in no box cannot beat or tie with the best score so far, and no open node scores less than the least bound of
the boxes. Asks nothing.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import count
from math import inf, prod
from operator import getitem
from typing import NamedTuple

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import Costs, Verdict
from sqlanon.search.base import not_better_than
from sqlanon.search.bounds import KnownNodes, steps_of_suppression
from sqlanon.search.node_sets import Antichain
from sqlanon.search.questions import Sample
from sqlanon.search.session import SearchSession

MOST = 512
"""Open nodes to choose questions from."""
CUTTERS = 12
"""Of the nodes that could cut a box, how many are tried."""
MOST_BOXES = 300_000
"""Beyond so many boxes the dearest are taken up first, which soon come to nothing: memory stays bounded."""


class Box(NamedTuple):
    """The nodes from `low` to `high`; boxes are ordered by their bounds, equal ones by their age."""

    bound: float
    """No node of the box scores less."""
    serial: int
    total: float
    """The static costs of `low`."""
    low: Node
    high: Node

    @property
    def size(self) -> int:
        return prod(top - bottom + 1 for bottom, top in zip(self.low, self.high, strict=True))


@dataclass
class FloorStep:
    """Nodes known to suppress at least so many rows, and what a level costs where that is so."""

    suppressed: int
    costs: Costs
    reached: Antichain


class Boxes:
    """What is open, as the best score falls and verdicts come in."""

    def __init__(self, session: SearchSession) -> None:
        self._session = session
        self._lattice = lattice = session.evaluator.lattice
        self._objective = objective = session.objective
        self._preferences = session.preferences
        self._limit = limit = session.evaluator.limit
        self._monotone = session.evaluator.monotone
        metric, context = objective.metric, objective.context
        heights = context.heights
        steps = steps_of_suppression(objective, limit)
        self.costs = steps[0][1]
        self._steps = [FloorStep(*step, Antichain(heights, highest=True)) for step in steps[1:]]
        self.decided = KnownNodes(session.evaluator)
        self._unacceptable, self._acceptable = self.decided.unacceptable, self.decided.acceptable
        self._too_costly = Antichain(heights, highest=False)
        self._learned: list[tuple[float, Node]] = []
        self._bounds_of_asked: dict[Node, float] = {}
        self._serial = count()
        total = self._total(lattice.bottom, self.costs)
        self._boxes = [Box(metric.bound_of(total, context), next(self._serial), total, lattice.bottom, lattice.top)]
        self._ceiling = inf
        self.best = inf
        self.floor = -inf

    # -- what is known -----------------------------------------------------------------------------------------

    def learn(self, verdict: Verdict) -> None:
        """Take what a verdict says of its node, of those below it and of those above."""
        floor, node = verdict.floor(self._monotone), verdict.node
        metric, context = self._objective.metric, self._objective.context
        self._bounds_of_asked[node] = -inf
        self.decided.learn(verdict)
        for step in self._steps:
            if floor >= step.suppressed:
                step.reached.add(node)
        if metric.learns and verdict.figures:
            bound = metric.learned_bound(verdict, context)
            self._bounds_of_asked[node] = bound
            self._learned.append((bound, node))
            if bound > self._ceiling:
                self._too_costly.add(node)

    def improve(self, score: float) -> None:
        """A score was reached: what cannot tie with it is out, as soon as it is looked at."""
        if score >= self.best:
            return
        self.best, self._ceiling = score, not_better_than(score)
        for bound, node in self._learned:
            if bound > self._ceiling:
                self._too_costly.add(node)

    def estimate(self, node: Node, suppressed: float = 0.0) -> float:
        """The static bound of a node, if it suppresses so many rows."""
        step = next((step for step in reversed(self._steps) if step.suppressed <= suppressed), None)
        costs, amount = (self.costs, 0) if step is None else (step.costs, step.suppressed)
        return self._objective.metric.bound_of(self._total(node, costs), self._objective.context, amount)

    def losers(self, sample: Sample) -> list[tuple[int, int]]:
        """For each step of suppression: the members that cannot win if they suppress at least so many rows."""
        return [
            (step.suppressed, sum(1 << place for place, node in enumerate(sample.nodes) if self._loses(step, node)))
            for step in self._steps
        ]

    def too_costly(self, sample: Sample) -> list[tuple[float, int]]:
        """Surcharges of measured nodes are not kept for boxes."""
        return []

    def may_win(self, node: Node) -> bool:
        """Whether a node may be chosen and nothing that is known rules it out."""
        if not self._allows(node) or self._unacceptable.above(node) or self._too_costly.below(node):
            return False
        return self.estimate(node) <= self._ceiling and not self._cutters(node)

    def _loses(self, step: FloorStep, node: Node) -> bool:
        metric, context = self._objective.metric, self._objective.context
        return metric.bound_of(self._total(node, step.costs), context, step.suppressed) > self._ceiling

    # -- what is open ------------------------------------------------------------------------------------------

    def least(self) -> float:
        """No open node scores less; infinite when none is open."""
        if not self._boxes:
            return inf
        least = min(self._boxes).bound if self._deep else self._boxes[0].bound
        return max(self.floor, least) if least <= self._ceiling else inf

    def undecided(self) -> int:
        """How many nodes are open."""
        return sum(box.size for box in self._boxes if box.bound <= self._ceiling)

    def acceptable(self) -> Node | None:
        """A node that is known to be acceptable and may be chosen."""
        known = (*self._acceptable.nodes, self._lattice.top)
        return next((node for node in known if self.decided(node) and self._allows(node)), None)

    def sample(self, inherited: Callable[[Node], None]) -> Sample | None:
        """Some of the nodes that are open: the least ones of the boxes with the least bounds; None when none is left.

        `inherited` is told of nodes that need no question.
        """
        found: list[Box] = []
        looked = 0
        try:
            while self._boxes and len(found) < MOST:
                looked += 1
                if not looked % 1024:
                    self._session.meter.room()
                box = self._next()
                if box.bound > self._ceiling:
                    if not self._deep:
                        self._boxes.clear()
                    continue
                parts = self._parts(box, inherited)
                if parts is None:
                    found.append(box)
                else:
                    self._push(parts)
        finally:
            self._push(iter(found))
        return Sample(self._lattice, [box.low for box in found]) if found else None

    _deep = False
    """Whether the dearest boxes are taken up first."""

    def _next(self) -> Box:
        if self._deep and len(self._boxes) < MOST_BOXES // 2:
            self._deep = False
            heapify(self._boxes)
        elif not self._deep and len(self._boxes) > MOST_BOXES:
            self._deep = True
            self._boxes.sort()
        return self._boxes.pop() if self._deep else heappop(self._boxes)

    def _push(self, boxes: Iterator[Box]) -> None:
        if self._deep:
            self._boxes.extend(boxes)
            return
        for box in boxes:
            heappush(self._boxes, box)

    def _parts(self, box: Box, inherited: Callable[[Node], None]) -> Iterator[Box] | None:
        """What is left of a box when its least node is decided; None when it is open."""
        low = box.low
        if self._too_costly.below(low):
            return iter(())
        cutters = self._cutters(low)
        if cutters:
            return self._cut(box, cutters)
        if (parts := self._allowed(box)) is not None:
            return parts
        if self._objective.metric.static and self._acceptable.below(low):
            inherited(low)
            return self._outside(box, low)
        if low in self._bounds_of_asked:
            return self._outside(box, low, self._bounds_of_asked[low])
        return None

    def _cutters(self, low: Node) -> list[Node]:
        """Nodes above this one all whose specializations, from this one on, cannot win."""
        found = self._unacceptable.above(low)
        if found:
            return self._some(self._unacceptable, found)
        place = bisect_left(self._steps, True, key=lambda step: self._loses(step, low))
        if place == len(self._steps) or not self._loses(self._steps[place], low):
            return []
        reached = self._steps[place].reached
        return self._some(reached, reached.above(low))

    @staticmethod
    def _some(nodes: Antichain, places: int) -> list[Node]:
        chosen = []
        for node in nodes.members(places):
            chosen.append(node)
            if len(chosen) == CUTTERS:
                break
        return chosen

    def _cut(self, box: Box, cutters: Sequence[Node]) -> Iterator[Box]:
        """The box without what one of these nodes generalizes: the one that leaves fewest parts, and dear ones."""
        if len(cutters) == 1:
            return self._outside(box, cutters[0])
        ranked: list[tuple[float, Node]] = []
        for cutter in cutters:
            left = 0.0
            for column, (high, level) in enumerate(zip(box.high, cutter, strict=True)):
                if level < high:
                    bound = self._raised(box, column, level + 1)[1]
                    left += 1.0 if bound <= self._ceiling else 0.0
            ranked.append((left, cutter))
        return self._outside(box, min(ranked)[1])

    def _outside(self, box: Box, node: Node, least: float = -inf) -> Iterator[Box]:
        """The parts of a box that a node does not generalize: one for each column that rises beyond its level.

        The dearest column comes first. Each part leaves to those before it what rises in their columns: so the
        cheapest part, which would reach furthest, is narrowed most.
        """
        parts = []
        for column, (high, level) in enumerate(zip(box.high, node, strict=True)):
            if level < high:
                total, bound = self._raised(box, column, level + 1)
                parts.append((max(bound, least), total, column))
        parts.sort(reverse=True)
        high_levels = list(box.high)
        for bound, total, column in parts:
            level = node[column] + 1
            if bound <= self._ceiling:
                low = (*box.low[:column], level, *box.low[column + 1 :])
                yield Box(bound, next(self._serial), total, low, tuple(high_levels))
            high_levels[column] = node[column]

    def _raised(self, box: Box, column: int, level: int) -> tuple[float, float]:
        """Total and bound of a box when its least node rises to a level of one column."""
        costs = self.costs[column]
        total = box.total + max(0.0, costs[level] - costs[box.low[column]])
        return total, max(box.bound, self._objective.metric.bound_of(total, self._objective.context))

    def _allowed(self, box: Box) -> Iterator[Box] | None:
        """The parts of a box that the constraints on vectors leave; None where its least node may be chosen."""
        low, high, bottom, top = box.low, box.high, self._lattice.bottom, self._lattice.top
        for first, second in self._preferences.before:
            if low[second] > bottom[second] and low[first] < top[first]:
                # Nodes only rise in a box: the second column stays raised, so the first has to stand at its top.
                limits = (*high[:first], top[first] - 1, *high[first + 1 :])
                return self._outside(box, limits)
        for combination in self._preferences.forbidden:
            if all(low[column] == level for column, level in combination):
                chosen = dict(combination)
                limits = tuple(chosen.get(column, most) for column, most in enumerate(high))
                return self._outside(box, limits)
        return None

    def _allows(self, node: Node) -> bool:
        return node in self._lattice and self._preferences.allows(node, self._lattice)

    @staticmethod
    def _total(node: Node, costs: Costs) -> float:
        return sum(map(getitem, costs, node))
