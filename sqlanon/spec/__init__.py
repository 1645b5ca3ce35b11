"""The release spec: pydantic models of the contract, YAML in, JSON Schema out.

May touch the spec file and the environment; knows no database and no SQL.
"""

from __future__ import annotations

from sqlanon.spec.amounts import Limit
from sqlanon.spec.columns import Column, LevelBounds, Role
from sqlanon.spec.keys import Evidence, Limits, Recipient
from sqlanon.spec.load import any_from_dict, json_schema, load_any, load_spec, spec_from_dict
from sqlanon.spec.models import (
    Alpha,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    LDiversity,
    Population,
    PSensitive,
    QuasiIdentifierGroup,
    SensitiveModel,
    TCloseness,
)
from sqlanon.spec.places import (
    FileSource,
    FileTarget,
    QuerySource,
    Secret,
    Source,
    TableSource,
    TableTarget,
    Target,
    ViewTarget,
)
from sqlanon.spec.privacy import Anonymity, Personalized, Privacy, SuppressionRule
from sqlanon.spec.release import Spec
from sqlanon.spec.search import Algorithm, Budget, Constraints, Metric, Preference, Search
from sqlanon.spec.tables import SeveralTables

__all__ = [
    "Algorithm",
    "Alpha",
    "Anonymity",
    "BetaLikeness",
    "Budget",
    "Column",
    "Constraints",
    "DeltaDisclosure",
    "DeltaPresence",
    "Evidence",
    "FileSource",
    "FileTarget",
    "LDiversity",
    "LevelBounds",
    "Limit",
    "Limits",
    "Metric",
    "PSensitive",
    "Personalized",
    "Population",
    "Preference",
    "Privacy",
    "QuasiIdentifierGroup",
    "QuerySource",
    "Recipient",
    "Role",
    "Search",
    "Secret",
    "SensitiveModel",
    "SeveralTables",
    "Source",
    "Spec",
    "SuppressionRule",
    "TCloseness",
    "TableSource",
    "TableTarget",
    "Target",
    "ViewTarget",
    "any_from_dict",
    "json_schema",
    "load_any",
    "load_spec",
    "spec_from_dict",
]
