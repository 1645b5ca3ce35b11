"""The seam between search and database: an evaluator that answers what a node costs.

Algorithms see only `Evaluator`; they know no SQL. A QI subset is a full node whose other columns stand at their top
(a top is one value), so one kind of node serves every algorithm.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import LevelFigures, Verdict

__all__ = ["Evaluator", "LevelFigures", "Progress", "Verdict"]

Progress = Callable[[int, int], None]
"""Told now and then how many nodes were evaluated, and how many are still undecided."""


class Evaluator(Protocol):
    """Answers for nodes. Asking twice for one node costs nothing the second time."""

    @property
    def lattice(self) -> Lattice:
        """The nodes that may be chosen."""

    @property
    def heights(self) -> Node:
        """The top level of every column, also where the lattice ends below it."""

    @property
    def leaves(self) -> Sequence[int]:
        """For each column: the leaves of its whole hierarchy (D of the measures)."""

    @property
    def rows(self) -> int:
        """Rows of the source."""

    @property
    def limit(self) -> int:
        """The most rows that may be suppressed."""

    @property
    def monotone(self) -> bool:
        """Whether generalizing a node can only lower its suppression, so that verdicts may be inherited."""

    @property
    def relaxed(self) -> bool:
        """Whether verdicts of a requirement that is not monotone say what all nodes below suppress at least."""

    @property
    def checks(self) -> int:
        """Nodes the database has evaluated so far."""

    def known(self) -> Sequence[Verdict]:
        """The verdicts that cost nothing, because the database gave them before."""

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        """The verdicts of these nodes, in their order; one batch of queries. Nodes may lie outside the lattice."""

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        """As `check`, with the figures that the metrics need."""

    def level_figures(self) -> Sequence[Sequence[LevelFigures]]:
        """For each column, for each level from 0 to its top: the figures of that level alone."""
