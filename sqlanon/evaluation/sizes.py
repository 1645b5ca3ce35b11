"""How many classes a node has, before it is evaluated: what the cost model of roll-ups goes by.

Pure. Starts from the columns' entropies and learns from every node that was counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from heapq import nsmallest
from math import isnan, log2, nan
from operator import sub
from statistics import median

from sqlanon.hierarchies.lattice import Node, dominates
from sqlanon.metrics.base import LevelFigures

NEAREST = 5
"""Counted nodes whose experience an estimate goes by."""

RECENT = 64
"""Nodes counted last that an estimate looks at: those before lie elsewhere in the lattice, and looking costs time."""

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
        self._recent: dict[Node, float] = {}
        """The nodes counted last, each with the exponent it showed; nan where it showed none."""
        self._estimates: dict[Node, float] = {}

    @property
    def ready(self) -> bool:
        return bool(self._entropies)

    def prepare(self, levels: Sequence[Sequence[LevelFigures]], rows: int) -> None:
        """Take the entropies of the columns; estimates can be asked for afterwards."""
        self._entropies = [[(column[-1].entropy - level.entropy) / rows for level in column] for column in levels]
        for node in list(self._known)[-RECENT:]:
            self._recent[node] = self._shown(node)

    def learn(self, node: Node, classes: int) -> None:
        """Note how many classes a node really has."""
        self._known[node] = classes
        self._estimates.clear()
        if self._entropies:
            self._recent[node] = self._shown(node)
            if len(self._recent) > RECENT:
                del self._recent[next(iter(self._recent))]

    def estimate(self, node: Node) -> float:
        """The number of classes; exact where the node was counted."""
        if node in self._known:
            return float(self._known[node])
        if node not in self._estimates:
            self._estimates[node] = self._estimated(node)
        return self._estimates[node]

    def _estimated(self, node: Node) -> float:
        expected = self._combinations * 2 ** -(self._exponent(node) * self._lost(node))
        fewest = max((self._known[other] for other in self._recent if dominates(other, node)), default=1)
        most = min((self._known[other] for other in self._recent if dominates(node, other)), default=self._combinations)
        return float(min(max(expected, fewest), most))

    def _shown(self, node: Node) -> float:
        """The exponent that a counted node shows; none where nothing was lost or nothing is left."""
        lost = self._lost(node)
        return log2(self._combinations / self._known[node]) / lost if lost > 0 and self._known[node] > 1 else nan

    def _lost(self, node: Node) -> float:
        """Bits of entropy that generalizing to a node gives up."""
        return sum(column[0] - column[level] for column, level in zip(self._entropies, node, strict=True))

    def _exponent(self, node: Node) -> float:
        """How strongly lost entropy shrank the nearest counted nodes."""
        told = [other for other, exponent in self._recent.items() if not isnan(exponent)]
        if not told:
            return PRIOR
        nearest = nsmallest(NEAREST, told, key=lambda other: _distance(node, other))
        return median(self._recent[other] for other in nearest)


def _distance(left: Node, right: Node) -> int:
    return sum(map(abs, map(sub, left, right)))
