"""Where each level of each column lies in the packed words of a frequency set.

Pure arithmetic. A value is written as its path in the hierarchy, from the label under the top down to the value: one
bit field per level, holding the number of the child among its siblings. Generalizing is clearing the lower fields, so
a lattice node is one bit mask per word, and two rows share a class when their masked words are equal.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlanon.hierarchies.lattice import Node

WORD = 62
"""Bits used of a signed 64-bit integer."""


@dataclass(frozen=True)
class Field:
    """The bits of one level of one column."""

    word: int
    shift: int
    width: int

    @property
    def mask(self) -> int:
        return ((1 << self.width) - 1) << self.shift


@dataclass(frozen=True)
class Layout:
    """For each column, the fields of its levels from 0 up to the one below the top."""

    fields: tuple[tuple[Field, ...], ...]
    words: int

    @classmethod
    def of(cls, widths: Sequence[Sequence[int]]) -> Layout:
        """Lay out columns one after the other; a column that does not fit a word's rest starts the next word.

        The widest come first, in the lowest bits: they are what is generalized most, and rows that differ only there
        are neighbours in a sorted frequency set.

        >>> Layout.of([[3], [2, 2]]).fields
        ((Field(word=0, shift=4, width=3),), (Field(word=0, shift=0, width=2), Field(word=0, shift=2, width=2)))
        """
        word, used = 0, 0
        columns: dict[int, tuple[Field, ...]] = {}
        for position in sorted(range(len(widths)), key=lambda position: -sum(widths[position])):
            levels = widths[position]
            if used and used + sum(levels) > WORD:
                word, used = word + 1, 0
            fields: list[Field] = []
            for width in levels:
                if used + width > WORD:
                    word, used = word + 1, 0
                fields.append(Field(word, used, width))
                used += width
            columns[position] = tuple(fields)
        return cls(tuple(columns[position] for position in range(len(widths))), word + 1)

    def masks(self, node: Node) -> tuple[int, ...]:
        """The mask of each word that keeps what a node tells apart.

        >>> Layout.of([[3], [2, 2]]).masks((0, 1)), Layout.of([[3], [2, 2]]).masks((1, 2))
        ((124,), (0,))
        """
        masks = [0] * self.words
        for position, level in enumerate(node):
            for word, mask in self.column_masks(position, level).items():
                masks[word] |= mask
        return tuple(masks)

    def column_masks(self, position: int, level: int) -> dict[int, int]:
        """The masks, by word, of one column at one level; none at its top, and none for words without a bit of it."""
        masks: dict[int, int] = {}
        for field in self.fields[position][level:]:
            if field.width:
                masks[field.word] = masks.get(field.word, 0) | field.mask
        return masks
