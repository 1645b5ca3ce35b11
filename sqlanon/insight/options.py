"""What is asked about the risk of a release, its exposure and its use. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from sqlanon.insight.reidentification.request import THRESHOLDS
from sqlanon.insight.workload import Given, RandomQueries

QUERIES = RandomQueries(200)
"""Random count queries that are answered unless others are named."""


@dataclass(frozen=True)
class RiskOptions:
    """How far to look for risk."""

    thresholds: tuple[Decimal, ...] = THRESHOLDS
    subset_size: int = 0
    unique_size: int = 0


@dataclass(frozen=True)
class AttackOptions:
    """What the adversary has beside the release."""

    external: str | None = None
    """An identified table."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """Columns of the quasi-identifier with the names that they have there; others are named alike."""
    within: tuple[int, ...] = (2, 5, 10)
    """Numbers of candidates that are counted up to."""
    excluded: tuple[int, ...] = (1,)
    """How many sensitive values somebody can exclude for a person."""
    similar: Decimal = Decimal("0.1")
    """Numbers are alike when no farther apart than this share of the whole range."""
    release: str | None = None
    """Another release of the same people."""
    names: str | None = None
    """The column of the identified table whose values are shown for those who are re-identified."""


@dataclass(frozen=True)
class UtilityOptions:
    """What the release is to be used for."""

    predict: str | None = None
    """The sensitive column to classify; by default every one that does not hold numbers."""
    queries: Given | RandomQueries | None = QUERIES
    """The count queries that are answered; None: none."""


PLAIN_RISK = RiskOptions()
PLAIN_ATTACK = AttackOptions()
PLAIN_UTILITY = UtilityOptions()
