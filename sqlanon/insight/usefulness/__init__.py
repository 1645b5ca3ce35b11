"""What a release keeps of its source: measures of information loss, associations, group means, a classification.

Reads aggregates of both tables; leaves nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from sqlanon.insight.usefulness.columns import Hierarchy, measure_column
from sqlanon.insight.usefulness.result import (
    Association,
    Classification,
    ColumnUtility,
    GroupMeans,
    TableUtility,
    UtilityResult,
)
from sqlanon.insight.usefulness.tables import Counted, associations, classify, count_tables, group_means, table_figures

__all__ = [
    "Association",
    "Classification",
    "ColumnUtility",
    "Counted",
    "GroupMeans",
    "Hierarchy",
    "TableUtility",
    "UtilityResult",
    "associations",
    "classify",
    "count_tables",
    "group_means",
    "measure_column",
    "table_figures",
]
