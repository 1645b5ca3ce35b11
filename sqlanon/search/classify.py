"""Decides which of a set of nodes are acceptable, asking for as few as it can.

Shared by the algorithms that go by monotonicity alone. Where the requirement is not monotone only its monotone part,
if it has one, decides nodes that were not asked for: those that suppress too much already.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import log, log2

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import Verdict
from sqlanon.search.forecast import Forecast, remaining_bits
from sqlanon.search.sample import Sample
from sqlanon.search.session import BATCH, Session

CAUTION = 0.3
"""How much of the forecast's error a guess must clear before it is acted on."""


class Classifier:
    """Asks through a session, and learns which questions settle most."""

    def __init__(self, session: Session) -> None:
        self._session = session
        rows = max(2, session.evaluator.rows)
        bits = remaining_bits(session.objective.context)
        self._forecast = Forecast(bits, slope=0.9, top=-0.45 * log2(rows))
        for verdict in session.recall():
            self._learn(verdict)

    def ask(self, nodes: Iterable[Node]) -> None:
        """Ask for these nodes and learn from the verdicts."""
        for verdict in self._session.check(nodes):
            self._learn(verdict)

    def settle_some(self, wanted: int, most: int) -> None:
        """One batch of questions, chosen to decide as many of the wanted nodes as possible."""
        open_nodes = wanted & self._session.marking.undecided
        sample = Sample(self._session.coding, open_nodes)
        if not self._session.evaluator.monotone and not self._session.evaluator.relaxed:
            self.ask(sample.nodes[:most])
            return
        steps = self._forecast.steps()
        self.ask(sample.questions(most, lambda index: self._question(sample, sample.nodes[index], steps)))

    def settle(self, wanted: int) -> None:
        """Ask until every wanted node is decided."""
        while wanted & self._session.marking.undecided:
            self.settle_some(wanted, BATCH)

    def likeliest(self, wanted: int, most: int) -> list[Node]:
        """The undecided wanted nodes guessed to suppress least."""
        sample = Sample(self._session.coding, wanted & self._session.marking.undecided)
        return sorted(sample.nodes, key=self._forecast.guess)[:most]

    def _question(self, sample: Sample, start: Node, steps: list[list[float]]) -> tuple[Node, int]:
        guess = self._forecast.guess(start)
        slack = abs(guess) - CAUTION * self._forecast.error
        if slack < 0:
            return start, 0
        if guess > 0:
            node = sample.climb(start, steps, slack, sample.left, self._session.verdicts)
            return node, sample.below(node)
        if not self._session.evaluator.monotone:
            return start, 0
        node = sample.descend(start, steps, slack, sample.left, self._session.verdicts)
        return node, sample.above(node)

    def _learn(self, verdict: Verdict) -> None:
        evaluator = self._session.evaluator
        known = verdict.least if evaluator.relaxed else verdict.suppressed
        excess = log((known + 1) / (evaluator.limit + 1))
        self._forecast.learn(verdict.node, excess)
