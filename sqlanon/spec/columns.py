"""The columns of a release: the role of each, and how a quasi-identifier is generalized.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import TYPE_CHECKING, Annotated, Literal, Self

import pydantic
from pydantic import BeforeValidator, Discriminator, Field, WithJsonSchema, model_validator

from sqlanon.hierarchies import HierarchySpec
from sqlanon.hierarchies.definition import Definition, Finding, Real, Whole, exact, refuse
from sqlanon.spec.algorithms import names_of
from sqlanon.spec.amounts import Share
from sqlanon.spec.rules import AVERAGES, DROP, Derive, Pseudonym, ReleaseRule, RowRule, moment, release_words

Role = Literal["identifier", "quasi_identifier", "sensitive", "insensitive"]
if TYPE_CHECKING:
    Scheme = str
else:
    Scheme = Literal[names_of("scheme")]
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


def _bound(value: object) -> object:
    """
    >>> _bound("1964-09-27"), _bound(2.5)
    (datetime.date(1964, 9, 27), Decimal('2.5'))
    """
    if isinstance(value, str):
        return moment(value)
    if isinstance(value, date | Decimal):
        return value
    found = exact(value)
    return Decimal(found) if isinstance(found, int) else found


Bound = Annotated[
    Decimal | datetime | date,
    BeforeValidator(_bound),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number"},
                {"type": "string", "format": "date"},
                {"type": "string", "format": "date-time"},
            ]
        }
    ),
]


class DomainRange(Definition):
    """All values from one number or date to another."""

    min: Bound = Field(description="The least value that there can be.")
    max: Bound = Field(description="The greatest value that there can be.")

    @model_validator(mode="after")
    def _check_order(self) -> Self:
        low, high = _comparable(self.min), _comparable(self.max)
        if isinstance(low, Decimal) is not isinstance(high, Decimal):
            raise ValueError("min and max must both be numbers or both be dates")
        if low > high:  # type: ignore[operator]  # both are of one kind
            raise ValueError("min must not exceed max")
        return self


def _comparable(bound: Decimal | datetime | date) -> Decimal | datetime:
    """A bound as what others are compared with: a date by its midnight, a moment by UTC."""
    if isinstance(bound, Decimal):
        return bound
    if not isinstance(bound, datetime):
        return datetime(bound.year, bound.month, bound.day)
    return bound if bound.tzinfo is None else bound.astimezone(UTC).replace(tzinfo=None)


def _kind_of_domain(value: object) -> str:
    return "name" if isinstance(value, str) else "range"


Domain = Annotated[
    Annotated[DomainRange, pydantic.Tag("range")] | Annotated[Literal["occurring", "hierarchy"], pydantic.Tag("name")],
    Discriminator(_kind_of_domain),
]
"""Problems are told of the form that was written."""


class Column(Definition):
    """One column of the source."""

    role: Role = Field(
        description="identifier: never released, but for a pseudonym. quasi_identifier: generalized. sensitive: "
        "released, protected by models such as l-diversity. insensitive: released as it is, or as release says."
    )
    hierarchy: HierarchySpec | None = Field(
        None, description="How values are generalized. Default for a quasi-identifier: suppression."
    )
    levels: LevelBounds = Field(default=LevelBounds(min=0, max=None), description="The levels that may be released.")
    domain: Domain | None = Field(
        None,
        description="The values that there can be, which losses and estimates are measured against: min and max; "
        "hierarchy: what its csv, tree or table lists, or interval with min and max bounds; occurring: what the source "
        "has. Default: of numbers and dates the range from the least to the greatest that occur, else what the "
        "hierarchy lists.",
    )
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

    release: ReleaseRule | None = Field(
        None,
        description="How the values are released, where not as they are: round, truncate, cap, bucket or shift, or one "
        "of the words mean, median, drop. Sensitive and insensitive columns only.",
    )
    derive: Derive | None = Field(
        None, description="How a quasi-identifier that the source does not have is made from a column that it has."
    )

    pseudonym: Pseudonym | None = Field(
        None, description="A keyed hash that is released in the place of an identifier, which tells persons apart."
    )

    @model_validator(mode="after")
    def _check_role(self) -> Self:
        findings: list[Finding] = []
        if self.hierarchy is not None and self.role not in ("quasi_identifier", "sensitive"):
            findings.append((("hierarchy",), f"only a quasi_identifier or sensitive column has one, not {self.role}"))
        if self.role != "quasi_identifier":
            for key in ("levels", "domain", "scheme", "weight", "tag", "anonymity"):
                if key in self.model_fields_set:
                    findings.append(((key,), f"only a quasi_identifier has this, not {self.role}"))
        for key in ("accept", "release"):
            if getattr(self, key) is not None and self.role not in ("sensitive", "insensitive"):
                findings.append(((key,), f"only a sensitive or insensitive column has this, not {self.role}"))
        if self.pseudonym is not None and self.role != "identifier":
            findings.append((("pseudonym",), f"only an identifier has this, not {self.role}"))
        if self.derive is not None and self.role != "quasi_identifier":
            findings.append((("derive",), f"only a quasi_identifier has this, not {self.role}"))
        refuse(findings)
        return self

    @property
    def rule(self) -> RowRule | None:
        """What becomes of each value, where something does."""
        return self.release if isinstance(self.release, RowRule) else None

    @property
    def dropped(self) -> bool:
        """Whether the column is left out by its rule."""
        return self.release == DROP

    @property
    def averaged(self) -> bool:
        """Whether classes show one value for all their rows."""
        return self.release in AVERAGES

    def words(self) -> str:
        """What its rule does; empty where it has none."""
        made = self.derive or self.pseudonym
        if made is not None:
            return made.words()
        return "" if self.release is None else release_words(self.release)


def accepted_columns(columns: Mapping[str, Column]) -> dict[str, str]:
    """The columns that are released although they look like identifiers, each with the reason."""
    return {name: column.accept for name, column in columns.items() if column.accept is not None}


def derived_columns(columns: Mapping[str, Column]) -> dict[str, str]:
    """The columns that the source does not have, each with the one that it is made from."""
    return {name: column.derive.base for name, column in columns.items() if column.derive is not None}


def rules_of(columns: Mapping[str, Column]) -> dict[str, str]:
    """The columns that are released by a rule or derived, each with its rule in words."""
    return {name: words for name, column in columns.items() if (words := column.words())}
