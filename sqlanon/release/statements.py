"""Statements of a full-domain release: its classes, measured anew at publish time, and the table itself.

Both read the source joined to the hierarchies of the columns that are not at their top. Class keys are codes, never
NULL, so that classes join back by plain equality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.source.frequency_statements import code, sensitive_code
from sqlanon.source.sensitive_statements import SensitiveColumn
from sqlanon.sql.build import all_of, any_of, count, equal, is_null, is_present, named, subquery, total, total_where
from sqlanon.sql.relations import Table, column, literal, table_expression
from sqlanon.sql.values import relation


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


OUTSIDE = -1
"""The key of a value that its hierarchy does not cover."""


def classes(source: exp.Expression, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """Every class of the release with its rows `n`; a value outside its hierarchy shows as a NULL key."""
    keys = _keys(columns)
    items = [named(key, f"k_{position}") for position, key in keys]
    items += [named(count(), "n")]
    select = _joined(exp.select(*items).from_(source), columns)
    return select.group_by(*(key.copy() for _, key in keys)) if keys else select


def counted_rows(
    source: exp.Expression,
    columns: Sequence[QuasiIdentifier],
    sensitive: Sequence[SensitiveColumn],
    respondent: exp.Expression | None,
) -> exp.Select:
    """The source by class, sensitive values and respondent: keys `k_0`..., codes `s_0`..., `who`, rows `n`."""
    keys = [(f"k_{position}", _covered(key)) for position, key in _keys(columns)]
    keys += [(f"s_{position}", sensitive_code(item.key, f"c_{position}")) for position, item in enumerate(sensitive)]
    if respondent is not None:
        keys.append(("who", respondent))
    items = [named(key, name) for name, key in keys]
    select = _joined(exp.select(*items, named(count(), "n")).from_(source), columns)
    select = _with_codes(select, sensitive)
    return select.group_by(*(key.copy() for _, key in keys)) if keys else select


def population_rows(population: exp.Expression, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """The population by class: keys `k_0`..., rows `w`. Its columns are read from alias `source` too."""
    keys = [(f"k_{position}", _covered(key)) for position, key in _keys(columns)]
    select = exp.select(*(named(key, name) for name, key in keys), named(count(), "w")).from_(population)
    select = _joined(select, columns)
    return select.group_by(*(key.copy() for _, key in keys)) if keys else select


def _covered(key: exp.Expression) -> exp.Expression:
    """A key that is never NULL."""
    return exp.Coalesce(this=key.copy(), expressions=[literal(OUTSIDE)])


def _with_codes(select: exp.Select, sensitive: Sequence[SensitiveColumn]) -> exp.Select:
    for position, item in enumerate(sensitive):
        alias = f"c_{position}"
        on = equal(item.key.copy(), column("value", alias))
        select = select.join(relation(item.codes, alias), on=on, join_type="left", copy=False)
    return select


def judged(
    classes_query: exp.Select, satisfied: exp.Expression, keys: Sequence[str] | None = None, more: Sequence[str] = ()
) -> exp.Select:
    """The classes with the requirement's verdict on each as `kept`.

    With `keys` named, those of values outside a hierarchy become NULL, and only they, `more` columns and the rows stay.
    """
    items: list[exp.Expression] = [exp.Star()]
    if keys is not None:
        items = [named(exp.Nullif(this=column(name), expression=literal(OUTSIDE)), name) for name in keys]
        items += [column(name) for name in (*more, "n")]
    return exp.select(*items, named(satisfied, "kept")).from_(subquery(classes_query, "classes"))


def labelled_rows(relation_: exp.Expression, columns: Sequence[QuasiIdentifier], names: Sequence[str]) -> exp.Select:
    """Rows of another table generalized like the release, under the release's names."""
    items = [named(item.value(f"h_{position}"), names[position]) for position, item in enumerate(columns)]
    return _joined(exp.select(*items).from_(relation_), columns)


def key_names(columns: Sequence[QuasiIdentifier]) -> list[str]:
    """What the keys of classes are called: one for each column below its top."""
    return [f"k_{position}" for position, _ in _keys(columns)]


def class_totals(table: Table, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """One row: rows, suppressed rows, kept classes, and rows outside a hierarchy for each column below its top."""
    outside = [total_where(is_null(column(f"k_{position}")), column("n")) for position, _ in _keys(columns)]
    return exp.select(
        total(column("n")),
        total_where(exp.Not(this=column("kept")), column("n")),
        total_where(column("kept"), literal(1)),
        *outside,
    ).from_(table_expression(table))


def enough_to_blank(classes: Table | exp.Query, columns: Sequence[QuasiIdentifier], k: int) -> exp.Expression:
    """Whether the rows of failing classes are at least k together."""
    return exp.GTE(this=exp.Subquery(this=suppressed_rows(classes, columns)), expression=literal(k))


def suppressed_rows(classes: Table | exp.Query, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """How many rows lie in classes that fail. Rows outside a hierarchy belong to no class that can be released."""
    failing = total_where(exp.Not(this=column("kept")), column("n"))
    covered = [is_present(column(f"k_{position}")) for position, _ in _keys(columns)]
    return exp.select(failing).from_(relation(classes, "failing")).where(*covered)


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
    blank: exp.Expression | None,
    shuffle: bool,
    known: Mapping[int, SensitiveColumn] | None = None,
) -> exp.Select:
    """The rows to publish, in no order that tells of the source.

    `released` are the columns in their order; those that are no quasi-identifier go out as they are. Rows of classes
    that fail are left out. Where `blank` holds they are kept without their quasi-identifier: blanked rows are one
    class, which must satisfy like any other. `known` sensitive columns are keys of the classes too.
    """
    by_name = {item.name: position for position, item in enumerate(columns)}
    items = [_item(name, columns, by_name, blank=blank is not None) for name in released]
    matched = [equal(key, column(f"k_{position}", "class")) for position, key in _keys(columns)]
    select = _joined(exp.select(*items).from_(source), columns)
    for position, item in (known or {}).items():
        alias = f"c_{position}"
        select = select.join(
            relation(item.codes, alias), on=equal(item.key.copy(), column("value", alias)), join_type="left", copy=False
        )
        matched.append(equal(sensitive_code(item.key, alias), column(f"s_{position}", "class")))
    class_relation = relation(classes, "class")
    if matched:
        select = select.join(class_relation, on=all_of(matched), copy=False)
    else:
        select = select.join(class_relation, join_type="cross", copy=False)
    released_rows: exp.Expression = column("kept", "class")
    if blank is not None:
        released_rows = any_of([released_rows, blank])
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


def _joined(select: exp.Select, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    for position, item in enumerate(columns):
        if not item.at_top:
            alias = f"h_{position}"
            on = equal(item.key.copy(), column("value", alias))
            select = select.join(relation(item.lookup, alias), on=on, join_type="left", copy=False)
    return select


def no_value_outside(table: Table, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """TRUE when every row's values are covered by their hierarchies."""
    outside = any_of(is_null(column(f"k_{position}")) for position, _ in _keys(columns))
    found = exp.select(count()).from_(table_expression(table)).where(outside)
    return exp.select(equal(exp.Subquery(this=found), literal(0)))


def class_sizes(table: Table, names: Sequence[str], k: int) -> exp.Select:
    """The classes of a published table with their rows; none smaller than k."""
    keys = [column(name) for name in names]
    enough = exp.GTE(this=count(), expression=literal(k))
    rows = named(count(), "rows" if "rows" not in names else "rows_of_class")
    select = exp.select(*keys, rows).from_(table_expression(table)).group_by(*(key.copy() for key in keys))
    return select.having(enough).order_by(exp.Ordered(this=count(), desc=True))
