"""k-anonymity (Samarati 2001, Definition 2.2): every class has at least k rows, or k respondents.

Monotone: when classes merge they only grow, so a row that is kept stays kept, with and without suppression, under
generalization and under subsets of the quasi-identifier (Theorem 5.2); distinct respondents only grow too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import ALWAYS, Monotonicity, PrivacyModel
from sqlanon.sql.relations import column, literal


@dataclass(frozen=True)
class KAnonymity(PrivacyModel):
    """At least `k` rows or respondents in every class."""

    name: ClassVar[str] = "k"
    k: int
    persons: bool = False

    @property
    def monotonicity(self) -> Monotonicity:
        return ALWAYS

    @property
    def least_class(self) -> int:
        return self.k

    def satisfied(self) -> exp.Expression:
        return exp.GTE(this=column("size" if self.persons else "n"), expression=literal(self.k))

    def describe(self) -> dict[str, object]:
        return {"k": self.k}
