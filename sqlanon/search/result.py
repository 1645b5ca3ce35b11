"""What a search returns: the node to release, what was proven about it, and how it was found.

Plain data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import Verdict

Step = Mapping[str, object]
"""One step of a trace: plain names, numbers, vectors and lists of them."""


@dataclass(frozen=True)
class SearchResult:
    """The answer of one algorithm."""

    algorithm: str
    metric: str
    chosen: Verdict
    """The node to release, with its figures."""
    score: float
    """The chosen node under the metric."""
    checks: int
    """Nodes the database evaluated for this search."""
    lattice: int
    """Nodes there are."""
    proven: bool
    """What the algorithm promises was shown, not cut short by a budget. Greedy algorithms promise nothing."""
    undecided: int
    """Nodes that would still have to be decided to prove the answer; 0 when proven."""
    ties: tuple[Node, ...]
    """The nodes no preference tells apart from the chosen one, itself included."""
    minimal: tuple[Node, ...] = ()
    """Acceptable nodes with no acceptable node below them that may be chosen."""
    minimal_complete: bool = False
    """Whether `minimal` lists all of them."""
    acceptable: tuple[Node, ...] | None = None
    """All acceptable nodes that may be chosen; None when the algorithm does not enumerate them."""
    verdicts: Mapping[Node, Verdict] = field(default_factory=dict)
    """What the database said of the nodes reported above, as far as the budget went."""
    trace: tuple[Step, ...] = ()
    verified: bool = True
    """Whether the algorithm itself establishes that the chosen node satisfies the requirement."""
