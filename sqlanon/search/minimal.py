"""`minimal`: all k-minimal vectors (Samarati 2001, definition 4.3 and the end of section 6).

Decides every node by inheritance or by asking; the preferences then choose among the minimal ones.
"""

from __future__ import annotations

from sqlanon.search.base import Budget, BudgetSpent, Evaluator, ListedNodes, Objective, Progress, SearchResult
from sqlanon.search.questions import Classifier
from sqlanon.search.session import DEFAULT_POLICIES, Preferences, SearchSession


def search(
    evaluator: Evaluator,
    objective: Objective,
    preferences: Preferences,
    budget: Budget,
    progress: Progress | None = None,
) -> SearchResult:
    """All minimal nodes, and the preferred one of them."""
    session = SearchSession(evaluator, objective, preferences, budget, progress)
    classifier = Classifier(session)
    try:
        classifier.ask([evaluator.lattice.top])
        if session.marking.acceptable or not evaluator.monotone:
            classifier.settle(session.allowed)
        stopped = False
    except BudgetSpent:
        stopped = True
    return report_minimal(session, "minimal", stopped)


def report_minimal(session: SearchSession, algorithm: str, stopped: bool, *, enumerates: bool = False) -> SearchResult:
    """The answer of an algorithm that decided nodes: all minimal ones of those acceptable, the preferred one chosen."""
    acceptable = session.marking.acceptable & session.allowed
    if not acceptable:
        raise session.infeasible(stopped)
    minimal = session.coding.minimal(acceptable)
    undecided = (session.marking.undecided & session.allowed).bit_count()
    return session.result(
        algorithm,
        session.preferred(minimal, session.preferences.policies or DEFAULT_POLICIES),
        proven=not undecided,
        undecided=undecided,
        trace=session.trace,
        listing=ListedNodes(
            minimal,
            complete=not undecided,
            acceptable=session.coding.nodes(acceptable) if enumerates and not undecided else None,
        ),
    )
