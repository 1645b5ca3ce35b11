"""The seam between search and database: an evaluator of nodes, a budget, an objective, a result.

Algorithms see only `Evaluator`; they know no SQL. A QI subset is a full node whose other columns stand at their top (a
top is one value), so one kind of node serves every algorithm.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import Context, LevelFigures, Metric, Verdict

__all__ = ["Evaluator", "LevelFigures", "Progress", "Verdict"]

Progress = Callable[[int, int], None]
"""Told now and then how many nodes were evaluated, and how many are still undecided."""


@dataclass(frozen=True)
class Watching:
    """A listener that is also told what the best node so far costs, and what none can cost less than."""

    progress: Progress
    costs: Callable[[float, float], None]

    def __call__(self, checks: int, undecided: int) -> None:
        self.progress(checks, undecided)


class Evaluator(Protocol):
    """Answers for nodes. Asking twice for one node costs nothing the second time."""

    @property
    def lattice(self) -> Lattice:
        """The nodes that may be chosen."""

    @property
    def heights(self) -> Node:
        """The top level of every column, also where the lattice ends below it."""

    @property
    def leaves(self) -> Sequence[int]:
        """For each column: the leaves of its whole hierarchy (D of the measures)."""

    @property
    def rows(self) -> int:
        """Rows of the source."""

    @property
    def limit(self) -> int:
        """The most rows that may be suppressed."""

    @property
    def monotone(self) -> bool:
        """Whether generalizing a node can only lower its suppression, so that verdicts may be inherited."""

    @property
    def relaxed(self) -> bool:
        """Whether verdicts of a requirement that is not monotone say what all nodes below suppress at least."""

    @property
    def lowest_height(self) -> int:
        """No node below this height is acceptable, which is known before any is asked for; 0 where nothing is."""

    @property
    def least_class(self) -> int:
        """No kept class has fewer rows, and a class is kept or suppressed as a whole, by its rows alone; 0: it may be
        kept in part, or for reasons that lie outside it."""

    @property
    def checks(self) -> int:
        """Nodes the database has evaluated so far."""

    def known(self) -> Sequence[Verdict]:
        """The verdicts that cost nothing, because the database gave them before."""

    def check(self, nodes: Sequence[Node]) -> list[Verdict]:
        """The verdicts of these nodes, in their order; one batch of queries. Nodes may lie outside the lattice."""

    def measure(self, nodes: Sequence[Node]) -> list[Verdict]:
        """As `check`, with the figures that the metrics need."""

    def level_figures(self) -> Sequence[Sequence[LevelFigures]]:
        """For each column, for each level from 0 to its top: the figures of that level alone."""


@dataclass(frozen=True)
class Budget:
    """The most that a search may cost: evaluated nodes and seconds; None: no such limit.

    Every algorithm stops when its budget is spent. Seconds are looked at between batches of nodes.
    """

    nodes: int | None = None
    seconds: float | None = None

    def after(self, nodes: int, seconds: float) -> Budget:
        """What is left of it when so much has been spent.

        >>> Budget(nodes=10).after(4, 2.5)
        Budget(nodes=6, seconds=None)
        """
        return Budget(
            None if self.nodes is None else max(0, self.nodes - nodes),
            None if self.seconds is None else max(0.0, self.seconds - seconds),
        )


class BudgetSpent(Exception):
    """Raised inside a search, never out of it: what was found so far is the answer."""


class Counting(Protocol):
    """Somebody who counts what the database evaluates."""

    @property
    def checks(self) -> int:
        """Nodes the database has evaluated so far."""


class Meter:
    """A budget that started running; algorithms never read a clock themselves."""

    def __init__(self, budget: Budget, evaluator: Counting, clock: Callable[[], float] = time.monotonic) -> None:
        self._budget = budget
        self._evaluator = evaluator
        self._clock = clock
        self._started = clock()
        self._checks_before = evaluator.checks

    @property
    def checks(self) -> int:
        """Nodes the database evaluated for this search."""
        return self._evaluator.checks - self._checks_before

    def part(self, share: int) -> Budget:
        """One part in so many of what is left; BudgetSpent when nothing is."""
        room = self.room()
        seconds = self._budget.seconds
        left = None if seconds is None else (seconds - (self._clock() - self._started)) / share
        return Budget(None if room is None else room // share, left)

    def room(self) -> int | None:
        """How many more nodes may be evaluated; None: any number. BudgetSpent when none."""
        if self._budget.seconds is not None and self._clock() - self._started >= self._budget.seconds:
            raise BudgetSpent
        if self._budget.nodes is None:
            return None
        if self.checks >= self._budget.nodes:
            raise BudgetSpent
        return self._budget.nodes - self.checks


Step = Mapping[str, object]
"""One step of a trace: plain names, numbers, vectors and lists of them."""


@dataclass(frozen=True)
class ListedNodes:
    """The nodes that an algorithm lists beside the one it chose."""

    minimal: Sequence[Node] = ()
    """Acceptable nodes with no acceptable node below them that may be chosen."""
    complete: bool = False
    """Whether `minimal` lists all of them."""
    acceptable: Sequence[Node] | None = None
    """All acceptable nodes that may be chosen; None when the algorithm does not enumerate them."""


NO_NODES_LISTED = ListedNodes()


@dataclass(frozen=True)
class SearchResult:
    """The answer of one algorithm: the node to release, what was proven about it, and how it was found."""

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
    drawn_from: int | None = None
    """How many vectors the chosen one was drawn from by a secret; None: it was not drawn."""
    verified: bool = True
    """Whether the algorithm itself establishes that the chosen node satisfies the requirement."""
    bound: float | None = None
    """No node that may be chosen scores less; None where the algorithm shows no bound."""

    @property
    def gap(self) -> float | None:
        """How much less the best node may cost at most, relative to the chosen one; None where no bound is known."""
        if self.bound is None:
            return None
        return max(0.0, min(1.0, 1 - self.bound / self.score)) if self.score > 0 else 0.0


RELATIVE_TOLERANCE = 1e-11
"""Scores closer than this are one score: engines add floating-point numbers in different orders."""


@dataclass(frozen=True)
class Objective:
    """What a search minimizes: a metric and its context. The evaluator's static figures are read once."""

    metric: Metric
    context: Context

    @classmethod
    def of(cls, metric: Metric, evaluator: Evaluator, weights: Sequence[float] | None = None) -> Objective:
        """The metric over what the evaluator knows; weights default to 1 for every column."""
        return cls(
            metric,
            Context(
                rows=evaluator.rows,
                heights=evaluator.heights,
                leaves=tuple(evaluator.leaves),
                levels=tuple(tuple(levels) for levels in evaluator.level_figures()),
                weights=tuple(weights) if weights is not None else (1.0,) * len(evaluator.heights),
                least_class=evaluator.least_class,
            ),
        )

    def score(self, verdict: Verdict) -> float:
        return self.metric.score(verdict, self.context)

    def needs_figures(self, verdict: Verdict) -> bool:
        """Whether the node must be measured before it can be scored."""
        return not self.metric.static and self.metric.needs_figures(verdict)


def not_better_than(score: float) -> float:
    """Scores up to here tie with `score`; scores beyond are worse."""
    return score + RELATIVE_TOLERANCE * max(1.0, abs(score))
