"""A handful of the nodes that are still open, and how many of them one verdict would settle.

Pure. Questions are planned on a sample, so that planning costs the same on lattices of any size.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import accumulate

from sqlanon.hierarchies.lattice import Node
from sqlanon.search.coding import Coding, members

MOST = 2048
"""Nodes in a sample. Fewer open nodes than this are all in it."""
STARTS = 6
"""From how many members, besides the last one, the next question is looked for."""
SPARSE = 20
"""A set is sparse when fewer than one in so many nodes are members."""
EAGERNESS = 0.3
"""How little it matters what a step costs of the slack, against how many members it settles."""


class Sample:
    """Open nodes, numbered in vector order, and those of them that no planned question settles yet."""

    def __init__(self, coding: Coding, open_nodes: int) -> None:
        self.numbers = _some_members(open_nodes)
        self.nodes = [coding.node(number) for number in self.numbers]
        self.left = (1 << len(self.numbers)) - 1
        self._lattice = coding.lattice
        self._octets = coding.size // 8 + 1
        self._at_most, self._at_least = self._levels()

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

    def within(self, bits: int) -> int:
        """The members that lie in a set of nodes of the lattice."""
        octets = bits.to_bytes(self._octets, "little")
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
