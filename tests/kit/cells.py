"""Cell recodings by brute force: what a grouping of rows costs, the best of all, and rows that fit each other.

Pure Python over rows and labels; shares no code with sqlanon.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations, permutations, product
from math import inf, lcm

from tests.kit.papers import Labels, Row


def fits(original: Row, released: Row, labels: Sequence[Labels]) -> bool:
    """Whether each label of a released row is the value of the original, or above it."""
    return all(label in chain[value] for value, label, chain in zip(original, released, labels, strict=True))


def fitting(originals: Sequence[Row], released: Sequence[Row], labels: Sequence[Labels]) -> tuple[int, int, int]:
    """(1,k), (k,1) and global (1,k), the last by trying every assignment."""
    found = [[fits(one, other, labels) for other in released] for one in originals]
    one_k = [sum(row) for row in found]
    k_one = [sum(column) for column in zip(*found, strict=True)]
    if not all(k_one) or one_k.count(0) > len(originals) - len(released):
        return 0, min(k_one), 0
    partners: list[set[int]] = [set() for _ in originals]
    for chosen in permutations(range(len(originals)), len(released)):
        if all(found[o][r] for r, o in enumerate(chosen)):
            for r, o in enumerate(chosen):
                partners[o].add(r)
    return (
        min(number for number in one_k if number),
        min(k_one),
        min((len(each) for each in partners if each), default=0),
    )


def enough(found: Sequence[Sequence[bool]], k: int) -> bool:
    """Whether every original row has k released rows, and every released row k originals, in assignments of all rows.

    `found` tells of each original which released rows fit it.
    """
    pairs = set()
    for chosen in permutations(range(len(found))):
        if all(found[o][r] for r, o in enumerate(chosen)):
            pairs |= {(o, r) for r, o in enumerate(chosen)}
    counts = [Counter(pair[side] for pair in pairs) for side in (0, 1)]
    return all(count[row] >= k for count in counts for row in range(len(found)))


def least_fitting_cost(rows: Sequence[Row], labels: Sequence[Labels], k: int, *, cells: bool) -> Fraction:
    """The least cost of labels for single rows that are enough: all labels of all rows are tried."""
    heights = [len(next(iter(chain.values()))) - 1 for chain in labels]
    every = [
        (
            sum(
                (Fraction(step > 0) if cells else Fraction(step, height))
                for step, height in zip(steps, heights, strict=True)
            ),
            [
                all(chain[own[i]][steps[i]] == chain[other[i]][steps[i]] for i, chain in enumerate(labels))
                for other in rows
            ],
        )
        for own in rows
        for steps in product(*(range(height + 1) for height in heights))
    ]
    size = len(every) // len(rows)
    of_rows = [
        # Of labels that fit the same rows the cheapest is enough.
        sorted({tuple(fit): cost for cost, fit in sorted(every[size * row : size * (row + 1)], reverse=True)}.items())
        for row in range(len(rows))
    ]
    for chosen in sorted(product(*of_rows), key=lambda item: sum(cost for _, cost in item)):
        if enough(list(zip(*(fit for fit, _ in chosen), strict=True)), k):
            return Fraction(sum(cost for _, cost in chosen))
    raise ValueError("fewer rows than k")


def level(values: Sequence[str | None], chain: Labels) -> int:
    """The lowest level at which values are equal."""
    height = len(next(iter(chain.values())))
    return next(step for step in range(height) if len({chain[value][step] for value in values}) == 1)


def cost(rows: Sequence[Row], labels: Sequence[Labels], *, cells: bool) -> Fraction:
    """What a group costs: for each cell 1 where it is suppressed, or its level over the height."""
    total = Fraction(0)
    for values, chain in zip(zip(*rows, strict=True), labels, strict=True):
        reached = level(values, chain)
        height = len(next(iter(chain.values()))) - 1
        total += len(rows) * (Fraction(reached > 0) if cells else Fraction(reached, height))
    return total


def least_cost(rows: Sequence[Row], labels: Sequence[Labels], k: int, *, cells: bool) -> Fraction:
    """The least cost of all partitions into groups of at least k rows.

    A group of 2k rows or more can be divided: no part of it pays more for a row than the whole does. So the groups of k
    to 2k - 1 rows are enough; `least_cost_of_all` tries the others too.
    """
    return _least(rows, labels, range(k, 2 * k), cells=cells)


def least_cost_of_all(rows: Sequence[Row], labels: Sequence[Labels], k: int, *, cells: bool) -> Fraction:
    """The same with groups of any size from k rows up."""
    return _least(rows, labels, range(k, len(rows) + 1), cells=cells)


def _least(rows: Sequence[Row], labels: Sequence[Labels], sizes: range, *, cells: bool) -> Fraction:
    """Sets of rows are whole numbers, a bit for each row: the best of a set has a group of its first row and a rest."""
    unit = lcm(*(len(next(iter(chain.values()))) - 1 for chain in labels))
    priced: dict[int, int] = {}
    for size in sizes:
        for members in combinations(range(len(rows)), size):
            paid = cost([rows[number] for number in members], labels, cells=cells) * unit
            priced[sum(1 << number for number in members)] = int(paid)
    by_first: list[list[tuple[int, int]]] = [[] for _ in rows]
    for group, paid_by_group in sorted(priced.items(), key=lambda item: item[1]):
        by_first[(group & -group).bit_length() - 1].append((group, paid_by_group))

    @cache
    def best(left: int) -> float:
        if not left:
            return 0
        least = inf
        for group, paid_by_group in by_first[(left & -left).bit_length() - 1]:
            if paid_by_group >= least:
                break
            if group & left == group:
                least = min(least, paid_by_group + best(left ^ group))
        return least

    answer = best((1 << len(rows)) - 1)
    if answer == inf:
        raise ValueError("fewer rows than k")
    return Fraction(int(answer), unit)
