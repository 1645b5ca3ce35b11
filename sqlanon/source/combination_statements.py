"""Statements of the combinations that class-wise recoders assign to classes: values as ordinals of ordered domains.

A domain has a row for each value: `o` (0 for the first in its order, NULL last), `value`, `n` (rows), and of the
hierarchy `code_l`, `label_l` and `leaves_l` for each level. Ranges of ordinals are measured from the `lower` place of
the first to the `upper` place of the last: places of a range of numbers or dates (then each level has `start_l`, too),
else leaves in their order. Combinations hold `o_0`..., the codes `s_0`... and `n`.

Where a column may not be released below a level, its labels there take the place of values: a table of them has `o`,
`n`, the levels from that one up as `code_0`..., and `low`, `high` and `half_open`: what ranges of them end in.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.source.frequency_statements import HierarchyTable, sensitive_code
from sqlanon.source.sensitive import SensitiveColumn
from sqlanon.sql.build import (
    checksum,
    concat,
    count,
    equal,
    expression,
    is_null,
    named,
    query,
    subquery,
    total,
    with_mix,
)
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import relation, whole


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
        if hierarchy.placed:
            beyond = exp.Case().when(absent.copy(), literal(hierarchy.leaves - 1))
            items.append(named(cast(beyond.else_(column(f"start_{level}", "h")), "bigint"), f"start_{level}"))
    items += [
        named(literal(1), f"code_{hierarchy.height}"),
        named(cast(literal(top), "text"), f"label_{hierarchy.height}"),
        named(literal(hierarchy.leaves), f"leaves_{hierarchy.height}"),
        named(_place(listing), "place"),
    ]
    if hierarchy.placed:
        items.append(named(cast(literal(0), "bigint"), f"start_{hierarchy.height}"))
    select = exp.select(*items).from_(table_expression(values, "d"))
    select = select.join(
        table_expression(hierarchy.table, "h"), on=equal(key.copy(), column("value", "h")), join_type="left"
    )
    if listing is not None:
        on = equal(listing.text, column("value", "l"))
        select = select.join(table_expression(listing.table, "l"), on=on, join_type="left")
    numbered = _numbered(select, hierarchy.height, natural=natural, placed=hierarchy.placed)
    return _with_places(numbered, placed=hierarchy.placed)


def _with_places(values: exp.Select, *, placed: bool) -> exp.Select:
    """A domain with the `lower` and the `upper` place of each ordinal."""
    leaves = cast(column("leaves_0"), "bigint")
    lower: exp.Expression = column("start_0")
    if not placed:
        lower = whole(exp.Window(this=exp.Sum(this=leaves), order=exp.Order(expressions=[_ordered(column("o"))])))
        lower = exp.Sub(this=lower, expression=leaves.copy())
    upper = expression(":lower + :leaves - 1", lower=lower, leaves=leaves)
    return exp.select(exp.Star(), named(lower, "lower"), named(upper, "upper")).from_(subquery(values, "ordered"))


def laid_out(domain: Table, height: int) -> exp.Select:
    """A domain with the first place `start_l` of each label: after those of the labels before it under their parent."""
    top = named(cast(literal(0), "bigint"), f"start_{height}")
    select = query("select d.* from d", {"d": domain}).select(top, copy=False)
    for level in range(height - 1, -1, -1):
        codes = {"code": column(f"code_{level}"), "parent": column(f"code_{level + 1}")}
        labels = query(
            "select :code as code, :parent as parent, max(:leaves) as leaves, min(o) as first from d"
            " group by :code, :parent",
            {"d": domain},
            leaves=column(f"leaves_{level}"),
            **codes,
        )
        before = query(
            "select code, parent, sum(leaves) over (partition by parent order by first) - leaves as before from l",
            {"l": labels},
        )
        start = expression(":above + n.before", above=column(f"start_{level + 1}", "d"))
        select = query(
            "select d.* from d join n on :code = n.code and :parent = n.parent",
            {"d": select, "n": before},
            code=column(f"code_{level}", "d"),
            parent=column(f"code_{level + 1}", "d"),
        ).select(named(cast(start, "bigint"), f"start_{level}"), copy=False)
    return select


def scattered(values: Table, level: int) -> exp.Select:
    """How many labels of a level lie apart in the order of the values: no range of values is what they hold."""
    ends = exp.select(named(expression("max(o) - min(o) + 1 - count(*)"), "gaps")).from_(table_expression(values))
    ends = ends.group_by(column(f"code_{level}"))
    return exp.select(count()).from_(subquery(ends, "ends")).where(expression("gaps > 0"))


def labels_as_values(values: Table, level: int, hierarchy: HierarchyTable, *, by_values: bool) -> exp.Select:
    """The labels of a level in the order of their first values, in place of the values of a domain.

    `by_values`: ranges end in the least and the greatest value under a label, not in the bounds of the label.
    """
    items: list[exp.Expression] = [
        named(expression("min(o)"), "first"),
        named(expression("max(o)"), "last"),
        named(whole(exp.Sum(this=column("n"))), "n"),
    ]
    height, parts = hierarchy.height, ["code", "label", "leaves", *(["start"] if hierarchy.placed else [])]
    for number, own in enumerate(range(level, height + 1)):
        items += [
            named(exp.Max(this=column(f"code_{own}")), f"code_{number}"),
            named(exp.Max(this=cast(column(f"label_{own}"), "text")), f"label_{number}"),
            named(exp.Max(this=column(f"leaves_{own}")), f"leaves_{number}"),
        ]
        if hierarchy.placed:
            items.append(named(exp.Max(this=column(f"start_{own}")), f"start_{number}"))
    grouped = exp.select(*items).from_(table_expression(values)).group_by(column(f"code_{level}"))
    ordinal = expression("row_number() over (order by g.first) - 1")
    kept = [column("n", "g")]
    kept += [column(f"{part}_{place}", "g") for place in range(height - level + 1) for part in parts]
    select = exp.select(named(cast(exp.Paren(this=ordinal), "int"), "o"), *kept).from_(subquery(grouped, "g"))
    if not by_values:
        low, high, half_open = label_ends(column("label_0", "g"))
        select = select.select(named(low, "low"), named(high, "high"), named(half_open, "half_open"), copy=False)
        return _with_places(select, placed=hierarchy.placed)
    for alias in ("first", "last"):
        on = equal(column(alias, "g"), column("o", f"{alias}_value"))
        select = select.join(table_expression(values, f"{alias}_value"), on=on, copy=False)
    select = select.select(
        named(column("label_0", "first_value"), "low"),
        named(column("label_0", "last_value"), "high"),
        named(literal(0), "half_open"),
        copy=False,
    )
    return _with_places(select, placed=hierarchy.placed)


def keys_of_labels(values: Table, labels: Table, level: int) -> exp.Select:
    """Each value and its text `label_0`, with the ordinal of its label."""
    on = equal(column(f"code_{level}", "v"), column("code_0", "g"))
    names = [column("value", "v"), column("label_0", "v"), column("o", "g")]
    select = exp.select(*names).from_(table_expression(values, "v"), copy=False)
    return select.join(table_expression(labels, "g"), on=on, copy=False)


HALF_OPEN, CLOSED = "[%, %)", "[%-%]"


def label_ends(label: exp.Expression) -> tuple[exp.Expression, exp.Expression, exp.Expression]:
    """Where a label begins, where it ends and whether its end is the first value beyond: [20, 25) is 20, 25 and 1.

    The empty text stands for no bound: <18, >=65. [1960-1964] is 1960, 1964 and 0; any other label is its own ends.
    """
    within = _like(label, HALF_OPEN)
    comma = exp.StrPosition(this=label.copy(), substr=literal(", "))
    dash = exp.StrPosition(this=label.copy(), substr=literal("-"))
    closed = exp.and_(
        _like(label, CLOSED), exp.Not(this=_like(label, "%-%-%")), exp.Not(this=_like(label, "[-%")), copy=False
    )
    below, above = _like(label, "<%"), _like(label, ">=%")
    low = (
        exp.Case()
        .when(within, _cut(label, 2, comma, -2))
        .when(below, literal(""))
        .when(above, exp.Substring(this=label.copy(), start=literal(3)))
        .when(closed, _cut(label, 2, dash, -2))
        .else_(label.copy())
    )
    high = (
        exp.Case()
        .when(within.copy(), _up_to_last(label, comma, 2))
        .when(below.copy(), exp.Substring(this=label.copy(), start=literal(2)))
        .when(above.copy(), literal(""))
        .when(closed.copy(), _up_to_last(label, dash, 1))
        .else_(label.copy())
    )
    open_end = exp.or_(within.copy(), below.copy(), above.copy(), copy=False)
    return low, high, exp.Case().when(open_end, literal(1)).else_(literal(0))


def _like(label: exp.Expression, pattern: str) -> exp.Expression:
    return exp.Like(this=label.copy(), expression=literal(pattern))


def _cut(label: exp.Expression, start: int, until: exp.Expression, more: int) -> exp.Expression:
    length = exp.Add(this=until.copy(), expression=literal(more))
    return exp.Substring(this=label.copy(), start=literal(start), length=length)


def _up_to_last(label: exp.Expression, after: exp.Expression, width: int) -> exp.Expression:
    """What stands between a separator of this width and the last character."""
    start = exp.Add(this=after.copy(), expression=literal(width))
    length = exp.Sub(
        this=exp.Sub(this=exp.Length(this=label.copy()), expression=after.copy()), expression=literal(width)
    )
    return exp.Substring(this=label.copy(), start=start, length=length)


def range_label(first: str, last: str, between: exp.Expression, label: str = "label_0") -> exp.Expression:
    """The label of a range of labels `first` to `last`, aliases of the rows of their domain; [20, 25) to [35, 40) is
    [20, 40). What stands `between` the ends of other labels is an expression; `label` is the column of labels."""
    low, high = column("low", first), column("high", last)
    plain = concat("[", column(label, first), " - ", column(label, last), "]")
    half_open = exp.Add(this=column("half_open", first), expression=column("half_open", last))
    case = exp.Case().when(equal(half_open, literal(0)), concat("[", low, between, high, "]"))
    case = case.when(equal(half_open.copy(), literal(1)), plain)
    case = case.when(exp.and_(equal(low.copy(), literal("")), equal(high.copy(), literal(""))), plain.copy())
    case = case.when(equal(low.copy(), literal("")), concat("<", high.copy()))
    case = case.when(equal(high.copy(), literal("")), concat(">=", low.copy()))
    return case.else_(concat("[", low.copy(), ", ", high.copy(), ")"))


def _place(listing: Listing | None) -> exp.Expression:
    return literal(0) if listing is None else cast(column("position", "l"), "bigint")


def _numbered(values: exp.Select, height: int, *, natural: bool, placed: bool) -> exp.Select:
    """The values with `o`. Within a window, each ancestor is placed where its first value is."""
    own = [_ordered(column("place")), _ordered(column("value"))]
    ranked = exp.select(
        exp.Star(), named(_window(exp.RowNumber(), [_ordered(is_null(column("value"))), *own]), "place_0")
    ).from_(subquery(values, "by_value"))
    above = [] if natural else list(range(height - 1, 0, -1))
    by_branch = exp.select(
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
    parts = ("code", "label", "leaves", *(("start",) if placed else ()))
    kept += [f"{part}_{level}" for level in range(height + 1) for part in parts]
    return exp.select(named(cast(exp.Paren(this=number), "int"), "o"), *(column(name) for name in kept)).from_(
        subquery(by_branch, "placed")
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


def added_up(rows: exp.Select, keys: Sequence[str]) -> exp.Select:
    """Combinations that became alike as one."""
    names = [column(name) for name in keys]
    select = exp.select(*names, named(whole(exp.Sum(this=column("n"))), "n")).from_(subquery(rows, "alike"))
    select = select.group_by(*(name.copy() for name in names), copy=False)
    return select.order_by(*(name.copy() for name in names), copy=False)


def key_checksum(rows: exp.Select, keys: Sequence[tuple[str, exp.Expression]], counted: exp.Expression) -> exp.Select:
    """Rows, and two checksums of the combinations with their rows; `rows` is a select without items."""
    names = [name for name, _ in keys]
    grouped = rows.select(*(named(key, name) for name, key in keys), named(counted, "n"), copy=False)
    grouped = grouped.group_by(*(key.copy() for _, key in keys), copy=False)
    values = [exp.Coalesce(this=column(name), expressions=[literal(-1)]) for name in (*names, "n")]
    return exp.select(total(column("n")), *checksum()).from_(_mixed(subquery(grouped, "grouped"), values), copy=False)


def _mixed(relation: exp.Expression, values: Sequence[exp.Expression]) -> exp.Subquery:
    """Values from -1 on are mixed as positive ones."""
    return with_mix(relation, [exp.Add(this=value, expression=literal(2)) for value in values])


def table_checksum(table: Table, columns: Sequence[str]) -> exp.Select:
    """Rows and two checksums of whole-number columns, NULL among them."""
    values = [exp.Coalesce(this=column(name), expressions=[literal(-1)]) for name in columns]
    return exp.select(count(), *checksum()).from_(_mixed(table_expression(table), values), copy=False)


def leaves_of_domain(table: Table, height: int, *, of_labels: bool = False) -> exp.Select:
    """Every value of a domain: ordinal, text, rows, then code, label and leaves of each level; and the ends of labels
    that stand for values."""
    items: list[exp.Expression] = [column("o"), column("label_0"), column("n")]
    for level in range(height + 1):
        items += [column(f"code_{level}"), cast(column(f"label_{level}"), "text"), column(f"leaves_{level}")]
    items += [column("lower"), column("upper")]
    if of_labels:
        items += [column(name) for name in ("low", "high", "half_open")]
    return exp.select(*items).from_(table_expression(table))


def null_count(table: Table) -> exp.Select:
    """How many rows of a table of values are NULL."""
    return exp.select(count()).from_(table_expression(table)).where(is_null(column("value")), copy=False)
