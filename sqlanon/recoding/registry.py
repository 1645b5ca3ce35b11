"""The recoders by the names that `search.algorithm` has for them: every algorithm that does not search the lattice.

A new one is one file here and one row in the table of algorithms.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from sqlanon.recoding.kinds import Assigned, Cuts, FullDomain, RegionLookup
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.run import Run
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.spec.registry import Loaded

if TYPE_CHECKING:
    from sqlanon.recoding.base import Recoder

RECODERS: Loaded[Recoder] = Loaded({name: row for name, row in ALGORITHMS.items() if row.kind != "lattice"})


def recoder_named(name: str) -> Recoder | None:
    """The recoder of this name; None when it is the name of a full-domain search."""
    return RECODERS.get(name)


RegionMaker = Callable[[Run, Base, Sequence[StoredHierarchy]], RegionLookup]
"""Makes the classes of a recoding again, as regions that a script writes out."""


def region_maker(recoding: FullDomain | Cuts | Assigned) -> RegionMaker | None:
    """How the regions of a recoding are made for a script; None where it has none."""
    if not isinstance(recoding, Assigned):
        return None
    match ALGORITHMS[recoding.algorithm].kind:
        case "mondrian":
            from sqlanon.recoding.mondrian.recoder import mondrian_lookup

            return lambda run, base, stored: mondrian_lookup(run, base, stored, recoding.fingerprint)
        case "personalized":
            from sqlanon.recoding.personalized.recoder import personalized_lookup

            recoder = RECODERS[recoding.algorithm]
            return lambda run, base, stored: personalized_lookup(run, base, stored, recoder, recoding)
        case _:
            return None
