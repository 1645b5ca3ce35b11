"""The privacy models by brute force: whole numbers and fractions in Python, from the papers' definitions.

Shares no code with sqlanon and knows no SQL. Without respondents every row is a person of its own: one
way of counting serves both. Every model gives its verdict and its figure for a block: one class of
a table beside the whole source. Tests reach this room through `tests.kit.oracle`.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from functools import cached_property
from math import exp, fsum, log, prod
from typing import Any, ClassVar

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


Labels = Mapping[Value, Sequence[Value]]
"""For each value of a column: its labels from level 0 to the top."""
Number = Fraction | int
Figure = Fraction | int | float | None
"""What an audit would report of a class; None is worse than every number."""


def natural_logarithm(number: Fraction) -> Decimal:
    """To 60 digits: far closer than fractions of small numbers can lie to a logarithm that is not 0."""
    with localcontext(prec=60):
        return (Decimal(number.numerator) / Decimal(number.denominator)).ln()


def decimal(number: Number) -> Decimal:
    with localcontext(prec=60):
        return Decimal(number.numerator) / Decimal(number.denominator)


class Model(ABC):
    """What is asked of a class. `worst` chooses the figure that speaks for all classes."""

    worst: ClassVar[Callable[..., Any]] = max
    of_population: ClassVar[bool] = False
    """Asked of every class of the population, also of those without a row in the table."""

    @abstractmethod
    def figure(self, block: Block) -> Figure: ...

    @abstractmethod
    def passes(self, block: Block) -> bool: ...


@dataclass(frozen=True)
class AtLeast(Model):
    """A count that must not be smaller than asked."""

    asked: int
    worst = min

    @abstractmethod
    def figure(self, block: Block) -> int: ...

    def passes(self, block: Block) -> bool:
        return self.figure(block) >= self.asked


class K(AtLeast):
    def figure(self, block: Block) -> int:
        return block.members.people


class DistinctL(AtLeast):
    def figure(self, block: Block) -> int:
        return block.members.distinct


class PSensitive(DistinctL):
    """The same question as distinct l-diversity, under the name of another paper."""


class KMap(AtLeast):
    def figure(self, block: Block) -> int:
        return block.population


@dataclass(frozen=True)
class EntropyL(Model):
    """Entropy >= ln l, decided in whole numbers: n^n >= l^n * product of m^m."""

    diversity: Number
    worst = min

    def figure(self, block: Block) -> float:
        """The number of equally frequent values with this entropy."""
        n = block.single.size
        return exp(fsum(m / n * log(n / m) for m in block.single.held.values()))

    def passes(self, block: Block) -> bool:
        n, bound = block.single.size, Fraction(self.diversity)
        values: int = prod(m**m for m in block.single.held.values())
        reached: int = (n * bound.denominator) ** n
        needed: int = bound.numerator**n * values
        return reached >= needed


@dataclass(frozen=True)
class RecursiveL(Model):
    """r1 < c * (r_l + ... + r_last): without its l - 1 most frequent values the rest still outweighs the first."""

    c: Number
    diversity: int

    def parts(self, block: Block) -> tuple[int, int]:
        ranked = sorted(block.single.held.values(), reverse=True)
        return ranked[0], sum(ranked[self.diversity - 1 :])

    def figure(self, block: Block) -> Fraction | None:
        first, tail = self.parts(block)
        return Fraction(first, tail) if tail else None

    def passes(self, block: Block) -> bool:
        first, tail = self.parts(block)
        return first < self.c * tail


@dataclass(frozen=True)
class Alpha(Model):
    value: Value
    alpha: Number

    def figure(self, block: Block) -> Fraction:
        return block.shares.share(self.value)

    def passes(self, block: Block) -> bool:
        return self.figure(block) <= self.alpha


@dataclass(frozen=True)
class LargestShare(Model):
    """(alpha,k) where every value is as sensitive as any other: what an audit without a value reports."""

    alpha: Number

    def figure(self, block: Block) -> Fraction:
        return max(block.shares.share(value) for value in block.shares.held)

    def passes(self, block: Block) -> bool:
        return self.figure(block) <= self.alpha


@dataclass(frozen=True)
class TCloseness(Model):
    """Earth Mover's Distance between the class and the source is at most t."""

    t: Number

    @abstractmethod
    def figure(self, block: Block) -> Fraction: ...

    def passes(self, block: Block) -> bool:
        return self.figure(block) <= self.t


class TEqual(TCloseness):
    def figure(self, block: Block) -> Fraction:
        return sum((abs(difference) for difference in block.single.differences.values()), Fraction(0)) / 2


@dataclass(frozen=True)
class TOrdered(TCloseness):
    """Values in a declared order, else in value order; only values of the source have a place."""

    order: tuple[Value, ...] | None = None

    def figure(self, block: Block) -> Fraction:
        differences = block.single.differences
        ordered = [differences[value] for value in self.order or differences if value in differences]
        if len(ordered) != len(differences):
            raise ValueError("a value of the source has no place in the order")
        carried = itertools.accumulate(ordered)
        return sum((abs(work) for work in carried), Fraction(0)) / max(1, len(ordered) - 1)


@dataclass(frozen=True)
class THierarchical(TCloseness):
    """The recursion of the t-closeness paper: what the children of a node cannot settle below it moves through it."""

    labels: Labels

    def figure(self, block: Block) -> Fraction:
        # The extra of every node of a level, under the name of one of its leaves.
        extra = block.single.differences
        top = len(next(iter(self.labels.values()))) - 1
        cost = Fraction(0)
        for level in range(1, top + 1):
            siblings: defaultdict[Value, list[Value]] = defaultdict(list)
            for leaf in extra:
                siblings[self.labels[leaf][level]].append(leaf)
            for children in siblings.values():
                surplus = sum((extra[leaf] for leaf in children if extra[leaf] > 0), Fraction(0))
                deficit = sum((-extra[leaf] for leaf in children if extra[leaf] < 0), Fraction(0))
                cost += Fraction(level, top) * min(surplus, deficit)
            extra = {leaves[0]: sum((extra[leaf] for leaf in leaves), Fraction(0)) for leaves in siblings.values()}
        return cost


@dataclass(frozen=True)
class BetaLikeness(Model):
    """No value gains more than beta of its share in the source; enhanced: nor more than -ln of that share."""

    beta: Number
    enhanced: bool = False

    def gains(self, block: Block) -> dict[Value, Fraction]:
        shares = block.shares
        return {value: shares.share(value) / shares.reference(value) - 1 for value in shares.source}

    def figure(self, block: Block) -> Fraction:
        return max(self.gains(block).values())

    def passes(self, block: Block) -> bool:
        return all(gain <= self.beta and self.bounded(block, value, gain) for value, gain in self.gains(block).items())

    def bounded(self, block: Block, value: Value, gain: Fraction) -> bool:
        return not self.enhanced or decimal(gain) <= natural_logarithm(1 / block.shares.reference(value))


@dataclass(frozen=True)
class DeltaDisclosure(Model):
    """|ln(p/q)| <= delta for every value of the class; `every`: and every value of the source occurs in it."""

    delta: Number
    every: bool = False

    def figure(self, block: Block) -> float:
        return float(self.largest(block))

    def largest(self, block: Block) -> Decimal:
        shares = block.shares
        ratios = (shares.share(value) / shares.reference(value) for value in shares.held)
        return max(natural_logarithm(ratio).copy_abs() for ratio in ratios)

    def passes(self, block: Block) -> bool:
        lacking = self.every and len(block.shares.held) < len(block.shares.source)
        return not lacking and self.largest(block) <= decimal(self.delta)


@dataclass(frozen=True)
class DeltaPresence(Model):
    """min <= people of the class / population rows of the class <= max; rows that no population row matches fail."""

    least: Number
    greatest: Number
    of_population = True

    def figure(self, block: Block) -> Fraction | None:
        return Fraction(block.members.people, block.population) if block.population else None

    def passes(self, block: Block) -> bool:
        presence = self.figure(block)
        return presence is not None and self.least <= presence <= self.greatest
