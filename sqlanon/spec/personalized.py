"""Personalized privacy (Xiao and Tao 2006): every row names the node of a taxonomy below which nothing may be inferred.

Pure. What needs the columns to be judged is checked here too, for the whole spec.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field

from sqlanon.hierarchies import HierarchySpec
from sqlanon.hierarchies.definition import Definition
from sqlanon.spec.algorithms import names_of
from sqlanon.spec.amounts import PositiveShare
from sqlanon.spec.columns import ColumnName, Weight

DEFAULT_ALGORITHM = "personalized"
ALGORITHMS = names_of("personalized")
"""The recoders that hold a personalized requirement."""

INFINITY = "infinity"


class Personalized(Definition):
    """Nobody's guarding node is inferred with more than a probability."""

    column: ColumnName = Field(description="The sensitive column; it is generalized within each class as needed.")
    guarding: ColumnName = Field(
        description="The identifier column that holds each row's guarding node; NULL: no protection. Never released."
    )
    p_breach: PositiveShare = Field(description="The largest probability of a breach.")
    taxonomy: HierarchySpec | None = Field(
        None, description="The taxonomy of the sensitive column. Default: the column's own hierarchy."
    )
    primary: bool = Field(
        True, description="Each person has one row. false: persons are told apart by the respondent column."
    )
    weight: Annotated[Weight | Literal["infinity"], Field(union_mode="left_to_right")] = Field(
        1.0, description="How much generalizing the sensitive column counts; infinity: it is never generalized."
    )


def with_algorithm(values: Any) -> Any:
    """The keys of a spec; where a personalized requirement stands and nobody chose an algorithm, its own."""
    if not isinstance(values, Mapping):
        return values
    privacy, search = values.get("privacy"), values.get("search", {})
    if not isinstance(privacy, Mapping) or privacy.get("personalized") is None or not isinstance(search, Mapping):
        return values
    return values if "algorithm" in search else {**values, "search": {"algorithm": DEFAULT_ALGORITHM, **search}}
