"""One search under way: asks the evaluator within the budget, and keeps every verdict and what follows from it.

Algorithms differ in which nodes they ask for; asking, remembering, reporting and choosing happen here. Which of several
good nodes is taken, and which may not be taken at all, are the preferences (Samarati 2001, section 6): policies compose
in order; what still ties is reported and broken by vector order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from sqlanon.errors import InfeasibleError, UsageError
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import Verdict, relative_level
from sqlanon.search.base import (
    NO_NODES_LISTED,
    Budget,
    BudgetSpent,
    Evaluator,
    ListedNodes,
    Meter,
    Objective,
    Progress,
    SearchResult,
    Step,
    Watching,
    not_better_than,
)
from sqlanon.search.node_sets import Coding, Marking, Totals

BATCH = 32
"""Nodes asked for in one batch, where an algorithm has that many to ask for."""


class SearchSession:
    """The state every algorithm shares."""

    def __init__(
        self,
        evaluator: Evaluator,
        objective: Objective,
        preferences: Preferences,
        budget: Budget,
        progress: Progress | None,
        *,
        marks: bool = True,
    ) -> None:
        """Without marks no set of nodes is kept, and lattices of any size will do."""
        self.evaluator = evaluator
        self.objective = objective
        self.preferences = preferences
        self.meter = Meter(budget, evaluator)
        self.verdicts: dict[Node, Verdict] = {}
        self.trace: list[Step] = []
        self._marks = marks
        self._left_out = 0
        self._progress = progress

    @cached_property
    def coding(self) -> Coding:
        return Coding(self.evaluator.lattice)

    @cached_property
    def marking(self) -> Marking:
        marking = Marking(self.coding, self.evaluator.limit, self.evaluator.monotone)
        lowest = self.evaluator.lowest_height
        if lowest > self.evaluator.lattice.lowest:
            marking.rule_out(self.heights.up_to(lowest - 0.5))
        return marking

    @cached_property
    def heights(self) -> Totals:
        """The height of every node."""
        return Totals(self.coding, [range(height + 1) for height in self.evaluator.heights])

    @cached_property
    def allowed(self) -> int:
        """The nodes that may be chosen."""
        return self.preferences.allowed(self.coding)

    def tell_costs(self, best: float, least: Callable[[], float]) -> None:
        """Tell who watches what the best node so far costs, and what none costs less than."""
        if isinstance(self._progress, Watching):
            self._progress.costs(best, min(best, least()))

    # -- asking ------------------------------------------------------------------------------------------------

    def recall(self) -> list[Verdict]:
        """Take over what the evaluator knows already, at no cost, and mark what follows."""
        known = [verdict for verdict in self.evaluator.known() if verdict.node not in self.verdicts]
        for verdict in known:
            self.verdicts[verdict.node] = verdict
            if self._marks:
                self.marking.record(verdict)
        return known

    def check(self, nodes: Iterable[Node]) -> list[Verdict]:
        """Ask for nodes not asked for before, as many as the budget has room for, and mark what follows."""
        return self._in_batches([node for node in dict.fromkeys(nodes) if node not in self.verdicts], measure=False)

    def check_all(self, nodes: Iterable[Node]) -> None:
        """As `check`, for nodes too many to hold at a time. BudgetSpent when it does not reach for all of them."""
        rest = iter(nodes)
        while batch := list(islice(rest, BATCH)):
            self.check(batch)
            if any(node not in self.verdicts for node in batch):
                raise BudgetSpent

    def measure(self, nodes: Iterable[Node]) -> list[Verdict]:
        """As `check`, with figures; nodes that were only checked are asked for again."""
        return self._in_batches(list(dict.fromkeys(nodes)), measure=True)

    def accepts(self, verdict: Verdict) -> bool:
        return verdict.suppressed <= self.evaluator.limit

    def _in_batches(self, nodes: Sequence[Node], measure: bool) -> list[Verdict]:
        """Ask as far as the budget goes. BudgetSpent only when it gives nothing more: answers are never lost."""
        answered: list[Verdict] = []
        while len(answered) < len(nodes):
            batch = nodes[len(answered) : len(answered) + BATCH]
            try:
                answered += self._ask(batch[: self._room(batch)], measure)
            except BudgetSpent:
                if not answered:
                    raise
                break
        return answered

    def _room(self, nodes: Sequence[Node]) -> int | None:
        """How many of these may be asked for. Measuring a node that was checked before costs nothing more."""
        return self.meter.room() if any(node not in self.verdicts for node in nodes) else None

    def _ask(self, nodes: Sequence[Node], measure: bool) -> list[Verdict]:
        verdicts = self.evaluator.measure(nodes) if measure else self.evaluator.check(nodes)
        for verdict in verdicts:
            self.verdicts[verdict.node] = verdict
            if self._marks:
                self.marking.record(verdict)
        if self._progress is not None:
            self._progress(self.meter.checks, self.marking.undecided.bit_count() if self._marks else 0)
        return verdicts

    # -- reporting ---------------------------------------------------------------------------------------------

    def score(self, node: Node) -> float:
        """The score of a node, measured first where the metric needs it, also beyond the budget."""
        verdict = self.settled(node)
        if self.objective.needs_figures(verdict):
            verdict = self.verdicts[node] = self.evaluator.measure([node])[0]
        return self.objective.score(verdict)

    def settled(self, node: Node) -> Verdict:
        """The verdict of a node, asked for also beyond the budget: an answer carries its own numbers."""
        if node not in self.verdicts:
            self.verdicts[node] = self.evaluator.check([node])[0]
        return self.verdicts[node]

    def preferred(self, nodes: Sequence[Node], policies: Sequence[str]) -> list[Node]:
        """The most preferred of these nodes, all that tie, in vector order.

        Inherited nodes have no verdict yet. Where policies need one it is asked for; nodes the budget has no room
        for drop out, and the answer is no longer proven.
        """
        if not ASKING_POLICIES.isdisjoint(policies):
            self._ask_if_possible(nodes)
            known = [node for node in nodes if node in self.verdicts] or [self.settled(node).node for node in nodes[:1]]
            self._left_out += len(nodes) - len(known)
            nodes = known
        heights, weights = self.evaluator.heights, self.objective.context.weights
        candidates = [Candidate(self.verdicts.get(node, Verdict(node, 0, 0)), heights, weights) for node in nodes]
        return [candidate.node for candidate in preferred(candidates, policies)]

    def _ask_if_possible(self, nodes: Iterable[Node]) -> None:
        with suppress(BudgetSpent):
            self.check(nodes)

    def result(
        self,
        algorithm: str,
        ties: Sequence[Node],
        *,
        proven: bool,
        undecided: int,
        trace: Sequence[Step],
        listing: ListedNodes = NO_NODES_LISTED,
        bound: float | None = None,
    ) -> SearchResult:
        """The answer of an algorithm that takes the first of the nodes that tie."""
        score = self.score(ties[0])
        minimal, acceptable = listing.minimal, listing.acceptable
        self._ask_if_possible((*ties, *minimal))
        return SearchResult(
            algorithm=algorithm,
            metric=self.objective.metric.name,
            chosen=self.verdicts[ties[0]],
            score=score,
            checks=self.meter.checks,
            lattice=self.evaluator.lattice.size,
            proven=proven and not self._left_out,
            undecided=undecided + self._left_out,
            ties=tuple(ties),
            minimal=tuple(minimal),
            minimal_complete=listing.complete,
            acceptable=None if acceptable is None else tuple(acceptable),
            verdicts={node: self.verdicts[node] for node in (*ties, *minimal) if node in self.verdicts},
            trace=tuple(trace),
            bound=None if bound is None else min(bound, score),
        )

    def minimal_result(self, algorithm: str, stopped: bool, *, enumerates: bool = False) -> SearchResult:
        """The answer of an algorithm that decided nodes: all minimal ones of those acceptable, the preferred chosen."""
        acceptable = self.marking.acceptable & self.allowed
        if not acceptable:
            raise self.infeasible(stopped)
        minimal = self.coding.minimal(acceptable)
        undecided = (self.marking.undecided & self.allowed).bit_count()
        return self.result(
            algorithm,
            self.preferred(minimal, self.preferences.policies or DEFAULT_POLICIES),
            proven=not undecided,
            undecided=undecided,
            trace=self.trace,
            listing=ListedNodes(
                minimal,
                complete=not undecided,
                acceptable=self.coding.nodes(acceptable) if enumerates and not undecided else None,
            ),
        )

    def infeasible(self, stopped: bool, *, one_path: bool = False) -> InfeasibleError:
        """What to raise when no acceptable node was found."""
        lattice, limit = self.evaluator.lattice, self.evaluator.limit
        seen = [verdict.suppressed for verdict in self.verdicts.values() if verdict.node in lattice]
        least = min(seen, default=self.evaluator.rows)
        figures = f"the least suppression seen is {least} of {self.evaluator.rows} rows, the limit is {limit}"
        if stopped:
            return InfeasibleError(
                f"the budget was spent before an acceptable generalization was found: {figures}; "
                f"search.budget allows more (seconds: none lifts it)"
            )
        if one_path:
            return InfeasibleError(f"the algorithm's one path ended without an acceptable generalization: {figures}")
        if least <= limit:
            return InfeasibleError("the constraints on vectors forbid every acceptable generalization")
        return InfeasibleError(f"no generalization within the allowed levels satisfies the requirement: {figures}")


@dataclass(frozen=True)
class Candidate:
    """A node among those to choose from, with what policies look at."""

    verdict: Verdict
    heights: Node
    weights: tuple[float, ...]

    @property
    def node(self) -> Node:
        return self.verdict.node

    @property
    def relative(self) -> list[float]:
        return [relative_level(level, height) for level, height in zip(self.node, self.heights, strict=True)]


Policy = Callable[[Candidate], float]
"""The smaller, the more preferred."""

POLICIES: dict[str, Policy] = {
    "minimum_absolute_distance": lambda candidate: sum(candidate.node),
    "minimum_relative_distance": lambda candidate: sum(candidate.relative),
    "minimum_weighted_distance": lambda candidate: sum(
        weight * distance for weight, distance in zip(candidate.weights, candidate.relative, strict=True)
    ),
    "maximum_distribution": lambda candidate: -candidate.verdict.classes,
    "minimum_suppression": lambda candidate: candidate.verdict.suppressed,
    "highest_absolute_peak": lambda candidate: -max(candidate.node),
    "lowest_absolute_peak": lambda candidate: max(candidate.node),
    "highest_relative_peak": lambda candidate: -max(candidate.relative),
    "lowest_relative_peak": lambda candidate: max(candidate.relative),
    "fewest_generalized": lambda candidate: sum(level > 0 for level in candidate.node),
    "most_generalized": lambda candidate: -sum(level > 0 for level in candidate.node),
}

ASKING_POLICIES = frozenset({"maximum_distribution", "minimum_suppression"})
"""Policies that look at a node's verdict, not only at its vector."""

DEFAULT_POLICIES = ("minimum_absolute_distance",)
"""What algorithms that list minimal nodes go by when nothing is preferred: the paper's own choice."""


@dataclass(frozen=True)
class Preferences:
    """Policies in order, and constraints on vectors. Levels per column are constrained by the lattice itself."""

    policies: tuple[str, ...] = ()
    before: tuple[tuple[int, int], ...] = ()
    """Pairs of columns (a, b): b rises above its lowest allowed level only once a stands at its highest."""
    forbidden: tuple[tuple[tuple[int, int], ...], ...] = ()
    """Combinations of levels that may not be chosen: each a list of (column, level) that must not all hold."""
    groups: tuple[tuple[int, ...], ...] = ()
    """The columns of each quasi-identifier, where there are several: not all columns may be at stake."""

    def __post_init__(self) -> None:
        for policy in self.policies:
            if policy not in POLICIES:
                raise UsageError(f"there is no preference '{policy}'; choose from {', '.join(POLICIES)}")

    def allowed(self, coding: Coding) -> int:
        """The nodes that may be chosen."""
        bits = coding.everything
        for first, second in self.before:
            bits &= self._in_order(coding, first, second)
        for combination in self.forbidden:
            bits &= ~self._where(coding, combination)
        return bits

    def allows(self, node: Node, lattice: Lattice) -> bool:
        """Whether one node of the lattice may be chosen."""
        ordered = all(
            node[second] == lattice.bottom[second] or node[first] == lattice.top[first] for first, second in self.before
        )
        return ordered and not any(
            all(node[column] == level for column, level in combination) for combination in self.forbidden
        )

    @staticmethod
    def _where(coding: Coding, combination: Iterable[tuple[int, int]]) -> int:
        bits = coding.everything
        for column, level in combination:
            bits &= coding.at_level(column, level)
        return bits

    @staticmethod
    def _in_order(coding: Coding, first: int, second: int) -> int:
        lattice = coding.lattice
        return coding.at_level(second, lattice.bottom[second]) | coding.at_level(first, lattice.top[first])


def preferred(candidates: Sequence[Candidate], policies: Iterable[str]) -> list[Candidate]:
    """The candidates that no policy tells apart any more, in vector order: the first one is to be taken."""
    remaining = list(candidates)
    for policy in policies:
        ranks = [POLICIES[policy](candidate) for candidate in remaining]
        best = not_better_than(min(ranks, default=0))
        remaining = [candidate for candidate, rank in zip(remaining, ranks, strict=True) if rank <= best]
    return sorted(remaining, key=lambda candidate: candidate.node)
