"""Search algorithms over the lattice and over schemes. Pure: they ask an evaluator and know no SQL.

A new search of the lattice is one file here and one row in the table of algorithms.
"""

from __future__ import annotations

from typing import Protocol

from sqlanon.errors import UsageError
from sqlanon.search.base import Budget, Evaluator, Objective, Progress, SearchResult
from sqlanon.search.session import Preferences
from sqlanon.spec import algorithms
from sqlanon.spec.registry import Loaded


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


ALGORITHMS: Loaded[Algorithm] = Loaded({name: algorithms.ALGORITHMS[name] for name in algorithms.names_of("lattice")})


def algorithm_named(name: str) -> Algorithm:
    """The algorithm of this name; UsageError when there is none."""
    if name not in ALGORITHMS and name in algorithms.ALGORITHMS:
        raise UsageError(f"search.algorithm: {name} searches no lattice; take one that does, as optimal")
    if name not in ALGORITHMS:
        raise UsageError(f"there is no algorithm '{name}'; choose one of {', '.join(sorted(ALGORITHMS))}")
    return ALGORITHMS[name]
