"""t-closeness (chapter, section 5; Li et al.): every class distributes the values nearly as the whole source does.

Answers skewness and, with an ordered or hierarchical distance, similarity. The Earth Mover's Distance to a fixed
distribution is convex: merged classes that pass pass together; with suppression nothing is inherited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import Monotonicity, PrivacyModel, Sensitive, Threshold, digest, kind_for, product, rows_lost
from sqlanon.spec import models as entries
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.values import Measures, View

MOST_LEVELS = 100
"""Levels that no hierarchy exceeds, for the size of products."""


@dataclass(frozen=True)
class _Closeness(PrivacyModel):
    name: ClassVar[str] = "t_closeness"

    sensitive: Sensitive
    t: Threshold

    @property
    def monotonicity(self) -> Monotonicity:
        return self.sensitive.monotonicity_of_shares

    def _kind(self, steps: int = 1) -> str:
        return kind_for(self.sensitive.counts**2 * self.t.largest * max(steps, 1))

    def _within(self, moved: exp.Expression, kind: str, *steps: exp.Expression | str) -> exp.Expression:
        """moved / (size * steps) <= t, in whole numbers; one of the steps is the source's total."""
        return exp.LTE(
            this=product(kind, moved, self.t.denominator), expression=product(kind, "size", self.t.numerator, *steps)
        )

    def _lost(
        self, moved: exp.Expression, *steps: str, farthest: exp.Expression | None = None
    ) -> exp.Expression | None:
        """Of n rows f lost: n d <= (n - f) t + f D, so f >= n (d - t) / (D - t). Distances are convex and at most D.

        D is 1, or `farthest` over the same steps as `moved`. Where it is hardly more than t, a little more stands for
        it, which loses fewer rows: what floating point rounds stays far below a row.
        """
        if self.sensitive.persons or self.t.value >= 1:
            return None
        scale: exp.Expression = cast(column(steps[0]), "double")
        for step in steps[1:]:
            scale = exp.Mul(this=scale, expression=cast(column(step), "double"))
        scale = exp.Nullif(this=exp.Paren(this=scale), expression=literal(0))
        distance = exp.Div(this=cast(moved, "double"), expression=scale)
        allowed = exp.Mul(this=cast(column("size"), "double"), expression=self.t.double())
        most = literal(1) if farthest is None else exp.Div(this=cast(farthest, "double"), expression=scale.copy())
        others: exp.Expression = exp.Paren(this=exp.Sub(this=most, expression=self.t.double()))
        if farthest is not None:
            others = exp.Greatest(this=others, expressions=[cast(exp.Literal.number("0.000001"), "double")])
        return rows_lost(exp.Div(this=exp.Paren(this=exp.Sub(this=distance, expression=allowed)), expression=others))


@dataclass(frozen=True)
class EqualCloseness(_Closeness):
    """All values equally far apart: half the sum of |p - q|, which is the sum of what p has beyond q."""

    def measures(self) -> Measures:
        name = self.sensitive.aggregate
        aggregates = {name("excess"): _excess(self._kind()), name("equal_total"): exp.Max(this=column("total"))}
        return Measures(self.sensitive.position, View.ASSIGNED, aggregates)

    def satisfied(self) -> exp.Expression:
        return self._within(self.sensitive.column("excess"), self._kind(), self.sensitive.aggregate("equal_total"))

    def lost_below(self) -> exp.Expression | None:
        return self._lost(self.sensitive.column("excess"), self.sensitive.aggregate("equal_total"))

    def describe(self) -> dict[str, object]:
        return {"column": self.sensitive.name, "t": str(self.t), "distance": "equal"}


@dataclass(frozen=True)
class OrderedCloseness(_Closeness):
    """Values in a row, neighbours one step apart: the sum of |cumulative p - q| over the steps."""

    digest: str = ""
    """Tells a declared order from others without showing it."""

    def measures(self) -> Measures:
        name = self.sensitive.aggregate
        before = exp.Sub(
            this=exp.Max(this=column("reference_everywhere")), expression=exp.Sum(this=column("reference_members"))
        )
        return Measures(
            self.sensitive.position,
            View.CUMULATIVE,
            {
                name("gaps"): exp.Sum(this=exp.Abs(this=self._difference())),
                name("before"): before,
                name("ordered_steps"): exp.Max(this=column("steps")),
                name("ordered_total"): exp.Max(this=column("total")),
            },
        )

    def measures_of_losses(self) -> Measures:
        name, nothing = self.sensitive.aggregate, literal(0)
        ahead = exp.Sub(this=column("total"), expression=column("reference_members"))
        reach = exp.Case().when(exp.GT(this=self._difference(), expression=nothing), ahead)
        reach = reach.when(exp.LT(this=self._difference(), expression=nothing.copy()), column("reference_members"))
        told = self.measures()
        more: dict[str, exp.Expression] = {
            name("reach"): exp.Sum(this=reach.else_(nothing.copy())),
            name("everywhere"): exp.Max(this=column("reference_everywhere")),
        }
        return Measures(told.column, told.view, {**told.aggregates, **more})

    def _difference(self) -> exp.Expression:
        """What the class has up to a value beyond the source, times size and total."""
        kind = self._kind(self.sensitive.counts)
        return exp.Sub(this=product(kind, "members", "total"), expression=product(kind, "size", "reference_members"))

    def satisfied(self) -> exp.Expression:
        name, kind = self.sensitive.aggregate, self._kind(self.sensitive.counts)
        return self._within(self._moved(kind), kind, name("ordered_steps"), name("ordered_total"))

    def _moved(self, kind: str) -> exp.Expression:
        """Positions before the first value of the class are behind by the source's counts alone."""
        before = product(kind, "size", self.sensitive.aggregate("before"))
        return exp.Paren(this=exp.Add(this=self.sensitive.column("gaps"), expression=before))

    def lost_below(self) -> exp.Expression | None:
        name = self.sensitive.aggregate
        moved = self._moved(self._kind(self.sensitive.counts))
        return self._lost(moved, name("ordered_steps"), name("ordered_total"), farthest=self._farthest())

    def _farthest(self) -> exp.Expression:
        """No distribution is farther, times steps and total, along the way that tells this class from the source.

        The distance is the largest difference of means of a number for each value, neighbours at most a step apart: of
        a class the number that falls where it is ahead of the source, cumulated, and rises where it is behind. No value
        has more of it, less the source's mean, than 1 less the source's share up to there for each step ahead, and that
        share for each behind. Nor is any distribution farther than all rows at one of the ends: the distance is convex.
        """
        name = self.sensitive.aggregate
        own = exp.Add(this=column(name("reach")), expression=column(name("before")))
        from_last = exp.Sub(this=column(name("everywhere")), expression=column(name("ordered_total")))
        whole = product(self._kind(self.sensitive.counts), name("ordered_steps"), name("ordered_total"))
        from_first = exp.Sub(this=whole, expression=exp.Paren(this=from_last.copy()))
        return exp.Least(this=own, expressions=[exp.Greatest(this=from_last, expressions=[from_first])])

    def describe(self) -> dict[str, object]:
        content: dict[str, object] = {"column": self.sensitive.name, "t": str(self.t), "distance": "ordered"}
        return content | ({"order": self.digest} if self.digest else {})


@dataclass(frozen=True)
class HierarchicalCloseness(_Closeness):
    """Values as far apart as the level of their lowest common label, of the hierarchy's height.

    That distance is the length of the way through the tree, all edges alike, so the Earth Mover's Distance is the mean
    over the levels below the top of the equal distance between the labels' distributions.
    """

    def measures(self) -> Measures:
        name = self.sensitive.aggregate
        aggregates = {
            name("climbed"): _excess(self._kind(MOST_LEVELS)),
            name("climbed_levels"): exp.Max(this=column("levels")),
            name("climbed_total"): exp.Max(this=column("total")),
        }
        return Measures(self.sensitive.position, View.LABELS, aggregates)

    def satisfied(self) -> exp.Expression:
        name = self.sensitive.aggregate
        climbed = self.sensitive.column("climbed")
        return self._within(climbed, self._kind(MOST_LEVELS), name("climbed_levels"), name("climbed_total"))

    def lost_below(self) -> exp.Expression | None:
        name = self.sensitive.aggregate
        return self._lost(self.sensitive.column("climbed"), name("climbed_levels"), name("climbed_total"))

    def describe(self) -> dict[str, object]:
        return {"column": self.sensitive.name, "t": str(self.t), "distance": "hierarchical"}


def _excess(kind: str) -> exp.Expression:
    """The sum of members * total - size * reference_members over the values where it is positive."""
    difference = exp.Sub(this=product(kind, "members", "total"), expression=product(kind, "size", "reference_members"))
    return exp.Sum(this=exp.Greatest(this=difference, expressions=[literal(0)]))


def closeness(entry: entries.TCloseness, sensitive: Sensitive, flag: int) -> PrivacyModel:
    """The model of an entry, by its distance."""
    if entry.distance == "ordered":
        return OrderedCloseness(sensitive, Threshold(entry.t), digest(*entry.order) if entry.order else "")
    if entry.distance == "hierarchical":
        return HierarchicalCloseness(sensitive, Threshold(entry.t))
    return EqualCloseness(sensitive, Threshold(entry.t))
