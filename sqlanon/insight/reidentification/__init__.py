"""The risk of re-identification: from the sizes of classes, from subsets of columns, from minimal unique sets.

Reads counts from the database, never values; leaves nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from sqlanon.engines.base import Engine
from sqlanon.insight.reidentification.classes import (
    THRESHOLDS,
    Attacker,
    ClassRisk,
    PopulationMatch,
    RiskRequest,
    RiskResult,
    RowsAtRisk,
    SpecialUniques,
    Subset,
    Subsets,
    TableRisk,
    measure_classes,
)
from sqlanon.insight.reidentification.subsets import measure_subsets
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Relation

__all__ = [
    "THRESHOLDS",
    "Attacker",
    "ClassRisk",
    "PopulationMatch",
    "RiskRequest",
    "RiskResult",
    "RowsAtRisk",
    "SpecialUniques",
    "Subset",
    "Subsets",
    "TableRisk",
    "measure_classes",
    "measure_risk",
    "measure_subsets",
]


def measure_risk(
    engine: Engine,
    table: Relation,
    request: RiskRequest,
    scratch: Scratch,
    *,
    population: Relation | None = None,
    respondent: str | None = None,
) -> TableRisk:
    """All figures of a table that a request asks for."""
    classes = measure_classes(engine, table, request, population=population, respondent=respondent)
    if not request.subset_size and not request.unique_size:
        return TableRisk(classes)
    subsets, special = measure_subsets(engine, table, request, scratch)
    return TableRisk(classes, subsets, special)
