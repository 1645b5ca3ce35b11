"""Every generalization of a scheme, by brute force: `bhs`, `ghs`, `ops` and `sps` over columns of few values."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from tests.fuzz.case import Case, Cell
from tests.fuzz.labels import DATES, NUMBERS
from tests.fuzz.ladders import Ladder
from tests.fuzz.models import Requirement, classes_of, order

SCHEMES = ("bhs", "ghs", "ops", "sps")
"""Schemes that are walked."""

MOST = 700
"""Generalizations that are still walked one by one."""

Groups = dict[Cell, int]
"""The group of each value of a column."""


class TooMany(Exception):
    """The space is too large to walk, or of a scheme that is not walked."""


def best(case: Case, ladders: Mapping[str, Ladder], requirement: Requirement, metric: str) -> float | None:
    """The least cost of any generalization within the limit; None where there is none."""
    spaces = {name: list(space(case, ladder, requirement.values[name])) for name, ladder in ladders.items()}
    if math.prod(map(len, spaces.values())) > MOST:
        raise TooMany
    costs = (
        cost(case, ladders, requirement, dict(zip(spaces, chosen, strict=True)), metric)
        for chosen in itertools.product(*spaces.values())
    )
    return min((found for found in costs if found is not None), default=None)


def cost(
    case: Case,
    ladders: Mapping[str, Ladder],
    requirement: Requirement,
    groups: Mapping[str, Groups],
    metric: str,
) -> float | None:
    """What a generalization costs; None where it suppresses more than the limit, or everything."""
    values, total = requirement.values, requirement.rows
    labels: dict[int, dict[str, Cell]] = {
        row: {name: str(groups[name][values[name][row]]) for name in groups} for row in range(total)
    }
    kept = dict(labels)
    while failed := requirement.failing(kept):
        kept = {row: own for row, own in kept.items() if row not in failed}
    lost = total - len(kept)
    if not kept or lost > requirement.limit:
        return None
    if metric == "dm":
        return sum(len(members) ** 2 for members in classes_of(kept, list(groups)).values()) + total * lost
    weights = {name: float(case.spec["columns"][name].get("weight", 1)) for name in groups}
    found = 0.0
    for name in groups:
        # The finest that may be released costs nothing: values, or their labels at `levels.min`.
        low = case.spec["columns"][name].get("levels", {}).get("min", 0)
        least = [ladders[name].label(value, low) for value in values[name]]
        finest, general = Counter(least), Counter(own[name] for own in labels.values())
        for row, label in enumerate(least):
            # A suppressed cell is one that was generalized to the whole column.
            size = finest[label]
            whole = general[kept[row][name]] if row in kept else total
            if total > size:
                found += weights[name] * (whole - size) / (total - size)
    return found / sum(weights.values())


def space(case: Case, ladder: Ladder, values: Sequence[Cell]) -> Iterator[Groups]:
    """All partitions of a column's values that its scheme allows. NULL joins once all other values are merged."""
    column = case.spec["columns"][ladder.column]
    scheme, low = column.get("scheme", case.algorithm), column.get("levels", {}).get("min", 0)
    present = sorted({value for value in values if value is not None}, key=lambda value: order(value, ladder.kind))
    leaves = list(dict.fromkeys(ladder.label(value, low) for value in present))
    if scheme in ("sps", "ops"):
        if len(leaves) > 6 or (scheme == "ops" and ladder.kind not in (*NUMBERS, *DATES)):
            raise TooMany
        parts = partitions(len(leaves)) if scheme == "sps" else ranges(len(leaves))
        made = [{value: part[leaves.index(ladder.label(value, low))] for value in present} for part in parts]
    elif scheme == "bhs":
        made = [
            numbered({value: ladder.label(value, level) for value in present})
            for level in range(low, ladder.height + 1)
        ]
    elif scheme == "ghs":
        made = [numbered(cut) for cut in cuts(ladder, present, ladder.height, low)]
    else:
        raise TooMany
    nulls = None in values
    for found in made:
        groups: Groups = {}
        groups.update(found)
        whole = len(set(found.values())) <= 1
        if nulls and (not whole or (len(leaves) == 1 and low < ladder.height)):
            yield groups | {None: -1}
        if nulls and whole:
            yield groups | {None: 0}
        if not nulls:
            yield groups


def numbered(labels: Mapping[str, Cell]) -> dict[str, int]:
    names = list(dict.fromkeys(labels.values()))
    return {value: names.index(label) for value, label in labels.items()}


def cuts(ladder: Ladder, values: Sequence[str], level: int, low: int) -> Iterator[dict[str, Cell]]:
    """Cuts of the hierarchy through the values below one node."""
    if not values:
        yield {}
        return
    yield dict.fromkeys(values, f"{level} {values[0]}")
    if level == low:
        return
    below: dict[Cell, list[str]] = {}
    for value in values:
        below.setdefault(ladder.label(value, level - 1), []).append(value)
    for parts in itertools.product(*(list(cuts(ladder, part, level - 1, low)) for part in below.values())):
        yield {value: label for part in parts for value, label in part.items()}


def partitions(size: int) -> Iterator[list[int]]:
    """All partitions of so many things, as the group of each."""

    def grow(begun: list[int]) -> Iterator[list[int]]:
        if len(begun) == size:
            yield begun
            return
        for group in range(max(begun, default=-1) + 2):
            yield from grow([*begun, group])

    yield from grow([])


def ranges(size: int) -> Iterator[list[int]]:
    """All partitions into neighbours."""
    for cut in itertools.product((0, 1), repeat=max(0, size - 1)):
        yield list(itertools.accumulate(cut, initial=0)) if size else []
