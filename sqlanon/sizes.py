"""How many classes a node has, before it is evaluated: what the cost model of roll-ups goes by.

Pure. Starts from the columns' entropies and learns from every node that was counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from math import log2
from operator import sub
from statistics import median

from sqlanon.lattice import Node, dominates
from sqlanon.metrics.base import LevelFigures

NEAREST = 5
"""Counted nodes whose experience an estimate goes by."""

PRIOR = 0.5
"""The exponent before anything is known: merging values merges fewer classes than independence would have it."""


class Sizes:
    """Estimates of the number of classes of nodes.

    If columns were independent and cells full, generalizing would shrink the number of classes by the loss of entropy.
    Real tables are sparse: it shrinks by a power of that, which is taken from the nearest nodes already counted.
    """

    def __init__(self, combinations: int) -> None:
        self._combinations = combinations
        self._entropies: list[list[float]] = []
        self._known: dict[Node, int] = {}
        self._exponents: dict[Node, float] = {}

    @property
    def ready(self) -> bool:
        return bool(self._entropies)

    def prepare(self, levels: Sequence[Sequence[LevelFigures]], rows: int) -> None:
        """Take the entropies of the columns; estimates can be asked for afterwards."""
        self._entropies = [[(column[-1].entropy - level.entropy) / rows for level in column] for column in levels]
        for node in self._known:
            self._note_exponent(node)

    def learn(self, node: Node, classes: int) -> None:
        """Note how many classes a node really has."""
        self._known[node] = classes
        if self._entropies and classes > 1:
            self._note_exponent(node)

    def _note_exponent(self, node: Node) -> None:
        lost = self._lost(node)
        if lost > 0 and self._known[node] > 1:
            self._exponents[node] = log2(self._combinations / self._known[node]) / lost

    def estimate(self, node: Node) -> float:
        """The number of classes; exact where the node was counted."""
        if node in self._known:
            return float(self._known[node])
        expected = self._combinations * 2 ** -(self._exponent(node) * self._lost(node))
        fewest = max((size for other, size in self._known.items() if dominates(other, node)), default=1)
        most = min((size for other, size in self._known.items() if dominates(node, other)), default=self._combinations)
        return float(min(max(expected, fewest), most))

    def _lost(self, node: Node) -> float:
        """Bits of entropy that generalizing to a node gives up."""
        return sum(column[0] - column[level] for column, level in zip(self._entropies, node, strict=True))

    def _exponent(self, node: Node) -> float:
        """How strongly lost entropy shrank the nearest counted nodes."""
        if not self._exponents:
            return PRIOR
        nearest = nsmallest(NEAREST, self._exponents, key=lambda other: _distance(node, other))
        return median(self._exponents[other] for other in nearest)


def _distance(left: Node, right: Node) -> int:
    return sum(map(abs, map(sub, left, right)))
