"""Prosecutor, journalist and marketer risk from the classes of a table (El Emam's figures), and the results of risk.

The figures of classes come from one statement. Results are counts and figures, never a value.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlanon.auditor.figures import rounded
from sqlanon.auditor.request import Opened
from sqlanon.auditor.result import Bucket, average_risk, bucket_chart, buckets
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.insight.reidentification.statements import matched, risk_classes, risk_figures, risk_query
from sqlanon.notebook import html_table
from sqlanon.sql.relations import Relation


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


THRESHOLDS = (Decimal("0.05"), Decimal("0.1"), Decimal("0.2"), Decimal("0.5"))
"""Risks above which rows are counted unless others are named."""


@dataclass(frozen=True)
class RiskRequest:
    """The columns that an attacker knows, and how far to look."""

    columns: tuple[str, ...]
    thresholds: tuple[Decimal, ...] = THRESHOLDS
    k: int = 5
    """Rows of a subset count as at risk in classes smaller than this."""
    subset_size: int = 0
    """Subsets of up to so many columns are measured; 0: none."""
    unique_size: int = 0
    """Minimal unique sets of up to so many columns are looked for; 0: none."""

    def __post_init__(self) -> None:
        if not self.columns:
            raise UsageError("name the columns of the quasi-identifier: they are what somebody may know of a person")
        if not all(0 < threshold <= 1 for threshold in self.thresholds):
            raise UsageError("a threshold of risk lies above 0 and is at most 1")
        if self.k < 1 or self.subset_size < 0 or self.unique_size < 0:
            raise UsageError("k must be at least 1, and sizes of subsets at least 0")

    @property
    def bounds(self) -> tuple[int, ...]:
        """For each threshold, the least size of a class whose risk, one over the size, is not above it."""
        return tuple(-(-1 // Fraction(threshold)) for threshold in self.thresholds)


__all__ = ["THRESHOLDS", "measure_classes"]

Found = Mapping[str, Any]


def measure_classes(
    engine: Engine,
    table: Relation,
    request: RiskRequest,
    *,
    population: Relation | None = None,
    respondent: str | None = None,
) -> ClassRisk:
    """The risk of every row by the size of its class; `population` has columns named like the table's."""
    opened = Opened.at(engine, table, "audited")
    opened.require(*request.columns, *([] if respondent is None else [respondent]))
    people = None if population is None else Opened.at(engine, population, "population")
    person = None if respondent is None else opened.key(respondent)
    if people is None:
        found = risk_classes(opened.expression(), [opened.key(name) for name in request.columns], person)
    else:
        people.require(*request.columns)
        texts = {name: not opened.compares_with(people, name, name) for name in request.columns}
        found = matched(
            opened.expression(),
            [opened.key(name, as_text=texts[name]) for name in request.columns],
            person,
            people.expression(),
            [people.key(name, as_text=texts[name]) for name in request.columns],
        )
    figures = risk_figures(request.bounds, population=people is not None)
    [row] = engine.query(Statement("risk of classes", risk_query(found, figures)))
    measured = dict(zip(figures, row, strict=True))
    if not measured["rows"]:
        raise SourceError(f"{table} has no rows: there is no risk to measure")
    result = _result(str(table), request, measured, with_population=people is not None)
    return replace(result, persons=respondent is not None)


def _result(table: str, request: RiskRequest, found: Found, *, with_population: bool) -> ClassRisk:
    rows, classes = int(found["rows"]), int(found["classes"])
    average = average_risk(found)
    prosecutor = Attacker(1 / int(found["smallest"]), average, _at_risk(request, found, "below", rows))
    journalist, population, marketer = None, None, average
    if with_population:
        people, fewest = int(found["people"]), int(found["fewest"])
        marketer = _figure(found["population_risk"], rows)
        most = max(classes / people, marketer)
        journalist = Attacker(1 / fewest, most, _at_risk(request, found, "people_below", rows))
        population = PopulationMatch(people, fewest, int(found["population_uniques"]), int(found["fewer"]))
    return ClassRisk(
        table=table,
        columns=request.columns,
        rows=rows,
        classes=classes,
        smallest=int(found["smallest"]),
        largest=int(found["largest"]),
        uniques=int(found["uniques"]),
        distribution=buckets(found),
        prosecutor=prosecutor,
        journalist=journalist,
        marketer=marketer,
        population=population,
    )


def _figure(value: Any, rows: int) -> float:
    return rounded(float(value) / rows) or 0.0


def _at_risk(request: RiskRequest, found: Found, name: str, rows: int) -> tuple[RowsAtRisk, ...]:
    counted = zip(request.thresholds, request.bounds, strict=True)
    return tuple(
        RowsAtRisk(float(threshold), int(found[f"{name}_{bound}"]), int(found[f"{name}_{bound}"]) / rows)
        for threshold, bound in counted
    )
