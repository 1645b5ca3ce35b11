"""`minimal`: all k-minimal vectors (Samarati 2001, definition 4.3 and the end of section 6).

Decides every node by inheritance or by asking; the preferences then choose among the minimal ones.
"""

from __future__ import annotations

from sqlanon.search.base import Budget, BudgetSpent, Evaluator, Objective, Progress, SearchResult
from sqlanon.search.questions import Classifier
from sqlanon.search.session import Preferences, SearchSession


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
    return session.minimal_result("minimal", stopped)
