"""Groups of values that no vocabulary knows: by frequency, by what they occur with, by quantiles of numbers, by hand.

Pure: works on counts that the database made. A listing is a hierarchy as rows, the value first, then its label at each
level; the csv builder reads it as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import sqrt
from typing import Any, Literal

from sqlanon.draft.vocabulary import Labels, Match

Profiles = Mapping[str, Sequence[Mapping[str, int]]]
"""For each value, how often it occurs with each value of each other column."""

COMMON = 0.05
"""Values of so many of the rows keep a label of their own at the first level of groups by frequency."""
MOST_KEPT = 12
FEWEST_CLUSTERED = 8
MOST_CLUSTERED = 80
"""So many values are compared with one another."""
SHRINK = 3
"""Each level of groups has about a third of the labels of the one before."""
LEAST_GROUPS = 2


@dataclass(frozen=True)
class ValueGroups:
    """A hierarchy as rows."""

    rows: tuple[Labels, ...]
    reason: str

    def losses(self, counts: Mapping[str, int]) -> tuple[float, ...]:
        """What a row loses on average at each level, the whole column hidden last: 0 is the value itself.

        A label costs the share of the values that it covers beside the row's own.
        """
        total, others = sum(counts.values()), max(len(self.rows) - 1, 1)
        found = []
        for level in range(len(self.rows[0])):
            covered = Counter(row[level] for row in self.rows)
            lost = sum(counts.get(row[0], 0) * (covered[row[level]] - 1) for row in self.rows)
            found.append(lost / others / total if total else 0.0)
        return (*found, 1.0)


def listing(rows: Iterable[Labels], reason: str) -> ValueGroups | None:
    """A listing without levels that merge nothing, or everything; None where no level is left."""
    kept = sorted(rows)
    levels = [[row[level] for row in kept] for level in range(len(kept[0]))] if kept else []
    useful = levels[:1]
    for labels in levels[1:]:
        if 1 < len(set(labels)) < len(set(useful[-1])):
            useful.append(labels)
    if len(useful) < 2:
        return None
    return ValueGroups(tuple(zip(*useful, strict=True)), reason)


def by_vocabulary(counts: Mapping[str, int], match: Match) -> ValueGroups | None:
    """The labels of a vocabulary; values that are none of its terms share one label at every level."""
    other = tuple(_unused(f"other {match.vocabulary.name.replace('_', ' ')}", match, level) for level in _levels(match))
    rows = [(value, *match.labels.get(value, other)) for value in counts]
    known = f"{match.share:.0%} of the rows have one of its terms"
    return listing(rows, f"{match.vocabulary.title}; {known}")


def _levels(match: Match) -> range:
    return range(max(len(labels) for labels in match.labels.values()))


def _unused(label: str, match: Match, level: int) -> str:
    taken = {labels[level] for labels in match.labels.values() if level < len(labels)}
    while label in taken:
        label += " values"
    return label


def by_frequency(counts: Mapping[str, int]) -> ValueGroups | None:
    """Common values by themselves, rare ones together; then only the most common one by itself.

    >>> by_frequency({"a": 60, "b": 30, "c": 6, "d": 2, "e": 2}).rows[3]
    ('d', 'none of the 3 most common', 'none of the most common')
    """
    total = sum(counts.values())
    ranked = sorted(counts, key=lambda value: (-counts[value], value))
    kept = [value for value in ranked if counts[value] >= COMMON * total]
    if not kept:
        # Nothing is common: the most common ones stay all the same.
        kept = ranked[: min(len(ranked) // SHRINK, MOST_KEPT)]
    few = kept[: max(len(kept) // SHRINK, 1)]
    rows = [(value, _among(value, kept), _among(value, few)) for value in ranked]
    return listing(rows, "common values by themselves, rare ones together")


def _among(value: str, kept: Sequence[str]) -> str:
    if value in kept:
        return value
    return "none of the most common" if len(kept) == 1 else f"none of the {len(kept)} most common"


def by_company(counts: Mapping[str, int], profiles: Profiles) -> ValueGroups | None:
    """Values that occur with the same values of other columns, put together step by step, rare ones first.

    Ward's method on the square roots of shares (Hellinger's distance): what is merged changes the counts least.
    """
    if not FEWEST_CLUSTERED <= len(counts) <= MOST_CLUSTERED:
        return None
    sizes = []
    groups = len(counts)
    while groups > LEAST_GROUPS:
        groups = max(-(-groups // SHRINK), LEAST_GROUPS)
        sizes.append(groups)
    levels = _merged(counts, profiles, sizes)
    rows = [(value, *(level[value] for level in levels)) for value in counts]
    return listing(rows, "values that occur with the same values of other columns")


def _merged(counts: Mapping[str, int], profiles: Profiles, sizes: Sequence[int]) -> list[dict[str, str]]:
    """The label of each value at each number of groups."""
    clusters = {
        number: ([value], float(counts[value]), _point(profiles[value])) for number, value in enumerate(sorted(counts))
    }
    costs = {(left, right): _cost(clusters[left], clusters[right]) for right in clusters for left in range(right)}
    levels: list[dict[str, str]] = []
    for size in sizes:
        while len(clusters) > size:
            kept, absorbed = min(costs, key=lambda pair: (costs[pair], pair))
            clusters[kept] = _union(clusters[kept], clusters.pop(absorbed))
            costs = {pair: cost for pair, cost in costs.items() if absorbed not in pair}
            for other in clusters.keys() - {kept}:
                costs[min(kept, other), max(kept, other)] = _cost(clusters[kept], clusters[other])
        levels.append({value: _label(members, counts) for members, *_ in clusters.values() for value in members})
    return levels


Point = dict[tuple[int, str], float]
Cluster = tuple[list[str], float, Point]


def _point(profile: Sequence[Mapping[str, int]]) -> Point:
    found: Point = {}
    for position, with_others in enumerate(profile):
        total = sum(with_others.values())
        found |= {(position, other): sqrt(rows / total) for other, rows in with_others.items() if total}
    return found


def _cost(left: Cluster, right: Cluster) -> float:
    distance = sum((left[2].get(key, 0.0) - right[2].get(key, 0.0)) ** 2 for key in left[2].keys() | right[2].keys())
    # Values that occur with nothing else alike are merged by their weights alone.
    return (distance + 1e-6) * left[1] * right[1] / (left[1] + right[1])


def _union(left: Cluster, right: Cluster) -> Cluster:
    weight = left[1] + right[1]
    keys = left[2].keys() | right[2].keys()
    middle = {key: (left[2].get(key, 0.0) * left[1] + right[2].get(key, 0.0) * right[1]) / weight for key in keys}
    return [*left[0], *right[0]], weight, middle


def _label(members: Sequence[str], counts: Mapping[str, int]) -> str:
    first = min(members, key=lambda value: (-counts[value], value))
    return first if len(members) == 1 else f"{first} and {len(members) - 1} more"


def quantile_cuts(quantiles: Sequence[Decimal], *, whole: bool) -> list[list[Decimal]]:
    """Nested cut points near the quantiles of a column, rounded to two digits; none where they fall together.

    >>> levels = quantile_cuts([Decimal(n * n * 37) for n in range(1, 16)], whole=True)
    >>> [int(cut) for cut in levels[1]], [int(cut) for cut in levels[2]]
    ([150, 590, 1300, 2400, 3700, 5300, 7300], [590, 2400, 5300])
    """
    cuts = sorted({_rounded(quantile, whole=whole) for quantile in quantiles})
    levels = []
    while cuts:
        levels.append(cuts)
        cuts = cuts[1::2]
    return levels if len(levels) > 1 else []


def _rounded(number: Decimal, *, whole: bool) -> Decimal:
    if not number:
        return Decimal(0)
    step = Decimal(1).scaleb(number.adjusted() - 1)
    if whole:
        step = max(step, Decimal(1))
    return Decimal(f"{((number / step).to_integral_value() * step).normalize():f}")


@dataclass(frozen=True)
class Regroup:
    """A change that somebody makes to groups: a label moved or renamed, a level added on top or taken away."""

    kind: Literal["move", "rename", "add", "drop"]
    level: int = 0
    """The level of the label; of `drop` the one that goes."""
    label: str = ""
    to: str = ""
    """The group that a label moves to, which may be new, or its new name."""


REST = "other"
"""Where everything stands in a level that was just added."""


def regrouped(rows: Sequence[Labels], changes: Iterable[Regroup]) -> tuple[Labels, ...]:
    """A listing with some changes made, one after the other; ValueError where one cannot be made.

    >>> rows = [("baker",), ("nurse",), ("smith",)]
    >>> regrouped(rows, [Regroup("add"), Regroup("move", 0, "nurse", "care"), Regroup("rename", 1, "other", "craft")])
    (('baker', 'craft'), ('nurse', 'care'), ('smith', 'craft'))
    """
    found = tuple(rows)
    for change in changes:
        found = _REGROUPED[change.kind](found, change)
    return found


def _with_level(rows: tuple[Labels, ...], _: Regroup) -> tuple[Labels, ...]:
    if len(rows[0]) > 1 and len({row[-1] for row in rows}) == 1:
        raise ValueError("there is one group for all at the top already")
    label, taken = REST, {label for row in rows for label in row}
    while label in taken:
        label += " values"
    return tuple((*row, label) for row in rows)


def _without_level(rows: tuple[Labels, ...], change: Regroup) -> tuple[Labels, ...]:
    if not 0 < change.level < len(rows[0]):
        raise ValueError("there is no such level of groups")
    return tuple((*row[: change.level], *row[change.level + 1 :]) for row in rows)


def _moved(rows: tuple[Labels, ...], change: Regroup) -> tuple[Labels, ...]:
    level, above = change.level, change.level + 1
    if not 0 <= level < len(rows[0]) - 1 or all(row[level] != change.label for row in rows):
        raise ValueError("there is no such label to move")
    # A group that is new lies where its first label lay.
    over = next((row[above:] for row in rows if row[above] == change.to), None)
    return tuple(
        (*row[:above], *(over or (change.to, *row[above + 1 :]))) if row[level] == change.label else row for row in rows
    )


def _renamed(rows: tuple[Labels, ...], change: Regroup) -> tuple[Labels, ...]:
    level = change.level
    if not 0 < level < len(rows[0]) or all(row[level] != change.label for row in rows):
        raise ValueError("there is no such group to rename")
    if any(row[level] == change.to for row in rows):
        raise ValueError("another group has that name; move its labels there instead")
    return tuple((*row[:level], change.to, *row[level + 1 :]) if row[level] == change.label else row for row in rows)


_REGROUPED = {"add": _with_level, "drop": _without_level, "move": _moved, "rename": _renamed}


def as_tree(rows: Iterable[Labels]) -> dict[str, Any]:
    """A listing as the builder `tree` reads it: branches from the top down, values as lists.

    >>> as_tree([("baker", "craft", "work"), ("smith", "craft", "work")])
    {'work': {'craft': ['baker', 'smith']}}
    """
    tree: dict[str, Any] = {}
    for value, *labels in rows:
        branch: Any = tree
        for label in reversed(labels[1:]):
            branch = branch.setdefault(label, {})
        branch.setdefault(labels[0], []).append(value)
    return tree
