"""Statements of a full-domain release: its classes, measured anew at publish time, and the table itself.

Both read the source joined to the hierarchies of the columns that are not at their top. Class keys are codes, never
NULL, so that classes join back by plain equality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sqlgen.build import all_of, any_of, count, equal, is_null, is_present, named, subquery, total, total_where
from sqlanon.sqlgen.frequency import code
from sqlanon.sqlgen.relations import Table, cast, column, literal, table_expression


@dataclass(frozen=True)
class QuasiIdentifier:
    """A quasi-identifier column at the level it is released at."""

    name: str
    key: exp.Expression
    """The column as a grouping key, read from alias `source`."""
    lookup: Table | exp.Query
    """The hierarchy: its table, or for a view the query that makes it."""
    level: int
    at_top: bool
    top: str
    """The one label of the hierarchy's top."""
    blank: exp.Expression
    """What stands in the column of a blanked row."""
    exact: bool = True
    """Values that are equal look alike. Where they do not (0.0 and -0.0, 1.0 and 1.00) one of them stands for all."""

    def value(self, alias: str) -> exp.Expression:
        """What is released: the value itself, its label, or the top."""
        if self.at_top:
            return literal(self.top)
        if self.level > 0:
            return column(f"label_{self.level}", alias)
        return column(self.name, "source") if self.exact else column("value", alias)


def classes(
    source: exp.Expression, columns: Sequence[QuasiIdentifier], aggregates: Mapping[str, exp.Expression]
) -> exp.Select:
    """Every class of the release with its rows `n`; a value outside its hierarchy shows as a NULL key."""
    keys = _keys(columns)
    items = [named(key, f"k_{position}") for position, key in keys]
    items += [named(count(), "n")]
    items += [named(aggregate.copy(), name) for name, aggregate in aggregates.items()]
    select = _joined(exp.select(*items).from_(source), columns)
    return select.group_by(*(key.copy() for _, key in keys)) if keys else select


def judged(classes_query: exp.Select, satisfied: exp.Expression) -> exp.Select:
    """The classes with the requirement's verdict on each as `kept`."""
    return exp.select(exp.Star(), named(satisfied, "kept")).from_(subquery(classes_query, "classes"))


def class_totals(table: Table, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """One row: rows, suppressed rows, kept classes, and rows outside a hierarchy for each column below its top."""
    outside = [total_where(is_null(column(f"k_{position}")), column("n")) for position, _ in _keys(columns)]
    return exp.select(
        total(column("n")),
        total_where(exp.Not(this=column("kept")), column("n")),
        total_where(column("kept"), literal(1)),
        *outside,
    ).from_(table_expression(table))


def suppressed_rows(classes: Table | exp.Query, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """How many rows lie in classes that fail. Rows outside a hierarchy belong to no class that can be released."""
    failing = total_where(exp.Not(this=column("kept")), column("n"))
    covered = [is_present(column(f"k_{position}")) for position, _ in _keys(columns)]
    return exp.select(failing).from_(_relation(classes, "failing")).where(*covered)


def within_limit(table: Table, most: int, of_rows: int | None) -> exp.Select:
    """TRUE when at most `most` rows are suppressed, or `most` of every `of_rows`. Whole numbers, so exact."""
    suppressed = total_where(exp.Not(this=column("kept")), column("n"))
    allowed: exp.Expression = literal(most)
    if of_rows is not None:
        suppressed = exp.Mul(this=suppressed, expression=literal(of_rows))
        allowed = exp.Mul(this=total(column("n")), expression=allowed)
    return exp.select(exp.LTE(this=suppressed, expression=allowed)).from_(table_expression(table))


def release(
    source: exp.Expression,
    columns: Sequence[QuasiIdentifier],
    released: Sequence[str],
    classes: Table | exp.Query,
    *,
    blank_from: int | None,
    shuffle: bool,
) -> exp.Select:
    """The rows to publish, in no order that tells of the source.

    `released` are the columns in their order; those that are no quasi-identifier go out as they are. Rows of classes
    that fail are left out. With `blank_from` they are kept without their quasi-identifier, if there are at least so
    many of them: blanked rows are one class, which must be as large as any other.
    """
    blank = blank_from is not None
    by_name = {item.name: position for position, item in enumerate(columns)}
    items = [_item(name, columns, by_name, blank=blank) for name in released]
    matched = [equal(key, column(f"k_{position}", "class")) for position, key in _keys(columns)]
    select = _joined(exp.select(*items).from_(source), columns)
    class_relation = _relation(classes, "class")
    if matched:
        select = select.join(class_relation, on=all_of(matched), copy=False)
    else:
        select = select.join(class_relation, join_type="cross", copy=False)
    released_rows: exp.Expression = column("kept", "class")
    if blank_from is not None:
        enough = exp.GTE(this=exp.Subquery(this=suppressed_rows(classes, columns)), expression=literal(blank_from))
        released_rows = any_of([released_rows, enough])
    select = select.where(released_rows, copy=False)
    return select.order_by(exp.Rand(), copy=False) if shuffle else select


def _item(name: str, columns: Sequence[QuasiIdentifier], by_name: Mapping[str, int], *, blank: bool) -> exp.Expression:
    if name not in by_name:
        return column(name, "source")
    position = by_name[name]
    item = columns[position]
    value = item.value(f"h_{position}")
    if blank:
        value = exp.Case().when(column("kept", "class"), value).else_(item.blank.copy())
    return named(value, name)


def _keys(columns: Sequence[QuasiIdentifier]) -> list[tuple[int, exp.Expression]]:
    return [
        (position, code(item.key.copy(), f"h_{position}", item.level))
        for position, item in enumerate(columns)
        if not item.at_top
    ]


def _relation(relation: Table | exp.Query, alias: str) -> exp.Expression:
    return table_expression(relation, alias) if isinstance(relation, Table) else subquery(relation.copy(), alias)


def _joined(select: exp.Select, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    for position, item in enumerate(columns):
        if not item.at_top:
            alias = f"h_{position}"
            on = equal(item.key.copy(), column("value", alias))
            select = select.join(_relation(item.lookup, alias), on=on, join_type="left", copy=False)
    return select


def assertion(condition: exp.Select, message: str) -> exp.Select:
    """A query that fails, with `message` in the error, unless `condition` yields TRUE.

    The text cannot be cast to a number; it is chosen at run time, so no engine folds it away.
    """
    holds = exp.Subquery(this=condition)
    chosen = exp.Case().when(holds, literal("1")).else_(literal(message))
    return exp.select(named(cast(chosen, "int"), "audit"))


def no_value_outside(table: Table, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """TRUE when every row's values are covered by their hierarchies."""
    outside = any_of(is_null(column(f"k_{position}")) for position, _ in _keys(columns))
    found = exp.select(count()).from_(table_expression(table)).where(outside)
    return exp.select(equal(exp.Subquery(this=found), literal(0)))
