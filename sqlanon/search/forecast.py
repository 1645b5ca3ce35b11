"""Guesses what the database would say of a node, learned from what it has said: which nodes are worth asking about.

Pure, and never trusted: guesses choose the order of questions, no verdict follows from one.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import getitem

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import Context

Bits = tuple[tuple[float, ...], ...]
"""For each column, for each level: how much a value still tells, in bits."""


def remaining_bits(context: Context) -> Bits:
    """The entropy of the column at each level: what its top has lost, less what the level has lost."""
    return tuple(
        tuple(max(0.0, levels[-1].entropy - figures.entropy) / max(1, context.rows) for figures in levels)
        for levels in context.levels
    )


class Forecast:
    """A linear model over the bits that each column still tells, by recursive least squares."""

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
