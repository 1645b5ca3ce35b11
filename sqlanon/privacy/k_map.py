"""k-map (Sweeney): every class matches at least k people of the population, though the release may hold fewer of them.

Answers linkage by somebody who has the population's list and does not know who was sampled. Monotone like k-anonymity.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import ALWAYS, Monotonicity, PrivacyModel
from sqlanon.sql.relations import column, literal


@dataclass(frozen=True)
class KMap(PrivacyModel):
    """At least `k` rows of the population in every class."""

    name: ClassVar[str] = "k_map"
    reads_population: ClassVar[bool] = True
    k: int

    @property
    def monotonicity(self) -> Monotonicity:
        return ALWAYS

    def satisfied(self) -> exp.Expression:
        return exp.GTE(this=column("population_rows"), expression=literal(self.k))

    def describe(self) -> dict[str, object]:
        return {"k": self.k}
