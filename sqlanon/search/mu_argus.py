"""`mu_argus` (Hundepool and Willenborg 1996; Samarati 2001, section 7): checks at most three columns together.

For comparison. Such a release need not satisfy the requirement on all columns: the result is never verified, and
carries the true verdict of its node.
"""

from __future__ import annotations

from itertools import combinations

from sqlanon.hierarchies.lattice import Node
from sqlanon.search.base import Budget, BudgetSpent, Evaluator, Objective, Progress, SearchResult
from sqlanon.search.datafly import generalized
from sqlanon.search.session import Preferences, SearchSession

LARGEST = 3
"""Columns in the largest combinations that are checked."""
TAGS: dict[int, tuple[float, ...]] = {1: (0.0,), 2: (2.0, 1.0), 3: (3.0, 2.0, 1.0)}
"""What the columns of a combination are tagged at least: 3 most identifying, 2 more identifying, 1 identifying."""


def search(
    evaluator: Evaluator,
    objective: Objective,
    preferences: Preferences,
    budget: Budget,
    progress: Progress | None = None,
) -> SearchResult:
    """A node whose combinations of up to three columns each satisfy the requirement, on one greedy path."""
    session = SearchSession(evaluator, objective, preferences, budget, progress, marks=False)
    node: Node | None = evaluator.lattice.bottom
    stopped = False
    try:
        while node is not None:
            failing = _failing_combination(session, node)
            session.trace.append({"node": node, "failing": failing})
            if failing is None and preferences.allows(node, evaluator.lattice):
                return _result(session, node)
            node = generalized(session, node, failing)
    except BudgetSpent:
        stopped = True
    raise session.infeasible(stopped)


def _failing_combination(session: SearchSession, node: Node) -> tuple[int, ...] | None:
    """The columns of the smallest combination that fails, the one that suppresses most; None when all satisfy."""
    for size in range(1, min(LARGEST, len(node)) + 1):
        parts = {
            columns: _projected(session, node, columns)
            for columns in combinations(range(len(node)), size)
            if _is_checked(session.objective.context.weights, columns)
        }
        session.check(parts.values())
        suppressed = {columns: _suppressed(session, part) for columns, part in parts.items()}
        worst = max(suppressed, key=lambda columns: suppressed[columns], default=())
        if worst and suppressed[worst] > session.evaluator.limit:
            return worst
    return None


def _is_checked(weights: tuple[float, ...], columns: tuple[int, ...]) -> bool:
    """The columns' weights serve as mu-Argus' tags. When all are equal nothing is tagged, and all are checked."""
    if len(set(weights)) == 1:
        return True
    tags = sorted((weights[column] for column in columns), reverse=True)
    return all(tag >= least for tag, least in zip(tags, TAGS[len(columns)], strict=True))


def _suppressed(session: SearchSession, node: Node) -> int:
    if node not in session.verdicts:
        raise BudgetSpent
    return session.verdicts[node].suppressed


def _projected(session: SearchSession, node: Node, columns: tuple[int, ...]) -> Node:
    return tuple(level if column in columns else session.evaluator.heights[column] for column, level in enumerate(node))


def _result(session: SearchSession, node: Node) -> SearchResult:
    return session.result(
        "mu_argus",
        [node],
        proven=False,
        undecided=session.evaluator.lattice.size,
        trace=session.trace,
        verified=False,
    )
