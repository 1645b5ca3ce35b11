"""`datafly` (Sweeney 1997; Samarati 2001, section 7): generalize the column with most values until it suffices.

Greedy: few questions, no guarantee. It can generalize more than needed, and says so by never being proven.
"""

from __future__ import annotations

from sqlanon.hierarchies.lattice import Node
from sqlanon.search.base import Budget, BudgetSpent, Evaluator, Objective, Progress, SearchResult
from sqlanon.search.session import Preferences, SearchSession


def search(
    evaluator: Evaluator,
    objective: Objective,
    preferences: Preferences,
    budget: Budget,
    progress: Progress | None = None,
) -> SearchResult:
    """The first acceptable node on one greedy path from the bottom."""
    session = SearchSession(evaluator, objective, preferences, budget, progress, marks=False)
    node: Node | None = evaluator.lattice.bottom
    stopped = False
    try:
        while node is not None:
            session.check([node])
            verdict = session.verdicts[node]
            session.trace.append({"node": node, "suppressed": verdict.suppressed})
            if session.accepts(verdict) and preferences.allows(node, evaluator.lattice):
                return _result(session, node)
            node = generalized(session, node, _at_stake(session, node)) or generalized(session, node)
    except BudgetSpent:
        stopped = True
    raise session.infeasible(stopped, one_path=True)


def _at_stake(session: SearchSession, node: Node) -> tuple[int, ...] | None:
    """The columns of the quasi-identifiers that suppress too much at a node; None where that may be any column.

    With a recipient's profile some columns are only looked at alone, or not at all: generalizing them helps nothing.
    """
    groups = session.preferences.groups
    if not groups or any(len(columns) == len(node) for columns in groups):
        return None
    heights = session.evaluator.heights
    parts = {
        columns: tuple(level if place in columns else heights[place] for place, level in enumerate(node))
        for columns in groups
    }
    session.check(parts.values())
    if any(part not in session.verdicts for part in parts.values()):
        raise BudgetSpent
    suppressed = {columns: session.verdicts[part].suppressed for columns, part in parts.items()}
    least = min(session.evaluator.limit, max(suppressed.values(), default=0) - 1)
    return tuple(sorted({place for columns in groups if suppressed[columns] > least for place in columns})) or None


def generalized(session: SearchSession, node: Node, among: tuple[int, ...] | None = None) -> Node | None:
    """One step up in the column with the most distinct generalized values; None at the end.

    Steps that keep to the constraints on vectors come first.
    """
    lattice, levels = session.evaluator.lattice, session.objective.context.levels
    columns = range(len(node)) if among is None else among
    steps = [
        (
            session.preferences.allows(raised, lattice),
            levels[column][node[column]].values,
            -column,
            raised,
        )
        for column in columns
        if node[column] < lattice.top[column]
        for raised in [(*node[:column], node[column] + 1, *node[column + 1 :])]
    ]
    return max(steps)[-1] if steps else None


def _result(session: SearchSession, node: Node) -> SearchResult:
    return session.result(
        "datafly",
        [node],
        proven=False,
        undecided=session.evaluator.lattice.size - len(session.trace),
        trace=session.trace,
    )
