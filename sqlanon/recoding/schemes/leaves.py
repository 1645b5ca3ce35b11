"""The leaves of one column as a search over schemes sees them, and the labels of the groups that it makes of them.

Reads a domain table: values as texts, labels and codes of the hierarchy, rows. Nothing of other columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.hierarchies.base import TOP
from sqlanon.recoding import Group
from sqlanon.recoding.mondrian.labels import NULL_TEXT, SPECIAL
from sqlanon.search.schemes.domain import Domain, is_range
from sqlanon.search.schemes.partitions import Block, Partition, blocks, canonical
from sqlanon.source.combination_statements import leaves_of_domain
from sqlanon.source.combinations import Domain as StoredDomain
from sqlanon.spec.columns import LevelBounds

MOST_VALUES = 20_000
MOST_LEAVES = 400
"""Beyond, not even the merges of two groups can be listed in reasonable time."""


@dataclass(frozen=True)
class Leaf:
    """Values that are never told apart: one value, or those with one label at the least level allowed."""

    label: str | None
    """None: NULL."""
    texts: tuple[str, ...]
    rows: int
    covered: int
    """Leaves of the hierarchy that it stands for."""
    above: tuple[str | None, ...]
    """Its labels at the levels above, up to the top."""
    covered_above: tuple[int, ...]


@dataclass(frozen=True)
class Column:
    """The leaves of a column in their order."""

    name: str
    leaves: tuple[Leaf, ...]
    leaf_of: tuple[int, ...]
    """The leaf of each ordinal."""
    levels: tuple[Partition, ...]
    """Of the leaves, from the least level allowed up to the top."""
    natural: bool
    apart: bool
    top: str
    total: int
    """Leaves of the whole hierarchy."""

    @property
    def rows(self) -> tuple[int, ...]:
        return tuple(leaf.rows for leaf in self.leaves)

    @cached_property
    def domain(self) -> Domain:
        return Domain.of(len(self.leaves), self.levels[1:], apart=self.apart)

    def groups(self, partition: Partition) -> tuple[Group, ...]:
        """The groups of a partition with labels that tell them apart; NULL is in none."""
        found: list[Group] = []
        taken: set[str] = set()
        for block in blocks(partition):
            texts = tuple(text for leaf in block for text in self.leaves[leaf].texts)
            if texts:
                label = _unlike(self._label(block, len(found) == 0 and max(partition) == 0), taken)
                taken.add(label)
                found.append(Group(label, texts))
        return tuple(found)

    def leaves_of_groups(self, partition: Partition) -> list[int]:
        """For each leaf: the leaves of the hierarchy that its group's label covers."""
        found = [0] * len(self.leaves)
        for block in blocks(partition):
            level = self._level(block)
            if len(block) == len(self.leaves):
                covered = self.total
            elif level:
                covered = self.leaves[block[0]].covered_above[level - 1]
            else:
                covered = sum(self.leaves[leaf].covered for leaf in block)
            for leaf in block:
                found[leaf] = covered
        return found

    def _level(self, block: Block) -> int | None:
        """The lowest level that has exactly these leaves as one group."""
        for number, level in enumerate(self.levels):
            if tuple(leaf for leaf, code in enumerate(level) if code == level[block[0]]) == block:
                return number
        return None

    def _label(self, block: Block, whole: bool) -> str:
        if whole:
            return self.top
        level = self._level(block)
        if level is not None:
            first = self.leaves[block[0]]
            label = first.label if level == 0 else first.above[level - 1]
            return f"{{{label}}}" if label is None or label == TOP else label
        if self.natural and is_range(block):
            return f"[{self.leaves[block[0]].texts[0]}-{self.leaves[block[-1]].texts[-1]}]"
        return "{" + ", ".join(_member(str(self.leaves[leaf].label)) for leaf in block) + "}"


def _member(label: str) -> str:
    """A member of a set, in quotes where it would not be told from the others or from NULL.

    >>> _member("Widowed"), _member("black, smith")
    ('Widowed', '"black, smith"')
    """
    special = label in ("", NULL_TEXT) or any(character in label for character in SPECIAL)
    return '"' + label.replace('"', '""') + '"' if special else label


def _unlike(label: str, taken: set[str]) -> str:
    """A label that no other group has: values may be written like the labels of groups."""
    number, found = 2, label
    while found in taken:
        found, number = f"{label} ({number})", number + 1
    return found


def read_column(engine: Engine, name: str, stored: StoredDomain, bounds: LevelBounds) -> Column:
    """The leaves of a column at the least level allowed."""
    if bounds.max is not None and bounds.max < stored.height:
        raise UsageError(f"columns.{name}.levels.max: schemes generalize as far as they must; leave it out")
    if bounds.min > stored.height:
        raise UsageError(
            f"columns.{name}.levels: level {bounds.min} does not exist, the hierarchy ends at level {stored.height}"
        )
    if stored.values > MOST_VALUES:
        raise UsageError(
            f"column '{name}' has {stored.values} values; schemes take up to {MOST_VALUES}: choose another algorithm"
        )
    query = leaves_of_domain(stored.table, bounds.min, stored.height)
    rows = sorted(engine.query(Statement(f"leaves of {name}", query)), key=lambda row: int(row[0]))
    # One value beside NULL: what generalizes the one generalizes the other.
    joined = stored.has_null and len({row[3] for row in rows}) == 2
    leaf_of = canonical([0 if joined else row[3] for row in rows])
    members: list[list[Sequence[object]]] = [[] for _ in range(max(leaf_of) + 1)]
    for row, leaf in zip(rows, leaf_of, strict=True):
        members[leaf].append(row)
    if len(members) > MOST_LEAVES:
        raise UsageError(
            f"column '{name}' has {len(members)} values at level {bounds.min} of its hierarchy, schemes take up to "
            f"{MOST_LEAVES}: raise columns.{name}.levels.min"
        )
    height = stored.height - bounds.min
    return Column(
        name,
        tuple(_leaf(group, height) for group in members),
        leaf_of,
        tuple(canonical([group[0][3 + 3 * level] for group in members]) for level in range(height + 1)),
        stored.natural,
        stored.has_null and not joined,
        stored.hierarchy.top,
        stored.leaves,
    )


def _leaf(rows: Sequence[Sequence[object]], height: int) -> Leaf:
    """Rows are: ordinal, text, rows, then code, label and leaves of each level from the least one up."""
    first = rows[0]
    return Leaf(
        _text(first[4]),
        tuple(str(row[1]) for row in rows if row[1] is not None),
        sum(int(str(row[2])) for row in rows),
        int(str(first[5])),
        tuple(_text(first[4 + 3 * level]) for level in range(1, height + 1)),
        tuple(int(str(first[5 + 3 * level])) for level in range(1, height + 1)),
    )


def _text(value: object) -> str | None:
    return None if value is None else str(value)
