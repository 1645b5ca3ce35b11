"""All recoders by the names that `search.algorithm` has for them. A new one is one file here and one line below."""

from __future__ import annotations

from sqlanon.recoding.base import Recoder
from sqlanon.recoding.cells import matching
from sqlanon.recoding.cells import recoder as cells
from sqlanon.recoding.local import local
from sqlanon.recoding.mondrian.recoder import mondrian
from sqlanon.recoding.personalized import greedy
from sqlanon.recoding.personalized import recoder as personalized
from sqlanon.recoding.schemes import recoder as schemes

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
