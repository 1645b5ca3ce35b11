"""Statements of the combinations that class-wise recoders assign to classes: values as ordinals of ordered domains.

A domain has a row for each value: `o` (0 for the first in its order, NULL last), `value`, `n` (rows), and of the
hierarchy `code_l`, `label_l` and `leaves_l` for each level. Combinations hold `o_0`..., the codes `s_0`... and `n`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.source.frequency_statements import HierarchyTable, sensitive_code
from sqlanon.source.sensitive_statements import SensitiveColumn
from sqlanon.sql.build import checksum, count, equal, is_null, mixed, named, subquery, total
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import relation


@dataclass(frozen=True)
class Listing:
    """The order in which somebody listed the values of a column: a table of texts `value` and `position`."""

    table: Table
    text: exp.Expression
    """The column `value` of alias `h` as text."""


def domain(values: Table, hierarchy: HierarchyTable, listing: Listing | None, *, natural: bool, top: str) -> exp.Select:
    """The values of a column in their order: their own where they have one, else by branches of the hierarchy.

    `values` has every value with its rows. Branches stand in the order of their first value: as listed, or by text.
    """
    levels = range(hierarchy.height)
    key = column("value", "d")
    absent = is_null(key)
    items: list[exp.Expression] = [named(key, "value"), named(column("n", "d"), "n")]
    for level in levels:
        items.append(
            named(exp.Case().when(absent.copy(), literal(0)).else_(column(f"code_{level}", "h")), f"code_{level}")
        )
        items.append(column(f"label_{level}", "h"))
        items.append(
            named(exp.Case().when(absent.copy(), literal(1)).else_(column(f"leaves_{level}", "h")), f"leaves_{level}")
        )
    items += [
        named(literal(1), f"code_{hierarchy.height}"),
        named(cast(literal(top), "text"), f"label_{hierarchy.height}"),
        named(literal(hierarchy.leaves), f"leaves_{hierarchy.height}"),
        named(_place(listing), "place"),
    ]
    select = exp.select(*items).from_(table_expression(values, "d"))
    select = select.join(
        table_expression(hierarchy.table, "h"), on=equal(key.copy(), column("value", "h")), join_type="left"
    )
    if listing is not None:
        on = equal(listing.text, column("value", "l"))
        select = select.join(table_expression(listing.table, "l"), on=on, join_type="left")
    return _numbered(select, hierarchy.height, natural=natural)


def _place(listing: Listing | None) -> exp.Expression:
    return literal(0) if listing is None else cast(column("position", "l"), "bigint")


def _numbered(values: exp.Select, height: int, *, natural: bool) -> exp.Select:
    """The values with `o`. Within a window, each ancestor is placed where its first value is."""
    own = [_ordered(column("place")), _ordered(column("value"))]
    ranked = exp.select(
        exp.Star(), named(_window(exp.RowNumber(), [_ordered(is_null(column("value"))), *own]), "place_0")
    ).from_(subquery(values, "by_value"))
    above = [] if natural else list(range(height - 1, 0, -1))
    placed = exp.select(
        exp.Star(),
        *(
            named(
                exp.Window(this=exp.Min(this=column("place_0")), partition_by=[column(f"code_{level}")]),
                f"place_{level}",
            )
            for level in above
        ),
    ).from_(subquery(ranked, "ranked"))
    order = [_ordered(is_null(column("value")))]
    order += [_ordered(column(f"place_{level}")) for level in above]
    order += [_ordered(column("place_0"))]
    number = exp.Sub(this=_window(exp.RowNumber(), order), expression=literal(1))
    kept = ["value", "n"]
    kept += [f"{part}_{level}" for level in range(height + 1) for part in ("code", "label", "leaves")]
    return exp.select(named(cast(exp.Paren(this=number), "int"), "o"), *(column(name) for name in kept)).from_(
        subquery(placed, "placed")
    )


def _window(function: exp.Expression, order: Sequence[exp.Expression]) -> exp.Window:
    return exp.Window(this=function, order=exp.Order(expressions=list(order)))


def _ordered(value: exp.Expression) -> exp.Ordered:
    return exp.Ordered(this=value)


@dataclass(frozen=True)
class Ordinals:
    """A quasi-identifier as its ordinal."""

    key: exp.Expression
    """The column as a grouping key."""
    domain: Table
    null: int | None
    """The ordinal of NULL, where the domain has it."""

    def ordinal(self, alias: str) -> exp.Expression:
        """The ordinal of a value joined to its domain; NULL for one that the domain does not have."""
        if self.null is None:
            return column("o", alias)
        return exp.Case().when(is_null(self.key.copy()), literal(self.null)).else_(column("o", alias))


def with_ordinals(
    rows: exp.Expression, columns: Sequence[Ordinals], sensitive: Sequence[SensitiveColumn] = ()
) -> tuple[exp.Select, list[tuple[str, exp.Expression]]]:
    """Rows joined to the domains and to the codes of sensitive values: a select without items, and its keys."""
    select = exp.select().from_(rows)
    keys: list[tuple[str, exp.Expression]] = []
    for position, item in enumerate(columns):
        alias = f"d_{position}"
        on = equal(item.key.copy(), column("value", alias))
        select = select.join(table_expression(item.domain, alias), on=on, join_type="left", copy=False)
        keys.append((f"o_{position}", item.ordinal(alias)))
    for position, coded in enumerate(sensitive):
        alias = f"c_{position}"
        on = equal(coded.key.copy(), column("value", alias))
        select = select.join(relation(coded.codes, alias), on=on, join_type="left", copy=False)
        keys.append((f"s_{position}", sensitive_code(coded.key, alias)))
    return select, keys


def combinations(base: Table, columns: Sequence[Ordinals], codes: Sequence[Table], more: Sequence[str]) -> exp.Select:
    """The base by ordinals and codes, in order; further columns of the base are taken over as they are."""
    sensitive = [SensitiveColumn(column(f"v_{position}", "base"), table) for position, table in enumerate(codes)]
    select, keys = with_ordinals(table_expression(base, "base"), columns, sensitive)
    items: list[exp.Expression] = [named(key, name) for name, key in keys]
    items += [column(name, "base") for name in (*more, "n")]
    return select.select(*items, copy=False).order_by(*(column(name) for name, _ in keys), copy=False)


def key_checksum(rows: exp.Select, keys: Sequence[tuple[str, exp.Expression]], counted: exp.Expression) -> exp.Select:
    """Rows, and two checksums of the combinations with their rows; `rows` is a select without items."""
    names = [name for name, _ in keys]
    grouped = rows.select(*(named(key, name) for name, key in keys), named(counted, "n"), copy=False)
    grouped = grouped.group_by(*(key.copy() for _, key in keys), copy=False)
    values = [exp.Coalesce(this=column(name), expressions=[literal(-1)]) for name in (*names, "n")]
    return exp.select(total(column("n")), *checksum(_positive(values))).from_(subquery(grouped, "grouped"))


def _positive(values: Sequence[exp.Expression]) -> exp.Expression:
    return mixed([exp.Add(this=value, expression=literal(2)) for value in values])


def table_checksum(table: Table, columns: Sequence[str]) -> exp.Select:
    """Rows and two checksums of whole-number columns, NULL among them."""
    values = [exp.Coalesce(this=column(name), expressions=[literal(-1)]) for name in columns]
    return exp.select(count(), *checksum(_positive(values))).from_(table_expression(table))


def leaves_of_domain(table: Table, least: int, height: int) -> exp.Select:
    """Every value of a domain: ordinal, text, rows, then code, label and leaves of each level from the least one up."""
    items: list[exp.Expression] = [column("o"), column("label_0"), column("n")]
    for level in range(least, height + 1):
        items += [column(f"code_{level}"), cast(column(f"label_{level}"), "text"), column(f"leaves_{level}")]
    return exp.select(*items).from_(table_expression(table))


def null_count(table: Table) -> exp.Select:
    """How many rows of a table of values are NULL."""
    return exp.select(count()).from_(table_expression(table)).where(is_null(column("value")), copy=False)
