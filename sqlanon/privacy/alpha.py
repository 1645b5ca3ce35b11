"""(alpha, k)-anonymity (chapter, section 5; Wong et al.): no class holds more than a share alpha of a sensitive value.

Answers homogeneity of the values that matter. Shares of merged classes lie between theirs: monotone while nothing is
suppressed, not with suppression.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import Monotonicity, PrivacyModel, Sensitive, Threshold, digest, kind_for, product, rows_lost
from sqlanon.spec import models as entries
from sqlanon.sql.build import total_where
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.values import Measures, View


@dataclass(frozen=True)
class AlphaShare(PrivacyModel):
    """At most a share `alpha` of one value in every class."""

    name: ClassVar[str] = "alpha"
    sensitive: Sensitive
    flag: int
    """Which of the column's flagged values it is."""
    digest: str
    """Tells this value from others without showing it."""
    alpha: Threshold

    @property
    def monotonicity(self) -> Monotonicity:
        return self.sensitive.monotonicity_of_shares

    @property
    def _aggregate(self) -> str:
        return self.sensitive.aggregate(f"share_{self.flag}")

    def measures(self) -> Measures:
        share = total_where(column(f"is_{self.flag}"), column("members"))
        return Measures(self.sensitive.position, View.HELD, {self._aggregate: share})

    def satisfied(self) -> exp.Expression:
        kind = kind_for(self.sensitive.counts * self.alpha.largest)
        return exp.LTE(
            this=product(kind, self._aggregate, self.alpha.denominator),
            expression=product(kind, "size", self.alpha.numerator),
        )

    def lost_below(self) -> exp.Expression | None:
        """With f rows lost at most a share alpha of the others has the value: f >= (held - alpha * n) / (1 - alpha)."""
        if self.sensitive.persons or self.alpha.value >= 1:
            return None
        allowed = exp.Mul(this=cast(column("size"), "double"), expression=self.alpha.double())
        excess = exp.Sub(this=cast(column(self._aggregate), "double"), expression=allowed)
        others = exp.Paren(this=exp.Sub(this=literal(1), expression=self.alpha.double()))
        return rows_lost(exp.Div(this=exp.Paren(this=excess), expression=others))

    def describe(self) -> dict[str, object]:
        return {"column": self.sensitive.name, "value": self.digest, "alpha": str(self.alpha)}


def alpha_share(entry: entries.Alpha, sensitive: Sensitive, flag: int) -> AlphaShare:
    """The model of an entry."""
    return AlphaShare(sensitive, flag, digest(entry.value), Threshold(entry.alpha))
