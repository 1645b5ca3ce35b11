"""The recoders by the names that `search.algorithm` has for them: every algorithm that does not search the lattice.

A new one is one file here and one row in the table of algorithms.
"""

from __future__ import annotations

from sqlanon.recoding.base import Recoder
from sqlanon.spec.algorithms import ALGORITHMS

RECODERS: dict[str, Recoder] = {name: row.load() for name, row in ALGORITHMS.items() if row.kind != "lattice"}


def recoder_named(name: str) -> Recoder | None:
    """The recoder of this name; None when it is the name of a full-domain search."""
    return RECODERS.get(name)
