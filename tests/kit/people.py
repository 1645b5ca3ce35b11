"""Several tables by brute force: what somebody may know of a person, and who has to leave, over Python rows alone.

A person has a row of labels, and rows of labels in another table. Shares nothing with the package.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

Label = Hashable
Said = tuple[Label, Sequence[Label]]
"""The own row of a person, and the rows of the other table."""


def known_of(said: Said, most: int) -> Iterator[tuple[Label, frozenset[tuple[Label, int]]]]:
    """Everything that somebody may know of a person: the own row with up to so many others, as multisets."""
    own, rows = said
    for number in range(min(most, len(rows)) + 1):
        for chosen in combinations(rows, number):
            yield own, frozenset(Counter(chosen).items())


def fits(known: tuple[Label, frozenset[tuple[Label, int]]], said: Said) -> bool:
    """Whether a person could be the one of whom this is known."""
    own, rows = said
    there = Counter(rows)
    return known[0] == own and all(there[label] >= number for label, number in known[1])


def smallest(people: Mapping[Any, Said], most: int) -> int:
    """The fewest people whom something fits that may be known of somebody."""
    counted = (
        sum(fits(known, other) for other in people.values())
        for said in people.values()
        for known in set(known_of(said, most))
    )
    return min(counted, default=0)


def staying(people: Mapping[Any, Said], most: int, k: int) -> dict[Any, Said]:
    """The largest set of people of whom nothing that may be known fits fewer than k of them."""
    left = dict(people)
    while True:
        failing = [
            person
            for person, said in left.items()
            if any(sum(fits(known, other) for other in left.values()) < k for known in set(known_of(said, most)))
        ]
        if not failing:
            return left
        for person in failing:
            del left[person]
