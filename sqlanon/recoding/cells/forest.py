"""The forest of Aggarwal et al. (chapter, section 3.2.3): vertices in groups of at least k rows, all by SQL.

Every vertex below k rows knows its nearest neighbours; the root of each tree below k rows takes an edge to the nearest
one elsewhere, in rounds, then large trees are cut. Edges cost no more than any solution, and each is used by one group
of at most 3k - 3 rows: that is the factor by which the forest costs more than the optimum at most.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import InfeasibleError
from sqlanon.recoding.cells import forest_statements as forest_sql
from sqlanon.recoding.cells import statements as neighbours_sql
from sqlanon.recoding.cells.statements import Steps
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table

MOST_PAIRS = 10_000_000
"""Pairs of vertices whose distance is computed at most; beyond, neighbours are looked for in windows of orders."""
LEAST_WINDOW = 8
"""Places before and after a vertex, in each order, where its neighbours are looked for."""


@dataclass(frozen=True)
class Neighbours:
    """The nearest vertices of each vertex below k rows."""

    table: Table
    exact: bool
    """All pairs were compared; otherwise nearer ones may have been missed, and no factor is proven."""
    pairs: int


@dataclass
class Forest:
    """The vertices of a recoding, in the database."""

    engine: Engine
    scratch: Scratch
    vertices: Table
    steps: Sequence[Steps]
    k: int
    rounds: int = 0
    """Rounds of growing and of cutting, so far."""

    def neighbours(self, times: int = 1) -> Neighbours:
        """Find the neighbours, so many times as many as a vertex needs; InfeasibleError for fewer than k rows."""
        [(count, small, rows)] = self._ask(neighbours_sql.sizes(self.vertices, self.k))
        if rows < self.k:
            raise InfeasibleError(f"the source has {rows} rows, fewer than k = {self.k}: no release can satisfy it")
        pairs = int(count) * int(small)
        if pairs <= MOST_PAIRS:
            every = neighbours_sql.every_pair(self.vertices, self.steps, self.k)
            return Neighbours(self._create("near", neighbours_sql.nearest(every, times)), True, pairs)
        window = max(self.k - 1, LEAST_WINDOW)
        placed = self._create("placed", neighbours_sql.positions(self.vertices, self.steps))
        found = neighbours_sql.neighbours_in_orders(placed, self.steps, self.k, window)
        near = self._create("near", neighbours_sql.nearest(found, times))
        self.scratch.drop(placed)
        return Neighbours(near, False, 2 * window * len(self.steps) * int(small))

    def groups(self, near: Table) -> Table:
        """Grow the forest and cut it: vertex `v`, its rows `a` to `b`, group `g`."""
        components, edges = self._grown(near)
        sizes = self._create("sizes", forest_sql.component_rows(self.vertices, components))
        large = self._create("large", forest_sql.large(self.vertices, sizes, self.k))
        bundles, members = self._cut(components, large, edges)
        groups = forest_sql.groups(self.vertices, components, large, members, bundles, self.k)
        found = self._create("groups", groups)
        self.scratch.drop(components, edges, sizes, large, bundles, members)
        return found

    def _grown(self, near: Table) -> tuple[Table, Table]:
        components = self._create("part0", forest_sql.every_vertex_alone(self.vertices))
        moves: list[Table] = []
        while True:
            self.rounds += 1
            number = self.rounds
            sizes = self._create("sizes", forest_sql.component_rows(self.vertices, components))
            wished = self._create("wished", forest_sql.wishes(components, sizes, near, self.k, number))
            moved, granted = self.scratch.create_counted("forest", f"moved{number}", forest_sql.moved(wished))
            self.scratch.drop(sizes, wished)
            moves.append(moved)
            if not granted:
                break
            merged = self._create(f"part{number}", forest_sql.merged(components, moved))
            self.scratch.drop(components)
            components = merged
        edges = self._create("edges", forest_sql.edges(moves, self.vertices))
        self.scratch.drop(*moves)
        return components, edges

    def _cut(self, components: Table, large: Table, edges: Table) -> tuple[Table, Table]:
        """Let bundles of rows go up to the roots, pair by pair; what comes to k rows is cut off as a group."""
        bundles = self._create("b0", forest_sql.bundles_at_start(self.vertices, components, large))
        members = self._create("m0", forest_sql.members_at_start(bundles))
        while int(self._ask(forest_sql.unfinished(bundles, large))[0][0]):
            self.rounds += 1
            paired = self._create("paired", forest_sql.paired(bundles, self.k))
            joined = self._create(f"m{self.rounds}", forest_sql.members_after(members, paired))
            waiting = self._create("waiting", forest_sql.bundles_after(paired))
            passed = self._create(f"b{self.rounds}", forest_sql.passed(waiting, edges))
            self.scratch.drop(bundles, members, paired, waiting)
            bundles, members = passed, joined
        return bundles, members

    def _create(self, name: str, query: exp.Query) -> Table:
        return self.scratch.create("forest", f"f_{name}", query)

    def _ask(self, query: exp.Query) -> list[tuple[int, ...]]:
        return [tuple(int(number or 0) for number in row) for row in self.engine.query(Statement("forest", query))]
