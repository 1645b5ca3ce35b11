"""beta-likeness (Cao and Karras): no value is more than beta times likelier in a class than in the source.

Answers skewness towards single values, rare ones too. Shares of merged classes lie between theirs: monotone while
nothing is suppressed, not with suppression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import Monotonicity, PrivacyModel, Sensitive, Threshold, kind_for, product, ratio
from sqlanon.spec import models as entries
from sqlanon.sql.build import any_of, equal, total_where
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.values import Measures, View


@dataclass(frozen=True)
class BetaLikeness(PrivacyModel):
    """The relative gain (p - q) / q of every value at most `beta`; enhanced: at most -ln q as well."""

    name: ClassVar[str] = "beta_likeness"
    sensitive: Sensitive
    beta: Threshold
    enhanced: bool

    @property
    def monotonicity(self) -> Monotonicity:
        return self.sensitive.monotonicity_of_shares

    @property
    def _aggregate(self) -> str:
        kind = "enhanced" if self.enhanced else "basic"
        return self.sensitive.aggregate(f"{kind}_gains_{self.beta.fraction.numerator}_{self.beta.fraction.denominator}")

    def measures(self) -> Measures:
        too_likely = any_of([self._beyond_beta(), self._beyond_entropy()]) if self.enhanced else self._beyond_beta()
        return Measures(self.sensitive.position, View.HELD, {self._aggregate: total_where(too_likely, literal(1))})

    def _beyond_beta(self) -> exp.Expression:
        """members * total > (1 + beta) * size * reference_members."""
        fraction = self.beta.fraction + 1
        kind = kind_for(self.sensitive.counts**2 * max(fraction.numerator, fraction.denominator))
        return exp.GT(
            this=product(kind, "members", "total", literal(fraction.denominator)),
            expression=product(kind, "size", "reference_members", literal(fraction.numerator)),
        )

    def _beyond_entropy(self) -> exp.Expression:
        """A share is rational, its logarithm is not: they meet only where the source has one value, at 0."""
        gain = exp.Sub(this=ratio(("members", "total"), ("size", "reference_members")), expression=literal(1))
        rarity = exp.Ln(
            this=exp.Div(this=cast(column("total"), "double"), expression=cast(column("reference_members"), "double"))
        )
        return exp.GT(this=gain, expression=rarity)

    def satisfied(self) -> exp.Expression:
        return equal(column(self._aggregate), literal(0))

    def describe(self) -> dict[str, object]:
        kind = "enhanced" if self.enhanced else "basic"
        return {"column": self.sensitive.name, "beta": str(self.beta), "kind": kind}


def likeness(entry: entries.BetaLikeness, sensitive: Sensitive, flag: int) -> BetaLikeness:
    """The model of an entry."""
    return BetaLikeness(sensitive, Threshold(entry.beta), entry.kind == "enhanced")
