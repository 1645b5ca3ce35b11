"""What was found about the risk of a table. Plain results: counts and figures, never a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlanon.auditor.result import Bucket, bucket_chart
from sqlanon.notebook import html_table


@dataclass(frozen=True)
class RowsAtRisk:
    """Rows whose risk lies above a threshold."""

    threshold: float
    rows: int
    share: float

    def to_dict(self) -> dict[str, Any]:
        return {"threshold": self.threshold, "rows": self.rows, "share": self.share}


@dataclass(frozen=True)
class Attacker:
    """Somebody after one person, or after as many as possible."""

    highest: float | None
    """The risk of the row that is easiest to re-identify; None of a table without rows."""
    average: float
    at_risk: tuple[RowsAtRisk, ...]

    def to_dict(self) -> dict[str, Any]:
        at_risk = [item.to_dict() for item in self.at_risk]
        return {"highest": self.highest, "average": self.average, "at_risk": at_risk}


@dataclass(frozen=True)
class PopulationMatch:
    """What a population has of a table's classes."""

    people: int
    """Rows of the population in classes of the table."""
    fewest: int
    uniques: int
    """Rows that are alone in the table and in the population."""
    fewer: int
    """Classes of which the population has fewer rows than the table: it does not hold everybody then."""

    def to_dict(self) -> dict[str, Any]:
        return {"people": self.people, "fewest": self.fewest, "uniques": self.uniques, "fewer_classes": self.fewer}


@dataclass(frozen=True)
class ClassRisk:
    """The risk that follows from the sizes of classes."""

    table: str
    columns: tuple[str, ...]
    rows: int
    classes: int
    smallest: int
    largest: int
    uniques: int
    """Rows that are alone in their class (of persons: rows of classes of one person)."""
    distribution: tuple[Bucket, ...]
    prosecutor: Attacker
    """Knows that the person is in the table: one over the size of the class."""
    journalist: Attacker | None
    """Knows only that the person is in the population: one over its rows of the class; None without a population."""
    marketer: float
    """The share of rows that somebody matching all of them to the population, or to the table, gets right."""
    population: PopulationMatch | None = None
    persons: bool = False
    """Whether sizes of classes are persons."""

    @property
    def unit(self) -> str:
        """What sizes of classes count."""
        return "persons" if self.persons else "rows"

    @property
    def alone(self) -> str:
        """What `uniques` counts, in words."""
        return "rows in classes of one person" if self.persons else "rows alone in their class"

    @property
    def uniqueness(self) -> float:
        """The share of rows that are alone."""
        return self.uniques / self.rows if self.rows else 0.0

    def to_dict(self) -> dict[str, Any]:
        return {
            "table": self.table,
            "columns": list(self.columns),
            "rows": self.rows,
            "counted": self.unit,
            "classes": self.classes,
            "smallest_class": self.smallest,
            "largest_class": self.largest,
            "uniques": self.uniques,
            "uniqueness": self.uniqueness,
            "distribution": [bucket.to_dict() for bucket in self.distribution],
            "prosecutor": self.prosecutor.to_dict(),
            "journalist": None if self.journalist is None else self.journalist.to_dict(),
            "marketer": self.marketer,
            "population": None if self.population is None else self.population.to_dict(),
        }


@dataclass(frozen=True)
class Subset:
    """Some of the columns: how far they alone make rows stand out (Motwani and Xu)."""

    columns: tuple[str, ...]
    classes: int
    uniques: int
    at_risk: int
    """Rows in classes smaller than the k asked for."""
    distinction: float
    """Classes over rows."""
    separation: float
    """The share of pairs of rows that differ in some column."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "columns": list(self.columns),
            "classes": self.classes,
            "uniques": self.uniques,
            "at_risk": self.at_risk,
            "distinction": self.distinction,
            "separation": self.separation,
        }


@dataclass(frozen=True)
class Subsets:
    """All subsets up to a size; those that make most rows stand out first."""

    size: int
    k: int
    rows: int
    found: tuple[Subset, ...]

    def to_dict(self) -> dict[str, Any]:
        return {"size": self.size, "k": self.k, "subsets": [item.to_dict() for item in self.found]}

    def of(self, *columns: str) -> Subset:
        """The figures of one subset, in any order of its columns."""
        return next(item for item in self.found if set(item.columns) == set(columns))


@dataclass(frozen=True)
class SpecialUniques:
    """Minimal unique sets (Elliot's SUDA): columns on which a row is alone, and on none of their subsets."""

    size: int
    """Sets of up to so many columns were looked for."""
    rows: int
    """Rows that have a minimal unique set."""
    sets: Mapping[int, int]
    """For each size, how many minimal unique sets there are, over all rows."""
    highest_score: int
    total_score: int
    above: Mapping[int, int]
    """For each score, how many rows have at least that."""
    contributions: Mapping[str, float]
    """For each column, the share of all scores that come from sets with it."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "rows": self.rows,
            "sets": {str(size): number for size, number in self.sets.items()},
            "highest_score": self.highest_score,
            "total_score": self.total_score,
            "above": [{"score": score, "rows": rows} for score, rows in self.above.items()],
            "contributions": dict(self.contributions),
        }


@dataclass(frozen=True)
class TableRisk:
    """Everything that was measured of one table."""

    classes: ClassRisk
    subsets: Subsets | None = None
    special: SpecialUniques | None = None

    def to_dict(self) -> dict[str, Any]:
        content = self.classes.to_dict()
        if self.subsets is not None:
            content["subsets"] = self.subsets.to_dict()
        if self.special is not None:
            content["special_uniques"] = self.special.to_dict()
        return content


@dataclass(frozen=True)
class RiskResult:
    """The risk of a source and of its release, or of one table."""

    before: TableRisk
    after: TableRisk | None = None
    notes: tuple[str, ...] = ()
    seconds: Mapping[str, float] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        return {
            "before": self.before.to_dict(),
            "after": None if self.after is None else self.after.to_dict(),
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        rows = []
        for title, found in (("before", self.before), ("after", self.after)):
            if found is not None:
                risk = found.classes
                highest = "-" if risk.prosecutor.highest is None else f"{100 * risk.prosecutor.highest:.2f}%"
                rows += [
                    (f"{title}: {risk.alone}", f"{risk.uniques} of {risk.rows}"),
                    (f"{title}: highest risk", highest),
                    (f"{title}: average risk", f"{100 * risk.prosecutor.average:.2f}%"),
                ]
        last = self.before if self.after is None else self.after
        return html_table(f"sqlanon risk {self.before.classes.table}", rows) + bucket_chart(last.classes.distribution)
