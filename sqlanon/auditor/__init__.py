"""The auditor: measures a table as it stands, from its published values alone.

Shares no code with the search: no privacy model, no frequency set, no codes of hierarchies. Reads counts, never values.
Its names are loaded when they are first used: a plan shows class sizes, and audits nothing.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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

_PLACES = {
    "consistency": ("Consistency",),
    "figures": ("Check", "ColumnFigures", "PopulationFigures"),
    "measure": ("audit",),
    "request": ("Ancestors", "Beside", "Request"),
    "result": ("AuditResult", "Bucket", "GroupResult", "Sizes"),
}


def __getattr__(name: str) -> Any:
    for module, names in _PLACES.items():
        if name in names:
            return getattr(import_module(f"sqlanon.auditor.{module}"), name)
    raise AttributeError(f"module 'sqlanon.auditor' has no attribute '{name}'")
