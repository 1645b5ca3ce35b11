"""The privacy model: what it says of a class, and when search may reason from one node to another.

A model names the aggregates it needs of the values of a class and a predicate over them, as SQL expressions. It states
its monotonicity; the search prunes only where that holds. Counts are compared with decimal thresholds exactly, in whole
numbers wide enough for their products: a class that lies on a threshold passes, the least step beyond it does not.
Pure.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from hashlib import sha256
from typing import ClassVar

from sqlglot import exp

from sqlanon.sql.build import all_of
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.values import Measures


@dataclass(frozen=True)
class Monotonicity:
    """What merging classes does, by generalization or by leaving columns of the quasi-identifier out."""

    with_suppression: bool
    """A class that passes still passes when any other class is merged into it: rows kept stay kept."""
    without_suppression: bool
    """Classes that pass still pass when they are merged with each other."""


ALWAYS = Monotonicity(with_suppression=True, without_suppression=True)
WITHOUT_SUPPRESSION = Monotonicity(with_suppression=False, without_suppression=True)
NEVER = Monotonicity(with_suppression=False, without_suppression=False)


class PrivacyModel(ABC):
    """One requirement on every class of a release."""

    name: ClassVar[str]
    """The key of the spec that states it."""
    reads_population: ClassVar[bool] = False
    """It reads `population_rows`, the rows of the population."""

    @property
    @abstractmethod
    def monotonicity(self) -> Monotonicity:
        """When merging classes keeps what was satisfied."""

    @property
    def asks_of_absent(self) -> bool:
        """Whether classes that only the population has are asked about too."""
        return False

    @property
    def least_class(self) -> int:
        """No class of fewer rows satisfies it."""
        return 1

    def relaxed(self) -> PrivacyModel | None:
        """A model, monotone also with suppression, that every class satisfies which satisfies this one."""
        return self if self.monotonicity.with_suppression else None

    def lost_below(self) -> exp.Expression | None:
        """So many rows of a class that fails are suppressed at every node below, a whole number; None: none is known.

        For models that classes satisfy together where each does alone: what is kept of the class at a node below
        satisfies, so at least as many rows are lost as it takes to make the class satisfy.
        """
        return None

    def measures(self) -> Measures | None:
        """The aggregates it needs of a sensitive column; none where the counts of a class are enough."""
        return None

    def measures_of_losses(self) -> Measures | None:
        """What `lost_below` needs: the aggregates of the model, and its own."""
        return self.measures()

    @abstractmethod
    def satisfied(self) -> exp.Expression:
        """Whether a class satisfies the model, over `n`, `size`, `population_rows` and its aggregates. Never NULL."""

    @abstractmethod
    def describe(self) -> dict[str, object]:
        """The requirement as plain data without values of the table, for lock files and evidence."""


@dataclass(frozen=True)
class Grouping:
    """What makes classes, and the models asked of them."""

    models: tuple[PrivacyModel, ...]
    columns: tuple[int, ...] | None = None
    """Positions of the quasi-identifiers; None: all of them."""
    known: tuple[int, ...] = ()
    """Sensitive columns whose values an adversary may know: they are keys of the class as they are."""
    name: str = ""
    losing: tuple[PrivacyModel, ...] = ()
    """Models that are not asked here; classes that fail them still lose rows wherever values are finer."""

    @property
    def reads_population(self) -> bool:
        return any(model.reads_population for model in self.models)

    @property
    def asks_of_absent(self) -> bool:
        """Whether classes without any row of the release are asked about too."""
        return any(model.asks_of_absent for model in self.models)

    def measures(self) -> list[Measures]:
        found = [*(model.measures() for model in self.models), *(model.measures_of_losses() for model in self.losing)]
        return [item for item in found if item is not None]

    def satisfied(self) -> exp.Expression:
        return all_of(model.satisfied() for model in self.models)

    def relaxed(self) -> Grouping:
        """The same classes, asked only for what is monotone."""
        found = (model.relaxed() for model in self.models)
        return replace(self, models=tuple(model for model in found if model is not None))

    def with_losses(self) -> Grouping:
        """The monotone part, with what failing classes of the other models lose at least."""
        losing = tuple(model for model in self.models if model.lost_below() is not None)
        return replace(self.relaxed(), losing=losing)

    def lost(self) -> exp.Expression | None:
        """The rows of a class that are suppressed here and at every node below; None: all of one that fails."""
        if not self.losing:
            return None
        parts = [
            exp.Case().when(model.satisfied(), literal(0)).else_(model.lost_below() or literal(0))
            for model in self.losing
        ]
        most = exp.Greatest(this=parts[0], expressions=parts[1:]) if len(parts) > 1 else parts[0]
        return exp.Case().when(self.satisfied(), most).else_(column("n"))


@dataclass(frozen=True)
class Requirement:
    """All that a release must satisfy. With several groupings a row is kept when its classes satisfy in each."""

    groupings: tuple[Grouping, ...]
    apart: tuple[tuple[str, object], ...] = ()
    """What is asked beside that no predicate of classes judges, as plain data by its key in the spec."""

    @classmethod
    def of(cls, models: Iterable[PrivacyModel]) -> Requirement:
        """A requirement on the classes of the whole quasi-identifier."""
        return cls((Grouping(tuple(models)),))

    @property
    def models(self) -> tuple[PrivacyModel, ...]:
        return tuple(model for grouping in self.groupings for model in grouping.models)

    @property
    def whole(self) -> Grouping | None:
        """The one grouping, where classes of the whole quasi-identifier are all that is asked about."""
        first = self.groupings[0]
        return first if len(self.groupings) == 1 and first.columns is None and not first.known else None

    @property
    def least_class(self) -> int:
        """No class of fewer rows is kept; 0 where a class may be kept in part, or judged by more than its rows."""
        if self.whole is None or self.whole.reads_population:
            return 0
        return max((model.least_class for model in self.models), default=1)

    def monotone(self, limit: int) -> bool:
        """Whether what is acceptable within this limit stays so above it in the lattice."""
        stated = [model.monotonicity for model in self.models]
        if limit > 0:
            return all(item.with_suppression for item in stated)
        return all(item.without_suppression for item in stated)

    def relaxed(self) -> Requirement | None:
        """The monotone part of a requirement: what it suppresses, the requirement suppresses too, here and below."""
        groupings = tuple(grouping.relaxed() for grouping in self.groupings)
        if self.whole is not None:
            # Elsewhere a class may be kept in part.
            groupings = (self.whole.with_losses(),)
        asking = tuple(grouping for grouping in groupings if grouping.models or grouping.losing)
        return Requirement(asking) if asking else None

    def describe(self) -> dict[str, object]:
        content: dict[str, object] = {}
        for grouping in self.groupings:
            place = content.setdefault(f"quasi_identifier {grouping.name}", {}) if grouping.name else content
            if isinstance(place, dict):
                place |= {} if grouping.columns is None else {"columns": list(grouping.columns)}
                _add(place, grouping)
        return {**content, **dict(self.apart)}


def _add(content: dict[str, object], grouping: Grouping) -> None:
    for model in grouping.models:
        described = {**model.describe(), **({"known": list(grouping.known)} if grouping.known else {})}
        if model.measures() is None:
            content[model.name] = described
            continue
        entries = content.setdefault(model.name, [])
        if isinstance(entries, list):
            entries.append(described)


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column as the models see it.

    Which column it is and who is counted: what all models of a sensitive column share.
    """

    position: int
    """Its place among the measured columns."""
    name: str
    persons: bool = False
    """Respondents are counted, not rows."""
    counts: int = 2**62
    """No count of rows exceeds this."""

    def aggregate(self, name: str) -> str:
        """The name of an aggregate of this column among those of a class."""
        return f"{name}_{self.position}"

    def column(self, name: str) -> exp.Column:
        return column(self.aggregate(name))

    @property
    def monotonicity_of_shares(self) -> Monotonicity:
        """Of models on the shares of values, which are convex: the share in merged classes lies between theirs.

        With suppression a passing class can be merged with a failing one. Classes that share respondents have fewer
        together than the sum of theirs, so shares may leave the range between.
        """
        return NEVER if self.persons else WITHOUT_SUPPRESSION


def digest(*texts: str) -> str:
    """Tells values apart in a lock file without showing them."""
    return sha256(repr(texts).encode()).hexdigest()[:16]


NARROW = "bigint"
WIDE = "decimal(38, 0)"
LARGEST = 2**62


@dataclass(frozen=True)
class Threshold:
    """A decimal threshold as a fraction of whole numbers."""

    value: Decimal

    @property
    def fraction(self) -> Fraction:
        return Fraction(self.value)

    @property
    def numerator(self) -> exp.Expression:
        return literal(self.fraction.numerator)

    @property
    def denominator(self) -> exp.Expression:
        return literal(self.fraction.denominator)

    @property
    def largest(self) -> int:
        return max(self.fraction.numerator, self.fraction.denominator)

    def __str__(self) -> str:
        return f"{self.value.normalize():f}"

    def double(self) -> exp.Expression:
        """The threshold where only floating point will do."""
        return cast(exp.Literal.number(str(self)), "double")


def product(kind: str, *factors: exp.Expression | str) -> exp.Expression:
    """The product of counts and whole numbers in a type that holds it; texts name columns."""
    operands = [cast(column(item) if isinstance(item, str) else item, kind) for item in factors]
    result: exp.Expression = operands[0]
    for operand in operands[1:]:
        result = exp.Mul(this=result, expression=operand)
    return exp.Paren(this=result)


def kind_for(largest: int) -> str:
    """The type that holds products up to `largest`."""
    return NARROW if largest < LARGEST else WIDE


def rows_lost(least: exp.Expression) -> exp.Expression:
    """At least `least` rows, a number in floating point, as a whole number: one at the least.

    Rounded down, and errors of floating point are far below one: no more than the true number rounded up.
    """
    whole = exp.Coalesce(this=exp.Floor(this=least), expressions=[literal(1)])
    return cast(exp.Greatest(this=whole, expressions=[literal(1)]), "bigint")


def ratio(numerator: tuple[str, str], denominator: tuple[str, str]) -> exp.Expression:
    """(a * b) / (c * d) in floating point; exactly 1 where the products are equal."""
    above = exp.Mul(this=_double(numerator[0]), expression=_double(numerator[1]))
    below = exp.Mul(this=_double(denominator[0]), expression=_double(denominator[1]))
    return exp.Div(this=exp.Paren(this=above), expression=exp.Paren(this=below))


def _double(name: str) -> exp.Expression:
    return cast(column(name), "double")
