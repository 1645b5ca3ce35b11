"""Roll-up (LeFevre et al., Incognito): frequency sets of lower nodes, kept because upper nodes are tiny beside them.

Decides which sets to materialize and which set a node is evaluated on. The cost of a node is taken as the rows it
reads; a set is made when the nodes that would use it save more than making it costs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations

from sqlanon.evaluation.sizes import Sizes
from sqlanon.evaluation.statements import roll_up
from sqlanon.hierarchies.lattice import Node, dominates
from sqlanon.metrics.base import LevelFigures
from sqlanon.source.frequency_statements import Shape
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table

SMALL = 30_000
"""Rows that an embedded engine reads faster than it plans a statement: below this no set is worth making."""

MAKING = 3.0
"""What making a set costs, in readings of the set it is made from; measured, it is cheaper to make too few."""

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


class RollUps:
    """The materialized sets of one run."""

    def __init__(self, root: FrequencySetOf, shape: Shape, scratch: Scratch, rows: int, figures: Figures) -> None:
        self._root = root
        self._shape = shape
        self._scratch = scratch
        self._rows = rows
        self._figures = figures
        self._sets: list[FrequencySetOf] = []
        self._clock = 0
        self.sizes = Sizes(root.rows)

    def tables(self, nodes: Sequence[Node]) -> dict[Node, Table]:
        """The set to evaluate each node on; makes new sets first where that pays for these nodes."""
        self._clock += 1
        while (node := self._worth_making(nodes)) is not None:
            self._materialize(node)
        return {node: self._used(self._best(node)).table for node in nodes}

    def small_tables(self) -> set[Table]:
        """The tables of sets that are read faster than a statement of their own is planned."""
        together = self._scratch.engine.traits.nodes_together
        return {item.table for item in (self._root, *self._sets) if together or item.rows <= self._small}

    @property
    def _small(self) -> int:
        return SMALL * self._scratch.engine.traits.statement_cost

    def _best(self, node: Node) -> FrequencySetOf:
        """The smallest set that can answer for a node."""
        return min((s for s in self._sets if dominates(node, s.node)), key=lambda s: s.rows, default=self._root)

    def _used(self, chosen: FrequencySetOf) -> FrequencySetOf:
        chosen.last_used = self._clock
        return chosen

    def _worth_making(self, nodes: Sequence[Node]) -> Node | None:
        """The set that would save most for these nodes, if any saves more than it costs."""
        costly = [(node, self._best(node).rows) for node in nodes]
        costly = [(node, rows) for node, rows in costly if rows > self._small]
        if len(costly) < 2:
            return None
        if not self.sizes.ready:
            self.sizes.prepare(self._figures(), self._rows)
        best, most = None, 0.0
        for hope, candidate, covered in self._candidates(costly):
            if hope <= most:
                break
            gain = self._gain(candidate, covered)
            if gain > most:
                best, most = candidate, gain
        return best

    def _candidates(self, costly: Sequence[tuple[Node, int]]) -> list[tuple[float, Node, list[int]]]:
        """Sets that two nodes or more could use, the most hopeful first: what an empty set would save, the set, and
        the rows that its users read now.
        """
        found: list[tuple[float, Node, list[int]]] = []
        for candidate in {_meet(pair) for pair in combinations([node for node, _ in costly], 2)}:
            covered = [rows for node, rows in costly if dominates(node, candidate)]
            hope = sum(covered) - MAKING * self._best(candidate).rows
            if hope > 0:
                found.append((hope, candidate, covered))
        return sorted(found, reverse=True)

    def _gain(self, candidate: Node, covered: Sequence[int]) -> float:
        """Rows that need not be read, less the rows read to make the set."""
        size = self.sizes.estimate(candidate)
        saved = sum(max(rows - size, 0.0) for rows in covered)
        return saved - MAKING * self._best(candidate).rows

    def _materialize(self, node: Node) -> None:
        source = self._used(self._best(node))
        self._make_room()
        query = roll_up(source.table, node, self._shape)
        table, rows = self._scratch.create_counted("roll up", self._scratch.numbered("r"), query)
        self.sizes.learn(node, rows)
        self._sets.append(FrequencySetOf(node, table, rows, self._clock))

    def _make_room(self) -> None:
        """Before a set is made, those kept hold at most twice the root's rows; the longest unused go, none in use."""
        idle = sorted((s for s in self._sets if s.last_used < self._clock), key=lambda s: s.last_used)
        while idle and (len(self._sets) >= MOST_SETS or sum(s.rows for s in self._sets) > 2 * self._root.rows):
            oldest = idle.pop(0)
            self._sets.remove(oldest)
            self._scratch.drop(oldest.table)


def _meet(nodes: Sequence[Node]) -> Node:
    """The highest node below all of these."""
    return tuple(min(levels) for levels in zip(*nodes, strict=True))
