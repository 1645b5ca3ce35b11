"""A table with hostile names and values, and labels read by rules that share nothing with the package."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from random import Random
from typing import Any

from sqlanon.spec import Spec
from tests.kit.database import Database, changed

BORN, AGE, TOWN, TAG = "Bo'rn; --", "age", "to.wn SELECT", "tag"
TYPES = {BORN: "timestamp", AGE: "integer", TOWN: "text", TAG: "text"}
TREE: dict[str, Any] = {
    "ri,ver": {"{left}": ["St. Mary's", 'the "Hole"'], "right": ["a, b", "NULL"]},
    "hill-side": {"up": ["*", ""], "down-under": ["wid\\ow"]},
}
PATHS = {
    leaf: (leaf, middle, upper) for upper, under in TREE.items() for middle, leaves in under.items() for leaf in leaves
}
COLUMNS: dict[str, Any] = {
    BORN: {
        "role": "quasi_identifier",
        "hierarchy": {"date": ["day", "month", "year", "5 years"]},
        "levels": {"min": 3},
    },
    AGE: {
        "role": "quasi_identifier",
        "hierarchy": {"interval": {"widths": [5, 20], "min": 0, "max": 80}},
        "levels": {"min": 1},
    },
    TOWN: {"role": "quasi_identifier", "hierarchy": {"tree": TREE}, "levels": {"min": 1}},
    TAG: {"role": "sensitive"},
}
"""Years, bands of five years and the middle of the tree, and nothing finer. Every row has a tag of its own."""

Row = tuple[datetime, int | None, str | None, str]


def people(number: int, seed: int = 1) -> list[Row]:
    """Rows whose every timestamp is somebody's own."""
    source = Random(seed)
    first = datetime(1950, 1, 1)
    return [
        (
            first + timedelta(days=source.randrange(365 * 12), seconds=source.randrange(86_400)),
            source.choice([None, *range(3, 95)]) if place % 9 == 0 else source.randrange(18, 70),
            source.choice([*PATHS, None]),
            f"tag {place}",
        )
        for place in range(number)
    ]


def filled(url: str, rows: list[Row]) -> Database:
    database = Database(url)
    database.create("people", TYPES, rows)
    return database


def spec_of(database: Database, **changes: Any) -> Spec:
    values = {
        "source": "people",
        "target": "released",
        "columns": COLUMNS,
        "privacy": {"k": 3, "suppression": {"limit": "20%"}},
        "connection": database.url,
        "evidence": {"files": False},
    }
    return changed(values, **changes)


def members(label: str) -> Iterator[str]:
    """The members of a set, quotes taken off; any other label is its own and only one."""
    if not (label.startswith("{") and label.endswith("}")) or label == "{left}":
        yield label
        return
    for quoted, plain in re.findall(r'"((?:[^"]|"")*)"(?:, |$)|(\[[^\]]*[\])]|[^,]+)(?:, |$)', label[1:-1]):
        yield quoted.replace('""', '"') if quoted else plain


def ages(label: str) -> tuple[float, float]:
    """From which age to below which age a label reaches."""
    if found := re.fullmatch(r"\[(\d+), (\d+)\)", label):
        return float(found[1]), float(found[2])
    if found := re.fullmatch(r"<(\d+)", label):
        return float("-inf"), float(found[1])
    found = re.fullmatch(r">=(\d+)", label)
    assert found, label
    return float(found[1]), float("inf")


def years(label: str) -> tuple[int, int]:
    """From which year to which year a label reaches."""
    found = re.fullmatch(r"(\d{4})|\[(\d{4})(?:-|, )(\d{4})\]", label)
    assert found, label
    return (int(found[1]), int(found[1])) if found[1] else (int(found[2]), int(found[3]))


def assert_true_and_coarse(row: Row, labels: tuple[Any, ...]) -> None:
    """A released row covers its own values, and says nothing finer than the least levels."""
    born, age, town = labels
    low, high = (1900, 2100) if born == "*" else years(born)
    assert low <= row[0].year <= high
    if age is None or row[1] is None:
        assert (age is None and row[1] is None) or (age or "").endswith("NULL}") or age == "*"
    if age is not None:
        for label in (label for label in members(age) if label not in ("*", "NULL")):
            assert all(end % 5 == 0 for end in ages(label) if abs(end) != float("inf")), label
        if row[1] is not None and age != "*":
            reach = [ages(label) for label in members(age) if label != "NULL"]
            assert any(low <= row[1] < high for low, high in reach), age
    nodes = {"ri,ver", "hill-side", "{left}", "right", "up", "down-under", "*"}
    if town is None or row[2] is None:
        assert (town is None and row[2] is None) or "NULL" in (town or "") or town == "*"
    if town is not None and town != "*":
        assert set(members(town)) <= {*nodes, "NULL"}, town
        if row[2] is not None:
            assert set(members(town)) & set(PATHS[row[2]][1:]), town
