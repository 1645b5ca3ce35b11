"""Which of several good nodes to take (Samarati 2001, section 6), and which nodes may not be taken at all.

Pure. Policies compose in order; what still ties is reported and broken by vector order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from sqlanon.errors import UsageError
from sqlanon.hierarchies.lattice import Lattice, Node
from sqlanon.metrics.base import Verdict, relative_level
from sqlanon.search.base import not_better_than
from sqlanon.search.node_sets import Coding


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
