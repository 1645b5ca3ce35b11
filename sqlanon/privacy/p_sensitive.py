"""p-sensitive k-anonymity (chapter, section 5; Truta and Vinay): every class holds at least p values of the column.

The same test as distinct l-diversity, asked beside k; monotone for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from sqlglot import exp

from sqlanon.privacy.base import Monotonicity, PrivacyModel, Sensitive
from sqlanon.privacy.distinct import DistinctDiversity
from sqlanon.spec import models as entries
from sqlanon.sql.values import Measures


@dataclass(frozen=True)
class PSensitivity(PrivacyModel):
    """At least `p` different values of a sensitive column in every class."""

    name: ClassVar[str] = "p_sensitive"
    sensitive: Sensitive
    p: int

    @property
    def monotonicity(self) -> Monotonicity:
        return self._diversity.monotonicity

    @property
    def _diversity(self) -> DistinctDiversity:
        return DistinctDiversity(self.sensitive, self.p)

    def measures(self) -> Measures:
        return self._diversity.measures()

    def satisfied(self) -> exp.Expression:
        return self._diversity.satisfied()

    def describe(self) -> dict[str, object]:
        return {"column": self.sensitive.name, "p": self.p}


def p_sensitivity(entry: entries.PSensitive, sensitive: Sensitive, flag: int) -> PSensitivity:
    """The model of an entry."""
    return PSensitivity(sensitive, entry.p)
