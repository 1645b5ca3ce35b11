"""The auditor: measures a table as it stands, from its published values alone.

Shares no code with the search: no privacy model, no frequency set, no codes of hierarchies. Reads counts, never values.
"""

from __future__ import annotations

from sqlanon.audit.checks import Check
from sqlanon.audit.figures import ColumnFigures, PopulationFigures
from sqlanon.audit.measure import audit
from sqlanon.audit.request import Beside, Request
from sqlanon.audit.result import AuditResult, Bucket, GroupResult, Sizes

__all__ = [
    "AuditResult",
    "Beside",
    "Bucket",
    "Check",
    "ColumnFigures",
    "GroupResult",
    "PopulationFigures",
    "Request",
    "Sizes",
    "audit",
]
