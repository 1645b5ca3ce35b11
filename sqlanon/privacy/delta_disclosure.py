"""delta-disclosure privacy (Brickell and Shmatikov): |ln(p / q)| of every value stays within delta.

Answers skewness both ways. Of kind `all` every value of the source must occur in every class: then shares of merged
classes lie between theirs, monotone while nothing is suppressed. Of kind `occurring`, as other tools have it, a value
that only one of two merged classes holds may become too rare: never monotone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import NEVER, Monotonicity, PrivacyModel, Sensitive, Threshold, ratio
from sqlanon.spec import models as entries
from sqlanon.sql.build import all_of, count, equal, total_where
from sqlanon.sql.relations import column, literal
from sqlanon.sql.values import Measures, View


@dataclass(frozen=True)
class DeltaDisclosure(PrivacyModel):
    """The logarithm of every value's share against the source's within `delta`.

    e^delta is no fraction, so a share never lies on the threshold itself, and floating point decides.
    """

    name: ClassVar[str] = "delta_disclosure"
    sensitive: Sensitive
    delta: Threshold
    every_value: bool

    @property
    def monotonicity(self) -> Monotonicity:
        return self.sensitive.monotonicity_of_shares if self.every_value else NEVER

    @property
    def _aggregate(self) -> str:
        fraction = self.delta.fraction
        return self.sensitive.aggregate(f"far_{fraction.numerator}_{fraction.denominator}")

    def measures(self) -> Measures:
        name = self.sensitive.aggregate
        distance = exp.Abs(this=exp.Ln(this=ratio(("members", "total"), ("size", "reference_members"))))
        far = exp.GT(this=distance, expression=self.delta.double())
        aggregates = {self._aggregate: total_where(far, literal(1))}
        if self.every_value:
            aggregates |= {name("occurring"): count(), name("held_steps"): exp.Max(this=column("steps"))}
        return Measures(self.sensitive.position, View.HELD, aggregates)

    def satisfied(self) -> exp.Expression:
        near = equal(column(self._aggregate), literal(0))
        if not self.every_value:
            return near
        everything = exp.Add(this=self.sensitive.column("held_steps"), expression=literal(1))
        return all_of([near, equal(self.sensitive.column("occurring"), everything)])

    def describe(self) -> dict[str, object]:
        kind = "all" if self.every_value else "occurring"
        return {"column": self.sensitive.name, "delta": str(self.delta), "kind": kind}


def disclosure(entry: entries.DeltaDisclosure, sensitive: Sensitive, flag: int) -> DeltaDisclosure:
    """The model of an entry."""
    return DeltaDisclosure(sensitive, Threshold(entry.delta), entry.kind == "all")
