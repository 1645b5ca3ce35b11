"""Recursive (c,l)-diversity (Machanavajjhala et al.): r1 < c * (r_l + ... + r_m), values by falling frequency.

Answers background knowledge that rules out l - 2 values: the most frequent one still does not prevail. The weighted
sum of the largest counts is sublinear, so merged classes that pass, pass together; with suppression nothing is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import Monotonicity, PrivacyModel, Sensitive, Threshold, kind_for, product, rows_lost
from sqlanon.privacy.distinct import DistinctDiversity
from sqlanon.privacy.entropy import EntropyDiversity
from sqlanon.spec import models as entries
from sqlanon.sql.build import total_where
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.values import Measures, View


@dataclass(frozen=True)
class RecursiveDiversity(PrivacyModel):
    """The most frequent value less than `c` times as frequent as all from the `l`-th on together, in every class."""

    name: ClassVar[str] = "l_diversity"
    sensitive: Sensitive
    l: int  # noqa: E741 (the papers' name)
    c: Threshold

    @property
    def monotonicity(self) -> Monotonicity:
        return self.sensitive.monotonicity_of_shares

    def relaxed(self) -> PrivacyModel:
        """A class that passes has at least l different values."""
        return DistinctDiversity(self.sensitive, self.l)

    def measures(self) -> Measures:
        name = self.sensitive.aggregate
        from_l_on = exp.GTE(this=column("place"), expression=literal(self.l))
        return Measures(
            self.sensitive.position,
            View.RANKED,
            {
                name("first"): exp.Max(this=column("members")),
                name(f"tail_{self.l}"): total_where(from_l_on, column("members")),
            },
        )

    def satisfied(self) -> exp.Expression:
        kind = kind_for(self.sensitive.counts * self.c.largest)
        first, tail = self.sensitive.aggregate("first"), self.sensitive.aggregate(f"tail_{self.l}")
        return exp.LT(this=product(kind, first, self.c.denominator), expression=product(kind, tail, self.c.numerator))

    def lost_below(self) -> exp.Expression | None:
        """Of f rows removed, the most frequent value loses at most f, and the tail gains none: f > r1 - c * tail."""
        if self.sensitive.persons:
            return None
        first = cast(self.sensitive.column("first"), "double")
        tail = cast(self.sensitive.column(f"tail_{self.l}"), "double")
        return rows_lost(exp.Sub(this=first, expression=exp.Mul(this=tail, expression=self.c.double())))

    def describe(self) -> dict[str, object]:
        return {"column": self.sensitive.name, "l": self.l, "kind": "recursive", "c": str(self.c)}


def diversity(entry: entries.LDiversity, sensitive: Sensitive, flag: int) -> PrivacyModel:
    """The model of an entry, of any of the three kinds of l-diversity."""
    if entry.kind == "entropy":
        return EntropyDiversity(sensitive, entry.l)
    if entry.c is not None:
        return RecursiveDiversity(sensitive, entry.l, Threshold(entry.c))
    return DistinctDiversity(sensitive, entry.l)
