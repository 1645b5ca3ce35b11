"""The figures of a sensitive column over all classes of a table, and those against a population.

Pure. Figures are rounded to twelve digits: what floating point sums say beyond depends on their order. Verdicts do not
come from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce
from math import isfinite
from typing import Any

Figure = float | None


def rounded(value: Any) -> Figure:
    """
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
        """The worst of several."""
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
