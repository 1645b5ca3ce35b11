"""Sizes of classes are told as they are, not by the bounds of the buckets that count them."""

from __future__ import annotations

import pytest

from sqlanon.auditor.result import buckets
from sqlanon.auditor.statements.classes import BUCKETS


def figures(*sizes: int) -> dict[str, int]:
    found = {"smallest": min(sizes), "largest": max(sizes)}
    for low, high in zip(BUCKETS, (*BUCKETS[1:], None), strict=True):
        inside = [size for size in sizes if low <= size and (high is None or size < high)]
        found[f"classes_from_{low}"] = len(inside)
        found[f"rows_from_{low}"] = sum(inside)
    return found


@pytest.mark.parametrize(
    ("sizes", "labels"),
    [
        ((3, 3, 3), ["3"]),
        ((3, 4), ["3 to 4"]),
        ((4, 7), ["4", "5 to 7"]),
        ((2, 30, 1_234), ["2", "20 to 49", "1,000 to 1,234"]),
        ((1_500,), ["1,500"]),
    ],
)
def test_the_ends_are_exact(sizes: tuple[int, ...], labels: list[str]) -> None:
    assert [bucket.label for bucket in buckets(figures(*sizes))] == labels
