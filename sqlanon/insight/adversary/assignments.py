"""Who can have which sensitive value, counted: every way to hand the values of a class to its people, all as likely.

Wong, Fu, Wang and Pei (VLDB 2007): the credibility of a value for a person is the share of those ways that agree with
what is known. Known are the finer cells of the people, and that so many of them were in cells that failed that a node
was not acceptable. Pure: counts in, probabilities out.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import comb, factorial, prod

Amounts = tuple[int, ...]
"""Of each kind of values, how many there are."""
MOST_STEPS = 200_000
"""Steps that the counting of one class may take: larger ones are not counted."""


@dataclass(frozen=True)
class SplitClass:
    """A released class: the sizes of the finer cells that its people come from, and its values by kind."""

    cells: tuple[int, ...]
    amounts: Amounts
    kinds: tuple[tuple[int, ...], ...] = ()
    """What the kinds of values are, for whoever judges cells."""

    @property
    def size(self) -> int:
        return sum(self.amounts)

    @cached_property
    def steps(self) -> int:
        """How many steps counting takes; of a class that takes too many, at least so many."""
        before, needed = 0, []
        for size in sorted(self.cells):
            needed.append((before, size))
            before += size
        # As many ways to take some values as to leave them.
        degree = max(min(number, self.size - number) for pair in needed for number in pair)
        kinds = len(self.amounts)
        # The ways are no fewer than those without any value twice: few kinds are left where many values are taken.
        least = comb(kinds, min(degree, kinds // 2))
        if least > MOST_STEPS:
            return least
        ways = _numbers_of_parts(self.amounts, degree)
        found = [ways[min(number, self.size - number)] for pair in needed for number in pair]
        return sum(map(int.__mul__, found[::2], found[1::2])) * len(set(self.cells))

    def parts(self) -> set[Amounts]:
        """Everything that a cell can hold."""
        return {part for size in set(self.cells) for part in parts_of(self.amounts, size)}


def _numbers_of_parts(amounts: Amounts, most: int) -> list[int]:
    """In how many ways so many values can be taken, for every number of them up to the most.

    >>> _numbers_of_parts((2, 1), 3)
    [1, 2, 2, 1]
    """
    ways = [1] + [0] * most
    for amount in amounts:
        longer, window = [], 0
        for number, known in enumerate(ways):
            window += known - (ways[number - amount - 1] if number > amount else 0)
            longer.append(window)
        ways = longer
    return ways


def parts_of(amounts: Amounts, size: int) -> Iterator[Amounts]:
    """Every way to take so many values.

    >>> list(parts_of((2, 1), 2))
    [(1, 1), (2, 0)]
    """
    if not amounts:
        if not size:
            yield ()
        return
    rest = sum(amounts[1:])
    for first in range(max(0, size - rest), min(amounts[0], size) + 1):
        for others in parts_of(amounts[1:], size - first):
            yield (first, *others)


Passing = Mapping[SplitClass, Mapping[Amounts, bool]]
"""For each class, whether a cell passes that holds these of its values."""


@dataclass(frozen=True)
class Failing:
    """How likely so many people of a class lie in cells that fail: `upto` the allowed number, and `over` it."""

    upto: tuple[float, ...]
    over: float

    def with_(self, other: Failing) -> Failing:
        """Of two classes together. Nothing is subtracted: what is unlikely keeps its digits."""
        length = len(self.upto)
        upto = [0.0] * length
        over = self.over
        for number, here in enumerate(self.upto):
            if here:
                over += here * other.above(length - 1 - number)
                for more in range(length - number):
                    upto[number + more] += here * other.upto[more]
        return Failing(tuple(upto), over)

    def above(self, most: int) -> float:
        """More people than so many."""
        return self.over + sum(self.upto[max(0, most + 1) :])


def nobody(allowed: int) -> Failing:
    """No class at all."""
    return Failing((1.0, *[0.0] * allowed), 0.0)


@dataclass(frozen=True)
class CountedClass:
    """A class that was counted."""

    failing: Failing
    holding: Mapping[tuple[int, int], Failing]
    """By the size of a cell and the kind of a value: a person of such a cell has the value, and so many fail."""


def count_class(asked: SplitClass, passing: Mapping[Amounts, bool], allowed: int) -> CountedClass:
    """Count the ways of a class by how many of its people are in failing cells."""
    everything = factorial(asked.size) // prod(map(factorial, asked.amounts))
    holding: dict[tuple[int, int], Failing] = {}
    whole: list[int] = []
    for size in sorted(set(asked.cells)):
        others = list(asked.cells)
        others.remove(size)
        rest = _ways_of(others, asked.amounts, passing, allowed)
        whole = [0] * (allowed + 1)
        held: dict[int, list[int]] = defaultdict(lambda: [0] * (allowed + 1))
        for used, ways in rest.items():
            last = tuple(amount - taken for amount, taken in zip(asked.amounts, used, strict=True))
            shift = 0 if passing[last] else size
            alike = _orders(last)
            for number, known in ways.items():
                if number + shift <= allowed:
                    whole[number + shift] += known * alike
                    for kind, amount in enumerate(last):
                        held[kind][number + shift] += known * alike * amount
        for kind, amount in enumerate(asked.amounts):
            # A person of the cell has each of its values as likely.
            found, each = held[kind], everything * size
            over = (each * amount - asked.size * sum(found)) / (each * asked.size)
            holding[size, kind] = Failing(tuple(number / each for number in found), over)
    upto = tuple(number / everything for number in whole)
    return CountedClass(Failing(upto, (everything - sum(whole)) / everything), holding)


def _orders(part: Amounts) -> int:
    """In how many ways the people of a cell can have these values."""
    left, found = sum(part), 1
    for amount in part:
        found *= comb(left, amount)
        left -= amount
    return found


def _ways_of(
    cells: Iterable[int], amounts: Amounts, passing: Mapping[Amounts, bool], allowed: int
) -> dict[Amounts, Counter[int]]:
    """The ways to give values to some cells, by the values used and the people in failing cells."""
    known: dict[Amounts, Counter[int]] = {tuple(0 for _ in amounts): Counter({0: 1})}
    for size in cells:
        after: dict[Amounts, Counter[int]] = defaultdict(Counter)
        for used, ways in known.items():
            left = tuple(amount - taken for amount, taken in zip(amounts, used, strict=True))
            for part in parts_of(left, size):
                shift = 0 if passing[part] else size
                alike = _orders(part)
                now = tuple(taken + more for taken, more in zip(used, part, strict=True))
                for number, found in ways.items():
                    if number + shift <= allowed:
                        after[now][number + shift] += found * alike
        known = after
    return known


@dataclass(frozen=True)
class Credibility:
    """How credible a value is for a person of a cell."""

    number: int
    """Of the class, in the order given."""
    size: int
    kind: int
    share: float
    """Of the value in the class: what somebody believes who knows nothing else."""
    credibility: float


def credibilities(
    classes: Sequence[SplitClass], passing: Passing, allowed: int, *, others: bool
) -> Iterator[Credibility]:
    """How credible every value is for the people of every cell, given that more than `allowed` people were in failing
    cells. `others`: there are classes that were not counted; then no value is more credible than this.

    What other classes take of the allowed number makes this a mixture over all lower ones, or leaves the share of the
    value where they take all: its greatest part bounds it.
    """
    distinct = {item: count_class(item, passing[item], allowed) for item in set(classes)}
    found = [distinct[item] for item in classes]
    before = [nobody(allowed)]
    for item in found:
        before.append(before[-1].with_(item.failing))
    after = [nobody(allowed)]
    for item in reversed(found):
        after.append(item.failing.with_(after[-1]))
    after.reverse()
    limits = range(allowed + 1) if others else (allowed,)
    seen: dict[SplitClass, list[Credibility]] = {}
    for number, (asked, item) in enumerate(zip(classes, found, strict=True)):
        if asked not in seen:
            exact = _of_class(asked, item, before[number].with_(after[number + 1]), limits)
            seen[asked] = [
                replace(one, credibility=max(one.credibility, one.share)) if others else one for one in exact
            ]
        yield from (replace(one, number=number) for one in seen[asked])


def _of_class(asked: SplitClass, item: CountedClass, rest: Failing, limits: Sequence[int]) -> Iterator[Credibility]:
    failed = {most: _together_above(item.failing, rest, most) for most in limits}
    for (size, kind), holding in item.holding.items():
        share = asked.amounts[kind] / asked.size
        beliefs = [_together_above(holding, rest, most) / failed[most] for most in limits if failed[most] > 0]
        yield Credibility(0, size, kind, share, max(beliefs, default=share))


def _together_above(here: Failing, rest: Failing, most: int) -> float:
    """That more than so many people fail, here and in the rest together."""
    over = here.above(most)
    return over + sum(part * rest.above(most - number) for number, part in enumerate(here.upto[: most + 1]))
