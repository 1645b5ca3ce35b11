"""The six schemes and their enumeration trees against the paper's numbers and brute force over all partitions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate, combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sqlanon.search.schemes.domain import LeafDomain, Partition, blocks, canonical, identity, of_blocks, whole
from sqlanon.search.schemes.exact import OpenNode, children
from sqlanon.search.schemes.families import SCHEMES, EnumerationTree, within
from sqlanon.search.schemes.problem import Space
from tests.kit.examples import share


def from_indexes(indexes: AbstractSet[int], sizes: Sequence[int]) -> tuple[Partition, ...]:
    """The ranges that a set of indexes stands for, as k-Optimize writes ordered partitions of all columns.

    Leaves of all columns are numbered through from 1; an index in the set opens a new range, the least leaf of a column
    always does (Bayardo and Agrawal).

    >>> from_indexes({3}, (4,))
    ((0, 0, 1, 1),)
    """
    found = []
    for size, before in zip(sizes, accumulate(sizes, initial=0), strict=False):
        opens = (leaf > 0 and before + leaf + 1 in indexes for leaf in range(size))
        found.append(tuple(accumulate(map(int, opens))))
    return tuple(found)


def indexes_of(partitions: Sequence[Partition]) -> set[int]:
    """The set of indexes that stands for these ranges."""
    found: set[int] = set()
    before = 0
    for partition in partitions:
        opens = (leaf for leaf in range(1, len(partition)) if partition[leaf] != partition[leaf - 1])
        found.update(before + leaf + 1 for leaf in opens)
        before += len(partition)
    return found


WORK_CLASS = LeafDomain.of(8, [(0, 0, 0, 1, 2, 2, 3, 3)])
"""Li and Li 2007, Figure 1."""

COUNTS = {"bhs": 3, "ghs": 17, "gops": 40, "gsps": 67, "ops": 128, "sps": 4140}


def all_partitions(size: int) -> Iterator[Partition]:
    """Every partition, as group numbers that grow one at a time."""

    def grow(codes: tuple[int, ...]) -> Iterator[Partition]:
        if len(codes) == size:
            yield codes
            return
        for code in range(max(codes, default=-1) + 2):
            yield from grow((*codes, code))

    return grow(())


def is_valid(name: str, domain: LeafDomain, partition: Partition) -> bool:
    """NULL, the last leaf where there is one, stays apart until all leaves are one group."""
    if not domain.apart or partition == whole(domain.size):
        return is_valid_of_values(name, domain, partition)
    *values, absent = partition
    return absent not in values and any(values) and is_valid_of_values(name, domain.values, tuple(values))


def is_valid_of_values(name: str, domain: LeafDomain, partition: Partition) -> bool:
    """The definitions of section 2, read word by word: on pairs of leaves and their distance in the hierarchy."""

    def distance(first: int, second: int) -> int:
        return next(level for level, groups in enumerate(domain.levels) if groups[first] == groups[second])

    together = [pair for pair in combinations(range(domain.size), 2) if partition[pair[0]] == partition[pair[1]]]
    guided = all(
        partition[other] == partition[first]
        for pair in together
        for other in range(domain.size)
        for first in pair
        if distance(other, first) < distance(*pair)
    )
    ordered = all(partition[between] == partition[low] for low, high in together for between in range(low, high))
    match name:
        case "bhs":
            return partition in domain.levels
        case "ghs":
            nodes = {group for level in domain.levels for group in blocks(level)}
            return all(group in nodes for group in blocks(partition))
        case "gops":
            return guided and ordered
        case "gsps":
            return guided
        case "ops":
            return ordered
    return True


@pytest.mark.parametrize(("name", "expected"), COUNTS.items())
def test_l1_number_of_valid_generalizations(name: str, expected: int) -> None:
    found = list(SCHEMES[name].generalizations(WORK_CLASS))
    assert SCHEMES[name].count(WORK_CLASS) == expected
    assert len(found) == len(set(found)) == (9 if name == "ghs" else expected)
    assert set(found) == {item for item in all_partitions(8) if is_valid(name, WORK_CLASS, item)}


def cuts(domain: LeafDomain) -> int:
    """Sets of nodes, each leaf below exactly one: a node with one child is another cut than that child."""
    nodes = [group for level in domain.levels for group in blocks(level)]
    chosen = (choice for size in range(1, domain.size + 1) for choice in combinations(nodes, size))
    return sum(sorted(leaf for node in choice for leaf in node) == list(range(domain.size)) for choice in chosen)


def test_l1_cuts_of_the_group_hierarchical_scheme() -> None:
    assert cuts(WORK_CLASS) == 17


def paper(*groups: set[int]) -> Partition:
    """A partition as the paper prints it, with leaves from 1."""
    return of_blocks([{leaf - 1 for leaf in group} for group in groups], sum(map(len, groups)))


def test_l2_children_in_the_set_partitioning_scheme() -> None:
    tree = EnumerationTree(SCHEMES["sps"], LeafDomain.of(5))
    assert set(tree.merges(paper({1}, {2, 3}, {4}, {5}))) == {
        paper({1}, {2, 3, 4}, {5}),
        paper({1}, {2, 3}, {4, 5}),
        paper({1}, {2, 3, 5}, {4}),
    }
    assert set(tree.merges(paper({1, 4}, {2}, {3}, {5}))) == {
        paper({1, 4}, {2, 3}, {5}),
        paper({1, 4}, {2}, {3, 5}),
        paper({1, 4}, {2, 5}, {3}),
        paper({1, 4, 5}, {2}, {3}),
    }


def test_l2_each_of_the_fifteen_partitions_once() -> None:
    tree = EnumerationTree(SCHEMES["sps"], LeafDomain.of(4))
    found = list(visited_upwards(tree, identity(4)))
    assert len(found) == 15
    assert set(found) == set(all_partitions(4))


def test_l3_children_by_the_applicators_of_a_node() -> None:
    """Example 3: three children by the first column, one by the second, in which the first stays as it is."""
    space = Space(
        (EnumerationTree(SCHEMES["sps"], LeafDomain.of(4)), EnumerationTree(SCHEMES["sps"], LeafDomain.of(2)))
    )
    node = OpenNode((paper({1, 2}, {3}, {4}), paper({1}, {2})), (0, 1), 0.0)
    by_first, by_second = children(space, node, (0, 1), upwards=True)
    second = paper({1}, {2})
    assert {child.generalization for child in by_first} == {
        (paper({1, 2, 3}, {4}), second),
        (paper({1, 2}, {3, 4}), second),
        (paper({1, 2, 4}, {3}), second),
    }
    assert [child.generalization for child in by_second] == [(node.generalization[0], paper({1, 2}))]
    assert {child.applicators for child in by_first} == {(0, 1)}
    assert [child.applicators for child in by_second] == [(1,)]


@pytest.mark.parametrize("name", ["gsps", "gops"])
def test_l3_one_child_where_the_hierarchy_guides(name: str) -> None:
    node = paper({1}, {2, 3}, {4}, {5, 6}, {7}, {8})
    assert EnumerationTree(SCHEMES[name], WORK_CLASS).merges(node) == (paper({1}, {2, 3}, {4}, {5, 6}, {7, 8}),)


def visited_upwards(tree: EnumerationTree, start: Partition) -> Iterator[Partition]:
    yield start
    for child in tree.merges(start):
        yield from visited_upwards(tree, child)


def visited_downwards(tree: EnumerationTree, start: Partition) -> Iterator[Partition]:
    yield start
    for child in tree.splits(start):
        yield from visited_downwards(tree, child)


@st.composite
def domains(draw: st.DrawFn, most: int = 6) -> LeafDomain:
    """Small domains with up to two levels between, their groups ranges of leaves."""
    size = draw(st.integers(1, most))
    levels = []
    below = identity(size)
    for _ in range(draw(st.integers(0, 2))):
        starts = [True] + [draw(st.booleans()) for _ in range(size - 1)]
        numbers: list[int] = []
        for leaf in range(size):
            opens = starts[leaf] and (leaf == 0 or below[leaf] != below[leaf - 1])
            numbers.append((numbers[-1] if numbers else -1) + opens)
        below = canonical(numbers)
        levels.append(below)
    if size < 3 or not draw(st.booleans()):
        return LeafDomain.of(size, levels)
    # The last leaf is NULL: alone below the top.
    return LeafDomain.of(size, [canonical([*level[:-1], -1]) for level in levels], apart=True)


@pytest.mark.parametrize("name", COUNTS)
@settings(max_examples=share(25), deadline=None)
@given(domain=domains())
def test_trees_reach_every_valid_generalization_once_and_stay_within_their_bounds(
    name: str, domain: LeafDomain
) -> None:
    scheme = SCHEMES[name]
    tree = EnumerationTree(scheme, domain)
    expected = sorted(item for item in all_partitions(domain.size) if is_valid(name, domain, item))
    assert sorted(scheme.generalizations(domain)) == expected
    assert scheme.count(domain) == (cuts(domain.values) if name == "ghs" else len(expected))
    assert sorted(visited_upwards(tree, identity(domain.size))) == expected
    downwards = list(visited_downwards(tree, whole(domain.size)))
    assert len(set(downwards)) == len(downwards)
    assert sorted(item for item in downwards if tree.allows(item)) == expected
    for node in expected:
        assert all(within(item, node, tree.ceiling(node)) for item in visited_upwards(tree, node))
    for node in downwards:
        assert all(within(item, tree.floor(node), node) for item in visited_downwards(tree, node))


def test_c5_index_sets_of_k_optimize() -> None:
    """The chapter's Figure 12: {3, 8, 10} over ZIP 1-4, Marital 5-8, Sex 9-10."""
    partitions = from_indexes({3, 8, 10}, (4, 4, 2))
    assert partitions == ((0, 0, 1, 1), (0, 0, 0, 1), (0, 1))
    assert indexes_of(partitions) == {3, 8, 10}
    assert from_indexes(set(), (4, 4, 2)) == (whole(4), whole(4), whole(2))


@pytest.mark.parametrize("name", sorted(set(COUNTS) - {"gops"}))
def test_trees_of_a_hierarchy_across_the_order(name: str) -> None:
    """Nodes need not be ranges of the leaves; only gops asks for that, and says so."""
    domain = LeafDomain.of(5, [(0, 1, 0, 1, 2)])
    tree = EnumerationTree(SCHEMES[name], domain)
    expected = sorted(item for item in all_partitions(5) if is_valid(name, domain, item))
    assert sorted(visited_upwards(tree, identity(5))) == expected
    assert sorted(item for item in visited_downwards(tree, whole(5)) if tree.allows(item)) == expected
    for node in expected:
        assert all(within(item, node, tree.ceiling(node)) for item in visited_upwards(tree, node))
    assert SCHEMES["gops"].problem(domain) is not None
    assert SCHEMES[name].problem(domain) is None
