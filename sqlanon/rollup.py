"""Roll-up (LeFevre et al., Incognito): frequency sets of lower nodes, kept because upper nodes are tiny beside them.

Decides which sets to materialize and which set a node is evaluated on. The cost of a node is taken as the rows it
reads; a set pays when the nodes that would use it save more than making it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import log2

from sqlanon.lattice import Node, dominates
from sqlanon.metrics.base import LevelFigures
from sqlanon.scratch import Scratch
from sqlanon.sqlgen.nodes import Shape, roll_up
from sqlanon.sqlgen.relations import Table

SMALL = 20_000
"""Rows that are read faster than a statement is planned: below this no set is worth making."""

SHRINKAGE = 4.0
"""A set must have this many times fewer rows than the one it is made from."""

MOST_SETS = 24
"""Sets kept at a time; with the bound on their rows this bounds scratch space."""

Figures = Callable[[], Sequence[Sequence[LevelFigures]]]


@dataclass
class FrequencySetOf:
    """A materialized set: the classes of `node`, fit to evaluate every generalization of it."""

    node: Node
    table: Table
    rows: int
    last_used: int = 0


class SizeEstimate:
    """How many classes a node has, before it is evaluated.

    If columns were independent and values equally likely, the logarithm of the number of classes would be the sum of
    the columns' entropies. Real columns are neither; one factor makes the estimate exact at the bottom.
    """

    def __init__(self, levels: Sequence[Sequence[LevelFigures]], rows: int, combinations: int) -> None:
        self._entropies = [[(column[-1].entropy - level.entropy) / rows for level in column] for column in levels]
        bottom = sum(column[0] for column in self._entropies)
        self._factor = log2(combinations) / bottom if combinations > 1 and bottom > 0 else 1.0

    def classes(self, node: Node) -> float:
        """The estimated number of classes."""
        return float(
            2 ** (self._factor * sum(column[level] for column, level in zip(self._entropies, node, strict=True)))
        )


class RollUps:
    """The materialized sets of one run."""

    def __init__(self, root: FrequencySetOf, shape: Shape, scratch: Scratch, rows: int, figures: Figures) -> None:
        self._root = root
        self._shape = shape
        self._scratch = scratch
        self._rows = rows
        self._figures = figures
        self._estimate: SizeEstimate | None = None
        self._sets: list[FrequencySetOf] = []
        self._clock = 0
        self._made = 0

    def tables(self, nodes: Sequence[Node]) -> dict[Node, Table]:
        """The set to evaluate each node on; makes new sets first where that pays for these nodes."""
        self._clock += 1
        costly = [node for node in nodes if self._best(node).rows > SMALL]
        for cluster in self._clusters(costly):
            self._materialize(_meet(cluster))
        return {node: self._used(self._best(node)).table for node in nodes}

    def _best(self, node: Node) -> FrequencySetOf:
        """The smallest set that can answer for a node."""
        return min((s for s in self._sets if dominates(node, s.node)), key=lambda s: s.rows, default=self._root)

    def _used(self, chosen: FrequencySetOf) -> FrequencySetOf:
        chosen.last_used = self._clock
        return chosen

    def _clusters(self, nodes: Sequence[Node]) -> list[list[Node]]:
        """Nodes that share a set worth making: two or more under one meet that is much smaller than what they have."""
        clusters: list[list[Node]] = []
        for node in sorted(nodes):
            for cluster in clusters:
                if self._is_small(_meet([*cluster, node])):
                    cluster.append(node)
                    break
            else:
                clusters.append([node])
        return [cluster for cluster in clusters if len(cluster) > 1]

    def _is_small(self, node: Node) -> bool:
        return self._size(node) * SHRINKAGE <= self._best(node).rows

    def _size(self, node: Node) -> float:
        if self._estimate is None:
            self._estimate = SizeEstimate(self._figures(), self._rows, self._root.rows)
        return self._estimate.classes(node)

    def _materialize(self, node: Node) -> None:
        source = self._best(node)
        if source.node == node:
            return
        self._make_room()
        self._made += 1
        table, rows = self._scratch.create_counted(
            "roll up", f"r{self._made}", roll_up(self._used(source).table, node, self._shape)
        )
        self._sets.append(FrequencySetOf(node, table, rows, self._clock))

    def _make_room(self) -> None:
        """Sets together never outgrow the root; the one not used for longest goes first."""
        while self._sets and (len(self._sets) >= MOST_SETS or sum(s.rows for s in self._sets) > self._root.rows):
            oldest = min(self._sets, key=lambda s: s.last_used)
            self._sets.remove(oldest)
            self._scratch.drop(oldest.table)


def _meet(nodes: Sequence[Node]) -> Node:
    """The highest node below all of these."""
    return tuple(min(levels) for levels in zip(*nodes, strict=True))
