"""Counting who can have which value: the examples of Wong et al., and every way to hand the values out one by one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import chain, permutations, product

import pytest

from sqlanon.insight.adversary.assignments import MOST_STEPS, Amounts, SplitClass, credibilities, parts_of

Passes = Callable[[Amounts], bool]


def half(part: Amounts) -> bool:
    """At most half of a cell has the first value: simplified 2-diversity, as the paper has it."""
    return 2 * part[0] <= sum(part)


def two_values(part: Amounts) -> bool:
    return sum(1 for amount in part if amount) >= 2


def three_and_half(part: Amounts) -> bool:
    """With k = 3: smaller cells fail whatever their values are."""
    return sum(part) >= 3 and half(part)


def judged(classes: Sequence[SplitClass], passes: Passes) -> dict[SplitClass, dict[Amounts, bool]]:
    return {item: {part: passes(part) for part in item.parts()} for item in classes}


def found(
    classes: Sequence[SplitClass], passes: Passes, allowed: int = 0, *, others: bool = False
) -> dict[tuple[int, int, int], float]:
    answers = credibilities(classes, judged(classes, passes), allowed, others=others)
    return {(item.number, item.size, item.kind): item.credibility for item in answers}


def by_hand(classes: Sequence[SplitClass], passes: Passes, allowed: int) -> dict[tuple[int, int, int], float] | None:
    """One way after the other: the values of each class in every order, the people in theirs."""
    people = [[cell for cell, size in enumerate(item.cells) for _ in range(size)] for item in classes]
    ways = [
        list(permutations([kind for kind, amount in enumerate(item.amounts) for _ in range(amount)]))
        for item in classes
    ]
    known, holds = 0, Counter[tuple[int, int, int]]()
    for world in product(*ways):
        failing = 0
        for item, members, values in zip(classes, people, world, strict=True):
            for cell, size in enumerate(item.cells):
                own = Counter(value for member, value in zip(members, values, strict=True) if member == cell)
                part = tuple(own[kind] for kind in range(len(item.amounts)))
                failing += 0 if passes(part) else size
        if failing > allowed:
            known += 1
            first = [
                {(number, item.cells[cell], values[members.index(cell)]) for cell in range(len(item.cells))}
                for number, (item, members, values) in enumerate(zip(classes, people, world, strict=True))
            ]
            holds.update(set(chain.from_iterable(first)) if _apart(classes) else Counter(chain.from_iterable(first)))
    if not known:
        return None
    keys = [
        (number, size, kind)
        for number, item in enumerate(classes)
        for size in set(item.cells)
        for kind in range(len(item.amounts))
    ]
    return {key: holds[key] / known for key in keys}


def _apart(classes: Sequence[SplitClass]) -> bool:
    """Whether no class has two cells of one size, so that a size names a cell."""
    return all(len(set(item.cells)) == len(item.cells) for item in classes)


def test_the_paper() -> None:
    """Two people of q1 and four of q2 under one label, two of them with cancer: had q1 not had both, q1 and q2 would
    have been released. With five of q2, as in the paper's table, it is the same."""
    for others in (4, 5):
        answers = found([SplitClass((2, others), (2, others))], half)
        assert answers[0, 2, 0] == 1
        assert answers[0, others, 0] == 0
    # Three with cancer among two of q1 and four of q2: (2, 1), one of C(2, 2) C(4, 1) = 4 ways, or (0, 3), one of
    # C(4, 3) = 4; (1, 2) passes. So q1 has it in 4 of 8.
    answers = found([SplitClass((2, 4), (3, 3))], half)
    assert answers[0, 2, 0] == pytest.approx(4 / 8)
    assert answers[0, 4, 0] == pytest.approx((4 * 1 / 4 + 4 * 3 / 4) / 8)


SMALL: list[tuple[list[SplitClass], int]] = [
    ([SplitClass((2, 4), (2, 4))], 0),
    ([SplitClass((2, 4), (2, 2, 2))], 0),
    ([SplitClass((2, 3), (3, 2))], 2),
    ([SplitClass((3, 4), (2, 3, 2))], 3),
    ([SplitClass((1, 2, 3), (3, 3))], 1),
    ([SplitClass((2, 3), (2, 3)), SplitClass((1, 2), (1, 2))], 0),
    ([SplitClass((2, 3), (2, 3)), SplitClass((1, 2), (1, 1, 1))], 2),
    ([SplitClass((1, 4), (2, 3)), SplitClass((1, 2), (2, 1))], 3),
]


@pytest.mark.parametrize("passes", [half, two_values, three_and_half])
@pytest.mark.parametrize(("classes", "allowed"), SMALL)
def test_every_way_one_by_one(classes: list[SplitClass], allowed: int, passes: Passes) -> None:
    wanted = by_hand(classes, passes, allowed)
    answers = found(classes, passes, allowed)
    if wanted is None:
        shares = {(n, s, k): classes[n].amounts[k] / classes[n].size for n, s, k in answers}
        assert answers == pytest.approx(shares)
    else:
        assert answers == pytest.approx(wanted)


@pytest.mark.parametrize("passes", [half, two_values])
def test_classes_that_are_not_counted_only_weaken_what_is_known(passes: Passes) -> None:
    """Whatever a class that was left out does, no value is more credible than the bound says."""
    one, other = SplitClass((2, 3), (2, 3)), SplitClass((1, 3), (2, 2))
    for allowed in (0, 1, 2, 3):
        exact = found([one, other], passes, allowed)
        bound = found([one], passes, allowed, others=True)
        for (number, size, kind), credible in exact.items():
            if number == 0:
                assert credible <= bound[0, size, kind] + 1e-12


def test_people_of_cells_of_one_size_are_alike() -> None:
    """Two cells of two: brute force over who of the first has what."""
    item = SplitClass((2, 2), (2, 1, 1))
    known, holds = 0, Counter[int]()
    for values in permutations((0, 0, 1, 2)):
        if values[0] == values[1] or values[2] == values[3]:
            known += 1
            holds[values[0]] += 1
    answers = found([item], two_values)
    assert [answers[0, 2, kind] for kind in range(3)] == pytest.approx([holds[kind] / known for kind in range(3)])


def test_what_is_unlikely_keeps_its_digits() -> None:
    """Forty classes of which one way in ten million fails: nothing is lost by subtracting from 1."""
    item = SplitClass((4, 40), (4, 40))
    passing = {part: part[0] < 4 or sum(part) != 4 for part in item.parts()}
    answers = list(credibilities([item] * 40, {item: passing}, 0, others=False))
    [first] = [one.credibility for one in answers if (one.number, one.size, one.kind) == (0, 4, 0)]
    ways = 135751
    # One of the forty failed, most likely just one: of its four people all have the value.
    alone, failed = 1 / ways, 1 - (1 - 1 / ways) ** 40
    assert first == pytest.approx((alone + (4 / 44 - alone) * (1 - (1 - 1 / ways) ** 39)) / failed, rel=1e-9)


def test_parts() -> None:
    for amounts in ((2, 1), (0, 3), (1, 1, 1), ()):
        for size in range(sum(amounts) + 1):
            parts = list(parts_of(amounts, size))
            every = [part for part in product(*(range(amount + 1) for amount in amounts)) if sum(part) == size]
            assert sorted(parts) == sorted(every)


def test_steps_are_known_without_counting() -> None:
    """The steps of a class by its cells and values; of a large one with many values at once that they are too many."""
    for item in (SplitClass((2, 3, 4), (3, 2, 4)), SplitClass((1, 5), (1, 1, 1, 3)), SplitClass((4, 4), (8,))):
        before, steps = 0, 0
        for size in sorted(item.cells):
            steps += len(list(parts_of(item.amounts, before))) * len(list(parts_of(item.amounts, size)))
            before += size
        assert item.steps == steps * len(set(item.cells))
    started = time.process_time()
    for rows in (100, 300, 500):
        assert SplitClass((rows, rows), (2,) * rows).steps > MOST_STEPS
    assert SplitClass((1, 999), (2,) * 500).steps == 2 * (500 + 500 * 500)
    assert time.process_time() - started < 1
