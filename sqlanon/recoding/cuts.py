"""Attribute-wise recoding (Li and Li 2007, section 3): each column has its own partition of its values into groups.

A value object. It is carried out as full-domain generalization by hierarchies of its own, one level high.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from sqlanon.hierarchies.base import Lookup


@dataclass(frozen=True)
class Group:
    """Values of a column that are released under one label."""

    label: str
    values: tuple[str, ...]
    """The texts of the values, which are the labels of level 0."""


@dataclass(frozen=True)
class Cuts:
    """The groups of each quasi-identifier, in the order of the spec; together they hold every value once.

    NULL is in no group: it stays NULL unless its column has a single group.
    """

    kind: ClassVar[str] = "cuts"
    columns: tuple[str, ...]
    groups: tuple[tuple[Group, ...], ...] = field(repr=False)
    """Not in what a notebook or a traceback shows: values are in them, however rare."""

    def levels(self) -> dict[str, int]:
        """No column has one level for all its values."""
        return {}

    def rules(self) -> dict[str, Lookup]:
        """For each column the hierarchy whose level 1 is its groups."""
        return {
            name: Lookup(tuple((value, group.label) for group in groups for value in group.values))
            for name, groups in zip(self.columns, self.groups, strict=True)
        }

    def own_levels(self) -> dict[str, int]:
        """The level of each column in the hierarchies of `rules`: 0 where every value keeps its own label."""
        return {
            name: int(any(group.values != (group.label,) for group in groups) or len(groups) == 1)
            for name, groups in zip(self.columns, self.groups, strict=True)
        }

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "columns": list(self.columns),
            "groups": {
                name: [{"label": group.label, "values": list(group.values)} for group in groups]
                for name, groups in zip(self.columns, self.groups, strict=True)
            },
        }

    def outline(self) -> dict[str, Any]:
        """Plain data without values, of which few rows may stand behind one: how many groups each column has."""
        counts = {name: len(groups) for name, groups in zip(self.columns, self.groups, strict=True)}
        return {"kind": self.kind, "columns": list(self.columns), "groups": counts}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Cuts:
        """The recoding that `to_dict` wrote; KeyError, TypeError or ValueError when it is none."""
        columns = tuple(_text(name) for name in content["columns"])
        groups = tuple(
            tuple(Group(_text(item["label"]), tuple(map(_text, item["values"]))) for item in content["groups"][name])
            for name in columns
        )
        return cls(columns, groups)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("a text is expected")
    return value
