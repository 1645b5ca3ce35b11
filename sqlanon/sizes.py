"""How many classes a node has, before it is evaluated: what the cost model of roll-ups goes by.

Pure. Starts from the columns' entropies and learns from every node that was counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log2
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

    @property
    def ready(self) -> bool:
        return bool(self._entropies)

    def prepare(self, levels: Sequence[Sequence[LevelFigures]], rows: int) -> None:
        """Take the entropies of the columns; estimates can be asked for afterwards."""
        self._entropies = [[(column[-1].entropy - level.entropy) / rows for level in column] for column in levels]

    def learn(self, node: Node, classes: int) -> None:
        self._known[node] = classes

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
        told = [other for other in self._known if self._known[other] > 1 and self._lost(other) > 0]
        if not told:
            return PRIOR
        told.sort(key=lambda other: sum(abs(mine - its) for mine, its in zip(node, other, strict=True)))
        return median(log2(self._combinations / self._known[other]) / self._lost(other) for other in told[:NEAREST])
