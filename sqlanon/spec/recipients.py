"""Recipients: one spec, several releases, each with its own target and its own view of columns and requirements.

Pure. What a recipient does not say, the spec says.
"""

from __future__ import annotations

import re
from typing import Annotated, TypeVar

from pydantic import AfterValidator, Field

from sqlanon.hierarchies.definition import Definition
from sqlanon.spec.columns import Column, ColumnName
from sqlanon.spec.places import Target
from sqlanon.spec.privacy import Privacy
from sqlanon.spec.refusals import KeyPath
from sqlanon.spec.search import Search

_NAME = re.compile(r"[A-Za-z0-9_-]+")
_Part = TypeVar("_Part", Privacy, Search)


def _file_name(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise ValueError("the name of a recipient has only letters, digits, _ and -; it becomes part of file names")
    return name


RecipientName = Annotated[str, AfterValidator(_file_name)]


class Recipient(Definition):
    """Somebody who gets a release of their own."""

    target: Target = Field(description="The table, view or file to write for this recipient.")
    columns: dict[ColumnName, Column] = Field(default={}, description="Columns that are defined anew for it.")
    privacy: Privacy | None = Field(None, description="Keys that replace those of privacy; null takes one away.")
    search: Search | None = Field(None, description="Keys that replace those of search.")

    def writes(self, path: KeyPath) -> bool:
        """Whether the recipient itself says something about a key of its spec."""
        if path[:1] == ("target",):
            return True
        if path[:1] == ("columns",):
            return path[1] in self.columns if path[1:] else bool(self.columns)
        part = {"privacy": self.privacy, "search": self.search}.get(str(path[0])) if path else None
        if part is None:
            return False
        return path[1] in part.model_fields_set if path[1:] else True


def replaced(part: _Part, keys: _Part | None) -> _Part:
    """A part of the spec with the keys that a recipient writes instead."""
    return part.model_copy(update={key: getattr(keys, key) for key in keys.model_fields_set}) if keys else part
