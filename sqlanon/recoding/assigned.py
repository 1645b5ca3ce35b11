"""Class-wise recoding: multidimensional, local, by cells, personalized. Every class has labels of its own.

A value object: how to make the assignment of combinations to classes again, and what tells that it is the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar


@dataclass(frozen=True)
class Assigned:
    """An assignment that its recoder makes again from the same combinations."""

    kind: ClassVar[str] = "assigned"
    algorithm: str
    """The recoder, by the name that it has in the spec."""
    classes: int
    fingerprint: str
    """Of the combinations that were assigned."""
    checksum: tuple[int, ...]
    """Of the assignment and of what the labels cover."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """What a reader of the lock file wants to know of it: plain names and numbers, no values of the table."""

    def levels(self) -> dict[str, int]:
        """No column has one level for all its values."""
        return {}

    def same_as(self, other: Assigned) -> bool:
        """Whether both describe one assignment."""
        return (self.algorithm, self.fingerprint, self.checksum) == (other.algorithm, other.fingerprint, other.checksum)

    def to_dict(self) -> dict[str, Any]:
        return {
            "kind": self.kind,
            "algorithm": self.algorithm,
            "classes": self.classes,
            "fingerprint": self.fingerprint,
            "checksum": list(self.checksum),
            "details": dict(self.details),
        }

    def outline(self) -> dict[str, Any]:
        """Plain data without values, which are all that it has."""
        return self.to_dict()

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Assigned:
        """The recoding that `to_dict` wrote; KeyError, TypeError or ValueError when it is none."""
        return cls(
            str(content["algorithm"]),
            int(content["classes"]),
            str(content["fingerprint"]),
            tuple(int(number) for number in content["checksum"]),
            dict(content["details"]),
        )
