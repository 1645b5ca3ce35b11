"""Packed paths against plain tuples of labels: masked words are equal exactly where the labels are."""

from __future__ import annotations

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from sqlanon.source.frequency_statements import WORD, Layout

Widths = list[list[int]]


@st.composite
def paths(draw: st.DrawFn) -> tuple[Widths, list[list[int]], list[list[int]]]:
    """Widths of some columns, and the child numbers of two rows at every level."""
    widths = draw(st.lists(st.lists(st.integers(0, 20), min_size=1, max_size=6), min_size=1, max_size=8))
    rows = [[[draw(st.integers(0, 2**width - 1)) for width in levels] for levels in widths] for _ in range(2)]
    return widths, rows[0], rows[1]


def words(layout: Layout, numbers: list[list[int]]) -> list[int]:
    packed = [0] * layout.words
    for fields, levels in zip(layout.fields, numbers, strict=True):
        for field, number in zip(fields, levels, strict=True):
            packed[field.word] += number << field.shift
    return packed


@given(paths(), st.data())
def test_masked_words_are_equal_where_the_labels_are(
    case: tuple[Widths, list[list[int]], list[list[int]]], data: st.DataObject
) -> None:
    widths, left, right = case
    layout = Layout.of(widths)
    node = tuple(data.draw(st.integers(0, len(levels))) for levels in widths)
    alike = all(mine[level:] == theirs[level:] for mine, theirs, level in zip(left, right, node, strict=True))
    masks = layout.masks(node)
    packed = zip(words(layout, left), words(layout, right), masks, strict=True)
    assert all(a & mask == b & mask for a, b, mask in packed) == alike


@given(st.lists(st.lists(st.integers(0, 31), min_size=1, max_size=5), min_size=1, max_size=12))
def test_fields_fit_their_words_and_do_not_overlap(widths: Widths) -> None:
    layout = Layout.of(widths)
    used = [0] * layout.words
    for field in (field for fields in layout.fields for field in fields):
        assert field.shift + field.width <= WORD
        assert used[field.word] & field.mask == 0
        used[field.word] |= field.mask


def test_generalizing_only_clears_bits() -> None:
    layout = Layout.of([[2, 1, 3], [5], [1, 1]])
    nodes = list(product(range(4), range(2), range(3)))
    for lower, upper in product(nodes, nodes):
        if all(a <= b for a, b in zip(lower, upper, strict=True)):
            assert layout.masks(upper)[0] & ~layout.masks(lower)[0] == 0
