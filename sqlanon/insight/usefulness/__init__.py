"""What a release keeps of its source: measures of information loss, associations, group means, a classification.

Reads aggregates of both tables; leaves nothing but scratch tables, which are dropped.
"""

from __future__ import annotations

from sqlanon.insight.usefulness.measures import (
    CountedTables,
    Hierarchy,
    associations,
    classify,
    count_tables,
    group_means,
    measure_column,
    table_figures,
)
from sqlanon.insight.usefulness.result import (
    Association,
    Classification,
    ColumnUtility,
    GroupMeans,
    TableUtility,
    UtilityResult,
)

__all__ = [
    "Association",
    "Classification",
    "ColumnUtility",
    "CountedTables",
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
