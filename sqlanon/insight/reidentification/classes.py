"""Prosecutor, journalist and marketer risk from the classes of a table (El Emam's figures), in one statement.

Reads counts.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any

from sqlanon.auditor.figures import rounded
from sqlanon.auditor.request import Opened
from sqlanon.auditor.result import average_risk, buckets
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.insight.reidentification.result import Attacker, ClassRisk, PopulationMatch, RowsAtRisk
from sqlanon.insight.reidentification.statements import matched, risk_classes, risk_figures, risk_query
from sqlanon.sql.relations import Relation

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
