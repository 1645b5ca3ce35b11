"""What a release must satisfy: k-anonymity, the models beyond it, and how much may be suppressed.

Pure. Each model is typed here as the contract writes it; `refusals` lists those that nothing acts on yet.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from sqlanon.hierarchies.definition import Definition, Real, Whole
from sqlanon.hierarchies.tree import scalar_text
from sqlanon.spec.limit import Limit, SuppressionLimit
from sqlanon.spec.refusals import require_available

ColumnName = Annotated[str, Field(min_length=1)]
AtLeastOne = Annotated[Whole, Field(ge=1)]
Positive = Annotated[Real, Field(gt=0)]

MODELS = ("l_diversity", "t_closeness", "alpha", "p_sensitive", "beta_likeness", "delta_disclosure")
"""The models that protect sensitive columns."""


class SuppressionRule(Definition):
    """Rows that may be left out so that the others need less generalization."""

    limit: SuppressionLimit = Field(default=Limit(count=0), description="Most rows: a number, or a percentage like 2%.")
    mode: Literal["drop", "blank"] = Field(
        "drop", description="drop: leave the rows out. blank: keep them with empty quasi-identifiers."
    )


class LDiversity(Definition):
    """Each class holds l well-represented values of a sensitive column."""

    column: ColumnName = Field(description="A sensitive column.")
    l: AtLeastOne = Field(description="How many values.")  # noqa: E741 (the papers' and the contract's name)
    kind: Literal["distinct", "entropy", "recursive"] = Field("distinct", description="What well-represented means.")
    c: Positive | None = Field(None, description="The constant of kind recursive.")

    @model_validator(mode="after")
    def _check_constant(self) -> Self:
        if (self.kind == "recursive") != (self.c is not None):
            raise ValueError("c belongs to kind recursive, which needs it")
        return self


class TCloseness(Definition):
    """Each class distributes a sensitive column nearly as the whole table does."""

    column: ColumnName = Field(description="A sensitive column.")
    t: Annotated[Real, Field(ge=0, le=1)] = Field(description="The largest distance.")
    distance: Literal["equal", "ordered", "hierarchical"] = Field("equal", description="How values differ.")


class Alpha(Definition):
    """No class holds more than a share of one sensitive value: the alpha of (alpha, k)-anonymity."""

    column: ColumnName = Field(description="A sensitive column.")
    value: Annotated[str, BeforeValidator(scalar_text)] = Field(description="The value, as text.")
    alpha: Annotated[Real, Field(gt=0, le=1)] = Field(description="The largest share.")


class PSensitive(Definition):
    """Each class holds at least p distinct values of a sensitive column."""

    column: ColumnName = Field(description="A sensitive column.")
    p: AtLeastOne = Field(description="How many values.")


class BetaLikeness(Definition):
    """No value is more than beta times likelier in a class than in the table, relative to the table."""

    column: ColumnName = Field(description="A sensitive column.")
    beta: Positive = Field(description="The largest relative gain.")
    kind: Literal["basic", "enhanced"] = Field("basic", description="basic, or enhanced with a logarithmic bound.")


class DeltaDisclosure(Definition):
    """The logarithm of a value's share in a class against the table stays below delta."""

    column: ColumnName = Field(description="A sensitive column.")
    delta: Positive = Field(description="The bound.")


class Privacy(Definition):
    """The requirement of a release."""

    k: AtLeastOne | None = Field(None, description="Each combination of quasi-identifiers stands in at least k rows.")
    suppression: SuppressionRule = Field(
        default=SuppressionRule(limit=Limit(count=0), mode="drop"), description="What may be suppressed."
    )
    l_diversity: tuple[LDiversity, ...] = Field((), description="l-diversity of sensitive columns.")
    t_closeness: tuple[TCloseness, ...] = Field((), description="t-closeness of sensitive columns.")
    alpha: tuple[Alpha, ...] = Field((), description="Largest shares of sensitive values.")
    p_sensitive: tuple[PSensitive, ...] = Field((), description="p-sensitivity of sensitive columns.")
    beta_likeness: tuple[BetaLikeness, ...] = Field((), description="beta-likeness of sensitive columns.")
    delta_disclosure: tuple[DeltaDisclosure, ...] = Field((), description="delta-disclosure of sensitive columns.")

    @field_validator(*MODELS, mode="after")
    @classmethod
    def _check_available(cls, value: object, info: ValidationInfo) -> object:
        require_available(f"privacy.{info.field_name}", value)
        return value

    @model_validator(mode="after")
    def _check_some_model(self) -> Self:
        if self.k is None and not any(getattr(self, model) for model in MODELS):
            raise ValueError("at least one requirement must stand, for example k: 5")
        return self

    def sensitive_columns(self) -> list[tuple[str, int, str]]:
        """Each use of a sensitive column: the model, its position in the list, the column."""
        return [
            (model, position, entry.column) for model in MODELS for position, entry in enumerate(getattr(self, model))
        ]
