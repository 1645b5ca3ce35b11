"""k-anonymity (Samarati 2001, Definition 2.2): every class has at least k rows.

Monotone: when classes merge they only grow, so a row that is kept stays kept, with and without suppression, under
generalization and under subsets of the quasi-identifier (Theorem 5.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sqlgen.relations import column, literal


@dataclass(frozen=True)
class KAnonymity:
    """At least `k` rows in every class."""

    k: int
    name: str = "k"
    monotone: bool = True

    @property
    def aggregates(self) -> Mapping[str, exp.Expression]:
        return {}

    def satisfied(self) -> exp.Expression:
        return exp.GTE(this=column("n"), expression=literal(self.k))

    def describe(self) -> dict[str, object]:
        return {"k": self.k}
