"""What holds of every hierarchy: equal labels at one level are equal above, and intervals hold their values."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from sqlanon.hierarchies import Family, Formula, HierarchySpec, Lookup, Rule

ADAPTER: TypeAdapter[HierarchySpec] = TypeAdapter(HierarchySpec)


def rule(definition: Any, family: Family) -> Rule:
    return ADAPTER.validate_python(definition).rule(family)


def chains(found: Rule, values: list[Any]) -> list[tuple[str, ...]]:
    """For each value its labels from level 0 (as text) to the top."""
    if isinstance(found, Lookup):
        return [*found.rows]
    assert isinstance(found, Formula)
    top = found.top if isinstance(found.top, str) else "*"
    return [(repr(value), *(level.label(value) for level in found.levels), top) for value in values]


def assert_tree(rows: list[tuple[str, ...]]) -> None:
    for level in range(len(rows[0]) - 1):
        parents: dict[str, str] = {}
        for row in rows:
            assert parents.setdefault(row[level], row[level + 1]) == row[level + 1]


@st.composite
def masks(draw: st.DrawFn) -> tuple[Any, list[str]]:
    length = draw(st.integers(1, 8))
    steps = sorted(draw(st.sets(st.integers(1, length), min_size=1)))
    side = draw(st.sampled_from(["left", "right"]))
    values = draw(st.lists(st.text("ab*é", max_size=length), min_size=1, max_size=20))
    return {"mask": {"length": length, "steps": steps, "side": side}}, values


@given(masks())
def test_masks_are_trees(case: tuple[Any, list[str]]) -> None:
    definition, values = case
    assert_tree(chains(rule(definition, Family.TEXT), values))


SMALL = st.decimals(-50, 50, places=2)
NUMBERS = SMALL | st.integers(-1000, 1000) | st.floats()


@st.composite
def intervals(draw: st.DrawFn) -> dict[str, Any]:
    if draw(st.booleans()):
        fine = sorted(draw(st.sets(SMALL, min_size=3, max_size=6)))
        coarse = sorted(draw(st.sets(st.sampled_from(fine), min_size=1, max_size=2)))
        return {"interval": {"cuts": [fine, coarse]}}
    width = draw(st.decimals("0.01", 20, places=2))
    low, high = sorted(draw(st.tuples(SMALL, SMALL).filter(lambda pair: pair[0] != pair[1])))
    bounds = draw(st.sampled_from([{}, {"min": low}, {"max": high}, {"min": low, "max": high}]))
    return {"interval": {"widths": [width, width * draw(st.integers(2, 5))], **bounds}}


@given(intervals(), st.lists(NUMBERS, min_size=1, max_size=20))
def test_intervals_are_trees_and_hold_their_values(definition: dict[str, Any], values: list[Any]) -> None:
    rows = chains(rule(definition, Family.FLOAT), values)
    assert_tree(rows)
    for value, row in zip(values, rows, strict=True):
        assert all(holds(label, value) for label in row[1:-1])


def holds(label: str, value: int | float | Decimal) -> bool:
    number = Decimal(str(value))
    if between := re.fullmatch(r"\[(\S+), (\S+)\)", label):
        return Decimal(between[1]) <= number < Decimal(between[2])
    if label.startswith(">="):
        return number >= Decimal(label[2:])
    if label.startswith("<"):
        return number < Decimal(label[1:])
    return str(number) == label


CHAIN = ["hour", "day", "month", "quarter", "year", "3 years", "6 years", "12 years"]


@given(
    st.sets(st.sampled_from(CHAIN), min_size=1) | st.just({"hour", "day", "week"}),
    st.booleans(),
    st.lists(st.datetimes(), min_size=1, max_size=20),
)
def test_dates_are_trees(words: set[str], any_at_end: bool, moments: list[datetime]) -> None:
    ordered = sorted(words, key=[*CHAIN, "week"].index) + ["any"] * any_at_end
    zoned = [moment.replace(tzinfo=UTC) for moment in moments]
    found = rule({"date": ordered}, Family.TIMESTAMP_TZ)
    assert_tree(chains(found, moments))
    assert [row[1:] for row in chains(found, zoned)] == [row[1:] for row in chains(found, moments)]


def _distinct_leaves(shape: Any, name: Callable[[], str]) -> Any:
    if shape is None:
        return name()
    return {name(): [_distinct_leaves(child, name) for child in shape]}


SHAPES = st.recursive(st.none(), lambda children: st.lists(children, min_size=1, max_size=4), max_leaves=12)


@given(st.lists(SHAPES, min_size=1, max_size=4))
def test_trees_are_trees_of_equal_depth(shapes: list[Any]) -> None:
    names = iter(f"n{number}" for number in range(10_000))
    found = rule({"tree": [_distinct_leaves(shape, lambda: next(names)) for shape in shapes]}, Family.TEXT)
    assert isinstance(found, Lookup)
    assert len({len(row) for row in found.rows}) == 1
    assert len({row[0] for row in found.rows}) == len(found.rows)
    assert_tree(chains(found, []))


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.sampled_from("abcdwxyz"), min_size=1), min_size=1))
def test_a_tree_that_is_accepted_is_one(tree: dict[str, list[str]]) -> None:
    try:
        found = rule({"tree": tree}, Family.TEXT)
    except ValueError:
        leaves = [leaf for branch in tree.values() for leaf in branch]
        assert len(set(leaves)) < len(leaves)
    else:
        assert_tree(chains(found, []))
