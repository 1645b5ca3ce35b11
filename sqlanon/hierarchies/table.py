"""The table builder: a hierarchy that already stands in the database.

Pure: only names here; the database reads the table.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from sqlanon.hierarchies.base import Family, Reference
from sqlanon.hierarchies.definition import Definition, NameParts, require_few_levels

ColumnName = Annotated[str, Field(min_length=1)]


class Table(Definition):
    """An existing table or view with one column per level."""

    name: NameParts = Field(description="The table, as schema.table.")
    levels: tuple[ColumnName, ...] = Field(min_length=1, description="Its columns, level 0 (the value) first.")

    @field_validator("levels", mode="after")
    @classmethod
    def _check_levels(cls, levels: tuple[str, ...]) -> tuple[str, ...]:
        if len(set(levels)) != len(levels):
            raise ValueError("a column stands for one level only")
        require_few_levels(len(levels) - 1, "the table")
        return levels

    def rule(self, family: Family) -> Reference:
        """Where the labels are read from."""
        return Reference(self.name, self.levels)
