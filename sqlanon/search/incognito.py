"""`incognito` (LeFevre et al. 2005; the chapter's section 3.2.2): all acceptable nodes, by way of QI subsets.

Iteration i decides the lattices of all subsets of i columns. A node is a candidate only if all its projections on
i - 1 columns survived; candidates are asked for bottom-up, and what generalizes an acceptable one is marked unasked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations, product

from sqlanon.hierarchies.lattice import Node
from sqlanon.search.base import Budget, BudgetSpent, Evaluator, Objective, Progress, SearchResult, Step
from sqlanon.search.session import Preferences, SearchSession

Columns = tuple[int, ...]
Levels = tuple[int, ...]
"""The levels of a subset's columns, in their order."""

LISTED = 200
"""Subsets with at most so many survivors list them in the trace."""


def search(
    evaluator: Evaluator,
    objective: Objective,
    preferences: Preferences,
    budget: Budget,
    progress: Progress | None = None,
) -> SearchResult:
    """All acceptable nodes, and the preferred one of the minimal ones."""
    session = SearchSession(evaluator, objective, preferences, budget, progress)
    try:
        session.check([evaluator.lattice.top])
        if not evaluator.monotone:
            # No subset property, nothing to mark: the last iteration alone, over the whole lattice.
            session.check_all(evaluator.lattice)
        elif session.marking.acceptable:
            _Incognito(session).iterate()
        stopped = False
    except BudgetSpent:
        stopped = True
    return session.minimal_result("incognito", stopped, enumerates=True)


@dataclass
class _Subset:
    """The lattice over some columns, as far as it is built."""

    columns: Columns
    candidates: set[Levels]
    marked: set[Levels] = field(default_factory=set)
    asked_true: list[Levels] = field(default_factory=list)
    asked_false: list[Levels] = field(default_factory=list)

    def unmarked_at(self, height: int) -> list[Levels]:
        """The paper's V_h; on the way, candidates above a marked one are marked themselves."""
        unmarked = []
        for levels in sorted(levels for levels in self.candidates if sum(levels) == height):
            if any(lower in self.marked for lower in _predecessors(levels)):
                self.marked.add(levels)
            else:
                unmarked.append(levels)
        return unmarked

    def heights(self) -> set[int]:
        return {sum(levels) for levels in self.candidates}

    def step(self) -> Step:
        survivors = sorted(self.marked)
        return {
            "columns": self.columns,
            "candidates": len(self.candidates),
            "true": self.asked_true,
            "false": self.asked_false,
            "survivors": survivors if len(survivors) <= LISTED else len(survivors),
        }


class _Incognito:
    """The iterations over subsets of growing size."""

    def __init__(self, session: SearchSession) -> None:
        self._session = session
        self._lattice = session.evaluator.lattice
        self._columns = range(len(self._lattice.top))

    def iterate(self) -> None:
        survivors: dict[Columns, set[Levels]] = {}
        for size in range(1, len(self._columns) + 1):
            subsets = [
                _Subset(columns, self._compose(columns, survivors)) for columns in combinations(self._columns, size)
            ]
            try:
                self._mark(subsets)
            finally:
                self._session.trace.append({"iteration": size, "subsets": [subset.step() for subset in subsets]})
            survivors = {subset.columns: subset.marked for subset in subsets}

    def _compose(self, columns: Columns, survivors: dict[Columns, set[Levels]]) -> set[Levels]:
        """Join the survivors of the iteration before, and prune what has a projection that did not survive."""
        last = range(self._lattice.bottom[columns[-1]], self._lattice.top[columns[-1]] + 1)
        if len(columns) == 1:
            return {(level,) for level in last}
        joined = ((*levels, level) for levels, level in product(survivors[columns[:-1]], last))
        others = [
            (left_out, survivors[columns[:left_out] + columns[left_out + 1 :]]) for left_out in range(len(columns) - 1)
        ]
        return {
            levels
            for levels in joined
            if all(levels[:left_out] + levels[left_out + 1 :] in kept for left_out, kept in others)
        }

    def _mark(self, subsets: Iterable[_Subset]) -> None:
        """Bottom-up, breadth first, all subsets of one size together: one batch of questions per height."""
        subsets = list(subsets)
        for height in sorted(set().union(*(subset.heights() for subset in subsets))):
            asked = [(subset, levels) for subset in subsets for levels in subset.unmarked_at(height)]
            self._session.check(self._node(subset.columns, levels) for subset, levels in asked)
            for subset, levels in asked:
                self._record(subset, levels)

    def _record(self, subset: _Subset, levels: Levels) -> None:
        verdict = self._session.verdicts.get(self._node(subset.columns, levels))
        if verdict is None:
            raise BudgetSpent
        if self._session.accepts(verdict):
            subset.marked.add(levels)
            subset.asked_true.append(levels)
        else:
            subset.asked_false.append(levels)

    def _node(self, columns: Columns, levels: Levels) -> Node:
        """A subset's node: the other columns stand at their top, where they tell nothing."""
        node = list(self._session.evaluator.heights)
        for column, level in zip(columns, levels, strict=True):
            node[column] = level
        return tuple(node)


def _predecessors(levels: Levels) -> Iterator[Levels]:
    for position, level in enumerate(levels):
        yield (*levels[:position], level - 1, *levels[position + 1 :])
