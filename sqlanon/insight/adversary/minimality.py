"""Minimality: what somebody who knows everybody's quasi-identifier learns of sensitive values from who was suppressed.

Wong, Fu, Wang and Pei, "Minimality Attack in Privacy Preserving Data Publishing" (VLDB 2007). A cell of the released
levels that has k people, and no class, failed a model of sensitive columns: its values break the very bound that the
model promises. Reads the source's quasi-identifiers and the labels of the release; no sensitive value.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlanon.auditor.downcoding import LabelLevels
from sqlanon.insight.adversary.nodes import cells_beside_release, shown_levels
from sqlanon.insight.adversary.values import Attack, measured
from sqlanon.source.run import Run
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.sql.build import query
from sqlanon.sql.relations import Relation

EXPLAINED = "people in cells without a class that have k people: that their values fail a model is known"
FIGURES = ("people", "suppressed", "told", "cells")

_TOLD = """
select cast(coalesce(sum(n), 0) as bigint) as people,
  cast(coalesce(sum(case when released = 0 then n else 0 end), 0) as bigint) as suppressed,
  cast(coalesce(sum(case when released = 0 and persons >= :k then n else 0 end), 0) as bigint) as told,
  cast(coalesce(sum(case when released = 0 and persons >= :k then 1 else 0 end), 0) as bigint) as cells
from cells as c
"""


def unjudged(run: Run) -> str | None:
    """Why minimality says nothing of a release; None where it does."""
    spec, row = run.binding.spec, ALGORITHMS[run.binding.spec.search.algorithm]
    if not spec.privacy.models() or spec.privacy.differential is not None:
        return "no model of sensitive columns can have failed"
    if row.kind != "lattice":
        return f"{row.name} has no one vector of levels at which classes failed"
    if spec.privacy.several_groupings or run.binding.history is not None:
        return "people are held back for other reasons than their class"
    return None


def minimality(run: Run, target: Relation, levels: Sequence[LabelLevels]) -> Attack | str:
    """How many suppressed people are known to have values that fail a model; or why that cannot be counted."""
    shown = shown_levels(run, target, levels)
    if isinstance(shown, str):
        return shown
    cells = cells_beside_release(run, target, levels, [shown.lowest])
    statement = query(_TOLD, {"cells": cells}, k=run.binding.k)
    return Attack("minimality", None, EXPLAINED, "told", None, measured(run.engine, "minimality", statement, FIGURES))
