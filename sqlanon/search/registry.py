"""All algorithms by name. A new algorithm is one file here and one line below.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable

from sqlanon.errors import UsageError
from sqlanon.search import optimal
from sqlanon.search.base import Evaluator, Progress
from sqlanon.search.budget import Budget
from sqlanon.search.objective import Objective
from sqlanon.search.preferences import Preferences
from sqlanon.search.result import SearchResult

Algorithm = Callable[[Evaluator, Objective, Preferences, Budget, Progress | None], SearchResult]

ALGORITHMS: dict[str, Algorithm] = {"optimal": optimal.search}


def algorithm_named(name: str) -> Algorithm:
    """The algorithm of this name; UsageError when there is none."""
    if name not in ALGORITHMS:
        raise UsageError(f"there is no algorithm '{name}'; choose one of {', '.join(sorted(ALGORITHMS))}")
    return ALGORITHMS[name]
