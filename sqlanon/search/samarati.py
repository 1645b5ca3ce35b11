"""`samarati`: Find_vector (Samarati 2001, figure 10): binary search for the lowest height with an acceptable vector.

A height is decided by asking for likely vectors and for vectors far above it whose failure rules out many at once.
Heights below a bound that the evaluator knows (section 5, example 5.1) are never tried.
Where the requirement is not monotone, a binary search could miss vectors: heights are then tried from the lowest.
"""

from __future__ import annotations

from collections.abc import Iterator

from sqlanon.search.base import Budget, BudgetSpent, Evaluator, ListedNodes, Objective, Progress, SearchResult
from sqlanon.search.questions import Classifier
from sqlanon.search.session import BATCH, Preferences, SearchSession


def search(
    evaluator: Evaluator,
    objective: Objective,
    preferences: Preferences,
    budget: Budget,
    progress: Progress | None = None,
) -> SearchResult:
    """A vector of the least height any acceptable vector has: the preferred one there, else the first in order."""
    run = _FindVector(SearchSession(evaluator, objective, preferences, budget, progress))
    try:
        run.find()
        stopped = False
    except BudgetSpent:
        stopped = True
    return run.result(stopped)


class _FindVector:
    """The state of one run."""

    def __init__(self, session: SearchSession) -> None:
        self._session = session
        self._classifier = Classifier(session)
        lattice = session.evaluator.lattice
        self._low, self._high = max(lattice.lowest, session.evaluator.lowest_height), lattice.highest

    def find(self) -> None:
        session = self._session
        if not session.evaluator.monotone:
            self._scan()
        else:
            self._classifier.ask([session.evaluator.lattice.top])
            if not session.marking.acceptable:
                self._low = self._high + 1
                return
            self._bisect()
        if self._low <= self._high:
            self._choose()

    def _bisect(self) -> None:
        """The paper's loop. With forbidden vectors the top may fail, so the last height is tried as well."""
        self._high = self._lowest_known(self._high + 1)
        while self._low < self._high:
            middle = (self._low + self._high) // 2
            asked = self._session.meter.checks
            found = self._reaches(middle)
            self._note(middle, asked, found)
            if found:
                self._high = self._lowest_known(middle)
            else:
                self._low = middle + 1

    def _scan(self) -> None:
        for height in range(self._low, self._high + 1):
            asked = self._session.meter.checks
            self._classifier.settle(self._at_height(height) & self._session.allowed)
            found, self._low = bool(self._solutions(height)), height
            self._note(height, asked, found)
            if found:
                self._high = height
                return
        self._low = self._high + 1

    def _note(self, height: int, asked: int, found: bool) -> None:
        """A step of the trace: the heights that were left, the one tried, and what decided it."""
        session = self._session
        known = self._solutions(self._lowest_known(height)) if found else 0
        session.trace.append(
            {
                "low": self._low,
                "high": self._high,
                "try": height,
                "reach": found,
                "vectors": (self._at_height(height) & session.allowed).bit_count(),
                "asked": session.meter.checks - asked,
                "found": session.coding.node((known & -known).bit_length() - 1) if known else None,
            }
        )

    def _reaches(self, height: int) -> bool:
        """Whether an acceptable vector that may be chosen has this height or less."""
        marking = self._session.marking
        wanted = self._up_to_height(height) & self._session.allowed
        while not wanted & marking.acceptable:
            left = wanted & marking.undecided
            if not left:
                return False
            self._classifier.ask(self._classifier.likeliest(left, BATCH // 4))
            if left & marking.undecided and not wanted & marking.acceptable:
                self._classifier.settle_some(left, BATCH - BATCH // 4)
        return True

    def _choose(self) -> None:
        """Decide at the lowest height what the choice depends on: all vectors, or those first in vector order."""
        wanted = self._at_height(self._high) & self._session.allowed
        if self._session.preferences.policies:
            self._classifier.settle(wanted)
            return
        marking = self._session.marking
        while True:
            known = wanted & marking.acceptable
            first = (known & -known) - 1
            left = wanted & marking.undecided & first
            if not left:
                return
            self._classifier.settle_some(left, BATCH)

    # -- heights as sets of vectors ----------------------------------------------------------------------------

    def _up_to_height(self, height: int) -> int:
        return self._session.heights.up_to(height + 0.5)

    def _at_height(self, height: int) -> int:
        return self._up_to_height(height) & ~self._session.heights.up_to(height - 0.5)

    def _solutions(self, height: int) -> int:
        return self._at_height(height) & self._session.allowed & self._session.marking.acceptable

    def _known_heights(self) -> Iterator[int]:
        lattice = self._session.evaluator.lattice
        return (height for height in range(lattice.lowest, lattice.highest + 1) if self._solutions(height))

    def _lowest_known(self, otherwise: int) -> int:
        """The lowest height with a vector known to be acceptable."""
        return next(self._known_heights(), otherwise)

    # -- the answer --------------------------------------------------------------------------------------------

    def result(self, stopped: bool) -> SearchResult:
        session = self._session
        height = next(self._known_heights(), None)
        if height is None:
            raise session.infeasible(stopped)
        solutions = self._solutions(height)
        below = self._up_to_height(height - 1) & session.allowed & session.marking.undecided
        beside = self._at_height(height) & session.allowed & session.marking.undecided
        return session.result(
            "samarati",
            session.preferred(session.coding.nodes(solutions), session.preferences.policies),
            proven=not stopped,
            undecided=(below | beside).bit_count() if stopped else 0,
            trace=session.trace,
            listing=ListedNodes(session.coding.nodes(solutions) if not below else ()),
        )
