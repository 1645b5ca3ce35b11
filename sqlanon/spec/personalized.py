"""Personalized privacy (Xiao and Tao 2006): every row names the node of a taxonomy below which nothing may be inferred.

Pure. What needs the columns to be judged is checked here too, for the whole spec.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import Field

from sqlanon.hierarchies import HierarchySpec
from sqlanon.hierarchies.definition import Definition
from sqlanon.spec.algorithms import names_of
from sqlanon.spec.amounts import PositiveShare
from sqlanon.spec.columns import ColumnName, Weight
from sqlanon.spec.refusals import Finding

if TYPE_CHECKING:
    from sqlanon.spec.keys import SpecKeys

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


def personalized_findings(spec: SpecKeys) -> Iterator[Finding]:
    """What is wrong with a personalized requirement in its spec."""
    asked, algorithm = spec.privacy.personalized, spec.search.algorithm
    if asked is None:
        if algorithm in ALGORITHMS:
            yield ("search", "algorithm"), f"{algorithm} needs privacy.personalized"
        return
    here = ("privacy", "personalized")
    if asked.column not in spec.sensitive:
        yield (*here, "column"), f"{asked.column} is not a column of role sensitive"
    else:
        own = spec.columns[asked.column].hierarchy
        if (own is None) == (asked.taxonomy is None):
            message = "stands at the column already" if own is not None else "is required, here or at the column"
            yield (*here, "taxonomy"), f"the taxonomy of {asked.column} {message}"
    listed = spec.columns.get(asked.guarding)
    if (spec.default_role if listed is None else listed.role) != "identifier":
        message = "must be a column of role identifier: guarding nodes are never released"
        yield (*here, "guarding"), f"{asked.guarding} {message}"
    if asked.primary != (spec.respondent is None):
        say = (
            "true: leave respondent out" if asked.primary else "false needs respondent, the column that names a person"
        )
        yield (*here, "primary"), say
    if algorithm not in ALGORITHMS:
        yield ("search", "algorithm"), f"with privacy.personalized it is {' or '.join(ALGORITHMS)}, not {algorithm}"
    yield from _alone(spec)


def _alone(spec: SpecKeys) -> Iterator[Finding]:
    """Classes are made for this requirement alone."""
    privacy = spec.privacy
    if privacy.asks_for_k or privacy.models() or privacy.k_map is not None or privacy.delta_presence is not None:
        yield ("privacy", "personalized"), "it stands alone: no k and no other model beside it"
    if not privacy.suppression.limit.is_zero:
        yield ("privacy", "suppression", "limit"), "with privacy.personalized no row is suppressed"
    if privacy.several_groupings:
        yield ("privacy", "personalized"), "it needs a single quasi-identifier, and other_sensitive unknown"
