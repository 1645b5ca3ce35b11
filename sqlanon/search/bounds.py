"""What can still win: lower bounds of scores for sets of nodes, a bit per node.

Pure. Everything here is proven, nothing guessed: a node that is left out cannot beat or tie with the best score so far.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import inf
from typing import Protocol

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import Costs, Verdict
from sqlanon.search.base import Evaluator, Objective, not_better_than
from sqlanon.search.node_sets import Antichain, Coding, Totals, members
from sqlanon.search.questions import Sample
from sqlanon.search.session import SearchSession

STEPS = 12
"""Into how many steps suppression up to the limit is divided for bounds."""
FINE, COARSE = 64, 12
"""Into how many steps the best score is divided for surcharges: of small lattices, of others."""
SMALL_LATTICE = 1 << 20
"""Nodes of a lattice that is small."""
FEW = 1 << 18
"""So many open nodes are looked at one by one."""
HALVINGS = 12
"""Until the least bound is found closely enough."""


class OpenNodes(Protocol):
    """The nodes that can still win or tie, as the best score falls and verdicts come in."""

    best: float
    costs: Costs
    floor: float
    """No acceptable node scores less."""

    def learn(self, verdict: Verdict) -> None:
        """Take what a verdict says of other nodes."""

    def improve(self, score: float) -> None:
        """A score was reached."""

    def estimate(self, node: Node, suppressed: float = 0.0) -> float:
        """The static bound of a node, if it suppresses so many rows."""

    def sample(self, inherited: Callable[[Node], None]) -> Sample | None:
        """Some of them; None when none is left. `inherited` is told of those that need no question."""

    def losers(self, sample: Sample) -> list[tuple[int, int]]:
        """For each step of suppression: the members that cannot win if they suppress at least so many rows."""

    def too_costly(self, sample: Sample) -> list[tuple[float, int]]:
        """For each step of surcharges: the members that cannot win if they have so large a one."""

    def decided(self, node: Node) -> bool | None:
        """Whether a node is known to be acceptable; None where nothing is known."""

    def may_win(self, node: Node) -> bool:
        """Whether a node may be chosen and nothing that is known rules it out."""

    def acceptable(self) -> Node | None:
        """A node that is known to be acceptable and may be chosen."""

    def undecided(self) -> int:
        """How many they are."""

    def least(self) -> float:
        """None of them scores less; infinite when none is left."""


class KnownNodes:
    """What verdicts say of nodes one by one: the highest unacceptable and the lowest acceptable ones."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._limit = evaluator.limit
        self._monotone = evaluator.monotone
        self.unacceptable = Antichain(evaluator.heights, highest=True)
        self.acceptable = Antichain(evaluator.heights, highest=False)

    def learn(self, verdict: Verdict) -> None:
        """Take what a verdict says of the nodes below it, or above it."""
        if verdict.floor(self._monotone) > self._limit:
            self.unacceptable.add(verdict.node)
        elif self._monotone and verdict.suppressed <= self._limit:
            self.acceptable.add(verdict.node)

    def __call__(self, node: Node) -> bool | None:
        """Whether a node is acceptable; None where nothing is known."""
        if self.unacceptable.above(node):
            return False
        return True if self.acceptable.below(node) else None


def steps_of_suppression(objective: Objective, limit: int) -> list[tuple[int, Costs]]:
    """No suppressed row, and the numbers up to the limit that raise bounds, each with what levels cost then."""
    metric, context = objective.metric, objective.context
    base = metric.costs(context)
    steps = [(0, base)]
    for suppressed in sorted({max(1, limit * step // STEPS) for step in range(1, STEPS)}):
        raised = metric.bound_of(0.0, context, suppressed) != metric.bound_of(0.0, context)
        costs = metric.costs(context, suppressed)
        if suppressed <= limit and (raised or costs != base):
            steps.append((suppressed, costs))
    return steps


@dataclass
class Rung:
    """Nodes known to suppress at least so many rows, as those of higher rungs do, and nodes that may win even so."""

    suppressed: int
    totals: Totals
    reached: int = 0
    winnable: int = 0


class Surcharges:
    """The nodes that cannot win because of what a measured node above them suppresses.

    A node lies between those that were measured below it and above it: its score is at least a bound from below, static
    or learned, and the surcharge of any node above (`Metric.surcharge`). Surcharges are sorted into steps, each a part
    of the best score: the nodes that have a surcharge of that step, and those whose bound does not bear it.
    """

    def __init__(self, coding: Coding, objective: Objective, totals: Totals) -> None:
        self._coding = coding
        self._objective = objective
        self._totals = totals
        self._steps = FINE if coding.size <= SMALL_LATTICE else COARSE
        self._known: list[tuple[float, Node]] = []
        self._reached: list[int] = []
        self._costly: list[int] = []
        self._best = inf
        self.lost = 0
        """The nodes that cannot win."""

    def improve(self, score: float, learned: Sequence[tuple[float, Node]]) -> None:
        """Take a lower best score; `learned` are all bounds of measured nodes for the nodes above them."""
        self._best = score
        metric, context = self._objective.metric, self._objective.context
        ceiling = not_better_than(score)
        sets = [0] * (self._steps + 1)
        for bound, node in learned:
            step = self._first_beyond(bound)
            if step <= self._steps:
                sets[step] |= self._coding.upset(node)
        self._costly = []
        above = 0
        for step, found in enumerate(sets):
            above |= found
            affordable = self._totals.up_to(metric.ceiling(ceiling - self._amount(step), context))
            self._costly.append(above | self._coding.everything & ~affordable)
        self._reached = [0] * (self._steps + 1)
        for surcharge, node in self._known:
            self._reach(surcharge, node)

    def learn(self, surcharge: float, node: Node) -> None:
        """Take what a measured node adds to the scores of all nodes below it."""
        if surcharge > 0:
            self._known.append((surcharge, node))
            if self._costly:
                self._reach(surcharge, node)

    def learn_bound(self, bound: float, node: Node) -> None:
        """Take what a measured node says of all nodes above it."""
        if not self._costly:
            return
        above = self._coding.upset(node)
        for step in range(self._first_beyond(bound), self._steps + 1):
            self._costly[step] |= above
            self.lost |= self._reached[step] & above

    def too_costly(self) -> list[tuple[float, int]]:
        """The nodes that cannot win if they have so large a surcharge, by ascending surcharge."""
        return [(self._amount(step), bits) for step, bits in enumerate(self._costly) if step]

    def _reach(self, surcharge: float, node: Node) -> None:
        step = self._steps if surcharge >= self._best else int(surcharge / self._best * self._steps)
        below = self._coding.downset(node)
        self._reached[step] |= below
        self.lost |= below & self._costly[step]

    def _amount(self, step: int) -> float:
        return self._best * step / self._steps

    def _first_beyond(self, bound: float) -> int:
        """The first step whose surcharge puts a bound beyond the best score; beyond the last one when none does."""
        ceiling = not_better_than(self._best)
        return bisect_right(range(self._steps + 1), ceiling, key=lambda step: bound + self._amount(step))


class Bounds:
    """The nodes that can still win or tie, as the best score falls and verdicts come in.

    Four sources of bounds: the metric's static costs; what a verdict says of all nodes above it (learned bounds); and,
    where the requirement is monotone, that nodes below an evaluated one suppress at least as many rows, and what the
    suppressed rows of a measured one cost them (surcharges).
    """

    def __init__(self, session: SearchSession) -> None:
        self._session = session
        self._coding = coding = session.coding
        self._objective = objective = session.objective
        self._monotone = monotone = session.evaluator.monotone
        limit = session.evaluator.limit
        metric = objective.metric
        (_, base), *raised = steps_of_suppression(objective, limit)
        self.costs = base
        self._rungs = [Rung(0, Totals(coding, base), coding.everything, coding.everything)]
        self._rungs += [Rung(rows, Totals(coding, costs), 0, coding.everything) for rows, costs in raised]
        self._surcharges: Surcharges | None = None
        if metric.cedes and monotone and limit > 0:
            # With a limit of 0 models are called monotone that are so only where nothing is suppressed.
            self._surcharges = Surcharges(coding, objective, self._rungs[0].totals)
        self._learned: list[tuple[float, Node]] = []
        self._too_costly = 0
        self.best = self._refreshed = inf
        self.floor = -inf

    def estimate(self, node: Node, suppressed: float = 0.0) -> float:
        """The static bound of a node, if it suppresses so many rows."""
        rung = next(rung for rung in reversed(self._rungs) if rung.suppressed <= suppressed or not rung.suppressed)
        total = rung.totals.of(self._coding.number(node))
        return self._objective.metric.bound_of(total, self._objective.context, rung.suppressed)

    def sample(self, inherited: Callable[[Node], None]) -> Sample | None:
        """Some of the nodes that are open; None when none is. `inherited` is told of nodes that need no question."""
        bits = self._open(inherited)
        return Sample.of(self._coding, bits) if bits else None

    def decided(self, node: Node) -> bool | None:
        """Whether a node is known to be acceptable; None where nothing is known."""
        return self._decided(node)

    @cached_property
    def _decided(self) -> KnownNodes:
        """Where nodes are looked up one by one: in a large set of bits each look takes a millisecond."""
        found = KnownNodes(self._session.evaluator)
        for verdict in self._session.verdicts.values():
            found.learn(verdict)
        return found

    def may_win(self, node: Node) -> bool:
        """Whether a node may be chosen and nothing that is known rules it out."""
        lattice = self._session.evaluator.lattice
        if node not in lattice or not self._session.preferences.allows(node, lattice):
            return False
        return self.estimate(node) <= not_better_than(self.best) and self.decided(node) is not False

    def undecided(self) -> int:
        """How many nodes are open."""
        return self._open(lambda node: None).bit_count()

    def acceptable(self) -> Node | None:
        """A node that is known to be acceptable and may be chosen."""
        known = self._session.marking.acceptable & self._session.allowed
        return self._coding.node((known & -known).bit_length() - 1) if known else None

    def least(self) -> float:
        """No open node scores less; infinite when none is open.

        Of few open nodes each is looked at. Else it is found by halving: a score that no open node can reach, a bit
        below one that some may.
        """
        bits = self._open(lambda node: None)
        return max(self.floor, self._least_of(bits)) if bits else inf

    def _least_of(self, bits: int) -> float:
        if bits.bit_count() <= FEW and not self._learned:
            return self._least_of_each(bits)
        lattice = self._session.evaluator.lattice
        low, high = self.estimate(lattice.bottom), min(self.best, self.estimate(lattice.top))
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            if self._reachable(bits, middle):
                high = middle
            else:
                low = middle
        return low

    def _least_of_each(self, bits: int) -> float:
        metric, context = self._objective.metric, self._objective.context
        least = inf
        for reached, rung in self._all_reached():
            if found := bits & reached:
                total = min(map(rung.totals.of, members(found)))
                least = min(least, metric.bound_of(total, context, rung.suppressed))
                bits &= ~reached
        return least

    def _reachable(self, bits: int, score: float) -> bool:
        """Whether one of these nodes may score so little. Of large lattices only what is quickly told is looked at."""
        bits &= self._affordable(self._rungs[0], score)
        if self._coding.size > SMALL_LATTICE:
            return bits != 0
        for reached, rung in self._all_reached():
            bits &= ~reached | self._affordable(rung, score)
        for node in self._lowest([node for bound, node in self._learned if bound > score]):
            bits &= ~self._coding.upset(node)
        return bits != 0

    def _lowest(self, nodes: Sequence[Node]) -> Sequence[Node]:
        found = Antichain(self._session.evaluator.heights, highest=False)
        for node in sorted(nodes, key=sum):
            found.add(node)
        return found.nodes

    def _open(self, inherited: Callable[[Node], None]) -> int:
        """The nodes that may be chosen, can still win, and are not decided."""
        marking = self._session.marking
        bits = self.winners() & self._session.allowed & ~marking.unacceptable & ~marking.asked
        if self._objective.metric.static and bits & marking.acceptable:
            # A static score needs no question once a node is known to be acceptable.
            for number in members(bits & marking.acceptable):
                inherited(self._coding.node(number))
            bits = bits & ~marking.acceptable & self.winners()
        return bits

    def winners(self) -> int:
        """The nodes whose bounds do not exceed the best score."""
        self._refresh()
        bits = ~self._too_costly
        if self._surcharges is not None:
            bits &= ~self._surcharges.lost
        for reached, rung in self._all_reached():
            bits &= ~reached | rung.winnable
        return bits & self._coding.everything

    def _refresh(self) -> None:
        """Bring sets up to date with the best score: on large lattices this takes longer than asking."""
        if self._refreshed == self.best:
            return
        self._refreshed = self.best
        for rung in self._rungs:
            rung.winnable = self._affordable(rung, not_better_than(self.best))
        if self._surcharges is not None:
            self._surcharges.improve(self.best, self._learned)

    def _affordable(self, rung: Rung, score: float) -> int:
        """The nodes that do not score more if they suppress as many rows as a rung says."""
        return rung.totals.up_to(self._objective.metric.ceiling(score, self._objective.context, rung.suppressed))

    def _all_reached(self) -> Iterator[tuple[int, Rung]]:
        """For each rung: the nodes known to suppress at least so many rows, those of the rungs above among them."""
        reached = 0
        for rung in reversed(self._rungs):
            reached |= rung.reached
            yield reached, rung

    def losers(self, sample: Sample) -> list[tuple[int, int]]:
        """For each step of suppression: the members that cannot win if they suppress at least so many rows."""
        everything = self._coding.everything
        return [(rung.suppressed, sample.within(everything & ~rung.winnable)) for rung in self._rungs[1:]]

    def improve(self, score: float) -> None:
        """A score was reached: every node that cannot tie with it drops out."""
        if score >= self.best:
            return
        self.best = score
        for bound, node in self._learned:
            self._drop_above(bound, node)

    def too_costly(self, sample: Sample) -> list[tuple[float, int]]:
        """For each step of surcharges: the members that cannot win if they have so large a one."""
        known = [] if self._surcharges is None else self._surcharges.too_costly()
        return [(amount, sample.within(bits)) for amount, bits in known]

    def learn(self, verdict: Verdict) -> None:
        """Take what a verdict says of the nodes below it and, when it was measured, above it."""
        if "_decided" in self.__dict__:
            self._decided.learn(verdict)
        floor = verdict.floor(self._monotone)
        if floor <= self._session.evaluator.limit:
            # What suppresses more is out already.
            reached = next((rung for rung in reversed(self._rungs) if rung.suppressed <= floor), None)
            if reached is not None and reached.suppressed:
                reached.reached |= self._coding.downset(verdict.node)
        metric, context = self._objective.metric, self._objective.context
        if metric.learns and verdict.figures:
            bound = metric.learned_bound(verdict, context)
            self._learned.append((bound, verdict.node))
            self._drop_above(bound, verdict.node)
            if self._surcharges is not None:
                self._surcharges.learn_bound(bound, verdict.node)
        if self._surcharges is not None and verdict.figures:
            self._surcharges.learn(metric.surcharge(verdict, context), verdict.node)

    def _drop_above(self, bound: float, node: Node) -> None:
        if bound > not_better_than(self.best):
            self._too_costly |= self._coding.upset(node)
