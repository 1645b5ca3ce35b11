"""Approximations by matchings (Aggarwal et al.; chapter, section 3.2.3): for k = 2 and for k = 3.

k = 2 costs 1.5 times the optimum on Boolean data at most, twice on others. The database finds the neighbours and all
pairs that can save something; Python holds these pairs, numbers of vertices with distances, at most MOST_PAIRS.

k = 3 costs twice the optimum on Boolean data at most, three times on others. Rows go into circles of three and more
that are as short as can be (a least 2-factor), and circles are cut into groups of three to five. Python holds the codes
of combinations, never a value.

networkx, an extra, finds the matchings. The groups go back as a table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, pairwise
from typing import Any

from sqlanon.engines.base import Statement
from sqlanon.errors import UsageError
from sqlanon.recoding.base import Recoded
from sqlanon.recoding.cells import recoder as cells_recoder
from sqlanon.recoding.cells import statements as pairs_sql
from sqlanon.recoding.cells.exact import Codes, Vertex, loaded, pieces_of, price_of, stored
from sqlanon.recoding.cells.recoder import Cells, Divided
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.sql.relations import Table

MOST_PAIRS = 10_000
"""Pairs of single rows that Python holds at most."""
MOST_ROWS = 100
"""For k = 3: rows of combinations with one or two rows; they are what takes time."""
MOST_COMBINATIONS = 5_000
"""For k = 3: combinations whose codes Python holds."""

Pair = tuple[int, int]
Stub = tuple[int, int, int]
"""What is matched for k = 3: a combination, the number of one of its rows, 0 or 1 for the two edges that meet there."""
FIRST, LAST = 2, 3
"""In the place of the 0 or 1: the ends of an edge between the two combinations that stand before."""


def recode(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Recode cells by a matching."""
    return cells_recoder.recode(run, base, stored, by_matching)


def by_matching(cells: Cells) -> Divided:
    """Groups of two and three rows, or of three to five."""
    if cells.run.binding.k not in {2, 3}:
        raise UsageError(f"search.algorithm: matching is for k = 2 and k = 3, not {cells.run.binding.k}; take forest")
    forest = cells.forest()
    near = cells.neighbours(forest)
    boolean = all(domain.values <= 2 for domain in cells.made.domains)
    if cells.run.binding.k == 3:
        found, least = _in_circles(cells, boolean)
        return Divided(forest, found, near, 2.0 if boolean else 3.0, least)
    if not near.exact:
        raise UsageError(
            f"search.algorithm: matching compares all pairs of combinations, and there are {near.pairs} at least; "
            f"take forest"
        )
    engine = cells.run.engine
    [(number,)] = engine.query(Statement("matching", pairs_sql.saving_count(cells.vertices, cells.steps, near.table)))
    if int(number) > MOST_PAIRS:
        raise UsageError(
            f"search.algorithm: matching holds {MOST_PAIRS} pairs of rows at most, and there are {number}; take forest"
        )
    savings = engine.query(Statement("matching", pairs_sql.saving(cells.vertices, cells.steps, near.table)))
    saved = {(int(u), int(v)): int(gain) for u, v, gain in savings}
    nearest = {int(u): int(v) for u, v in engine.query(Statement("matching", pairs_sql.nearest_of_singles(near.table)))}
    groups = groups_of_two(nearest, matched(saved))
    table = cells.run.scratch.create_text("matching", "c_pairs", ["v", "g"])
    engine.load(
        "matching", table, ["v", "g"], ((str(v), str(g)) for g, members in enumerate(groups, 1) for v in members)
    )
    divided = cells.create("matched", pairs_sql.groups(cells.vertices, table))
    return Divided(forest, divided, near, 1.5 if boolean else 2.0)


def _in_circles(cells: Cells, boolean: bool) -> tuple[Table, int]:
    """For k = 3: the groups, and what any groups cost at least."""
    combinations, _, _ = cells.ask(pairs_sql.sizes(cells.vertices, 3))
    if combinations > MOST_COMBINATIONS:
        raise UsageError(
            f"search.algorithm: matching for k = 3 holds {MOST_COMBINATIONS} combinations at most, and there are "
            f"{combinations}; take forest"
        )
    vertices, costs = loaded(cells), [item.costs for item in cells.steps]
    rows = sum(vertex.rows for vertex in vertices if vertex.rows < 3)
    if rows > MOST_ROWS:
        raise UsageError(
            f"search.algorithm: matching for k = 3 takes at most {MOST_ROWS} rows of combinations with fewer than "
            f"three rows, and there are {rows}; take forest"
        )
    length, circles = least_circles(vertices, costs)
    groups = groups_of_circles(vertices, costs, circles)
    # Of a group, the edges of some circle are at most two thirds of its cost on Boolean data, at most all of it else.
    return stored(cells, pieces_of(vertices, groups)), -(-3 * length // 2) if boolean else length


def matched(saved: Mapping[Pair, int]) -> list[Pair]:
    """The pairs that save most together, none sharing a vertex."""
    networkx = _networkx()
    graph = networkx.Graph()
    graph.add_weighted_edges_from((u, v, gain) for (u, v), gain in sorted(saved.items()))
    return sorted((min(pair), max(pair)) for pair in networkx.max_weight_matching(graph))


def _networkx() -> Any:
    try:
        import networkx
    except ImportError:
        raise UsageError(
            "search.algorithm: matching needs networkx: pip install 'sqlanon[matching]', or take forest"
        ) from None
    return networkx


def groups_of_two(nearest: Mapping[int, int], pairs: Iterable[Pair]) -> list[list[int]]:
    """Groups of two or three vertices, from a least edge cover: matched pairs, everybody else with its nearest.

    `nearest` has every single row; other vertices are of two rows or more and need nobody. Of a star, the leaves are
    paired with each other, which costs no more than their way over the centre.

    >>> groups_of_two({1: 2, 2: 1, 3: 2, 4: 2, 5: 9}, [(1, 2)])
    [[1, 3], [2, 4], [5, 9]]
    """
    partner = {u: v for pair in pairs for u, v in (pair, pair[::-1])}
    leaves: dict[int, list[int]] = {}
    for u, v in sorted(nearest.items()):
        if u not in partner:
            leaves.setdefault(v, []).append(u)
    for u, v in sorted(partner.items()):
        if u < v and not (u in leaves and v in leaves):
            centre, leaf = (v, u) if v in leaves else (u, v)
            leaves.setdefault(centre, []).append(leaf)
    groups: list[list[int]] = []
    for centre, found in sorted(leaves.items()):
        groups += _star(centre, sorted(found), single=centre in nearest)
    return sorted(groups)


def _star(centre: int, leaves: list[int], *, single: bool) -> list[list[int]]:
    """The leaves in pairs; the last one or two stay with a centre that needs somebody, or one with any other."""
    least = 1 if single else 0
    groups = []
    while len(leaves) - 2 >= least:
        groups.append([leaves.pop(0), leaves.pop(0)])
    return [*groups, sorted([centre, *leaves])] if leaves else groups


def least_circles(vertices: Sequence[Vertex], costs: Sequence[Sequence[int]]) -> tuple[int, list[list[int]]]:
    """Circles of three rows and more through all rows of combinations below three rows, and their length together.

    A circle names the places of its rows' combinations in order. Rows of larger combinations are in circles as others
    need them; a circle leads from one of those to another only through smaller ones, which is never longer. There are
    three rows or more.

    >>> rows = [Vertex(number, 1, ((a,), (b,))) for number, (a, b) in enumerate([(1, 1), (1, 2), (2, 1), (2, 2)], 1)]
    >>> least_circles(rows, [(1,), (1,)])
    (4, [[0, 1, 3, 2]])
    """
    apart = _Apart(vertices, costs)
    once: set[Pair] = set()
    while True:
        edges = _matched_stubs(vertices, apart, once)
        # Two single rows have one edge between them; it is forbidden to take it twice where that would save something.
        twice = {
            (u, v)
            for (u, v), times in Counter(edge for edge in edges if edge[0] != edge[1]).items()
            if times == 2 and vertices[u].rows == vertices[v].rows == 1
        }
        if not twice:
            break
        once |= twice
    return sum(apart.rows(u, v) for u, v in edges), [_of_three(vertices, circle) for circle in _circuits(edges)]


class _Apart:
    """The ways between small combinations: straight, or by the nearest large one."""

    def __init__(self, vertices: Sequence[Vertex], costs: Sequence[Sequence[int]]) -> None:
        self._codes, self._costs = [vertex.codes for vertex in vertices], costs
        self._large = [index for index, vertex in enumerate(vertices) if vertex.rows >= 3]
        self._to_large = {
            index: [self.rows(index, other) for other in self._large]
            for index, vertex in enumerate(vertices)
            if vertex.rows < 3
        }

    def rows(self, one: int, other: int) -> int:
        """What a row of one combination pays to look like a row of the other."""
        return 0 if one == other else price_of([self._codes[one], self._codes[other]], self._costs)

    def through(self, one: int, other: int) -> tuple[int, int] | None:
        """The shortest way by a large combination, and that one."""
        ways = zip(self._to_large[one], self._to_large[other], strict=True)
        return min(((sum(way), large) for way, large in zip(ways, self._large, strict=True)), default=None)


def _matched_stubs(vertices: Sequence[Vertex], apart: _Apart, once: set[Pair]) -> list[Pair]:
    """The edges of a matching of all stubs that is as short as can be; pairs of `once` are taken once at most."""
    stubs: list[Stub] = [
        (index, row, half)
        for index, vertex in enumerate(vertices)
        if vertex.rows < 3
        for row in range(vertex.rows)
        for half in (0, 1)
    ]
    ways: dict[Pair, tuple[int, int] | None] = {}
    found: dict[tuple[Stub, Stub], list[Pair]] = {}
    graph = _networkx().Graph()
    for one, other in combinations(stubs, 2):
        pair = (one[0], other[0])
        if pair not in ways:
            ways[pair] = apart.through(*pair)
        way = ways[pair]
        # The two rows of a combination have an edge between them that costs nothing, once.
        own = pair[0] == pair[1] and one[2] == other[2] == 0
        if own or (pair[0] != pair[1] and pair not in once):
            found[one, other] = [pair]
            graph.add_edge(one, other, weight=-apart.rows(*pair))
        elif way is not None:
            found[one, other] = [(pair[0], way[1]), (pair[1], way[1])]
            graph.add_edge(one, other, weight=-way[0])
    for pair in sorted(once):
        # Both ends of the edge are matched with each other (it is not taken), or each with a stub (it is, once).
        first, last = (*pair, FIRST), (*pair, LAST)
        graph.add_edge(first, last, weight=0)
        for half in (0, 1):
            graph.add_edge((pair[0], 0, half), first, weight=-apart.rows(*pair))
            graph.add_edge(last, (pair[1], 0, half), weight=0)
    edges: list[Pair] = []
    for one, other in map(sorted, _networkx().max_weight_matching(graph, maxcardinality=True)):
        if (one, other) in found:
            edges += found[one, other]
        else:
            edges += [end[:2] for end, to in ((one, other), (other, one)) if end[2] == FIRST and to[2] != LAST]
    return sorted((min(edge), max(edge)) for edge in edges)


def _circuits(edges: Sequence[Pair]) -> Iterator[list[int]]:
    """Closed ways that take every edge once: one for all that hangs together."""
    ways: dict[int, list[tuple[int, int]]] = {}
    for number, (u, v) in enumerate(edges):
        ways.setdefault(u, []).append((v, number))
        ways.setdefault(v, []).append((u, number))
    taken: set[int] = set()
    for start in sorted(ways):
        way, circuit = [start], []
        while way:
            onward = ways[way[-1]]
            while onward and onward[-1][1] in taken:
                onward.pop()
            if onward:
                place, number = onward.pop()
                taken.add(number)
                way.append(place)
            else:
                circuit.append(way.pop())
        if len(circuit) > 1:
            yield circuit[:-1]


def _of_three(vertices: Sequence[Vertex], circuit: list[int]) -> list[int]:
    """A circuit that has three rows at least, and of large combinations no more than they have, or as leaves three."""
    for index in sorted({index for index in circuit if vertices[index].rows >= 3}):
        rows, visits = vertices[index].rows, circuit.count(index)
        for _ in range(visits - rows):
            circuit.remove(index)
        left = rows - min(visits, rows)
        wanting = 1 if len(circuit) < 3 else 0
        if left and left - wanting < 3:
            wanting = left
        place = circuit.index(index)
        circuit[place:place] = [index] * wanting
    return circuit


def groups_of_circles(
    vertices: Sequence[Vertex], costs: Sequence[Sequence[int]], circles: Iterable[Sequence[int]]
) -> list[list[int]]:
    """Circles cut into groups of three to five rows wherever that is cheapest; rows in no circle stay as they are."""
    left = [vertex.rows for vertex in vertices]
    groups: list[list[int]] = []
    for circle in circles:
        turned = [[*circle[start:], *circle[:start]] for start in range(min(5, len(circle)))]
        cuts = [_cut([vertices[index].codes for index in way], costs) for way in turned]
        best = min(range(len(turned)), key=lambda start: (cuts[start][0], start))
        groups += [turned[best][first:last] for first, last in pairwise(cuts[best][1])]
        for index in circle:
            left[index] -= 1
    return [*groups, *([index] * rows for index, rows in enumerate(left) if rows)]


def _cut(way: Sequence[Codes], costs: Sequence[Sequence[int]]) -> tuple[int, tuple[int, ...]]:
    """The cheapest cuts of a way, and what its groups cost."""
    best: dict[int, tuple[int, tuple[int, ...]]] = {0: (0, (0,))}
    for last in range(3, len(way) + 1):
        found = [
            (best[first][0] + (last - first) * price_of(way[first:last], costs), (*best[first][1], last))
            for first in range(max(0, last - 5), last - 2)
            if first in best
        ]
        if found:
            best[last] = min(found)
    return best[len(way)]
