"""What all models of a sensitive column share: which column it is, and who is counted.

Pure.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp

from sqlanon.privacy.base import NEVER, WITHOUT_SUPPRESSION, Monotonicity
from sqlanon.sql.relations import column


@dataclass(frozen=True)
class Sensitive:
    """A sensitive column as the models see it."""

    position: int
    """Its place among the measured columns."""
    name: str
    persons: bool = False
    """Respondents are counted, not rows."""
    counts: int = 2**62
    """No count of rows exceeds this."""

    def aggregate(self, name: str) -> str:
        """The name of an aggregate of this column among those of a class."""
        return f"{name}_{self.position}"

    def column(self, name: str) -> exp.Column:
        return column(self.aggregate(name))

    @property
    def monotonicity_of_shares(self) -> Monotonicity:
        """Of models on the shares of values, which are convex: the share in merged classes lies between theirs.

        With suppression a passing class can be merged with a failing one. Classes that share respondents have fewer
        together than the sum of theirs, so shares may leave the range between.
        """
        return NEVER if self.persons else WITHOUT_SUPPRESSION
