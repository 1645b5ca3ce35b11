"""Xiao and Tao's definitions by brute force, with exact fractions; shares no code with sqlanon.

A taxonomy is a list of levels, each a list of node numbers by leaf; level 0 numbers the leaves themselves.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import perm

Node = tuple[int, int]
"""Level and number."""


@dataclass(frozen=True)
class Taxonomy:
    levels: tuple[tuple[int, ...], ...]

    @property
    def leaves(self) -> int:
        return len(self.levels[0])

    @property
    def height(self) -> int:
        return len(self.levels) - 1

    def below(self, node: Node) -> frozenset[int]:
        level, number = node
        return frozenset(leaf for leaf in range(self.leaves) if self.levels[level][leaf] == number)

    def above(self, leaf: int) -> list[Node]:
        return [(level, numbers[leaf]) for level, numbers in enumerate(self.levels)]

    def cuts(self) -> Iterator[tuple[Node, ...]]:
        """Every general domain: for each leaf the node that it is published as."""

        def of(node: Node) -> Iterator[dict[int, Node]]:
            yield dict.fromkeys(self.below(node), node)
            if node[0] > 0:
                children = sorted({self.levels[node[0] - 1][leaf] for leaf in self.below(node)})
                for parts in itertools.product(*(list(of((node[0] - 1, child))) for child in children)):
                    yield {leaf: chosen for part in parts for leaf, chosen in part.items()}

        for chosen in of((self.height, self.levels[-1][0])):
            yield tuple(chosen[leaf] for leaf in range(self.leaves))


def random_taxonomy(chance: random.Random, leaves: int, height: int) -> Taxonomy:
    """Nested random groupings of the leaves; the last level is the root."""
    levels = [tuple(range(leaves))]
    for level in range(1, height + 1):
        nodes = sorted(set(levels[-1]))
        wanted = 1 if level == height else chance.randint(1, max(1, len(nodes) - 1))
        parent = {node: (0 if wanted == 1 else chance.randrange(wanted)) for node in nodes}
        levels.append(tuple(parent[node] for node in levels[-1]))
    return Taxonomy(tuple(levels))


@dataclass(frozen=True)
class Row:
    leaf: int
    guard: Node | None
    person: int = 0


def enumerated(
    taxonomy: Taxonomy, published: Sequence[Node], guard: Node | None, persons: int, primary: bool
) -> Fraction:
    """The breach probability of person 0 by listing every possible reconstruction (Definitions 9 and 10)."""
    if guard is None:
        return Fraction(0)
    guarded = taxonomy.below(guard)
    owners = (
        itertools.permutations(range(persons), len(published))
        if primary
        else itertools.product(range(persons), repeat=len(published))
    )
    choices = [sorted(taxonomy.below(node)) for node in published]
    every = breaching = 0
    for owner in owners:
        for values in itertools.product(*choices):
            every += 1
            breaching += any(who == 0 and value in guarded for who, value in zip(owner, values, strict=True))
    assert every == (perm(persons, len(published)) if primary else persons ** len(published)) * _product(choices)
    return Fraction(breaching, every)


def _product(choices: Sequence[Sequence[int]]) -> int:
    result = 1
    for choice in choices:
        result *= len(choice)
    return result


def breach(taxonomy: Taxonomy, published: Sequence[Node], guard: Node | None, persons: int, primary: bool) -> Fraction:
    """The same in closed form, without Lemma 1: each row counts by the guarded share of its leaves."""
    if guard is None:
        return Fraction(0)
    guarded = taxonomy.below(guard)
    shares = [Fraction(len(taxonomy.below(node) & guarded), len(taxonomy.below(node))) for node in published]
    if primary:
        return sum(shares, Fraction(0)) / persons
    kept = Fraction(1)
    for share in shares:
        kept *= 1 - share / persons
    return 1 - kept


def least_generalization(
    taxonomy: Taxonomy, rows: Sequence[Row], persons: int, p: Fraction, primary: bool
) -> dict[int, Node] | None:
    """By trying every cut: the node of each leaf that occurs, where every alternative publishes no lower node.

    Asserts Theorem 3: there is a least one wherever there is one.
    """
    occurring = sorted({row.leaf for row in rows})
    safe: list[dict[int, Node]] = []
    for cut in taxonomy.cuts():
        published = [cut[row.leaf] for row in rows]
        if all(breach(taxonomy, published, row.guard, persons, primary) <= p for row in rows):
            safe.append({leaf: cut[leaf] for leaf in occurring})
    if not safe:
        return None
    sizes = [sum(len(taxonomy.below(chosen[row.leaf])) for row in rows) for chosen in safe]
    best = safe[sizes.index(min(sizes))]
    for other in safe:
        assert all(taxonomy.below(best[leaf]) <= taxonomy.below(other[leaf]) for leaf in occurring)
    return best
