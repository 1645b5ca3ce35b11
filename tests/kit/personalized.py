"""Personalized privacy: Xiao and Tao's definitions by brute force, their tables in a database, releases judged by hand.

The brute force takes exact fractions and shares no code with sqlanon. A taxonomy is a list of levels, each a list of
node numbers by leaf; level 0 numbers the leaves themselves.
"""

from __future__ import annotations

import csv
import itertools
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import perm
from pathlib import Path
from typing import Any

import yaml

from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Session
from tests.kit.tables import create, quoted, rows

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


FIGURES = Path(__file__).parent.parent.parent / "fixtures" / "papers" / "xiao_tao"
TYPES = {"name": "text", "age": "int", "sex": "text", "zip": "int", "disease": "text", "guard": "text"}
RELEASED = {"age": "text", "sex": "text", "zip": "text", "disease": "text"}


def read(name: str) -> list[dict[str, str | None]]:
    with (FIGURES / name).open(encoding="utf-8", newline="") as lines:
        return [{key: value or None for key, value in row.items()} for row in csv.DictReader(lines)]


def opened(url: str) -> Engine:
    return open_engine(url, Session(), Path())


def make(engine: Engine, name: str, types: Mapping[str, str], content: Sequence[Mapping[str, object]]) -> None:
    create(engine, [name], types, [[row[key] for key in types] for row in content])


def figure_spec(url: str, **personalized: Any) -> dict[str, Any]:
    """The spec of the fixture, on tables of a database."""
    spec: dict[str, Any] = yaml.safe_load((FIGURES / "spec.yaml").read_text(encoding="utf-8"))
    spec |= {"connection": url, "source": "microdata", "target": "release", "evidence": {"files": False}}
    if not personalized.get("primary", True):
        spec["respondent"] = "name"
    spec["privacy"]["personalized"] |= personalized
    return spec


def released(engine: Engine, name: str, columns: Sequence[str]) -> list[tuple[Any, ...]]:
    return rows(engine, f"SELECT {', '.join(quoted(column) for column in columns)} FROM {quoted(name)}")


def covers(label: str | None, value: object, above: Mapping[object, Sequence[str]] | None = None) -> bool:
    """Whether a released label covers a value: itself, a node above it, or an interval."""
    if label is None or value is None:
        return label == "*" or label is value
    if label in (str(value), "*") or (above is not None and label in above[value]):
        return True
    found = re.fullmatch(r"\[(-?[\d.]+), (-?[\d.]+)\]", label)
    return bool(found) and float(found[1]) <= float(str(value)) <= float(found[2])  # type: ignore[index]  # found is one


def tree_taxonomy(tree: Mapping[str, Any]) -> tuple[Taxonomy, list[str], dict[str, Node]]:
    """A tree of a spec, two levels deep, as numbers: the taxonomy, its leaves, and the node of each label."""
    paths = [(leaf, middle, top) for top, below in tree.items() for middle, leaves in below.items() for leaf in leaves]
    levels = [sorted({path[level] for path in paths}) for level in range(3)]
    numbers = [tuple(levels[level].index(path[level]) for path in sorted(paths)) for level in range(3)]
    taxonomy = Taxonomy((*numbers, tuple(0 for _ in paths)))
    nodes = {label: (level, place) for level, labels in enumerate(levels) for place, label in enumerate(labels)}
    return taxonomy, levels[0], {**nodes, "*": (3, 0)}


def greatest_breach(
    taxonomy: Taxonomy,
    nodes: Mapping[str, Node],
    source: Sequence[tuple[Mapping[str, object], str | None, object]],
    release: Sequence[tuple[tuple[str | None, ...], str]],
    columns: Sequence[str],
    *,
    primary: bool,
    above: Mapping[str, Mapping[object, Sequence[str]]] | None = None,
) -> Fraction:
    """The greatest breach probability by hand, of (values, guard, person) released as (labels, sensitive)."""
    groups: dict[tuple[str | None, ...], list[str]] = {}
    for labels, sensitive in release:
        groups.setdefault(labels, []).append(sensitive)
    inside: dict[tuple[str | None, ...], list[tuple[str | None, object]]] = {labels: [] for labels in groups}
    for values, guard, person in source:
        found = [
            labels
            for labels in groups
            if all(
                covers(label, values[column], (above or {}).get(column))
                for label, column in zip(labels, columns, strict=True)
            )
        ]
        assert len(found) == 1, "the essential group is not unique"
        inside[found[0]].append((guard, person))
    worst = Fraction(0)
    for labels, members in inside.items():
        assert len(members) == len(groups[labels])
        persons = len(members) if primary else len({person for _, person in members})
        published = [nodes[label] for label in groups[labels]]
        for guard, _ in members:
            node = None if guard is None else nodes[guard]
            worst = max(worst, breach(taxonomy, published, node, persons, primary))
    return worst
