"""Pairs of cells and of Mondrian: brute force over every group of rows that a class of such labels can stand for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations_with_replacement, product
from typing import Any

import pytest

from tests.insight.test_downcoding import figures, spec_of
from tests.kit.database import Database

FIRST, OTHER = 'the "first"', "Or.der"
PATHS: dict[str, dict[str, tuple[str, ...]]] = {
    FIRST: {
        "it's": ("it's", "p", "*"),
        'b"2': ('b"2', "p", "*"),
        "c": ("c", "q", "*"),
        "d\\4": ("d\\4", "q", "*"),
        "e": ("e", "q", "*"),
    },
    OTHER: {value: (value, "*") for value in "xyz"},
}
TREES: dict[str, Any] = {FIRST: {"p": ["it's", 'b"2'], "q": ["c", "d\\4", "e"]}, OTHER: ["x", "y", "z"]}
TYPES = {'the ""first""': "text", OTHER: "text"}
Row = tuple[str, str]
Labels = tuple[str, str]


def least_labels(group: Sequence[Row]) -> Labels:
    """The least label of each column that covers a group, as recodings of cells release it."""
    found = []
    for place, paths in enumerate(PATHS.values()):
        own = [paths[row[place]] for row in group]
        found.append(next(path[0] for path in zip(*own, strict=True) if len(set(path)) == 1))
    return found[0], found[1]


def ends(group: Sequence[Row]) -> Labels:
    """The least and the greatest value of each column, as Mondrian's ranges between values show them."""
    found = []
    for place, paths in enumerate(PATHS.values()):
        values = [value for value in paths if value in {row[place] for row in group}]
        listed = list(paths)
        inside = listed[listed.index(values[0]) : listed.index(values[-1]) + 1]
        found.append(values[0] if len(values) == 1 else "{" + ", ".join(map(quoted, inside)) + "}")
    return found[0], found[1]


def quoted(value: str) -> str:
    return '"' + value.replace('"', '""') + '"' if set(value) & set(', "') else value


def below(label: str, place: int, value: str) -> str:
    """The branch of a label that a value lies in: the label below it."""
    path = list(PATHS.values())[place][value]
    return path[max(0, path.index(label) - 1)]


def placed(groups_of: Sequence[tuple[Row, ...]], label: Labels, *, cells: bool) -> bool:
    """Whether in some column all groups have the same rows under each branch, or of each value, and several of them."""
    for place in (0, 1):
        found = {
            tuple(
                sorted(
                    Counter(below(label[place], place, row[place]) if cells else row[place] for row in group).items()
                )
            )
            for group in groups_of
        }
        if len(found) == 1 and len(next(iter(found))) > 1:
            return True
    return False


@pytest.mark.representative(4, postgres=1)
@pytest.mark.parametrize("algorithm", ["forest", "matching", "exact", "mondrian"])
def test_a_pair_is_pinned_where_every_group_of_its_labels_is_placed_alike(engine_url: str, algorithm: str) -> None:
    cells = algorithm != "mondrian"
    labels_of = least_labels if cells else ends
    search: dict[str, Any] = {"algorithm": algorithm}
    search |= {"model": "CG_"} if cells else {"mondrian": {"bounds": "values"}}
    leaves: list[Row] = list(product(PATHS[FIRST], PATHS[OTHER]))
    database = Database(engine_url)
    database.create("people", TYPES, leaves)
    spec = spec_of(engine_url, TREES, 2, search=search)
    for number in (2, 3):
        every: dict[Labels, list[tuple[Row, ...]]] = {}
        for group in combinations_with_replacement(leaves, number):
            every.setdefault(labels_of(group), []).append(group)
        rows = [label for label in every for _ in range(number)]
        database.run("DROP TABLE IF EXISTS released")
        database.create("released", TYPES, rows)
        pinned = [label for label, found in every.items() if placed(found, label, cells=cells)]
        counted = figures(spec)
        assert (counted["pinned"], counted["pinned_classes"]) == (number * len(pinned), len(pinned))
        assert (counted["people"], counted["unread"], counted["contradicting"]) == (len(rows), 0, 0)
        assert bool(pinned) == (number == 2)
