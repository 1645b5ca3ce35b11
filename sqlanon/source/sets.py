"""Sets of sensitive values as bits of a few whole numbers: all that the number of different values needs.

A frequency set that holds them has one row for each combination of the quasi-identifier, not one for each value too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlanon.sql.build import named, subquery
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.traits import Traits

BITS = 62
"""Values in one number."""

MOST_VALUES = 4 * BITS
"""Values up to which sets are held: beyond, rows for each value are smaller."""


@dataclass(frozen=True)
class ValueSet:
    """A column as sets: the numbers that hold the bits, and how many values the union of a group's sets has."""

    columns: tuple[str, ...]
    number: exp.Expression


def value_set(position: int, values: int, traits: Traits) -> ValueSet:
    """How the set of a column of so many values is held; its codes run from 0, which is NULL."""
    names = tuple(f"b_{position}_{word}" for word in range(values // BITS + 1))
    # Some engines count bits in the narrowest type there is, whose sum would not hold more than 127 values.
    counts: list[exp.Expression] = [cast(traits.bit_count(united(name)), "int") for name in names]
    return ValueSet(names, reduce(lambda left, right: exp.Add(this=left, expression=right), counts))


def united(name: str) -> exp.Expression:
    """The union of the sets of a group."""
    return exp.BitwiseOrAgg(this=column(name))


def with_sets(rows: exp.Select, keys: Sequence[str], sets: dict[int, ValueSet], count_type: str) -> exp.Select:
    """Rows with a code for each value as rows with sets: grouped by everything else."""
    items: list[exp.Expression] = [column(name) for name in keys]
    for position, held in sets.items():
        for word, name in enumerate(held.columns):
            items.append(named(exp.BitwiseOrAgg(this=_bit(column(f"s_{position}"), word, len(held.columns))), name))
    items.append(named(cast(exp.Sum(this=column("n")), count_type), "n"))
    select = exp.select(*items).from_(subquery(rows, "rows"))
    return select.group_by(*(column(name) for name in keys))


def _bit(code: exp.Expression, word: int, words: int) -> exp.Expression:
    """The bit of a value in one of the numbers, 0 in the others."""
    place = exp.Mod(this=code.copy(), expression=literal(BITS))
    bit = exp.BitwiseLeftShift(this=cast(literal(1), "bigint"), expression=exp.Paren(this=cast(place, "int")))
    if words == 1:
        return bit
    low = exp.GTE(this=code, expression=literal(word * BITS))
    high = exp.LT(this=code.copy(), expression=literal((word + 1) * BITS))
    inside = exp.And(this=low, expression=high)
    return exp.Case().when(inside, bit).else_(_nothing())


def _nothing() -> exp.Expression:
    return cast(literal(0), "bigint")
