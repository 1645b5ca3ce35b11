"""The privacy models beyond k-anonymity, one class per entry of the spec.

Pure: typed as the contract writes them. What each one asks of a class is the business of the privacy package.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, field_validator, model_validator

from sqlanon.hierarchies.definition import Definition, Whole
from sqlanon.hierarchies.tree import scalar_text
from sqlanon.spec.amounts import Count, PositiveShare, PositiveThreshold, Share
from sqlanon.spec.columns import ColumnName
from sqlanon.spec.places import Source
from sqlanon.spec.refusals import refuse

AtLeastOne = Annotated[Whole, Field(ge=1)]


def _value_text(value: object) -> str:
    if value is None:
        raise ValueError("a value is expected here; put quotes around an empty text")
    return scalar_text(value)


ValueText = Annotated[str, BeforeValidator(_value_text)]
"""A value of a column as the spec writes it: 01 stays 01."""


class LDiversity(Definition):
    """Each class holds l well-represented values of a sensitive column."""

    column: ColumnName = Field(description="A sensitive column.")
    l: Count = Field(description="How many values.")  # noqa: E741 (the papers' and the contract's name)
    kind: Literal["distinct", "entropy", "recursive"] = Field("distinct", description="What well-represented means.")
    c: PositiveThreshold | None = Field(None, description="The constant of kind recursive.")

    @model_validator(mode="after")
    def _check_constant(self) -> Self:
        if (self.kind == "recursive") != (self.c is not None):
            raise ValueError("c belongs to kind recursive, which needs it")
        return self


class TCloseness(Definition):
    """Each class distributes a sensitive column nearly as the whole table does."""

    column: ColumnName = Field(description="A sensitive column.")
    t: Share = Field(description="The largest distance.")
    distance: Literal["equal", "ordered", "hierarchical"] = Field(
        "equal", description="How values differ: all alike, by their order, or by the column's hierarchy."
    )
    order: tuple[ValueText, ...] = Field(
        (), description="The values of a text column from lowest to highest, for distance ordered."
    )

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.order and self.distance != "ordered":
            refuse([(("order",), "only distance ordered has an order")])
        if len(set(self.order)) != len(self.order):
            refuse([(("order",), "each value may stand once")])
        return self


class Alpha(Definition):
    """No class holds more than a share of one sensitive value: the alpha of (alpha, k)-anonymity."""

    column: ColumnName = Field(description="A sensitive column.")
    value: ValueText = Field(description="The value, as text.")
    alpha: PositiveShare = Field(description="The largest share.")


class PSensitive(Definition):
    """Each class holds at least p distinct values of a sensitive column."""

    column: ColumnName = Field(description="A sensitive column.")
    p: Count = Field(description="How many values.")


class BetaLikeness(Definition):
    """No value is more than beta times likelier in a class than in the table, relative to the table."""

    column: ColumnName = Field(description="A sensitive column.")
    beta: PositiveThreshold = Field(description="The largest relative gain.")
    kind: Literal["basic", "enhanced"] = Field("basic", description="basic, or enhanced with a logarithmic bound.")


class DeltaDisclosure(Definition):
    """The logarithm of a value's share in a class against the table stays within delta."""

    column: ColumnName = Field(description="A sensitive column.")
    delta: PositiveThreshold = Field(description="The bound.")
    kind: Literal["occurring", "all"] = Field(
        "occurring", description="occurring: values that a class holds. all: every class holds every value, too."
    )


SensitiveModel = LDiversity | TCloseness | Alpha | PSensitive | BetaLikeness | DeltaDisclosure
"""An entry that protects a sensitive column."""


class QuasiIdentifierGroup(Definition):
    """One of several quasi-identifiers of a table, such as the patient's and the doctor's."""

    columns: Annotated[tuple[ColumnName, ...], Field(min_length=1)] = Field(
        description="Columns of role quasi_identifier."
    )
    k: AtLeastOne | None = Field(None, description="The k of this quasi-identifier. Default: privacy.k.")

    @field_validator("columns", mode="after")
    @classmethod
    def _check_unique(cls, columns: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(columns)) != len(columns):
            raise ValueError("each column may stand once")
        return columns


class Population(Definition):
    """The table of everybody who could be in the source, such as a voter list."""

    source: Source = Field(description="The table, view, file or query of the population.")
    columns: dict[ColumnName, ColumnName] = Field(
        default={}, description="Names of quasi-identifiers in the population, where they differ."
    )


class DeltaPresence(Definition):
    """How likely somebody of the population is in the release stays between two bounds."""

    min: Share = Field(default=Decimal(0), description="The least share.")
    max: PositiveShare = Field(description="The greatest share.")

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        if self.min > self.max:
            raise ValueError("min must not exceed max")
        return self
