"""The columns of a release: the role of each, and how a quasi-identifier is generalized.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import Field, model_validator

from sqlanon.hierarchies import HierarchySpec
from sqlanon.hierarchies.definition import Definition, Finding, Real, Whole, refuse
from sqlanon.spec.algorithms import names_of
from sqlanon.spec.amounts import Share

Role = Literal["identifier", "quasi_identifier", "sensitive", "insensitive"]
if TYPE_CHECKING:
    Scheme = str
else:
    Scheme = Literal[names_of("scheme")]
ColumnName = Annotated[str, Field(min_length=1)]
LevelNumber = Annotated[Whole, Field(ge=0)]
Weight = Annotated[Real, Field(gt=0)]
Tag = Annotated[Whole, Field(ge=0, le=3)]
Reason = Annotated[str, Field(min_length=1, max_length=500, pattern=r"\S")]


class LevelBounds(Definition):
    """The levels of a hierarchy that may be released."""

    min: LevelNumber = Field(0, description="The least level; 0 is the value itself.")
    max: LevelNumber | None = Field(None, description="The highest level. Default: the top.")

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.max is not None and self.min > self.max:
            raise ValueError("min must not exceed max")
        return self


class Column(Definition):
    """One column of the source."""

    role: Role = Field(
        description="identifier: never released. quasi_identifier: generalized. sensitive: released, protected by "
        "models such as l-diversity. insensitive: released as it is."
    )
    hierarchy: HierarchySpec | None = Field(
        None, description="How values are generalized. Default for a quasi-identifier: suppression."
    )
    levels: LevelBounds = Field(default=LevelBounds(min=0, max=None), description="The levels that may be released.")
    scheme: Scheme | None = Field(
        None, description="The generalization scheme of this column. Default: the one that search.algorithm names."
    )
    weight: Weight = Field(1.0, description="How much generalizing this column counts in weighted measures.")
    tag: Tag | None = Field(
        None,
        description="How identifying the column is to mu_argus: 0 not at all, 1 somewhat, 2 more, 3 most identifying. "
        "Either every quasi-identifier has a tag or none.",
    )
    anonymity: Share | None = Field(
        None,
        description="How well values must hide, with privacy.profile: 0 asks for nothing, 0.02 that each stands in 2% "
        "of the rows, 1 in all. Either every quasi-identifier has a level of anonymity or none.",
    )
    accept: Reason | None = Field(
        None, description="Why the column may be released as it is although it looks like an identifier."
    )

    @model_validator(mode="after")
    def _check_role(self) -> Self:
        findings: list[Finding] = []
        if self.hierarchy is not None and self.role not in ("quasi_identifier", "sensitive"):
            findings.append((("hierarchy",), f"only a quasi_identifier or sensitive column has one, not {self.role}"))
        if self.role != "quasi_identifier":
            for key in ("levels", "scheme", "weight", "tag", "anonymity"):
                if key in self.model_fields_set:
                    findings.append(((key,), f"only a quasi_identifier has this, not {self.role}"))
        if self.accept is not None and self.role not in ("sensitive", "insensitive"):
            findings.append((("accept",), f"only a sensitive or insensitive column has this, not {self.role}"))
        refuse(findings)
        return self


def accepted_columns(columns: Mapping[str, Column]) -> dict[str, str]:
    """The columns that are released although they look like identifiers, each with the reason."""
    return {name: column.accept for name, column in columns.items() if column.accept is not None}
