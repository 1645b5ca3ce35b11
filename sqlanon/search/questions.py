"""Questions worth asking: guesses of what the database would say of a node, and the few that settle most nodes.

Guesses choose the order of questions and are never trusted: no verdict follows from one. Asks through the session only.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import accumulate
from math import log, log2
from operator import getitem

from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import Context, Verdict
from sqlanon.search.node_sets import Coding, members
from sqlanon.search.session import BATCH, SearchSession

Bits = tuple[tuple[float, ...], ...]
"""For each column, for each level: how much a value still tells, in bits."""


def remaining_bits(context: Context) -> Bits:
    """The entropy of the column at each level: what its top has lost, less what the level has lost."""
    return tuple(
        tuple(max(0.0, levels[-1].entropy - figures.entropy) / max(1, context.rows) for figures in levels)
        for levels in context.levels
    )


class Forecast:
    """A linear model over the bits that each column still tells, by recursive least squares.

    Learns from what the database has said of other nodes.
    """

    def __init__(self, bits: Bits, slope: float, top: float) -> None:
        """At first the guess is `top` for the node that tells nothing, and `slope` more for each bit."""
        size = len(bits) + 1
        self._bits = bits
        self._weights = [slope] * len(bits) + [top]
        self._spread = [[0.25 if row == column else 0.0 for column in range(size)] for row in range(size)]
        self._spread[-1][-1] = 9.0
        self._steps: list[list[float]] = []
        self.error = 0.5
        """About how far guesses are off."""

    def guess(self, node: Node) -> float:
        return sum(map(getitem, self.steps(), node), self._weights[-1])

    def steps(self) -> list[list[float]]:
        """For each column, for each level: what it contributes to a guess."""
        if not self._steps:
            weights = self._weights[:-1]
            self._steps = [
                [weight * bits for bits in levels] for weight, levels in zip(weights, self._bits, strict=True)
            ]
        return self._steps

    def learn(self, node: Node, value: float, matters: float = 0.0) -> None:
        """The value that was seen. Values near the one that matters count most: there guesses decide something."""
        features = self._features(node)
        missed = value - self.guess(node)
        self.error = 0.95 * self.error + 0.05 * abs(missed)
        self._steps = []
        projected = [_dot(row, features) for row in self._spread]
        scale = 1 + (value - matters) ** 2 + _dot(features, projected)
        for position, amount in enumerate(projected):
            self._weights[position] += amount / scale * missed
            self._spread[position] = [
                old - amount / scale * other for old, other in zip(self._spread[position], projected, strict=True)
            ]

    def _features(self, node: Node) -> list[float]:
        return [*(levels[level] for levels, level in zip(self._bits, node, strict=True)), 1.0]


def _dot(left: Sequence[float], right: Sequence[float]) -> float:
    return sum(one * other for one, other in zip(left, right, strict=True))


MOST = 2048
"""Nodes in a sample. Fewer open nodes than this are all in it."""
STARTS = 6
"""From how many members, besides the last one, the next question is looked for."""
SPARSE = 20
"""A set is sparse when fewer than one in so many nodes are members."""
EAGERNESS = 0.3
"""How little it matters what a step costs of the slack, against how many members it settles."""


class Sample:
    """Open nodes, numbered in vector order, and those of them that no planned question settles yet.

    A handful of the open nodes, so that planning questions costs the same on lattices of any size.
    """

    def __init__(self, lattice: Lattice, nodes: Sequence[Node], numbers: Sequence[int] = ()) -> None:
        """`numbers` are those of the nodes, where sets of nodes are bits."""
        self.nodes = nodes
        self.numbers = numbers
        self.left = (1 << len(nodes)) - 1
        self._lattice = lattice
        self._at_most, self._at_least = self._levels()

    @classmethod
    def of(cls, coding: Coding, open_nodes: int) -> Sample:
        """A sample of a set of nodes."""
        numbers = _some_members(open_nodes)
        return cls(coding.lattice, [coding.node(number) for number in numbers], numbers)

    def questions(self, most: int, question: Callable[[int], tuple[Node, int]]) -> list[Node]:
        """Up to so many questions, each the one that settles most of what those before it leave open.

        `question` proposes a node to ask for on behalf of one member, and says which members it may settle.
        """
        planned: dict[Node, None] = {}
        while self.left and len(planned) < most:
            proposals = {index: question(index) for index in self._starts()}
            index = max(proposals, key=lambda start: (proposals[start][1].bit_count(), start))
            node, settled = proposals[index]
            planned[node] = None
            self.left &= ~(settled | 1 << index)
        return list(planned)

    def _starts(self) -> set[int]:
        """A few members that are still open: the last one, which has none above it, and some spread over the rest."""
        last = self.left.bit_length() - 1
        starts = {last}
        for part in range(STARTS):
            rest = self.left >> (last * part // STARTS)
            starts.add(last * part // STARTS + (rest & -rest).bit_length() - 1)
        return starts

    def index_of(self, nodes: Iterable[Node]) -> int:
        """Those of these nodes that are members."""
        places = {node: index for index, node in enumerate(self.nodes)}
        return sum(1 << places[node] for node in nodes if node in places)

    def within(self, bits: int) -> int:
        """The members that lie in a set of nodes of the lattice."""
        octets = bits.to_bytes(self._lattice.size // 8 + 1, "little")
        return int("".join("01"[octets[number >> 3] >> (number & 7) & 1] for number in reversed(self.numbers)), 2)

    def below(self, node: Node) -> int:
        """The members that `node` generalizes."""
        return self._meet(self._at_most, node)

    def above(self, node: Node) -> int:
        """The members that generalize `node`."""
        return self._meet(self._at_least, node)

    def climb(
        self, start: Node, steps: Sequence[Sequence[float]], slack: float, among: int, known: Container[Node]
    ) -> Node:
        """Generalize as long as the guess falls by no more than `slack`, each time settling as many as possible."""
        return self._walk(start, steps, slack, lambda node: (self.below(node) & among).bit_count(), known, +1)

    def descend(
        self, start: Node, steps: Sequence[Sequence[float]], slack: float, among: int, known: Container[Node]
    ) -> Node:
        """Specialize as long as the guess moves by no more than `slack`, each time settling as many as possible."""
        return self._walk(start, steps, slack, lambda node: (self.above(node) & among).bit_count(), known, -1)

    def _walk(
        self,
        start: Node,
        steps: Sequence[Sequence[float]],
        slack: float,
        settles: Callable[[Node], int],
        known: Container[Node],
        direction: int,
    ) -> Node:
        node, settled = start, settles(start)
        while True:
            options = []
            for moved, column in self._neighbours(node, direction):
                spent = abs(steps[column][node[column]] - steps[column][moved[column]])
                if spent <= slack and moved not in known:
                    count = settles(moved)
                    options.append(((count - settled) / (spent + EAGERNESS), -spent, moved, count))
            if not options:
                return node
            _, spent, node, settled = max(options)
            slack += spent

    def _neighbours(self, node: Node, direction: int) -> Iterator[tuple[Node, int]]:
        end = self._lattice.top if direction > 0 else self._lattice.bottom
        for column, level in enumerate(node):
            if level != end[column]:
                yield (*node[:column], level + direction, *node[column + 1 :]), column

    def _meet(self, sets: Sequence[Sequence[int]], node: Node) -> int:
        bits = self.left
        for column, level in enumerate(node):
            bits &= sets[column][level]
        return bits

    def _levels(self) -> tuple[list[list[int]], list[list[int]]]:
        """For each column, for each level: the members at that level or below, and at that level or above."""
        at_most, at_least = [], []
        for column, top in enumerate(self._lattice.top):
            exactly = [0] * (top + 1)
            for index, node in enumerate(self.nodes):
                exactly[node[column]] |= 1 << index
            at_most.append(list(accumulate(exactly, int.__or__)))
            at_least.append(list(accumulate(reversed(exactly), int.__or__))[::-1])
        return at_most, at_least


def _some_members(bits: int) -> list[int]:
    """All members of a small set; of a large one, members drawn at random, always the same ones."""
    count, size = bits.bit_count(), bits.bit_length()
    draw = random.Random(count)
    if count <= MOST:
        return list(members(bits))
    if count * SPARSE < size:
        return sorted(draw.sample(list(members(bits)), MOST))
    # In a dense set most places drawn are members: far faster than to list half a million of them.
    digits = bin(bits)[:1:-1]
    drawn: set[int] = set()
    while len(drawn) < MOST:
        place = int(draw.random() * size)
        if digits[place] == "1":
            drawn.add(place)
    return sorted(drawn)


CAUTION = 0.3
"""How much of the forecast's error a guess must clear before it is acted on."""


class Classifier:
    """Asks through a session, and learns which questions settle most.

    Decides which of a set of nodes are acceptable, for the algorithms that go by monotonicity alone. Where the
    requirement is not monotone only its monotone part, if it has one, decides nodes that were not asked for: those that
    suppress too much already.
    """

    def __init__(self, session: SearchSession) -> None:
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
        sample = Sample.of(self._session.coding, open_nodes)
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
        sample = Sample.of(self._session.coding, wanted & self._session.marking.undecided)
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
