"""Persons instead of rows: who holds which value of a sensitive column in each class, every person counted once.

Steps by name. `<prefix>_cells`: class, code, held (persons of the class that hold the value), members (persons that
count for it: for the value of theirs that most of the class hold, the first in value order among equals), rows, sole
(persons counted here that alone hold some value).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.statements.steps import Steps, step
from sqlanon.sql.build import count, equal, named
from sqlanon.sql.relations import cast, column, literal


def holdings(
    prefix: str, rows: exp.Select, keys: Sequence[exp.Expression], person: exp.Expression, code: exp.Expression
) -> Steps:
    """The queries up to `<prefix>_cells`; `rows` is a select without items over which keys, person and code read."""
    names = [f"k_{position}" for position in range(len(keys))]
    return {
        f"{prefix}_holdings": _holdings(rows, dict(zip(names, keys, strict=True)), person, code),
        f"{prefix}_placed": _placed(f"{prefix}_holdings", names),
        f"{prefix}_chosen": _chosen(f"{prefix}_placed"),
        f"{prefix}_cells": _cells(f"{prefix}_chosen"),
    }


def sized(prefix: str) -> exp.Select:
    """The cells with what is true of their whole class: size in persons, rows, and `sole` persons."""
    by_class = [column("class")]
    items: list[exp.Expression] = [column(name) for name in ("class", "code", "held", "members")]
    for name, of in (("size", "members"), ("rows", "rows"), ("sole", "sole")):
        whole = exp.Window(this=exp.Sum(this=column(of)), partition_by=[item.copy() for item in by_class])
        items.append(named(cast(whole, "bigint"), name))
    return exp.select(*items).from_(step(f"{prefix}_cells"), copy=False)


def _holdings(
    rows: exp.Select, keys: dict[str, exp.Expression], person: exp.Expression, code: exp.Expression
) -> exp.Select:
    """Each person's values in each class, once; numbered."""
    grouped = {**keys, "person": person, "code": code}
    items = [named(value.copy(), name) for name, value in grouped.items()]
    number = exp.Window(this=exp.RowNumber())
    select = rows.select(*items, named(count(), "rows"), named(number, "number"))
    return select.group_by(*(value.copy() for value in grouped.values()), copy=False)


def _placed(name: str, keys: Sequence[str]) -> exp.Select:
    held = exp.Window(this=count(), partition_by=[column(key) for key in (*keys, "code")])
    return exp.select(
        named(class_number(keys), "class"), column("person"), column("code"), column("rows"), named(held, "held")
    ).from_(step(name), copy=False)


def class_number(keys: Sequence[str]) -> exp.Expression:
    """A whole number for the class of numbered rows, so that its keys are compared once."""
    least = exp.Min(this=column("number"))
    return exp.Window(this=least, partition_by=[column(key) for key in keys]) if keys else literal(1)


def _chosen(name: str) -> exp.Select:
    own: list[exp.Expression] = [column("class"), column("person")]
    order = exp.Order(expressions=[exp.Ordered(this=column("held"), desc=True), exp.Ordered(this=column("code"))])
    place = exp.Window(this=exp.RowNumber(), partition_by=own, order=order)
    least = exp.Window(this=exp.Min(this=column("held")), partition_by=[item.copy() for item in own])
    items = [column(item) for item in ("class", "code", "rows", "held")]
    return exp.select(*items, named(place, "place"), named(least, "least")).from_(step(name), copy=False)


def _cells(name: str) -> exp.Select:
    first = equal(column("place"), literal(1))
    alone = exp.And(this=first.copy(), expression=equal(column("least"), literal(1)))
    return (
        exp.select(
            column("class"),
            column("code"),
            named(count(), "held"),
            named(exp.Count(this=exp.Case().when(first, literal(1))), "members"),
            named(cast(exp.Sum(this=column("rows")), "bigint"), "rows"),
            named(exp.Count(this=exp.Case().when(alone, literal(1))), "sole"),
        )
        .from_(step(name), copy=False)
        .group_by(column("class"), column("code"))
    )
