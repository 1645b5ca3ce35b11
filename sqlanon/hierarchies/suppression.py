"""The suppression builder: the value or nothing.

Pure. The default for a quasi-identifier that names no hierarchy.
"""

from __future__ import annotations

from pydantic import Field

from sqlanon.hierarchies.base import TOP, Family, Formula
from sqlanon.hierarchies.definition import Definition


class Suppression(Definition):
    """One level above the value: a constant label."""

    label: str = Field(TOP, min_length=1, description="The label that stands for every value.")

    def rule(self, family: Family) -> Formula:
        """No level but the top."""
        return Formula((), self.label)
