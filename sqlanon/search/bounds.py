"""Which nodes can still be best: sets of nodes whose lower bound does not exceed the best score so far.

Pure. Three sources of bounds: the metric's static costs, what a verdict says of all nodes above it (learned bounds),
and, where the requirement is monotone, that nodes below an evaluated one suppress at least as many rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import Verdict
from sqlanon.search.coding import Coding
from sqlanon.search.objective import Objective, not_better_than
from sqlanon.search.totals import Totals

STEPS = 12
"""Into how many steps suppression up to the limit is divided for bounds."""


@dataclass
class Rung:
    """Nodes known to suppress at least so many rows, and nodes that may win even so."""

    suppressed: int
    totals: Totals
    reached: int = 0
    winnable: int = 0


class Bounds:
    """The nodes that can still win or tie, as the best score falls and verdicts come in."""

    def __init__(self, coding: Coding, objective: Objective, limit: int, monotone: bool) -> None:
        self._coding = coding
        self._objective = objective
        self._monotone = monotone
        metric, context = objective.metric, objective.context
        base = metric.costs(context)
        self._rungs = [Rung(0, Totals(coding, base), coding.everything, coding.everything)]
        for suppressed in sorted({max(1, limit * step // STEPS) for step in range(1, STEPS)}):
            raised = metric.bound_of(0.0, context, suppressed) != metric.bound_of(0.0, context)
            costs = metric.costs(context, suppressed)
            if suppressed <= limit and (raised or costs != base):
                self._rungs.append(Rung(suppressed, Totals(coding, costs), 0, coding.everything))
        self._learned: list[tuple[float, Node]] = []
        self._too_costly = 0
        self.best = inf

    def estimate(self, number: int, suppressed: float = 0.0) -> float:
        """The static bound of a node, if it suppresses so many rows."""
        rung = next(rung for rung in reversed(self._rungs) if rung.suppressed <= suppressed or not rung.suppressed)
        return self._objective.metric.bound_of(rung.totals.of(number), self._objective.context, rung.suppressed)

    def winners(self) -> int:
        """The nodes whose bounds do not exceed the best score."""
        bits = ~self._too_costly
        for rung in self._rungs:
            bits &= ~rung.reached | rung.winnable
        return bits & self._coding.everything

    def losers(self) -> list[tuple[int, int]]:
        """For each step of suppression above 0: the nodes that cannot win if they suppress at least so many rows."""
        return [(rung.suppressed, self._coding.everything & ~rung.winnable) for rung in self._rungs[1:]]

    def improve(self, score: float) -> None:
        """A score was reached: every node that cannot tie with it drops out."""
        if score >= self.best:
            return
        self.best = score
        metric, context = self._objective.metric, self._objective.context
        for rung in self._rungs:
            rung.winnable = rung.totals.up_to(metric.ceiling(not_better_than(score), context, rung.suppressed))
        for bound, node in self._learned:
            self._drop_above(bound, node)

    def learn(self, verdict: Verdict) -> None:
        """Take what a verdict says of the nodes below it and, when it was measured, above it."""
        floor = verdict.floor(self._monotone)
        below = self._coding.downset(verdict.node) if len(self._rungs) > 1 and floor else 0
        for rung in self._rungs[1:]:
            if floor >= rung.suppressed:
                rung.reached |= below
        if self._objective.metric.learns and verdict.figures:
            bound = self._objective.metric.learned_bound(verdict, self._objective.context)
            self._learned.append((bound, verdict.node))
            self._drop_above(bound, verdict.node)

    def _drop_above(self, bound: float, node: Node) -> None:
        if bound > not_better_than(self.best):
            self._too_costly |= self._coding.upset(node)
