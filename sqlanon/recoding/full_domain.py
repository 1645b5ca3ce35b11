"""Full-domain generalization (Samarati 2001, section 3): every value of a column at one level.

A value object: what a search decided, what a lock file records, what publish carries out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from sqlanon.hierarchies.lattice import Node


@dataclass(frozen=True)
class FullDomain:
    """The level of each quasi-identifier, in the order of the spec."""

    kind: ClassVar[str] = "full_domain"
    columns: tuple[str, ...]
    node: Node

    def levels(self) -> dict[str, int]:
        return dict(zip(self.columns, self.node, strict=True))

    def to_dict(self) -> dict[str, Any]:
        return {"kind": self.kind, "levels": self.levels()}

    def outline(self) -> dict[str, Any]:
        """Plain data without values, which are all that it has."""
        return self.to_dict()

    @classmethod
    def from_levels(cls, columns: tuple[str, ...], levels: Mapping[str, int]) -> FullDomain:
        """The recoding that these levels describe; every column must have one."""
        return cls(columns, tuple(levels[name] for name in columns))
