"""`exhaustive`: Sweeney's MinGen: every node is asked for, the best acceptable one under the metric is taken.

The measure the others are held against; affordable on small lattices only.
"""

from __future__ import annotations

from sqlanon.hierarchies.lattice import Node
from sqlanon.search.base import (
    Budget,
    BudgetSpent,
    Evaluator,
    ListedNodes,
    Objective,
    Progress,
    SearchResult,
    not_better_than,
)
from sqlanon.search.session import Preferences, SearchSession


def search(
    evaluator: Evaluator,
    objective: Objective,
    preferences: Preferences,
    budget: Budget,
    progress: Progress | None = None,
) -> SearchResult:
    """The best node under the metric; ties go to the preferences, then to vector order."""
    session = SearchSession(evaluator, objective, preferences, budget, progress)
    try:
        session.check([evaluator.lattice.top])
        session.check_all(evaluator.lattice)
        stopped = False
    except BudgetSpent:
        stopped = True
    acceptable = session.coding.nodes(session.marking.acceptable & session.marking.asked & session.allowed)
    if not acceptable:
        raise session.infeasible(stopped)
    ties = session.preferred(_best(session, acceptable), preferences.policies)
    undecided = (session.coding.everything & ~session.marking.asked).bit_count()
    return session.result(
        "exhaustive",
        ties,
        proven=not undecided,
        undecided=undecided,
        trace=session.trace,
        listing=ListedNodes(
            session.coding.minimal(sum(1 << session.coding.number(node) for node in acceptable)),
            complete=not undecided,
            acceptable=None if undecided else acceptable,
        ),
    )


def _best(session: SearchSession, acceptable: list[Node]) -> list[Node]:
    """All nodes that share the best score."""
    session.measure([node for node in acceptable if session.objective.needs_figures(session.verdicts[node])])
    scores = {node: session.objective.score(session.verdicts[node]) for node in acceptable}
    best = not_better_than(min(scores.values()))
    return [node for node, score in scores.items() if score <= best]
