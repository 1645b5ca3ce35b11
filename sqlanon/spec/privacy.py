"""What a release must satisfy: k-anonymity, the models beyond it, and how much may be suppressed.

Pure. What needs the columns to be judged is checked with the whole spec. Under personalized privacy (Xiao and Tao 2006)
every row names the node of a taxonomy below which nothing may be inferred.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from sqlanon.hierarchies import HierarchySpec
from sqlanon.hierarchies.definition import Definition, Whole
from sqlanon.spec.algorithms import names_of
from sqlanon.spec.amounts import LARGEST, Limit, Percentage, PositiveShare, Share, SuppressionLimit
from sqlanon.spec.columns import Weight
from sqlanon.spec.models import (
    Alpha,
    AtLeastOne,
    BetaLikeness,
    DeltaDisclosure,
    DeltaPresence,
    Differential,
    LDiversity,
    Population,
    PSensitive,
    QuasiIdentifierGroup,
    SensitiveEntry,
    SensitiveModel,
    TCloseness,
)
from sqlanon.spec.places import NamedSecret
from sqlanon.spec.rules import ColumnName

DEFAULT_ALGORITHM = "personalized"
PERSONALIZED = names_of("personalized")
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


Anonymity = Literal["classic", "(1,k)", "(k,1)", "(k,k)", "global (1,k)"]
"""What k counts: rows of a class, or rows that fit each other (Gionis, Mazza and Tassa 2008)."""

GroupName = Annotated[str, Field(min_length=1)]


class SuppressionRule(Definition):
    """Rows that may be left out so that the others need less generalization."""

    limit: SuppressionLimit = Field(default=Limit(count=0), description="Most rows: a number, or a percentage like 2%.")
    mode: Literal["drop", "blank"] = Field(
        "drop", description="drop: leave the rows out. blank: keep them with empty quasi-identifiers."
    )


class SuppressedCrowd(Definition):
    """Rows are suppressed in crowds, or not at all."""

    at_least: Annotated[Whole, Field(ge=2)] = Field(
        description="None or at least so many rows are suppressed, and at least so many of each class that they come "
        "to with every column one level further."
    )


class Margin(Definition):
    """The requirement is asked with more than it says, by how much a secret decides."""

    most: Annotated[Whole, Field(ge=1, le=LARGEST)] = Field(
        description="k is raised by a whole number from 0 to this one, the same for every run with this secret."
    )
    secret: NamedSecret = Field(
        description="${NAME}: the environment variable with the key that the number is drawn by."
    )


class RandomChoice(Definition):
    """One of the vectors that are about as good as the best one, by a secret."""

    within: Percentage = Field(description="How much worse the score of a vector may be than the best one, as 5%.")
    secret: NamedSecret = Field(description="${NAME}: the environment variable with the key that a vector is drawn by.")


class Adversary(Definition):
    """What is done against somebody who knows the algorithm."""

    slack: Annotated[Whole, Field(ge=0, le=LARGEST)] | None = Field(
        None,
        description="Classes that leave somebody who knows the algorithm fewer other possibilities are refused. "
        "Default where classes are made in rounds, in cells or by cuts: 1, the least that leaves nobody pinned.",
    )
    suppression: SuppressedCrowd | None = Field(None, description="How many rows are suppressed if any.")
    margin: Margin | None = Field(None, description="Ask for more than k, by a number that nobody knows.")
    choice: RandomChoice | None = Field(None, description="Take one of several good vectors by a secret.")


class Privacy(Definition):
    """The requirement of a release."""

    k: AtLeastOne | None = Field(None, description="Each combination of quasi-identifiers stands in at least k rows.")
    anonymity: Anonymity = Field(
        "classic",
        description="What k counts. classic: equal rows. Else rows of source and release that fit each other, by value "
        "or ancestor: (1,k) for each original row, (k,1) for each released row, (k,k) both, global (1,k) in "
        "assignments of all rows.",
    )
    suppression: SuppressionRule = Field(
        default=SuppressionRule(limit=Limit(count=0), mode="drop"), description="What may be suppressed."
    )
    l_diversity: tuple[LDiversity, ...] = Field((), description="l-diversity of sensitive columns.")
    t_closeness: tuple[TCloseness, ...] = Field((), description="t-closeness of sensitive columns.")
    alpha: tuple[Alpha, ...] = Field((), description="Largest shares of sensitive values.")
    p_sensitive: tuple[PSensitive, ...] = Field((), description="p-sensitivity of sensitive columns.")
    beta_likeness: tuple[BetaLikeness, ...] = Field((), description="beta-likeness of sensitive columns.")
    delta_disclosure: tuple[DeltaDisclosure, ...] = Field((), description="delta-disclosure of sensitive columns.")
    personalized: Personalized | None = Field(None, description="Everybody's own guarding node; stands alone.")
    differential: Differential | None = Field(
        None, description="Truthful differential privacy of a sample at given levels; stands alone."
    )
    adversary: Adversary | None = Field(None, description="Against somebody who knows how the release was made.")
    other_sensitive: Literal["unknown", "known"] = Field(
        "unknown",
        description="Whether somebody may know a person's other sensitive values. known: the models of a sensitive "
        "column are asked of classes by the quasi-identifiers and the other sensitive columns.",
    )
    quasi_identifiers: dict[GroupName, QuasiIdentifierGroup] = Field(
        default={}, description="Several quasi-identifiers by name, each satisfied on its own. Default: one, of all."
    )
    profile: dict[ColumnName, Share] = Field(
        default={},
        description="How likely the recipient can link by each quasi-identifier, from 0 to 1: what columns.*.anonymity "
        "asks for is multiplied by it, and combinations are looked at of those with 1. Default: 1 for all.",
    )
    population: Population | None = Field(None, description="Who could be in the source, for k_map and delta_presence.")
    k_map: AtLeastOne | None = Field(None, description="Each class matches at least k rows of the population.")
    delta_presence: DeltaPresence | None = Field(
        None, description="Bounds of the share of the population's rows that are in the release, in each class."
    )

    @property
    def most_suppressed(self) -> Limit:
        """Most rows that may be left out: under differential privacy all that lie in small classes."""
        return self.suppression.limit if self.differential is None else Limit(percent=Decimal(100))

    @property
    def slack(self) -> int:
        """The least slack of a class, where classes have one; 0: none is asked for."""
        if self.adversary is None:
            return 0
        return 1 if self.adversary.slack is None else self.adversary.slack

    @property
    def margin(self) -> Margin | None:
        """By how much k is raised, where it is."""
        return None if self.adversary is None else self.adversary.margin

    @property
    def choice(self) -> RandomChoice | None:
        """How a vector is drawn, where it is."""
        return None if self.adversary is None else self.adversary.choice

    @property
    def crowd(self) -> int:
        """The least number of rows that are suppressed if any; 0: any number."""
        asked = None if self.adversary is None else self.adversary.suppression
        return 0 if asked is None else asked.at_least

    def models(self) -> tuple[SensitiveModel, ...]:
        """Every entry that protects a sensitive column, in the order of the reference."""
        return tuple(entry for model in MODELS for entry in self.entries(model))

    def entries(self, model: str) -> tuple[SensitiveModel, ...]:
        """The entries of one model, by its key."""
        entries: tuple[SensitiveModel, ...] = getattr(self, model)
        return entries

    def sensitive_columns(self) -> list[tuple[str, int, str]]:
        """Each use of a sensitive column: the model, its position in the list, the column."""
        return [
            (model, position, entry.column) for model in MODELS for position, entry in enumerate(self.entries(model))
        ]

    def groups(self, quasi_identifiers: Sequence[str]) -> dict[str, tuple[tuple[str, ...], int | None]]:
        """Each quasi-identifier by name, with its columns and its k; a single one of all columns is named "".

        >>> Privacy(k=5).groups(["zip", "sex"])
        {'': (('zip', 'sex'), 5)}
        """
        if not self.quasi_identifiers:
            return {"": (tuple(quasi_identifiers), self.k)}
        return {
            name: (group.columns, self.k if group.k is None else group.k)
            for name, group in self.quasi_identifiers.items()
        }

    @property
    def greatest_k(self) -> int:
        """The least size of a class that any quasi-identifier asks for."""
        return max(k or 1 for _, k in self.groups(()).values())

    @property
    def asks_for_k(self) -> bool:
        """Whether k-anonymity is asked of any quasi-identifier."""
        return any(k is not None for _, k in self.groups(()).values())

    @property
    def beyond_k(self) -> bool:
        """Whether any model but k-anonymity stands."""
        others = (self.personalized, self.k_map, self.delta_presence)
        return bool(self.models()) or any(other is not None for other in others)

    @property
    def requires(self) -> bool:
        """Whether anything is asked that a table could fail: every table has k = 1."""
        return self.beyond_k or any((k or 1) > 1 for _, k in self.groups(()).values())

    @property
    def several_groupings(self) -> bool:
        """Whether rows are grouped into classes in more than one way."""
        return len(self.quasi_identifiers) > 1 or self.other_sensitive == "known"

    @property
    def only_k(self) -> bool:
        """Whether nothing but k-anonymity stands, of a single quasi-identifier."""
        return self.asks_for_k and not self.beyond_k and not self.several_groupings


def _entry_of(annotation: object) -> type[SensitiveEntry] | None:
    """The class of the entries that a key lists, if it lists entries of a model."""
    listed = get_args(annotation)[:1]
    return listed[0] if listed and isinstance(listed[0], type) and issubclass(listed[0], SensitiveEntry) else None


MODELS: dict[str, type[SensitiveEntry]] = {
    key: entry for key, item in Privacy.model_fields.items() if (entry := _entry_of(item.annotation)) is not None
}
"""The models that protect sensitive columns, by their keys."""
