"""Entropy l-diversity (Machanavajjhala et al.): the entropy of the values of every class is at least ln l.

Answers homogeneity and, better than distinct l-diversity, a value that prevails. Entropy is concave: merged classes
that pass pass together; merged with a failing class one may fail, so with suppression nothing can be inherited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import Monotonicity, PrivacyModel, Sensitive, rows_lost
from sqlanon.privacy.distinct import DistinctDiversity
from sqlanon.sql.build import all_of, any_of, count, equal
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.values import Measures, View

ROUNDING = "1e-13"
"""Relative error that sums of logarithms may have; a thousandth of what a part in 10^9 of the entropy makes."""


@dataclass(frozen=True)
class EntropyDiversity(PrivacyModel):
    """The entropy of a sensitive column at least that of `l` equally frequent values, in every class.

    With l values exactly, entropy reaches ln l only where all are equally frequent: whole numbers decide. With more
    values the threshold is crossed at an angle, and floating point tells the sides apart.
    """

    name: ClassVar[str] = "l_diversity"
    sensitive: Sensitive
    l: int  # noqa: E741 (the papers' name)

    @property
    def monotonicity(self) -> Monotonicity:
        return self.sensitive.monotonicity_of_shares

    def relaxed(self) -> PrivacyModel:
        """A class that passes has at least l different values."""
        return DistinctDiversity(self.sensitive, self.l)

    def measures(self) -> Measures:
        name = self.sensitive.aggregate
        view = View.ASSIGNED if self.sensitive.persons else View.PLAIN
        weighted = exp.Mul(this=_double(column("members")), expression=exp.Ln(this=_double(column("members"))))
        return Measures(
            self.sensitive.position,
            view,
            {
                name("values"): count(),
                name("least"): exp.Min(this=column("members")),
                name("most"): exp.Max(this=column("members")),
                name("surprise"): exp.Sum(this=weighted),
            },
        )

    def satisfied(self) -> exp.Expression:
        values, own = self.sensitive.column("values"), self.sensitive.column
        even = all_of([equal(values, literal(self.l)), equal(own("least"), own("most"))])
        more = all_of([exp.GT(this=values.copy(), expression=literal(self.l)), self._reaches()])
        return any_of([even, more])

    def _reaches(self) -> exp.Expression:
        """n ln n - sum members ln members - n ln l >= 0, up to rounding."""
        size = _double(column("size"))
        whole = exp.Mul(this=size, expression=exp.Ln(this=size.copy()))
        asked = exp.Mul(this=size.copy(), expression=exp.Ln(this=_double(literal(self.l))))
        left = exp.Sub(this=exp.Sub(this=whole, expression=self.sensitive.column("surprise")), expression=asked)
        rounding = exp.Mul(this=_double(exp.Literal.number("-" + ROUNDING)), expression=exp.Paren(this=whole.copy()))
        return exp.GTE(this=left, expression=rounding)

    def lost_below(self) -> exp.Expression | None:
        """Entropy is concave: n H >= (n - f) ln l for a class of which f rows are lost, so f >= n - n H / ln l."""
        if self.sensitive.persons or self.l < 2:
            return None
        size = _double(column("size"))
        own = exp.Sub(
            this=exp.Mul(this=size, expression=exp.Ln(this=size.copy())), expression=self.sensitive.column("surprise")
        )
        held = exp.Div(this=exp.Paren(this=own), expression=exp.Ln(this=_double(literal(self.l))))
        return rows_lost(exp.Sub(this=size.copy(), expression=held))

    def describe(self) -> dict[str, object]:
        return {"column": self.sensitive.name, "l": self.l, "kind": "entropy"}


def _double(value: exp.Expression) -> exp.Expression:
    return cast(value, "double")
