"""The auditor: measures a table as it stands, from its published values alone.

Shares no code with the search: no privacy model, no frequency set, no codes of hierarchies. Reads counts, never values.
"""

from __future__ import annotations

from sqlanon.auditor.consistency import Consistency
from sqlanon.auditor.figures import Check, ColumnFigures, PopulationFigures
from sqlanon.auditor.measure import audit
from sqlanon.auditor.request import Ancestors, Beside, Request
from sqlanon.auditor.result import AuditResult, Bucket, GroupResult, Sizes

__all__ = [
    "Ancestors",
    "AuditResult",
    "Beside",
    "Bucket",
    "Check",
    "ColumnFigures",
    "Consistency",
    "GroupResult",
    "PopulationFigures",
    "Request",
    "Sizes",
    "audit",
]
