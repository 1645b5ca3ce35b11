"""What a plan decides and publish carries out: one value object of one of three kinds.

Full-domain: every value of a column at one level. Cuts: each column has its own groups of values. Assigned: every
class has its own labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlanon.recoding.kinds import Assigned, Cuts, FullDomain, Group

__all__ = ["Assigned", "Cuts", "FullDomain", "Group", "Recoding", "recoding_from_dict"]

Recoding = FullDomain | Cuts | Assigned


def recoding_from_dict(content: Mapping[str, Any]) -> Cuts | Assigned | None:
    """The recoding that plain data describe; None for a full-domain one, which its levels describe."""
    match content["kind"]:
        case Cuts.kind:
            return Cuts.from_dict(content)
        case Assigned.kind:
            return Assigned.from_dict(content)
        case FullDomain.kind if "levels" in content:
            return None
        case _:
            raise ValueError("no such kind of recoding")
