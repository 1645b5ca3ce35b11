"""`optimal`: the acceptable node that scores best under the metric, exact.

Nodes whose lower bound exceeds the best score so far are out; of the others, a batch at a time, the search asks for
promising nodes and for nodes whose verdict would settle many others at once. On large lattices it looks for a good
answer first; whenever a budget ends it, it says how much less the best node may cost. Asks through the session only.
"""

from __future__ import annotations

from functools import cached_property
from math import exp, log, log2

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import Verdict
from sqlanon.search.base import Budget, BudgetSpent, Evaluator, Objective, Progress, SearchResult, not_better_than
from sqlanon.search.bounds import Bounds, OpenNodes
from sqlanon.search.boxes import Boxes
from sqlanon.search.descent import Blocks, Descent
from sqlanon.search.node_sets import MOST_NODES
from sqlanon.search.questions import Forecast, Sample, remaining_bits
from sqlanon.search.session import BATCH, Preferences, SearchSession

SMALL_LATTICE = 1 << 20
"""On lattices of more nodes a good answer is looked for first."""
MOST_CODED = MOST_NODES
"""Up to so many nodes a set of nodes has a bit for each of them; beyond, it is a set of boxes."""
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
    coded = evaluator.lattice.size <= MOST_CODED
    run = _Optimal(SearchSession(evaluator, objective, preferences, budget, progress, marks=coded), coded)
    try:
        run.explore()
        stopped = False
    except BudgetSpent:
        stopped = True
    return run.result(stopped)


class _Optimal:
    """The state of one run."""

    def __init__(self, session: SearchSession, coded: bool) -> None:
        """`coded`: a set of nodes has a bit for each."""
        self._session = session
        self._coded = coded
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
    def _open(self) -> OpenNodes:
        return Bounds(self._session) if self._coded else Boxes(self._session)

    # -- the search --------------------------------------------------------------------------------------------

    def explore(self) -> None:
        """Ask until no node is left that could win."""
        if known := self._session.recall():
            self._take(known)
        top = self._session.evaluator.lattice.top
        if self._session.evaluator.monotone:
            self._ask([top])
            if not self._session.accepts(self._session.verdicts[top]):
                return
        descent = None
        if self._session.evaluator.lattice.size > SMALL_LATTICE:
            descent = Descent(self._session, self._open, self._suppression, self._ask, self._best)
            descent.search()
            descent.restart()
            if not self._coded:
                self._raise_floor()
        batch = FIRST_BATCH
        while (sample := self._open.sample(self._inherit)) is not None:
            before = self._open.best
            self._ask(self._questions(sample, batch))
            batch = min(BATCH, 2 * batch)
            if descent is not None and self._open.best < before:
                descent.search()

    def _raise_floor(self) -> None:
        """Ask what blocks of columns cost at the least: nothing can cost less, and boxes alone show that slowly."""
        if not self._session.evaluator.monotone:
            return
        blocks = Blocks(
            self._session,
            self._open.costs,
            lambda evaluator, objective, budget: search(evaluator, objective, Preferences(), budget),
        )
        self._open.floor = blocks.least()
        self._take(self._session.recall())

    def _ask(self, nodes: list[Node]) -> None:
        self._take(self._session.measure(nodes) if self._measure else self._session.check(nodes))

    def _best(self) -> Node | None:
        """The best node so far."""
        return min(self._scores, key=self._scores.__getitem__, default=None)

    def _inherit(self, node: Node) -> None:
        """A static score needs no question once a node is known to be acceptable."""
        self._note(node, self._session.objective.score(Verdict(node, 0, 0)))

    def _take(self, verdicts: list[Verdict]) -> None:
        """Learn from verdicts, and score the nodes among them that may win."""
        session = self._session
        for verdict in verdicts:
            self._suppression.learn(verdict.node, self._excess(self._known(verdict)), self._usual_excess)
            self._open.learn(verdict)
            if verdict.figures and self._measure:
                self._learn_costs(verdict)
        contenders = [verdict for verdict in verdicts if session.accepts(verdict) and self._may_win(verdict)]
        contenders.sort(key=lambda verdict: self._open.estimate(verdict.node, verdict.suppressed))
        self._score(contenders[:1])
        # The likeliest winner is scored by now; most of the others can no longer win and need no figures.
        self._score([verdict for verdict in contenders[1:] if self._may_win(verdict)])
        if self._scores:
            session.tell_costs(self._open.best, self._open.least)
        step: dict[str, object] = {"asked": len(verdicts), "best": self._open.best if self._scores else None}
        self._session.trace.append(step if self._coded else {**step, "least": self._open.least()})

    def _learn_costs(self, verdict: Verdict) -> None:
        metric, context = self._session.objective.metric, self._session.objective.context
        bound = metric.learned_bound(verdict, context)
        self._costliness.learn(verdict.node, _logarithm(bound), _logarithm(min(bound, self._open.best)))
        if metric.cedes:
            surcharge = max(metric.surcharge(verdict, context), TINY * self._worst)
            self._surcharge.learn(verdict.node, _logarithm(surcharge), _logarithm(min(surcharge, self._open.best)))

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
        lattice = session.evaluator.lattice
        if verdict.node not in lattice or not session.preferences.allows(verdict.node, lattice):
            return False
        return self._open.estimate(verdict.node, verdict.suppressed) <= not_better_than(self._open.best)

    def _note(self, node: Node, score: float) -> None:
        if score < self._open.best and node in self._session.verdicts:
            self._usual_excess = self._excess(self._known(self._session.verdicts[node]))
        self._scores[node] = score
        self._open.improve(score)

    def _known(self, verdict: Verdict) -> int:
        """The suppression that nodes below inherit, which is what is worth guessing."""
        return verdict.least if self._session.evaluator.relaxed else verdict.suppressed

    def _excess(self, suppressed: int) -> float:
        """Suppression on a logarithmic scale, 0 at the limit."""
        return log((suppressed + 1) / (self._session.evaluator.limit + 1))

    # -- which nodes to ask for --------------------------------------------------------------------------------

    def _questions(self, sample: Sample, batch: int) -> list[Node]:
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
            (self._guessed_score(sample.nodes[index], guess), index)
            for index, guess in enumerate(guesses)
            if guess <= 0
        ]
        ranked = sorted(likely)[:most]
        chosen = [index for rank, (score, index) in enumerate(ranked) if rank < AT_LEAST or score <= self._open.best]
        for index in chosen:
            sample.left &= ~(1 << index)
        return [sample.nodes[index] for index in chosen]

    def _guessed_score(self, node: Node, excess: float) -> float:
        score = self._open.estimate(node, exp(excess) * (self._session.evaluator.limit + 1) - 1)
        if not self._measure:
            return score
        metric = self._session.objective.metric
        bound = self._open.estimate(node)
        own = exp(self._costliness.guess(node)) if metric.learns else bound
        return own + (exp(self._surcharge.guess(node)) if metric.cedes else score - bound)

    def _cheapest(self, sample: Sample, most: int) -> list[Node]:
        """The best bounds first, whatever is guessed: where nothing is inherited they all have to be asked for."""
        order = sorted(
            (index for index in range(len(sample.nodes)) if sample.left >> index & 1),
            key=lambda index: self._open.estimate(sample.nodes[index]),
        )
        return [sample.nodes[index] for index in order[:most]]

    def _settling(self, sample: Sample, most: int) -> list[Node]:
        """Nodes whose verdict, if it is as guessed, settles as many open nodes as possible."""
        steps = self._suppression.steps()
        losers = self._open.losers(sample)
        costly = self._open.too_costly(sample) if self._measure else []
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
        return self._costliness.guess(node) - _logarithm(self._open.best) - self._caution * self._costliness.error

    # -- the answer --------------------------------------------------------------------------------------------

    def result(self, stopped: bool) -> SearchResult:
        session = self._session
        undecided = self._open.undecided() if stopped else 0
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
            bound=min(best, self._open.least()) if undecided else best,
        )

    def _fall_back(self, stopped: bool) -> None:
        """A budget may end before any allowed node was asked for; inherited acceptance still gives an answer."""
        node = self._open.acceptable()
        if node is None:
            raise self._session.infeasible(stopped)
        self._note(node, self._session.score(node))
