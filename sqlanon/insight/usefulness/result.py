"""What was found about the use of a release. Plain results: figures, never a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlanon.notebook import html_table


@dataclass(frozen=True)
class ColumnUtility:
    """One quasi-identifier before and after."""

    column: str
    values: int
    """Distinct values of the source, NULL among them."""
    labels: int
    """Distinct released labels."""
    level: int | None
    """The level of all its labels; None where they lie at several."""
    height: int
    loss: float
    """0: every value as it was; 1: nothing of it is left."""
    entropy: float | None
    """Bits lost over all rows (non-uniform entropy, suppressed rows included); None without one level."""
    entropy_star: float | None
    """The same without suppressed rows' own term."""
    unknown: int = 0
    """Released rows with a label that its hierarchy does not have; they count as if nothing were left of the value."""


@dataclass(frozen=True)
class TableUtility:
    """The measures of docs/algorithms/metrics.md for a release as it stands."""

    rows: int
    kept: int
    suppressed: int
    classes: int
    completeness: float
    aecs: float
    dm: float
    loss: float
    entropy: float | None
    entropy_star: float | None
    precision: float | None
    height: int | None
    accuracy: float | None


@dataclass(frozen=True)
class Association:
    """Cramer's V of two columns: 0 for none, 1 where one tells the other."""

    columns: tuple[str, str]
    before: float
    after: float
    corrected_before: float
    """Without the association that mere chance gives columns of many values (Bergsma)."""
    corrected_after: float

    @property
    def figures(self) -> tuple[float, float, float, float]:
        return self.before, self.after, self.corrected_before, self.corrected_after


@dataclass(frozen=True)
class GroupMeans:
    """The means of a numeric sensitive column by the released labels of another."""

    column: str
    by: str
    groups: int
    mean_before: float | None
    mean_after: float | None
    average_difference: float | None
    """Of a group's mean before and after, over released rows, in standard deviations of the source."""
    greatest_difference: float | None


@dataclass(frozen=True)
class Classification:
    """How often a sensitive column is told rightly from the rows that look alike, leaving out the row itself."""

    target: str
    usual_before: float
    """By the most frequent value alone."""
    usual_after: float
    stumps: Mapping[str, tuple[float, float]]
    """By each column alone, before and after."""
    together_before: float
    """Rows classified rightly by all columns together."""
    together_after: float

    @property
    def best(self) -> tuple[str, float, float]:
        """The column that tells most in the source: the decision stump."""
        name = max(self.stumps, key=lambda item: self.stumps[item][0])
        return (name, *self.stumps[name])


@dataclass(frozen=True)
class UtilityResult:
    """What a release keeps."""

    source: str
    target: str
    table: TableUtility
    columns: tuple[ColumnUtility, ...]
    associations: tuple[Association, ...]
    means: tuple[GroupMeans, ...]
    classifications: tuple[Classification, ...]
    notes: tuple[str, ...] = ()
    queries: Mapping[str, Mapping[str, float]] | None = None
    """Relative errors of count queries, by type and of all; None where none were asked."""

    @property
    def association_change(self) -> float | None:
        """The mean of how far the corrected V of a pair moved."""
        moved = [abs(item.corrected_before - item.corrected_after) for item in self.associations]
        return sum(moved) / len(moved) if moved else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "source": self.source,
            "target": self.target,
            "table": asdict(self.table),
            "columns": [asdict(item) for item in self.columns],
            "associations": [asdict(item) | {"columns": list(item.columns)} for item in self.associations],
            "association_change": self.association_change,
            "group_means": [asdict(item) for item in self.means],
            "classification": [_classification(item) for item in self.classifications],
            "queries": None if self.queries is None else {kind: dict(found) for kind, found in self.queries.items()},
            "notes": list(self.notes),
        }

    def _repr_html_(self) -> str:
        rows = [
            ("rows kept", f"{self.table.kept} of {self.table.rows}"),
            ("loss", f"{self.table.loss:.4f}"),
            *((f"loss of {item.column}", f"{item.loss:.4f}") for item in self.columns),
        ]
        return html_table(f"sqlanon utility {self.target}", rows)


def _classification(item: Classification) -> dict[str, Any]:
    best, before, after = item.best
    return {
        "target": item.target,
        "usual": {"before": item.usual_before, "after": item.usual_after},
        "stumps": {name: {"before": pair[0], "after": pair[1]} for name, pair in item.stumps.items()},
        "best": {"column": best, "before": before, "after": after},
        "together": {"before": item.together_before, "after": item.together_after},
    }
