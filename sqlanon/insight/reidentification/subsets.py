"""Distinction and separation of the subsets of a quasi-identifier, and minimal unique sets, from one scan.

The table is grouped once; everything else reads that frequency set or roll-ups of it, scratch tables that are dropped.
Minimal unique sets are scored as SUDA does: counts and scores, never which row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb, prod
from typing import Generic, TypeVar

from sqlanon.auditor.request import Opened
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.insight.reidentification import statements as subsets_sql
from sqlanon.insight.reidentification.classes import RiskRequest, SpecialUniques, Subset, Subsets
from sqlanon.source import frequency_statements as frequency_sql
from sqlanon.source.frequency_statements import HierarchyTable, Layout
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Relation, Table, cast, column

Handle = TypeVar("Handle")
Columns = frozenset[int]

SMALL = 20_000
"""Combinations that are counted so fast that no roll-up pays."""

MORE = 3
"""Columns that a roll-up has beyond the subset it is made for."""


@dataclass(frozen=True)
class Stand(Generic[Handle]):
    """A frequency set that stands: its columns, its combinations."""

    columns: Columns
    combinations: int
    table: Handle


def subsets(columns: int, size: int) -> list[Columns]:
    """All subsets of one up to `size` columns, the largest first."""
    return [frozenset(chosen) for number in range(size, 0, -1) for chosen in combinations(range(columns), number)]


def blocks(values: Sequence[int], size: int) -> list[Columns]:
    """Sets of columns, one of which has each subset of up to `size`: unions of `size` out of `size` + 2 groups.

    Groups pair columns of many values with columns of few. None where the columns are too few to leave some out.

    >>> [sorted(block) for block in blocks([9, 2, 8, 3], 1)]
    [[0], [2], [1, 3]]
    """
    groups = size + 2
    if len(values) <= groups:
        return []
    order = sorted(range(len(values)), key=lambda position: -values[position])
    dealt: list[set[int]] = [set() for _ in range(groups)]
    for turn, position in enumerate(order):
        round_, place = divmod(turn, groups)
        dealt[place if round_ % 2 == 0 else groups - 1 - place].add(position)
    return [frozenset().union(*chosen) for chosen in combinations(dealt, size)]


def counted_on(
    values: Sequence[int],
    whole: Stand[Handle],
    wanted: Sequence[Columns],
    size: int,
    roll_up: Callable[[Columns, Stand[Handle]], Stand[Handle]],
) -> list[tuple[Columns, Stand[Handle]]]:
    """Each subset with the frequency set to count it on, roll-ups made on the way.

    A roll-up is worth making when the product of its columns' values is well below the rows it comes from. What it
    really has is known once it is made, and subsets are counted on the smallest that has their columns.
    """
    standing = [whole]

    def smallest(columns: Columns) -> Stand[Handle]:
        return min((item for item in standing if columns <= item.columns), key=lambda item: item.combinations)

    if whole.combinations > SMALL:
        for block in blocks(values, size):
            standing.append(roll_up(block, smallest(block)))
    placed = []
    for columns in sorted(wanted, key=lambda item: (-len(item), -_most(values, item), sorted(item))):
        parent = smallest(columns)
        larger = _grown(values, columns, parent)
        if parent.combinations > SMALL and larger is not None:
            parent = roll_up(larger, parent)
            standing.append(parent)
        placed.append((columns, parent))
    return placed


def _grown(values: Sequence[int], columns: Columns, parent: Stand[Handle]) -> Columns | None:
    """The subset with further columns of few values, while a roll-up of them is surely smaller; None: it never is."""
    grown = set(columns)
    for position in sorted(parent.columns - columns, key=lambda position: values[position]):
        if len(grown) < len(columns) + MORE and _most(values, grown) * values[position] <= parent.combinations:
            grown.add(position)
    return frozenset(grown) if _most(values, grown) <= parent.combinations and grown != parent.columns else None


def _most(values: Sequence[int], columns: Columns | set[int]) -> int:
    return prod(values[position] for position in columns)


def score(size: int, columns: int, largest: int) -> int:
    """What a minimal unique set of so many columns counts: the fewer it needs, the more.

    The product of (columns - i) for i from its size to the largest size looked for; a last factor of zero is left out.

    >>> [score(size, 4, 3) for size in (1, 2, 3)]
    [6, 2, 1]
    """
    return prod(columns - i for i in range(size, largest + 1) if i < columns)


def special_uniques(
    engine: Engine,
    frequency: Table,
    names: Sequence[str],
    wanted: Sequence[Columns],
    masks: Callable[[Columns], tuple[int, ...]],
    scratch: Scratch,
) -> SpecialUniques:
    """Count the minimal unique sets among these subsets, which have all subsets of each of them."""
    largest = max(len(columns) for columns in wanted)
    numbers = {columns: number for number, columns in enumerate(wanted)}
    words = len(masks(wanted[0]))
    requests = [(number, masks(columns)) for columns, number in numbers.items()]
    alone = scratch.create("find uniques", "risk_alone", subsets_sql.alone(requests, frequency, words))
    parts = [
        (number, numbers[columns - {position}])
        for columns, number in numbers.items()
        for position in columns
        if len(columns) > 1
    ]
    minimal = scratch.create("find minimal uniques", "risk_minimal", subsets_sql.minimal(alone, parts, words))
    rows_of = engine.query(Statement("count minimal uniques", subsets_sql.minimal_counts(minimal)))
    found = {int(number): int(rows) for number, rows in rows_of}
    counted = {columns: found.get(number, 0) for columns, number in numbers.items()}
    scores = {size: score(size, len(names), largest) for size in range(1, largest + 1)}
    given = [(number, scores[len(columns)]) for columns, number in numbers.items()]
    bounds = sorted({*scores.values(), 2 * max(scores.values())})
    query = subsets_sql.score_counts(minimal, given, bounds, words)
    [(rows, highest, total, *above)] = engine.query(Statement("score uniques", query))
    scratch.drop(alone, minimal)
    return SpecialUniques(
        size=largest,
        rows=int(rows),
        sets={
            size: sum(number for columns, number in counted.items() if len(columns) == size)
            for size in range(1, largest + 1)
        },
        highest_score=int(highest or 0),
        total_score=int(total),
        above={bound: int(number) for bound, number in zip(bounds, above, strict=True)},
        contributions={
            name: _contribution(position, counted, scores, int(total)) for position, name in enumerate(names)
        },
    )


def _contribution(position: int, counted: dict[Columns, int], scores: dict[int, int], total: int) -> float:
    own = sum(number * scores[len(columns)] for columns, number in counted.items() if position in columns)
    return own / total if total else 0.0


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
