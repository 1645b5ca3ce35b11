"""The release spec: pydantic models of the contract, YAML in, JSON Schema out.

May touch the spec file and the environment; knows no database and no SQL.
"""

from __future__ import annotations

from sqlanon.spec.columns import Column, LevelBounds, Role
from sqlanon.spec.limit import Limit
from sqlanon.spec.load import load_spec, spec_from_dict
from sqlanon.spec.places import FileSource, FileTarget, QuerySource, TableSource, TableTarget, ViewTarget
from sqlanon.spec.privacy import Privacy, SuppressionRule
from sqlanon.spec.refusals import NOT_AVAILABLE_YET
from sqlanon.spec.release import Limits, Spec
from sqlanon.spec.schema import json_schema
from sqlanon.spec.search import Algorithm, Budget, Constraints, Metric, Preference, Search
from sqlanon.spec.secret import Secret

__all__ = [
    "NOT_AVAILABLE_YET",
    "Algorithm",
    "Budget",
    "Column",
    "Constraints",
    "FileSource",
    "FileTarget",
    "LevelBounds",
    "Limit",
    "Limits",
    "Metric",
    "Preference",
    "Privacy",
    "QuerySource",
    "Role",
    "Search",
    "Secret",
    "Spec",
    "SuppressionRule",
    "TableSource",
    "TableTarget",
    "ViewTarget",
    "json_schema",
    "load_spec",
    "spec_from_dict",
]
