"""All search algorithms by name. A new algorithm is one file here and one line below.

Pure.
"""

from __future__ import annotations

from typing import Protocol

from sqlanon.errors import UsageError
from sqlanon.search import datafly, exhaustive, incognito, minimal, mu_argus, optimal, samarati
from sqlanon.search.base import Budget, Evaluator, Objective, Progress, SearchResult
from sqlanon.search.preferences import Preferences


class Algorithm(Protocol):
    """Looks for a node to release; InfeasibleError when there is none, or none was found within the budget."""

    def __call__(
        self,
        evaluator: Evaluator,
        objective: Objective,
        preferences: Preferences,
        budget: Budget,
        progress: Progress | None = None,
    ) -> SearchResult: ...


ALGORITHMS: dict[str, Algorithm] = {
    "samarati": samarati.search,
    "minimal": minimal.search,
    "incognito": incognito.search,
    "optimal": optimal.search,
    "exhaustive": exhaustive.search,
    "datafly": datafly.search,
    "mu_argus": mu_argus.search,
}


def algorithm_named(name: str) -> Algorithm:
    """The algorithm of this name; UsageError when there is none."""
    if name not in ALGORITHMS:
        raise UsageError(f"there is no algorithm '{name}'; choose one of {', '.join(sorted(ALGORITHMS))}")
    return ALGORITHMS[name]
