"""Minimal unique sets of a frequency set, scored as SUDA does: counts and scores, never which row.

Works on scratch tables of its own, which are dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from sqlanon.engines.base import Engine, Statement
from sqlanon.insight.reidentification import subset_statements as subsets_sql
from sqlanon.insight.reidentification.result import SpecialUniques
from sqlanon.insight.reidentification.rollups import Columns
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table


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
