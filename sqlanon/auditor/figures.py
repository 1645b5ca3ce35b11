"""Figures and verdicts of an audit: the worst figures of a column over all classes, and whether a requirement holds.

Pure. Verdicts do not come from the figures, which are rounded, but from counts of classes that do not pass. A sentence
names the model, the column and counts, never a value.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import isfinite
from typing import Any

Figure = float | None


def rounded(value: Any) -> Figure:
    """A figure in twelve digits: what floating point sums say beyond depends on their order.

    >>> rounded(0.1 + 0.2), rounded(None)
    (0.3, None)
    """
    return None if value is None else float(f"{float(value):.12g}")


@dataclass(frozen=True)
class ColumnFigures:
    """A sensitive column: for each model the worst of all classes."""

    column: str
    values: int
    """Distinct values of the table and of its reference, NULL among them."""
    distinct: int
    """The least number of values of a class."""
    entropy: float
    """exp of the least entropy: so many equally frequent values have it."""
    equal: float
    """The greatest distance to the reference, all values equally far apart."""
    beta: float
    """The greatest gain (p - q) / q of a value; infinite where the reference lacks one."""
    delta: float
    """The greatest |ln(p/q)| of a value that a class has; infinite where the reference lacks one."""
    share: float
    """The greatest share of one value."""
    recursive: Mapping[str, Figure] = field(default_factory=dict)
    """By `l,c`: the greatest r1 / (r_l + ...); None where a class has fewer than l values."""
    ordered: Figure = None
    hierarchical: Figure = None
    alpha: tuple[float, ...] = ()
    """The greatest share of each value that a requirement names, in their order."""
    lacking: int | None = None
    """Classes that lack a value of the reference, where that was asked."""

    @property
    def distances(self) -> dict[str, Figure]:
        found = {"equal": self.equal, "ordered": self.ordered, "hierarchical": self.hierarchical}
        return {name: figure for name, figure in found.items() if figure is not None}


@dataclass(frozen=True)
class PopulationFigures:
    """A table against the population that it comes from."""

    k_map: int
    """The fewest rows of the population that a class matches."""
    least_presence: float
    greatest_presence: Figure
    """None where a class matches nobody."""

    def to_dict(self) -> dict[str, Any]:
        presence = {"min": self.least_presence, "max": self.greatest_presence}
        return {"k_map": self.k_map, "delta_presence": presence}

    @staticmethod
    def worst(found: Sequence[PopulationFigures]) -> PopulationFigures:
        """The worst figures of several quasi-identifiers."""
        return PopulationFigures(
            min(item.k_map for item in found),
            min(item.least_presence for item in found),
            _greatest(item.greatest_presence for item in found),
        )


def column_sections(figures: Sequence[ColumnFigures]) -> dict[str, Any]:
    """The figures by model, then by column."""
    return {
        "l": {
            item.column: {
                "distinct": item.distinct,
                "entropy": item.entropy,
                **({"recursive": dict(item.recursive)} if item.recursive else {}),
            }
            for item in figures
        },
        "t": {item.column: item.distances for item in figures},
        "p_sensitive": {item.column: item.distinct for item in figures},
        "alpha": {
            item.column: {"largest": item.share, **({"required": list(item.alpha)} if item.alpha else {})}
            for item in figures
        },
        "beta": {item.column: _finite(item.beta) for item in figures},
        "delta": {item.column: _finite(item.delta) for item in figures},
    }


def worst_of(groups: Sequence[Sequence[ColumnFigures]]) -> tuple[ColumnFigures, ...]:
    """For each column the worst figures of several groupings."""
    columns: dict[str, list[ColumnFigures]] = {}
    for figures in groups:
        for item in figures:
            columns.setdefault(item.column, []).append(item)
    return tuple(reduce(_worse, found) for found in columns.values())


def _worse(one: ColumnFigures, other: ColumnFigures) -> ColumnFigures:
    return ColumnFigures(
        one.column,
        max(one.values, other.values),
        min(one.distinct, other.distinct),
        min(one.entropy, other.entropy),
        max(one.equal, other.equal),
        max(one.beta, other.beta),
        max(one.delta, other.delta),
        max(one.share, other.share),
        {key: _greatest((one.recursive[key], other.recursive[key])) for key in one.recursive},
        _greatest((one.ordered, other.ordered)),
        _greatest((one.hierarchical, other.hierarchical)),
        tuple(map(max, one.alpha, other.alpha)),
        None if one.lacking is None or other.lacking is None else max(one.lacking, other.lacking),
    )


def _greatest(figures: Iterable[Figure]) -> Figure:
    """None is worse than every number."""
    known = list(figures)
    return None if any(figure is None for figure in known) else max(figure for figure in known if figure is not None)


def _finite(figure: float) -> Figure:
    return figure if isfinite(figure) else None


Number = int | float


@dataclass(frozen=True)
class ModelQuestion:
    """A requirement in words, before anything is measured."""

    model: str
    """The key of the spec: k, l_diversity, t_closeness, ..."""
    asked: str
    """What is required, as `l = 3 (entropy)`."""
    complaint: str
    """What is said of classes that do not pass, as `have fewer than 3 values`."""
    worst: str
    """Words for the worst figure, as `the least is {}`."""
    column: str | None = None
    kind: str | None = None


@dataclass(frozen=True)
class Check:
    """A requirement, measured."""

    question: ModelQuestion
    group: str
    """The quasi-identifier that it was asked of; empty where there is one."""
    classes: int
    classes_at_risk: int
    rows: int
    rows_at_risk: int
    measured: Number | None = None
    """The worst figure of all classes; None where it has no bound, or was not measured."""
    reason: str = ""
    """Why it could not be measured, and so does not hold."""

    @property
    def model(self) -> str:
        return self.question.model

    @property
    def column(self) -> str | None:
        return self.question.column

    @property
    def asked(self) -> str:
        return self.question.asked

    @property
    def satisfied(self) -> bool:
        return not self.reason and self.classes_at_risk == 0

    @property
    def name(self) -> str:
        """The model with what it is asked of.

        >>> Check(ModelQuestion("l_diversity", "l = 3", "", "", "disease"), "patient", 7, 0, 9, 0).name
        'l_diversity disease of patient'
        """
        column = f" {self.column}" if self.column else ""
        return self.model + column + (f" of {self.group}" if self.group else "")

    @property
    def violation(self) -> str:
        """The one line that says what does not hold."""
        if self.reason:
            return f"{self.name}: {self.reason}"
        below = f"{self.classes_at_risk} of {self.classes} classes {self.question.complaint}"
        return f"{self.name}: {below} ({self.rows_at_risk} of {self.rows} rows at risk; {self.worst})"

    @property
    def worst(self) -> str:
        return self.question.worst.format(shown(self.measured))

    def to_dict(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "column": self.column,
            "kind": self.question.kind,
            "group": self.group or None,
            "required": self.asked,
            "measured": self.measured,
            "classes_at_risk": self.classes_at_risk,
            "rows_at_risk": self.rows_at_risk,
            "satisfied": self.satisfied,
        }


def shown(figure: Number | None) -> str:
    """A figure for people.

    >>> shown(12), shown(2 / 3), shown(None), shown(float("inf"))
    ('12', '0.6667', 'unbounded', 'unbounded')
    """
    if figure is None or figure == float("inf"):
        return "unbounded"
    return str(figure) if isinstance(figure, int) else f"{figure:.4g}"


@dataclass(frozen=True)
class PolicyCheck:
    """One sentence of the policy, and what is wrong with it; empty: it holds."""

    name: str
    asked: str
    complaint: str = ""
    blanked: int = 0
    """Of suppression: the rows that stand in the table and show nothing."""

    @property
    def satisfied(self) -> bool:
        return not self.complaint

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "asked": self.asked, "satisfied": self.satisfied, "violation": self.complaint}
