"""`optimal`: the acceptable node that scores best under the metric, exact.

Nodes whose lower bound exceeds the best score so far are out; of the others, a batch at a time, the search asks for
promising nodes and for nodes whose verdict would settle many others at once. Asks through the session only.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import exp, inf, log, log2

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import Verdict
from sqlanon.search.base import Budget, BudgetSpent, Evaluator, Objective, Progress, SearchResult, not_better_than
from sqlanon.search.node_sets import Coding, Totals, members
from sqlanon.search.questions import Forecast, Sample, remaining_bits
from sqlanon.search.session import BATCH, Preferences, SearchSession

STEPS = 12
"""Into how many steps suppression up to the limit is divided for bounds."""
FINE, COARSE = 64, 12
"""Into how many steps the best score is divided for surcharges: of small lattices, of others."""
SMALL_LATTICE = 1 << 20
"""Nodes of a lattice that is small."""


@dataclass
class Rung:
    """Nodes known to suppress at least so many rows, and nodes that may win even so."""

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
        self._surcharges: Surcharges | None = None
        if metric.cedes and monotone and limit > 0:
            # With a limit of 0 models are called monotone that are so only where nothing is suppressed.
            self._surcharges = Surcharges(coding, objective, self._rungs[0].totals)
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
        if self._surcharges is not None:
            bits &= ~self._surcharges.lost
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
        if self._surcharges is not None:
            self._surcharges.improve(score, self._learned)

    def too_costly(self) -> list[tuple[float, int]]:
        """For each step of surcharges: the nodes that cannot win if they have so large a one."""
        return [] if self._surcharges is None else self._surcharges.too_costly()

    def learn(self, verdict: Verdict) -> None:
        """Take what a verdict says of the nodes below it and, when it was measured, above it."""
        floor = verdict.floor(self._monotone)
        below = self._coding.downset(verdict.node) if len(self._rungs) > 1 and floor else 0
        for rung in self._rungs[1:]:
            if floor >= rung.suppressed:
                rung.reached |= below
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


MUCH = 0.2
"""Where more than this part of the rows may be suppressed, what they cost decides, and every node is measured."""
TINY = 1e-9
"""Stands for nothing where a logarithm is taken."""
DOUBTS = (1, 4, 16)
"""How much more cautious guesses become while a batch of questions has room."""
FIRST_BATCH = 8
"""The first questions teach the forecast: few at a time."""
AT_LEAST = 4
"""Promising nodes asked for in each batch, even when none is guessed to be better than what is known."""
CAUTION = 0.3
"""How much of the forecast's error a guess must clear before it is acted on."""


def _logarithm(value: float) -> float:
    """For guesses, which nothing may stop: of zero that of a tiny number."""
    return log(max(value, TINY))


def search(
    evaluator: Evaluator,
    objective: Objective,
    preferences: Preferences,
    budget: Budget,
    progress: Progress | None = None,
) -> SearchResult:
    """The best node under the metric; ties go to the preferences, then to vector order."""
    run = _Optimal(SearchSession(evaluator, objective, preferences, budget, progress))
    try:
        run.explore()
        stopped = False
    except BudgetSpent:
        stopped = True
    return run.result(stopped)


class _Optimal:
    """The state of one run."""

    def __init__(self, session: SearchSession) -> None:
        self._session = session
        evaluator, objective = session.evaluator, session.objective
        bits = remaining_bits(objective.context)
        self._suppression = Forecast(bits, slope=0.9, top=-0.45 * log2(max(2, evaluator.rows)))
        worst = objective.metric.bound(evaluator.heights, objective.context)
        self._costliness = Forecast(bits, slope=-log(2), top=_logarithm(worst))
        self._surcharge = Forecast(bits, slope=0.6, top=_logarithm(worst) - 5)
        self._worst = worst
        self._caution = CAUTION
        self._scores: dict[Node, float] = {}
        self._usual_excess = 0.0
        """Where suppression decides: at that of the best node, which may lie far below the limit."""
        self._measure = objective.metric.learns or (
            objective.metric.cedes and evaluator.monotone and evaluator.limit > MUCH * evaluator.rows
        )

    @cached_property
    def _bounds(self) -> Bounds:
        session = self._session
        return Bounds(session.coding, session.objective, session.evaluator.limit, session.evaluator.monotone)

    # -- the search --------------------------------------------------------------------------------------------

    def explore(self) -> None:
        """Ask until no node is left that could win."""
        if known := self._session.recall():
            self._take(known)
        if self._session.evaluator.monotone:
            self._ask([self._session.evaluator.lattice.top])
            if not self._session.marking.acceptable:
                return
        batch = FIRST_BATCH
        while open_nodes := self._open():
            self._ask(self._questions(open_nodes, batch))
            batch = min(BATCH, 2 * batch)

    def _ask(self, nodes: list[Node]) -> None:
        self._take(self._session.measure(nodes) if self._measure else self._session.check(nodes))

    def _open(self) -> int:
        """The nodes that may be chosen, can still win, and are not decided."""
        marking = self._session.marking
        bits = self._bounds.winners() & self._session.allowed & ~marking.unacceptable & ~marking.asked
        if self._session.objective.metric.static and bits & marking.acceptable:
            self._score_inherited(bits & marking.acceptable)
            bits = bits & ~marking.acceptable & self._bounds.winners()
        return bits

    def _score_inherited(self, bits: int) -> None:
        """A static score needs no question once a node is known to be acceptable."""
        for number in members(bits):
            node = self._session.coding.node(number)
            self._note(node, self._session.objective.score(Verdict(node, 0, 0)))

    def _take(self, verdicts: list[Verdict]) -> None:
        """Learn from verdicts, and score the nodes among them that may win."""
        session = self._session
        for verdict in verdicts:
            self._suppression.learn(verdict.node, self._excess(self._known(verdict)), self._usual_excess)
            self._bounds.learn(verdict)
            if verdict.figures and self._measure:
                self._learn_costs(verdict)
        contenders = [verdict for verdict in verdicts if session.accepts(verdict) and self._may_win(verdict)]
        contenders.sort(
            key=lambda verdict: self._bounds.estimate(session.coding.number(verdict.node), verdict.suppressed)
        )
        self._score(contenders[:1])
        # The likeliest winner is scored by now; most of the others can no longer win and need no figures.
        self._score([verdict for verdict in contenders[1:] if self._may_win(verdict)])
        self._session.trace.append({"asked": len(verdicts), "best": self._bounds.best if self._scores else None})

    def _learn_costs(self, verdict: Verdict) -> None:
        metric, context = self._session.objective.metric, self._session.objective.context
        bound = metric.learned_bound(verdict, context)
        self._costliness.learn(verdict.node, _logarithm(bound), _logarithm(min(bound, self._bounds.best)))
        if metric.cedes:
            surcharge = max(metric.surcharge(verdict, context), TINY * self._worst)
            self._surcharge.learn(verdict.node, _logarithm(surcharge), _logarithm(min(surcharge, self._bounds.best)))

    def _score(self, contenders: list[Verdict]) -> None:
        """Measure what is needed of these nodes, and note their scores."""
        session = self._session
        unmeasured = [verdict.node for verdict in contenders if session.objective.needs_figures(verdict)]
        if unmeasured:
            session.measure(unmeasured)
        for node in (verdict.node for verdict in contenders):
            self._note(node, session.objective.score(session.verdicts[node]))

    def _may_win(self, verdict: Verdict) -> bool:
        session = self._session
        if verdict.node not in session.coding.lattice:
            return False
        number = session.coding.number(verdict.node)
        bound = self._bounds.estimate(number, verdict.suppressed)
        return bool(session.allowed >> number & 1) and bound <= not_better_than(self._bounds.best)

    def _note(self, node: Node, score: float) -> None:
        if score < self._bounds.best and node in self._session.verdicts:
            self._usual_excess = self._excess(self._known(self._session.verdicts[node]))
        self._scores[node] = score
        self._bounds.improve(score)

    def _known(self, verdict: Verdict) -> int:
        """The suppression that nodes below inherit, which is what is worth guessing."""
        return verdict.least if self._session.evaluator.relaxed else verdict.suppressed

    def _excess(self, suppressed: int) -> float:
        """Suppression on a logarithmic scale, 0 at the limit."""
        return log((suppressed + 1) / (self._session.evaluator.limit + 1))

    # -- which nodes to ask for --------------------------------------------------------------------------------

    def _questions(self, open_nodes: int, batch: int) -> list[Node]:
        sample = Sample(self._session.coding, open_nodes)
        if self._session.evaluator.monotone or self._session.evaluator.relaxed:
            promising = self._promising(sample, batch // 2)
            return promising + self._settling(sample, batch - len(promising))
        if self._measure:
            return self._promising(sample, batch // 4) + self._cheapest(sample, batch - batch // 4)
        return self._cheapest(sample, batch)

    def _promising(self, sample: Sample, most: int) -> list[Node]:
        """Nodes guessed to be acceptable and better than what is known, the best first."""
        guesses = [self._suppression.guess(node) for node in sample.nodes]
        likely = [
            (self._guessed_score(sample.numbers[index], sample.nodes[index], guess), index)
            for index, guess in enumerate(guesses)
            if guess <= 0
        ]
        ranked = sorted(likely)[:most]
        chosen = [index for rank, (score, index) in enumerate(ranked) if rank < AT_LEAST or score <= self._bounds.best]
        for index in chosen:
            sample.left &= ~(1 << index)
        return [sample.nodes[index] for index in chosen]

    def _guessed_score(self, number: int, node: Node, excess: float) -> float:
        score = self._bounds.estimate(number, exp(excess) * (self._session.evaluator.limit + 1) - 1)
        if not self._measure:
            return score
        metric = self._session.objective.metric
        bound = self._bounds.estimate(number)
        own = exp(self._costliness.guess(node)) if metric.learns else bound
        return own + (exp(self._surcharge.guess(node)) if metric.cedes else score - bound)

    def _cheapest(self, sample: Sample, most: int) -> list[Node]:
        """The best bounds first, whatever is guessed: where nothing is inherited they all have to be asked for."""
        order = sorted(
            (index for index in range(len(sample.nodes)) if sample.left >> index & 1),
            key=lambda index: self._bounds.estimate(sample.numbers[index]),
        )
        return [sample.nodes[index] for index in order[:most]]

    def _settling(self, sample: Sample, most: int) -> list[Node]:
        """Nodes whose verdict, if it is as guessed, settles as many open nodes as possible."""
        steps = self._suppression.steps()
        losers = [(suppressed, sample.within(bits)) for suppressed, bits in self._bounds.losers()]
        costly = [(amount, sample.within(bits)) for amount, bits in self._bounds.too_costly()] if self._measure else []
        planned: dict[Node, None] = {}
        open_nodes = sample.left
        for doubt in DOUBTS if costly else DOUBTS[:1]:
            # Guesses that do not come true settle nothing: a batch that they leave room in is filled by careful ones.
            self._caution = CAUTION * doubt
            found = sample.questions(
                most - len(planned), lambda index: self._question(sample, index, steps, losers, costly)
            )
            planned.update(dict.fromkeys(found))
            if len(planned) >= most:
                break
            sample.left = open_nodes & ~sample.index_of(planned)
        return list(planned)

    def _question(
        self,
        sample: Sample,
        index: int,
        steps: list[list[float]],
        losers: list[tuple[int, int]],
        costly: list[tuple[float, int]],
    ) -> tuple[Node, int]:
        """The question that settles most besides this member, by suppressing too much or by costing too much."""
        start = sample.nodes[index]
        options = [(start, 0)]
        least, among = next((pair for pair in losers if pair[1] >> index & 1), (0, sample.left))
        enough = self._excess(least - 1 if least else self._session.evaluator.limit)
        slack = self._suppression.guess(start) - enough - self._caution * self._suppression.error
        if slack >= 0:
            node = sample.climb(start, steps, slack, among, self._session.verdicts)
            options.append((node, sample.below(node) & among))
        amount, among = next((pair for pair in costly if pair[1] >> index & 1), (0.0, 0))
        slack = self._surcharge.guess(start) - _logarithm(amount) - self._caution * self._surcharge.error
        if among and slack >= 0:
            node = sample.climb(start, self._surcharge.steps(), slack, among, self._session.verdicts)
            options.append((node, sample.below(node) & among))
        slack = self._too_costly_by(start)
        if slack >= 0:
            node = sample.descend(start, self._costliness.steps(), slack, sample.left, self._session.verdicts)
            options.append((node, sample.above(node)))
        return max(options, key=lambda option: option[1].bit_count())

    def _too_costly_by(self, node: Node) -> float:
        """By how much a node is guessed to miss the best score even without suppression."""
        if not self._measure or not self._scores or not self._session.objective.metric.learns:
            return -1.0
        return self._costliness.guess(node) - _logarithm(self._bounds.best) - self._caution * self._costliness.error

    # -- the answer --------------------------------------------------------------------------------------------

    def result(self, stopped: bool) -> SearchResult:
        session = self._session
        undecided = self._open().bit_count() if stopped else 0
        if not self._scores:
            self._fall_back(stopped)
        best = min(self._scores.values())
        tied = [node for node, score in self._scores.items() if score <= not_better_than(best)]
        ties = session.preferred(tied, session.preferences.policies)
        return session.result(
            algorithm="optimal",
            ties=ties,
            proven=not undecided,
            undecided=undecided,
            trace=session.trace,
        )

    def _fall_back(self, stopped: bool) -> None:
        """A budget may end before any allowed node was asked for; inherited acceptance still gives an answer."""
        session = self._session
        known = session.marking.acceptable & session.allowed
        if not known:
            raise session.infeasible(stopped)
        node = session.coding.node((known & -known).bit_length() - 1)
        self._scores[node] = session.score(node)
