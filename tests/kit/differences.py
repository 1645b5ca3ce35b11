"""The difference of two published tables by brute force: multisets in Python, which share nothing with the package."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

Row = tuple[Any, ...]
Figures = dict[str, Any]


def change(
    groups: Mapping[Row, Counter[Row]], k: int, sensitive: Mapping[str, tuple[int, int]], person: int | None
) -> Figures:
    """The figures of the leavers, joiners or stayers of all classes.

    `sensitive`: the place of each column in a row, and the least number of values.
    """
    found: Figures = {"number": 0, "classes": 0, "smallest": None, "alone": 0, "below_k": 0}
    one, few = dict.fromkeys(sensitive, 0), dict.fromkeys(sensitive, 0)
    for rows in groups.values():
        held = list(rows.elements())
        if not held:
            continue
        size = len(held) if person is None else len({row[person] for row in held})
        found["number"] += size
        found["classes"] += 1
        found["smallest"] = size if found["smallest"] is None else min(found["smallest"], size)
        found["alone"] += size if size == 1 else 0
        found["below_k"] += size if size < k else 0
        for name, (place, least) in sensitive.items():
            values = len({row[place] for row in held})
            one[name] += size if values == 1 else 0
            few[name] += size if values < least else 0
    return {**found, "one_value": one, "few_values": few}


def view(
    older: Sequence[Row],
    newer: Sequence[Row],
    keys: Sequence[int],
    values: Sequence[int],
    k: int,
    sensitive: Mapping[str, tuple[int, int]],
    person: int | None = None,
) -> dict[str, Figures]:
    """Leavers, joiners and stayers of two tables, rows compared by these columns alone."""
    kept = {*values, *([] if person is None else [person])}
    tables = []
    for rows in (older, newer):
        classes: dict[Row, Counter[Row]] = defaultdict(Counter)
        for row in rows:
            shown = tuple(value if place in kept else "" for place, value in enumerate(row))
            classes[tuple(row[place] for place in keys)][shown] += 1
        tables.append(classes)
    before, after = tables
    every = {*before, *after}
    leavers = {key: before[key] - after[key] for key in every}
    joiners = {key: after[key] - before[key] for key in every}
    moving = {key for key in every if keys and leavers[key] and joiners[key]}
    stayers = {key: before[key] & after[key] for key in moving}
    return {
        name: change(groups, k, sensitive, person)
        for name, groups in (("leavers", leavers), ("joiners", joiners), ("stayers", stayers))
    }
