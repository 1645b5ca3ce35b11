"""The hierarchy of a column as people see it: a tree of labels with their share of rows, rare ones counted, not named.

Reads label counts from the database; what has fewer than k rows behind it stays there.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlanon.engines.base import Engine, Statement
from sqlanon.reports import statements as report_sql
from sqlanon.source.frequency import Base
from sqlanon.source.hierarchies import StoredHierarchy

MOST_LABELS = 80
"""Labels of one level that a report may hold."""

MOST_CHILDREN = 10
"""Labels shown under one label."""

Key = tuple[int, str | None]
"""A label: its level and its text; NULL has none."""


@dataclass(frozen=True)
class Branch:
    """A label with what lies below it."""

    level: int
    label: str | None
    """None: NULL, a value of its own below the top."""
    share: float
    children: tuple[Branch, ...] = ()
    others: int = 0
    """Labels below it that are frequent enough, and left out for brevity."""
    rare: int = 0
    """Labels below it with fewer than k rows behind them."""

    def labels(self) -> Iterator[str]:
        """Every label of the tree."""
        if self.label is not None:
            yield self.label
        for child in self.children:
            yield from child.labels()

    def to_dict(self) -> dict[str, Any]:
        return {
            "level": self.level,
            "label": self.label,
            "share": round(self.share, 4),
            "children": [child.to_dict() for child in self.children],
            "others": self.others,
            "rare": self.rare,
        }


@dataclass
class _Labels:
    """What the database said of a hierarchy."""

    rows: int
    shares: dict[Key, float] = field(default_factory=dict)
    below: dict[Key, list[Key]] = field(default_factory=dict)
    totals: dict[Key, tuple[int, int]] = field(default_factory=dict)


def trees(
    engine: Engine, base: Base, hierarchies: Sequence[StoredHierarchy], k: int, *, persons: bool
) -> dict[str, Branch | None]:
    """The tree of each column; None where not even the top has k rows behind it."""
    found: dict[str, Branch | None] = {}
    for position, hierarchy in enumerate(hierarchies):
        values = report_sql.value_counts(base.table, base.domains[position], position, persons=persons)
        step, table = f"labels of {hierarchy.column}", hierarchy.table
        query = report_sql.tree_rows(values, table, k, MOST_LABELS, persons=persons)
        rows = engine.query(Statement(step, query, fresh=True))
        found[hierarchy.column] = tree_of(
            [(level, label, parent, number) for kind, level, label, parent, number, _ in rows if not kind],
            [(level, parent, number, rare) for kind, level, _, parent, number, rare in rows if kind],
            hierarchy.height,
            hierarchy.top,
            base.rows,
        )
    return found


def tree_of(
    labels: Sequence[Sequence[Any]], totals: Sequence[Sequence[Any]], height: int, top: str, rows: int
) -> Branch | None:
    """The tree from rows of level, label, label above, rows; and of level, label above, labels, rare ones."""
    found = _Labels(rows)
    for level, label, parent, number in labels:
        key = (int(level), top if int(level) == height else label)
        found.shares[key] = int(number) / rows
        if key[0] < height:
            above = (key[0] + 1, top if key[0] + 1 == height else parent)
            found.below.setdefault(above, []).append(key)
    for level, parent, number, rare in totals:
        above = (int(level) + 1, top if int(level) + 1 == height else parent)
        # Under the top NULL comes apart from the other labels: both are its children.
        known = found.totals.get(above, (0, 0))
        found.totals[above] = (known[0] + int(number), known[1] + int(rare))
    return _branch(found, (height, top)) if (height, top) in found.shares else None


def _branch(found: _Labels, key: Key) -> Branch:
    children = sorted(found.below.get(key, []), key=lambda child: (-found.shares[child], child[1] or ""))
    shown = [_branch(found, child) for child in children[:MOST_CHILDREN]]
    labels, rare = found.totals.get(key, (len(children), 0))
    return Branch(key[0], key[1], found.shares[key], tuple(shown), labels - rare - len(shown), rare)


def harmless_labels(found: Mapping[str, Branch | None]) -> set[str]:
    """The labels of all trees: each has k rows or more behind it."""
    return {label for branch in found.values() if branch is not None for label in branch.labels()}
