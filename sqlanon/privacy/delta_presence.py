"""delta-presence (Nergiz et al.): from the population's list nobody learns too surely who is, or is not, in the table.

Answers membership. The share of a class's people that the table holds lies between those of the classes merged into
it: monotone while nothing is suppressed, not with suppression. Classes that share respondents have fewer together than
the sum of theirs, which a least share does not survive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import NEVER, WIDE, WITHOUT_SUPPRESSION, Monotonicity, PrivacyModel, Threshold, product
from sqlanon.sql.build import all_of


@dataclass(frozen=True)
class DeltaPresence(PrivacyModel):
    """Between `least` and `most` of the population's rows of every class are in the table."""

    name: ClassVar[str] = "delta_presence"
    reads_population: ClassVar[bool] = True
    least: Threshold
    most: Threshold
    persons: bool = False

    @property
    def monotonicity(self) -> Monotonicity:
        return NEVER if self.persons and self.least.fraction > 0 else WITHOUT_SUPPRESSION

    @property
    def asks_of_absent(self) -> bool:
        return self.least.fraction > 0

    def satisfied(self) -> exp.Expression:
        few_enough = exp.LTE(
            this=product(WIDE, "size", self.most.denominator),
            expression=product(WIDE, "population_rows", self.most.numerator),
        )
        many_enough = exp.GTE(
            this=product(WIDE, "size", self.least.denominator),
            expression=product(WIDE, "population_rows", self.least.numerator),
        )
        return all_of([few_enough, many_enough])

    def describe(self) -> dict[str, object]:
        return {"min": str(self.least), "max": str(self.most)}
