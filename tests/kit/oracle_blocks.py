"""Who holds what in a class of a small table, and in the whole source: the counts that every privacy model asks for.

Shares no code with sqlanon. Without respondents every row is a person of its own: one way of counting serves both.
Tests reach this room through `tests.kit.oracle`.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

Value = Any
"""A value of the database; None is NULL, a value like any other."""


@dataclass(frozen=True)
class Values:
    """A sensitive column: how many of a class of `size` have each value, how many of the whole source of `total`."""

    held: Mapping[Value, int]
    size: int
    source: Mapping[Value, int]
    total: int

    def share(self, value: Value) -> Fraction:
        return Fraction(self.held.get(value, 0), self.size)

    def reference(self, value: Value) -> Fraction:
        return Fraction(self.source[value], self.total)

    @property
    def differences(self) -> dict[Value, Fraction]:
        """Share in the class minus share in the source, for every value of the source in value order."""
        return {value: self.share(value) - self.reference(value) for value in sorted(self.source, key=value_order)}


@dataclass(frozen=True)
class Holdings:
    """Respondents and the values they hold, one pair per row; without respondents every row is a person of its own."""

    pairs: tuple[tuple[Hashable, Value], ...]

    @cached_property
    def people(self) -> int:
        return len({person for person, _ in self.pairs})

    @cached_property
    def holders(self) -> Counter[Value]:
        """How many respondents hold each value: several values of one respondent count for each."""
        return Counter(value for _, value in set(self.pairs))

    @cached_property
    def single(self) -> Counter[Value]:
        """Every respondent once, for the value of theirs that most respondents here hold; ties by value order."""
        held: defaultdict[Hashable, set[Value]] = defaultdict(set)
        for person, value in self.pairs:
            held[person].add(value)
        return Counter(min(values, key=lambda v: (-self.holders[v], value_order(v))) for values in held.values())

    @cached_property
    def distinct(self) -> int:
        """Distinct values, where those that one respondent alone holds count once together."""
        shared = sum(count > 1 for count in self.holders.values())
        alone = {person for person, value in self.pairs if self.holders[value] == 1}
        return min(self.people, shared + len(alone))


@dataclass(frozen=True)
class Block:
    """A class (the chapter's q-block) of one sensitive column, the whole source, and the population's rows like it."""

    members: Holdings
    source: Holdings
    population: int = 0

    @property
    def shares(self) -> Values:
        """Respondents that hold each value."""
        return Values(self.members.holders, self.members.people, self.source.holders, self.source.people)

    @property
    def single(self) -> Values:
        """Every respondent counted for one value: shares that add up to 1.

        A value of the source stays one of its values when nobody is counted for it there.
        """
        source = {value: self.source.single[value] for value in self.source.holders}
        return Values(self.members.single, self.members.people, source, self.source.people)


def value_order(value: Value) -> tuple[bool, Any]:
    """NULL first, text by its bytes, everything else by value."""
    return (value is not None, value.encode() if isinstance(value, str) else value)
