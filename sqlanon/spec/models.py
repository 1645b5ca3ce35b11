"""The privacy models beyond k-anonymity, one class per entry of the spec.

Pure: typed as the contract writes them. Each entry brings the words that spec, command line, scripts and report need,
and names the function of the privacy package that makes its model. To add one, write its class here and its key in
`Privacy`; every list of models reads the keys of `Privacy`.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, ClassVar, Literal, Self

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema, field_validator, model_validator

from sqlanon.hierarchies.definition import Definition, Exact, Whole, refuse
from sqlanon.hierarchies.tree import scalar_text
from sqlanon.spec.amounts import Count, PositiveShare, PositiveThreshold, Share, normal
from sqlanon.spec.places import NamedSecret, Source
from sqlanon.spec.rules import ColumnName

AtLeastOne = Annotated[Whole, Field(ge=1)]


def _value_text(value: object) -> str:
    if value is None:
        raise ValueError("a value is expected here; put quotes around an empty text")
    return scalar_text(value)


ValueText = Annotated[str, BeforeValidator(_value_text)]
"""A value of a column as the spec writes it: 01 stays 01."""


@dataclass(frozen=True)
class AuditFlag:
    """How `sqlanon audit` takes a model as a flag."""

    metavar: str
    threshold: str
    """The key of its number."""
    more: tuple[str, ...]
    """Keys that may follow, in their order."""
    help: str
    """A sentence. The command line puts "Require of a sensitive column:" before it."""


class SensitiveEntry(Definition):
    """An entry that protects a sensitive column."""

    made_by: ClassVar[str]
    """The function that makes the model, as module:name; it takes the entry, the column and the number of the flag."""
    told_apart_by: ClassVar[str | None] = None
    """The key that, with the column, tells one entry from another."""
    names_value: ClassVar[bool] = False
    """It is about one value of the column, which rows are flagged for."""
    in_dbt: ClassVar[bool] = False
    """The dbt package audits it: sql/dbt has a macro of its name."""
    promise: ClassVar[str]
    """For the report: a clause with {column} and {asked}, in lower case, without a full stop."""
    flag: ClassVar[AuditFlag]

    column: ColumnName = Field(description="A sensitive column.")

    @property
    def least_rows(self) -> int:
        """Values with fewer rows than this are rare by the model's own number."""
        return 0

    @property
    def counts_values_alone(self) -> bool:
        """How many values a class holds is all that is asked, not how often it holds each."""
        return False

    @abstractmethod
    def sentence(self) -> str:
        """For the heading of a script, without a full stop."""


class LDiversity(SensitiveEntry):
    """Each class holds l well-represented values of a sensitive column."""

    made_by: ClassVar[str] = "sqlanon.privacy.recursive:diversity"
    told_apart_by: ClassVar[str | None] = "kind"
    in_dbt: ClassVar[bool] = True
    promise: ClassVar[str] = "the values of {column} in every class are diverse ({asked})"
    flag: ClassVar[AuditFlag] = AuditFlag(
        "COLUMN=L[,KIND[,C]]", "l", ("kind", "c"), "At least L values; KIND entropy, or recursive with C."
    )

    l: Count = Field(description="How many values.")  # noqa: E741 (the papers' and the contract's name)
    kind: Literal["distinct", "entropy", "recursive"] = Field("distinct", description="What well-represented means.")
    c: PositiveThreshold | None = Field(None, description="The constant of kind recursive.")

    @model_validator(mode="after")
    def _check_constant(self) -> Self:
        if (self.kind == "recursive") != (self.c is not None):
            raise ValueError("c belongs to kind recursive, which needs it")
        return self

    @property
    def least_rows(self) -> int:
        return self.l

    @property
    def counts_values_alone(self) -> bool:
        return self.kind == "distinct"

    def sentence(self) -> str:
        constant = "" if self.c is None else f", c = {self.c:f}"
        return f"Every class is l-diverse in {self.column} ({self.kind}, l = {self.l}{constant})"


class TCloseness(SensitiveEntry):
    """Each class distributes a sensitive column nearly as the whole table does."""

    made_by: ClassVar[str] = "sqlanon.privacy.t_closeness:closeness"
    told_apart_by: ClassVar[str | None] = "distance"
    in_dbt: ClassVar[bool] = True
    promise: ClassVar[str] = "the distribution of {column} in every class is close to that of the whole table ({asked})"
    flag: ClassVar[AuditFlag] = AuditFlag(
        "COLUMN=T[,DISTANCE]", "t", ("distance",), "No farther than T from the whole; or ordered."
    )

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

    def sentence(self) -> str:
        return f"Every class is t-close to the whole source in {self.column} ({self.distance}, t = {self.t:f})"


class Alpha(SensitiveEntry):
    """No class holds more than a share of one sensitive value: the alpha of (alpha, k)-anonymity."""

    made_by: ClassVar[str] = "sqlanon.privacy.alpha:alpha_share"
    told_apart_by: ClassVar[str | None] = "value"
    names_value: ClassVar[bool] = True
    in_dbt: ClassVar[bool] = True
    promise: ClassVar[str] = "no class holds the named value of {column} in a larger share than allowed ({asked})"
    flag: ClassVar[AuditFlag] = AuditFlag("COLUMN=VALUE=SHARE", "alpha", (), "VALUE in at most this share of a class.")

    value: ValueText = Field(description="The value, as text.")
    alpha: PositiveShare = Field(description="The largest share.")

    def sentence(self) -> str:
        return f"No class has the value of {self.column} that the spec names in a share above {self.alpha:f}"


class PSensitive(SensitiveEntry):
    """Each class holds at least p distinct values of a sensitive column."""

    made_by: ClassVar[str] = "sqlanon.privacy.p_sensitive:p_sensitivity"
    in_dbt: ClassVar[bool] = True
    promise: ClassVar[str] = "every class has several values of {column} ({asked})"
    flag: ClassVar[AuditFlag] = AuditFlag("COLUMN=P", "p", (), "At least P distinct values.")

    p: Count = Field(description="How many values.")

    @property
    def least_rows(self) -> int:
        return self.p

    @property
    def counts_values_alone(self) -> bool:
        return True

    def sentence(self) -> str:
        return f"Every class is p-sensitive in {self.column} (p = {self.p})"


class BetaLikeness(SensitiveEntry):
    """No value is more than beta times likelier in a class than in the table, relative to the table."""

    made_by: ClassVar[str] = "sqlanon.privacy.beta_likeness:likeness"
    told_apart_by: ClassVar[str | None] = "kind"
    promise: ClassVar[str] = "no class raises the share of a value of {column} by more than allowed ({asked})"
    flag: ClassVar[AuditFlag] = AuditFlag(
        "COLUMN=BETA[,KIND]", "beta", ("kind",), "Gains of at most BETA; or enhanced."
    )

    beta: PositiveThreshold = Field(description="The largest relative gain.")
    kind: Literal["basic", "enhanced"] = Field("basic", description="basic, or enhanced with a logarithmic bound.")

    def sentence(self) -> str:
        return f"Every class is beta-like the whole source in {self.column} ({self.kind}, beta = {self.beta:f})"


class DeltaDisclosure(SensitiveEntry):
    """The logarithm of a value's share in a class against the table stays within delta."""

    made_by: ClassVar[str] = "sqlanon.privacy.delta_disclosure:disclosure"
    told_apart_by: ClassVar[str | None] = "kind"
    promise: ClassVar[str] = "no class changes the share of a value of {column} by more than allowed ({asked})"
    flag: ClassVar[AuditFlag] = AuditFlag(
        "COLUMN=DELTA[,KIND]", "delta", ("kind",), "Shares off by e^DELTA at most; all: all values."
    )

    delta: PositiveThreshold = Field(description="The bound.")
    kind: Literal["occurring", "all"] = Field(
        "occurring", description="occurring: values that a class holds. all: every class holds every value, too."
    )

    def sentence(self) -> str:
        return f"Every class is delta-disclosure private in {self.column} ({self.kind}, delta = {self.delta:f})"


SensitiveModel = SensitiveEntry
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


LEAST_EPSILON, MOST_EPSILON = Decimal("0.001"), Decimal(8)
"""Below it hardly anybody is drawn; above it nearly everybody, and classes of tens of thousands would be asked for."""
LEAST_DELTA = Decimal("1e-30")


def _epsilon(value: Decimal) -> Decimal:
    if not LEAST_EPSILON <= value <= MOST_EPSILON:
        raise ValueError(f"epsilon lies between {LEAST_EPSILON:f} and {MOST_EPSILON:f}")
    return normal(value)


def _delta(value: Decimal) -> Decimal:
    if not LEAST_DELTA <= value < 1:
        raise ValueError("delta lies above 0 and below 1, at least 1e-30")
    return value.normalize()


Epsilon = Annotated[Exact, AfterValidator(_epsilon), WithJsonSchema({"type": "number", "minimum": 0.001, "maximum": 8})]
Delta = Annotated[
    Exact, AfterValidator(_delta), WithJsonSchema({"type": "number", "minimum": 1e-30, "exclusiveMaximum": 1})
]


class Differential(Definition):
    """Nobody's row changes the probability of any release by more than epsilon and delta allow."""

    epsilon: Epsilon = Field(description="The bound of e^epsilon on the ratio of probabilities, 0.001 to 8.")
    delta: Delta = Field(description="How likely a release may be that breaks the bound; below one over the persons.")
    secret: NamedSecret = Field(
        description="${NAME}: the environment variable with the key by which persons are drawn; a new one a release."
    )
