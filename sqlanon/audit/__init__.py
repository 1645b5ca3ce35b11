"""The auditor: measures a table as it stands, from its published values alone.

Shares no code with the search: no privacy model, no frequency set, no codes of hierarchies. Reads counts, never values.
"""

from __future__ import annotations

from sqlanon.audit.checks import Check
from sqlanon.audit.consistency import Consistency
from sqlanon.audit.figures import ColumnFigures, PopulationFigures
from sqlanon.audit.measure import audit
from sqlanon.audit.request import Ancestors, Beside, Request
from sqlanon.audit.result import AuditResult, Bucket, GroupResult, Sizes

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
