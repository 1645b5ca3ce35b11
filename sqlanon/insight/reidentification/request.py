"""What is asked about the risk of a table. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from sqlanon.errors import UsageError

THRESHOLDS = (Decimal("0.05"), Decimal("0.1"), Decimal("0.2"), Decimal("0.5"))
"""Risks above which rows are counted unless others are named."""


@dataclass(frozen=True)
class RiskRequest:
    """The columns that an attacker knows, and how far to look."""

    columns: tuple[str, ...]
    thresholds: tuple[Decimal, ...] = THRESHOLDS
    k: int = 5
    """Rows of a subset count as at risk in classes smaller than this."""
    subset_size: int = 0
    """Subsets of up to so many columns are measured; 0: none."""
    unique_size: int = 0
    """Minimal unique sets of up to so many columns are looked for; 0: none."""

    def __post_init__(self) -> None:
        if not self.columns:
            raise UsageError("name the columns of the quasi-identifier: they are what somebody may know of a person")
        if not all(0 < threshold <= 1 for threshold in self.thresholds):
            raise UsageError("a threshold of risk lies above 0 and is at most 1")
        if self.k < 1 or self.subset_size < 0 or self.unique_size < 0:
            raise UsageError("k must be at least 1, and sizes of subsets at least 0")

    @property
    def bounds(self) -> tuple[int, ...]:
        """For each threshold, the least size of a class whose risk, one over the size, is not above it."""
        return tuple(-(-1 // Fraction(threshold)) for threshold in self.thresholds)
