"""What is known of every node, by its own verdict or inherited from another's.

Pure. Acceptable nodes make all their generalizations acceptable, unacceptable ones all their specializations
unacceptable (Samarati 2001, corollary 5.1), but only where the evaluator says that its requirement is monotone. Where
it is not, a monotone part of it may still say how many rows the specializations suppress at least.
"""

from __future__ import annotations

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import Verdict
from sqlanon.search.coding import Coding


class Marking:
    """Two growing sets of nodes: known to be acceptable, known to be unacceptable."""

    def __init__(self, coding: Coding, limit: int, monotone: bool) -> None:
        self._coding = coding
        self._limit = limit
        self._monotone = monotone
        self.acceptable = 0
        self.unacceptable = 0
        self.asked = 0
        """The nodes that have a verdict of their own."""

    def record(self, verdict: Verdict) -> bool:
        """Mark what follows from a verdict; whether its node is acceptable. The node may lie outside the lattice."""
        accepted = verdict.suppressed <= self._limit
        self.asked |= self._alone(verdict.node)
        if not self._monotone:
            self._mark(accepted, self._alone(verdict.node))
            if verdict.least > self._limit:
                self._mark(False, self._coding.downset(verdict.node))
        elif accepted:
            self._mark(True, self._coding.upset(verdict.node))
        else:
            self._mark(False, self._coding.downset(verdict.node))
        return accepted

    @property
    def undecided(self) -> int:
        """The nodes of which nothing is known."""
        return self._coding.everything & ~(self.acceptable | self.unacceptable)

    def _alone(self, node: Node) -> int:
        return 1 << self._coding.number(node) if node in self._coding.lattice else 0

    def _mark(self, accepted: bool, bits: int) -> None:
        if accepted:
            self.acceptable |= bits
        else:
            self.unacceptable |= bits
