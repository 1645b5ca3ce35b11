"""Approximations for k = 2 by matchings (Aggarwal et al.; chapter, section 3.2.3): 1.5 on Boolean data, 2 on others.

The database finds the neighbours and all pairs that can save something. Python holds these pairs, numbers of vertices
with distances, at most MOST_PAIRS; networkx, an extra, finds the matching. The groups go back as a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from sqlanon.engines.base import Statement
from sqlanon.errors import UsageError
from sqlanon.recoding.base import Recoded
from sqlanon.recoding.cells import recoder as cells_recoder
from sqlanon.recoding.cells import statements as pairs_sql
from sqlanon.recoding.cells.recoder import Cells, Divided
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run

MOST_PAIRS = 10_000
"""Pairs of single rows that Python holds at most."""

Pair = tuple[int, int]


def recode(run: Run, base: Base, stored: Sequence[StoredHierarchy]) -> Recoded:
    """Recode cells by a matching."""
    return cells_recoder.recode(run, base, stored, by_matching)


def by_matching(cells: Cells) -> Divided:
    """Groups of two and three rows."""
    if cells.run.binding.k != 2:
        raise UsageError(f"search.algorithm: matching is for k = 2, not {cells.run.binding.k}; take forest")
    forest = cells.forest()
    near = cells.neighbours(forest)
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
    found = engine.query(Statement("matching", pairs_sql.saving(cells.vertices, cells.steps, near.table)))
    saved = {(int(u), int(v)): int(gain) for u, v, gain in found}
    nearest = {int(u): int(v) for u, v in engine.query(Statement("matching", pairs_sql.nearest_of_singles(near.table)))}
    groups = groups_of_two(nearest, matched(saved))
    table = cells.run.scratch.create_text("matching", "c_pairs", ["v", "g"])
    engine.load(
        "matching", table, ["v", "g"], ((str(v), str(g)) for g, members in enumerate(groups, 1) for v in members)
    )
    divided = cells.create("matched", pairs_sql.groups(cells.vertices, table))
    boolean = all(domain.values <= 2 for domain in cells.made.domains)
    return Divided(forest, divided, near, 1.5 if boolean else 2.0)


def matched(saved: Mapping[Pair, int]) -> list[Pair]:
    """The pairs that save most together, none sharing a vertex."""
    try:
        import networkx
    except ImportError:
        raise UsageError(
            "search.algorithm: matching needs networkx: pip install 'sqlanon[matching]', or take forest"
        ) from None
    graph = networkx.Graph()
    graph.add_weighted_edges_from((u, v, gain) for (u, v), gain in sorted(saved.items()))
    return sorted((min(pair), max(pair)) for pair in networkx.max_weight_matching(graph))


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
