"""The measures of one released column: its level, the leaves that its labels cover, the bits that it lost.

Works on a scratch table of labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor.figures import rounded
from sqlanon.auditor.labels import read_labels
from sqlanon.auditor.opened import text_key
from sqlanon.engines.base import Engine, Statement
from sqlanon.insight.adversary.link_statements import Side
from sqlanon.insight.usefulness import statements as utility_sql
from sqlanon.insight.usefulness.result import ColumnUtility
from sqlanon.source.binding import BoundColumn
from sqlanon.source.hierarchies import StoredHierarchy
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table, column


@dataclass(frozen=True)
class Hierarchy:
    """A quasi-identifier with its stored hierarchy and whether the source has NULL in it."""

    item: BoundColumn
    stored: StoredHierarchy
    has_null: bool
    position: int


def measure_column(
    engine: Engine, hierarchy: Hierarchy, source: Side, released: Side, rows: int, scratch: Scratch
) -> ColumnUtility:
    """One column; `source` and `released` are the tables by its text alone, blanked rows left out."""
    stored, step = hierarchy.stored, f"utility of {hierarchy.item.name}"
    texts = [text_key(column(f"label_{level}"), family, engine.traits) for level, family in enumerate(stored.families)]
    found = utility_sql.labels(stored.table.table, texts, has_null=hierarchy.has_null)
    table = scratch.create(step, f"u{hierarchy.position}", found)
    table = _with_read(engine, hierarchy, table, texts, released, scratch)
    [(leaves,)] = engine.query(Statement(step, utility_sql.leaf_count(table)))
    fitting = engine.query(Statement(step, utility_sql.levels_that_fit(table, released)))
    level = min((int(one) for one, number, wanted in fitting if number == wanted and int(one) >= 0), default=None)
    query = utility_sql.leaves_covered(table, released, level)
    [(covered, kept, number, unknown)] = engine.query(Statement(step, query))
    bits = missing = None
    if level is not None:
        [(bits, missing)] = engine.query(Statement(step, utility_sql.entropy(table, source, released, level)))
    scratch.drop(table)
    shares = int(covered) / int(leaves) + (rows - int(kept))
    return ColumnUtility(
        column=hierarchy.item.name,
        values=stored.values + hierarchy.has_null,
        labels=int(number),
        level=level,
        height=stored.height,
        loss=_loss(shares, rows, int(leaves)),
        entropy=None if bits is None or missing is None else rounded(float(bits) + float(missing)),
        entropy_star=None if bits is None else rounded(bits),
        unknown=int(unknown),
    )


def _with_read(
    engine: Engine,
    hierarchy: Hierarchy,
    known: Table,
    texts: Sequence[exp.Expression],
    released: Side,
    scratch: Scratch,
) -> Table:
    """The labels of the hierarchy, with ranges and sets of the release that are read by their form."""
    step, place = f"utility of {hierarchy.item.name}", f"u{hierarchy.position}"
    found = engine.query(Statement(step, utility_sql.unknown_labels(known, released)))
    if not found:
        return known
    labels = sorted(str(label) for (label,) in found)
    read = read_labels(engine, hierarchy.item, hierarchy.stored.table.table, texts, texts[0], labels, scratch, place)
    table = scratch.create(step, f"{place}x", utility_sql.with_read(known, read.table))
    scratch.drop(known, read.table)
    return table


def _loss(shares: float, rows: int, leaves: int) -> float:
    least = rows / leaves
    return max(0.0, (shares - least) / (rows - least)) if leaves > 1 else 0.0
