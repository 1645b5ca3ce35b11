"""Distinction and separation of the subsets of a quasi-identifier, and minimal unique sets, from one scan.

The table is grouped once; everything else reads that frequency set or roll-ups of it, which are dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import comb

from sqlanon.auditor.opened import Opened
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.insight.reidentification import subset_statements as subsets_sql
from sqlanon.insight.reidentification.request import RiskRequest
from sqlanon.insight.reidentification.result import SpecialUniques, Subset, Subsets
from sqlanon.insight.reidentification.rollups import Columns, Stand, counted_on, subsets
from sqlanon.insight.reidentification.uniques import special_uniques
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source.frequency_statements import HierarchyTable
from sqlanon.source.packing import Layout
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Relation, Table, cast, column

LARGEST_INT = 2**31 - 1
BATCH = 40
"""Subsets counted by one statement."""
MOST_SUBSETS = 20_000


@dataclass(frozen=True)
class Coded:
    """The frequency set of plain codes."""

    table: Table
    names: tuple[str, ...]
    values: tuple[int, ...]
    """For each column, how many values it has, NULL among them."""
    combinations: int
    rows: int
    layout: Layout

    def masks(self, columns: Columns) -> tuple[int, ...]:
        """The mask of each word that keeps these columns."""
        return self.layout.masks(tuple(0 if position in columns else 1 for position in range(len(self.names))))


def measure_subsets(
    engine: Engine, table: Relation, request: RiskRequest, scratch: Scratch
) -> tuple[Subsets | None, SpecialUniques | None]:
    """The figures of all subsets, and the minimal unique sets, up to the sizes that a request names."""
    _refuse_too_many(request)
    coded = _coded(engine, table, request.columns, scratch)
    found = _subsets(engine, coded, request, scratch) if request.subset_size else None
    special = None
    if request.unique_size:
        wanted = subsets(len(coded.names), min(request.unique_size, len(coded.names)))
        special = special_uniques(engine, coded.table, coded.names, wanted, coded.masks, scratch)
    scratch.drop(coded.table)
    return found, special


def _refuse_too_many(request: RiskRequest) -> None:
    for size in (request.subset_size, request.unique_size):
        if sum(comb(len(request.columns), number) for number in range(1, size + 1)) > MOST_SUBSETS:
            raise UsageError(
                f"{len(request.columns)} columns have more than {MOST_SUBSETS} subsets of up to {size}: "
                f"ask for smaller ones, or for fewer columns"
            )


def _coded(engine: Engine, table: Relation, names: Sequence[str], scratch: Scratch) -> Coded:
    """Scan once, number the values of each column, and pack."""
    opened = Opened.at(engine, table, "source")
    opened.require(*names)
    keys = frequency_sql.base_keys([opened.key(name) for name in names])
    base = scratch.create("scan source", "risk_base", frequency_sql.base_groups(opened.expression(), keys))
    totals = frequency_sql.base_totals(base, len(names))
    [(combinations, rows, *absent)] = engine.query(Statement("count rows", totals))
    if not rows:
        raise SourceError(f"{table} has no rows: there is no risk to measure")
    codes = [
        scratch.create("number values", f"risk_c{position}", subsets_sql.codes(base, key))
        for position, key in enumerate(keys)
    ]
    counted = engine.query(Statement("count values", subsets_sql.sizes(codes)))
    present = {int(place): int(number) for place, number in counted}
    sizes = [(present[position], int(bool(number))) for position, number in enumerate(absent)]
    tables = [
        HierarchyTable(code, 1, present, (present.bit_length(),))
        for code, (present, _) in zip(codes, sizes, strict=True)
    ]
    layout = Layout.of([item.widths for item in tables])
    count_type = "int" if rows <= LARGEST_INT else "bigint"
    packed = frequency_sql.packed(base, tables, layout, {"n": cast(column("n", "base"), count_type)})
    stored = scratch.create("pack frequency set", "risk_frequency", packed)
    scratch.drop(base, *codes)
    values = tuple(present + nulls for present, nulls in sizes)
    return Coded(stored, tuple(names), values, int(combinations), int(rows), layout)


def _subsets(engine: Engine, coded: Coded, request: RiskRequest, scratch: Scratch) -> Subsets:
    size = min(request.subset_size, len(coded.names))
    count_type = "int" if coded.rows <= LARGEST_INT else "bigint"
    made: list[Table] = []

    def roll_up(columns: Columns, parent: Stand[Table]) -> Stand[Table]:
        query = subsets_sql.rolled_up(parent.table, coded.masks(columns), count_type)
        table, combinations = scratch.create_counted("roll up", f"risk_r{len(made)}", query)
        made.append(table)
        return Stand(columns, combinations, table)

    whole = Stand(frozenset(range(len(coded.names))), coded.combinations, coded.table)
    wanted = subsets(len(coded.names), size)
    placed = counted_on(coded.values, whole, wanted, size, roll_up)
    found = []
    for first in range(0, len(placed), BATCH):
        batch = placed[first : first + BATCH]
        requests = [(index, coded.masks(columns), stand.table) for index, (columns, stand) in enumerate(batch)]
        for index, *counts in engine.query(Statement("count subsets", subsets_sql.figures(requests, request.k))):
            found.append(_subset(coded, batch[int(index)][0], [int(number) for number in counts]))
    scratch.drop(*made)
    found.sort(key=lambda item: (-item.uniques, -item.at_risk, -item.separation, len(item.columns), item.columns))
    return Subsets(size, request.k, coded.rows, tuple(found))


def _subset(coded: Coded, columns: Columns, counts: Sequence[int]) -> Subset:
    classes, uniques, at_risk, squares = counts
    pairs = coded.rows * (coded.rows - 1)
    return Subset(
        columns=tuple(coded.names[position] for position in sorted(columns)),
        classes=classes,
        uniques=uniques,
        at_risk=at_risk,
        distinction=classes / coded.rows,
        separation=1 - (squares - coded.rows) / pairs if pairs else 0.0,
    )
