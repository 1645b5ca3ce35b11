"""Which released rows an original row can have in some assignment of all of them (Gionis, Mazza and Tassa 2008, global
(1,k)-anonymity).

Pure. Combinations stand for their rows: an assignment is a flow in a graph of combinations, which Python holds.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping, Sequence

Edge = tuple[int, int]


class Assignment:
    """An assignment of every released row to an original row of its own, if there is one."""

    def __init__(self, originals: Mapping[int, int], released: Mapping[int, int], edges: Sequence[Edge]) -> None:
        self.released = dict(released)
        self.fits: dict[int, list[int]] = {o: [] for o in originals}
        self.fitted: dict[int, list[int]] = {r: [] for r in released}
        for o, r in edges:
            self.fits[o].append(r)
            self.fitted[r].append(o)
        self.flow: dict[Edge, int] = {}
        self.left = dict(originals)
        """Rows of an original combination that have no released row."""
        self.open = dict(released)
        self._fill()

    @property
    def complete(self) -> bool:
        """Whether every released row has an original row."""
        return not any(self.open.values())

    def _fill(self) -> None:
        for o, choices in self.fits.items():
            for r in choices:
                self._give(o, r, min(self.left[o], self.open[r]))
        while any(self.open.values()) and self._augmented():
            pass

    def _give(self, o: int, r: int, rows: int) -> None:
        if rows:
            self.flow[o, r] = self.flow.get((o, r), 0) + rows
            self.left[o] -= rows
            self.open[r] -= rows

    def _augmented(self) -> bool:
        """One phase of Dinic: levels by breadth, then augmenting paths along them until none is left."""
        levels = self._levels()
        moved = False
        choices = {o: iter(found) for o, found in self.fits.items()}
        back = {r: iter(found) for r, found in self.fitted.items()}
        for o, rows in list(self.left.items()):
            while rows and self.left[o] and self._path(o, levels, choices, back):
                moved = True
        return moved

    def _levels(self) -> dict[tuple[bool, int], int]:
        queue = deque((False, o) for o, rows in self.left.items() if rows)
        levels = dict.fromkeys(queue, 0)
        while queue:
            node = queue.popleft()
            for following in self._next(node):
                if following not in levels:
                    levels[following] = levels[node] + 1
                    queue.append(following)
        return levels

    def _next(self, node: tuple[bool, int]) -> list[tuple[bool, int]]:
        is_released, number = node
        if not is_released:
            return [(True, r) for r in self.fits[number]]
        return [(False, o) for o in self.fitted[number] if self.flow.get((o, number), 0)]

    def _path(
        self,
        start: int,
        levels: Mapping[tuple[bool, int], int],
        choices: Mapping[int, Iterator[int]],
        back: Mapping[int, Iterator[int]],
    ) -> bool:
        """Follow levels from an original with rows left to a released one that lacks an original; shift along it."""
        path: list[tuple[bool, int]] = [(False, start)]
        while path:
            is_released, number = path[-1]
            if is_released and self.open[number]:
                self._shift(path)
                return True
            following = next(back[number] if is_released else choices[number], None)
            if following is None:
                path.pop()
                continue
            node = (not is_released, following)
            flows = not is_released or self.flow.get((node[1], number), 0) > 0
            if flows and levels.get(node) == levels[path[-1]] + 1:
                path.append(node)
        return False

    def _shift(self, path: Sequence[tuple[bool, int]]) -> None:
        start, end = path[0][1], path[-1][1]
        returned = [self.flow[o, r] for (_, r), (_, o) in zip(path[1::2], path[2::2], strict=False)]
        rows = min(self.left[start], self.open[end], *returned)
        for (_, o), (_, r) in zip(path[0::2], path[1::2], strict=True):
            self.flow[o, r] = self.flow.get((o, r), 0) + rows
        for (_, r), (_, o) in zip(path[1::2], path[2::2], strict=False):
            self.flow[o, r] -= rows
        self.left[start] -= rows
        self.open[end] -= rows

    def partners(self) -> dict[int, int]:
        """For each original combination, the released rows that one of its rows has in some complete assignment.

        An edge is in one when it carries rows, or lies on a cycle along which rows can be exchanged: when both its
        ends are in one strong component of the residual graph. Original rows that were left out exchange with all.
        """
        component = _components(self._residual())
        return {
            o: sum(self.released[r] for r in found if component[1 + 2 * o] == component[2 + 2 * r])
            for o, found in self.fits.items()
        }

    def _residual(self) -> dict[int, list[int]]:
        """Originals are odd, released even; 0 is where rows of the source go that the release lacks."""
        graph: dict[int, list[int]] = {0: []}
        for o, found in self.fits.items():
            graph[1 + 2 * o] = [2 + 2 * r for r in found]
        for r, found in self.fitted.items():
            graph[2 + 2 * r] = [1 + 2 * o for o in found if self.flow.get((o, r), 0)]
        if any(self.left.values()):
            graph[0] = [1 + 2 * o for o, rows in self.left.items() if rows]
            for o in self.fits:
                graph[1 + 2 * o].append(0)
        return graph


def _components(graph: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """The strong component of each node, by Tarjan's algorithm without recursion."""
    index: dict[int, int] = {}
    lowest: dict[int, int] = {}
    component: dict[int, int] = {}
    stack: list[int] = []
    for start in graph:
        if start in index:
            continue
        work = [(start, 0)]
        while work:
            node, place = work.pop()
            if not place:
                index[node] = lowest[node] = len(index)
                stack.append(node)
            followers = graph[node]
            for at in range(place, len(followers)):
                following = followers[at]
                if following not in index:
                    work += [(node, at + 1), (following, 0)]
                    break
                if following not in component:
                    lowest[node] = min(lowest[node], lowest[following])
            else:
                if lowest[node] == index[node]:
                    _close(node, stack, component)
                if work:
                    parent = work[-1][0]
                    lowest[parent] = min(lowest[parent], lowest[node])
    return component


def _close(node: int, stack: list[int], component: dict[int, int]) -> None:
    member = -1
    while member != node:
        member = stack.pop()
        component[member] = node
