"""All recoders by the names that `search.algorithm` has for them. A new one is one file here and one line below."""

from __future__ import annotations

from sqlanon.recoders import cells, greedy, matching, personalized, schemes
from sqlanon.recoders.base import Recoder
from sqlanon.recoders.local import local
from sqlanon.recoders.mondrian import mondrian

RECODERS: dict[str, Recoder] = {
    "mondrian": mondrian,
    "local": local,
    "forest": cells.recode,
    "matching": matching.recode,
    "bhs": schemes.recode_exact,
    "ghs": schemes.recode_exact,
    "gops": schemes.recode_exact,
    "gsps": schemes.recode_exact,
    "ops": schemes.recode_exact,
    "sps": schemes.recode_exact,
    "tds": schemes.recode_heuristic,
    "genetic": schemes.recode_heuristic,
    "annealing": schemes.recode_heuristic,
    "personalized": personalized.recode,
    "greedy": greedy.recode,
}


def recoder_named(name: str) -> Recoder | None:
    """The recoder of this name; None when it is the name of a full-domain search."""
    return RECODERS.get(name)
