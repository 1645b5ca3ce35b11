"""Microaggregation: columns of which every class shows one value for all its rows, the mean or the median of the class.

SQL over the rows of a release, whichever recoding made them: rows with the same labels are a class. Where fewer than k
people of a class have a value, the class shows none.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from sqlglot import exp

from sqlanon.sql.build import all_of, is_null, is_present, named, subquery
from sqlanon.sql.relations import cast, column, explained, literal

if TYPE_CHECKING:
    from sqlanon.source.binding import Binding


def averaged(rows: exp.Select, binding: Binding, names: Sequence[str]) -> exp.Select:
    """These columns of the rows, with one value a class where the spec says so; `rows` has `inside` as columns."""
    kinds = binding.averaged
    if not kinds:
        return rows
    plain = explained(kinds)
    persons = None if binding.respondent is None else binding.respondent.name
    by = [column(name) for name in binding.names]
    first = exp.select(*(column(name) for name in inside(binding, names)))
    for name, kind in kinds.items():
        first = first.select(*_of_rows(column(name), plain[name], kind, by, persons), copy=False)
    first = first.from_(subquery(rows, "released"), copy=False)
    found = exp.select()
    for name in names:
        value: exp.Expression = column(name)
        if name in kinds:
            value = named(_of_class(value, plain[name], kinds[name], by, persons, binding.k), name)
        found = found.select(value, copy=False)
    # Rows come out by their values, which nobody may see.
    return found.from_(subquery(first, "ranked"), copy=False).order_by(exp.Rand(), copy=False)


def inside(binding: Binding, names: Sequence[str]) -> list[str]:
    """The columns of the rows that averages are made of: the wanted ones, the classes, and the person."""
    needed = (*binding.released, *binding.witnesses) if binding.averaged else ()
    return list(dict.fromkeys((*names, *needed)))


def _over(value: exp.Expression, by: Iterable[exp.Expression], order: exp.Expression | None = None) -> exp.Window:
    ordered = None if order is None else exp.Order(expressions=[exp.Ordered(this=order)])
    return exp.Window(this=value, partition_by=[key.copy() for key in by], order=ordered)


def _of_rows(
    value: exp.Expression, plain: str, kind: str, by: Sequence[exp.Expression], person: str | None
) -> list[exp.Expression]:
    """What is counted of rows: their place by the value, and whether one is the first of its person that has one."""
    absent = exp.Case().when(is_null(value), literal(1)).else_(literal(0))
    found: list[exp.Expression] = []
    if kind == "median":
        found.append(named(_over(exp.RowNumber(), [*by, absent], value.copy()), f"sqlanon place {plain}"))
        found.append(named(_over(exp.Count(this=value.copy()), by), f"sqlanon values {plain}"))
    if person is not None:
        found.append(named(_over(exp.RowNumber(), [*by, column(person), absent], value.copy()), f"sqlanon row {plain}"))
    return found


def _of_class(
    value: exp.Expression, plain: str, kind: str, by: Sequence[exp.Expression], person: str | None, k: int
) -> exp.Expression:
    """The value of a class, where at least k people have one; people without a key count together, as one."""
    wide: exp.Expression = cast(value.copy(), "double")
    if kind == "median":
        # Twice the place of the middle value is one more than there are; of two middle values, as many and two more.
        twice = exp.Mul(this=column(f"sqlanon place {plain}"), expression=literal(2))
        values = column(f"sqlanon values {plain}")
        near = [exp.Add(this=values.copy(), expression=literal(more)) for more in (1, 2)]
        middle = exp.In(this=twice, expressions=[values, *near])
        wide = exp.Case().when(all_of([is_present(value.copy()), middle]), wide)
    people: exp.Expression = exp.Count(this=value.copy())
    if person is not None:
        first = exp.EQ(this=column(f"sqlanon row {plain}"), expression=literal(1))
        counted = exp.Case().when(all_of([is_present(value.copy()), first]), literal(1)).else_(literal(0))
        people = exp.Sum(this=counted)
    enough = exp.GTE(this=_over(people, by), expression=literal(k))
    return exp.Case().when(enough, _over(exp.Avg(this=wide), by)).else_(cast(exp.Null(), "double"))
