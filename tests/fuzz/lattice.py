"""Every node of the lattice, decided and measured by brute force."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from tests.fuzz.case import Case, Cell
from tests.fuzz.ladders import Ladder
from tests.fuzz.models import Population, Requirement, classes_of

Node = tuple[int, ...]

LARGEST = 600
"""Nodes of a lattice that is still walked whole."""


class Lattice:
    """The lattice of a case."""

    def __init__(self, case: Case, ladders: Mapping[str, Ladder], requirement: Requirement) -> None:
        self.case, self.ladders, self.requirement = case, ladders, requirement
        self.columns = list(ladders)
        self.rows = len(case.table.rows)
        self.search = case.spec.get("search", {})
        self.kept_rows: dict[Node, frozenset[int]] = {}

    def bounds(self, name: str) -> tuple[int, int]:
        """Lowest and highest level that the spec allows."""
        model = self.search.get("model")
        levels = self.case.spec["columns"][name].get("levels", {})
        if model == "_TS":
            return (0, 0)
        height = self.ladders[name].height
        return (levels.get("min", 0), min(levels.get("max", height), height))

    @cached_property
    def size(self) -> int:
        return math.prod(max(0, high - low + 1) for low, high in map(self.bounds, self.columns))

    def nodes(self) -> list[Node]:
        return list(itertools.product(*(range(low, high + 1) for low, high in map(self.bounds, self.columns))))

    def allowed(self, node: Node) -> bool:
        """Whether levels and constraints let a node be chosen."""
        level = dict(zip(self.columns, node, strict=True))
        if any(not low <= level[name] <= high for name, (low, high) in ((n, self.bounds(n)) for n in self.columns)):
            return False
        constraints = self.search.get("constraints", {})
        for first, then in constraints.get("before", []):
            if level[then] > self.bounds(then)[0] and level[first] < self.bounds(first)[1]:
                return False
        return not any(
            all(level[name] == at for name, at in combination.items())
            for combination in constraints.get("forbidden", [])
        )

    def labels(self, node: Node) -> dict[int, dict[str, Cell]]:
        """Labels of every row at a node."""
        columns = {
            name: [self.ladders[name].label(value, level) for value in self.requirement.values[name]]
            for name, level in zip(self.columns, node, strict=True)
        }
        return {row: {name: columns[name][row] for name in columns} for row in range(self.rows)}

    def kept(self, node: Node) -> frozenset[int]:
        """Rows that are released at a node: suppression in rounds until every class of every grouping passes."""
        if node not in self.kept_rows:
            labels = self.labels(node)
            people = None
            if self.case.population is not None:
                people = Population(self.case, self.ladders, dict(zip(self.columns, node, strict=True)))
            while failed := self.requirement.failing(labels, people):
                labels = {row: own for row, own in labels.items() if row not in failed}
            if people is not None and self.absent(labels, people):
                labels = {}
            self.kept_rows[node] = frozenset(labels)
        return self.kept_rows[node]

    def absent(self, labels: Mapping[int, Mapping[str, Cell]], people: Population) -> bool:
        """Whether a class that only the population has breaks the least presence."""
        presence = self.requirement.privacy.get("delta_presence") or {}
        if not presence.get("min"):
            return False
        return any(
            set(people.of(columns)) - set(classes_of(labels, columns)) for columns, _ in self.requirement.groups()
        )

    def acceptable(self, node: Node) -> bool:
        kept = len(self.kept(node))
        return kept > 0 and self.rows - kept <= self.requirement.limit

    @cached_property
    def feasible(self) -> list[Node]:
        """Acceptable nodes that may be chosen."""
        return [node for node in self.nodes() if self.allowed(node) and self.acceptable(node)]

    @cached_property
    def minimal(self) -> set[Node]:
        return {
            node for node in self.feasible if not any(other != node and below(other, node) for other in self.feasible)
        }

    def weight(self, name: str) -> float:
        given = self.search.get("weights", {}).get(name)
        return float(given if given is not None else self.case.spec["columns"][name].get("weight", 1))

    def score(self, node: Node, metric: str) -> float:
        """A metric of docs/algorithms/metrics.md at a node."""
        kept = self.kept(node)
        total, lost = self.rows, self.rows - len(kept)
        labels = self.labels(node)
        sizes = Counter(tuple(own.values()) for own in labels.values())
        kept_sizes = Counter(tuple(labels[row].values()) for row in kept)
        weights = [self.weight(name) for name in self.columns]
        if metric == "height":
            return sum(weight * level for weight, level in zip(weights, node, strict=True))
        if metric == "dm":
            return sum(size**2 for size in kept_sizes.values()) + total * lost
        if metric == "dm*":
            return sum(size**2 for size in sizes.values())
        if metric == "aecs":
            return total / (len(kept_sizes) + (1 if lost else 0))
        parts = [self.part(name, level, metric, kept) for name, level in zip(self.columns, node, strict=True)]
        if metric == "loss":
            whole = sum(weights)
            factors = [(1 + part) ** (weight / whole) for part, weight in zip(parts, weights, strict=True)]
            return float(math.prod(factors)) - 1
        weighted = sum(part * weight for part, weight in zip(parts, weights, strict=True))
        return weighted if metric.startswith("entropy") else weighted / sum(weights)

    def part(self, name: str, level: int, metric: str, kept: frozenset[int]) -> float:
        """What one column loses."""
        ladder, values = self.ladders[name], self.requirement.values[name]
        total, lost = self.rows, self.rows - len(kept)
        if metric == "precision":
            return (len(kept) * level / ladder.height + lost) / total if ladder.height else 0.0
        labels = [ladder.label(value, level) for value in values]
        if metric == "loss":
            leaves = len(ladder.domain)
            under = {label: ladder.under(label, level) / leaves for label in set(labels)}
            held = sum(under[labels[row]] for row in kept) + lost
            room = total - total / leaves
            return max(0.0, (held - total / leaves) / room) if room > 0 else 0.0
        finest, general = Counter(values), Counter(labels)
        if metric == "hdm":
            return sum(
                (general[label] - finest[value]) / (total - finest[value])
                for value, label in zip(values, labels, strict=True)
                if total > finest[value]
            )
        found = -sum(math.log2(finest[value] / general[label]) for value, label in zip(values, labels, strict=True))
        if metric == "entropy" and lost:
            gone = Counter(label for row, label in enumerate(labels) if row not in kept)
            found -= sum(count * math.log2(count / lost) for count in gone.values())
        return found


def below(lower: Node, upper: Node) -> bool:
    return all(one <= other for one, other in zip(lower, upper, strict=True))
