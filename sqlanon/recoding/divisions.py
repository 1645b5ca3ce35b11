"""Statements that divide groups of rows by their quasi-identifier, all groups of a round at once.

Rows are in a table of `g` (their group), ordinals `o_0`..., and `n`. The extent of a group is `lo_i` and `hi_i` in each
column, with the `level_i` of the least node above both, and its `size_i` in leaves of the column's domain; of a column
with an order of its own also the places of the domain from `from_i` to `upto_i`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

from sqlglot import exp

from sqlanon.source.combination_statements import range_label
from sqlanon.sql.build import concat, equal, expression, named, query, subquery, union_all
from sqlanon.sql.relations import Table, cast, column, literal, table_expression


@dataclass(frozen=True)
class Attribute:
    """A quasi-identifier: intervals of an order of its own, or nodes of its hierarchy."""

    position: int
    natural: bool
    """Any interval of ordinals may be published. Otherwise nodes, whose leaves are intervals of ordinals too."""
    height: int
    reach: Table
    """The ordinals that each node reaches, as function `reach` makes them."""
    values: int
    """Values of the domain, for Equation 4, NULL among them where it occurs."""
    last: int
    """The last ordinal."""
    null: int | None
    top: str
    weight: Fraction
    of_labels: bool = False
    """Ordinals stand for labels, not for values."""

    @property
    def ordinal(self) -> str:
        return f"o_{self.position}"

    def factor(self) -> exp.Expression:
        """The weight of one leaf more."""
        share = self.weight / self.values
        return expression(
            "(cast(:above as double) / cast(:below as double))", above=share.numerator, below=share.denominator
        )

    def level(self, low: exp.Expression, high: exp.Expression, alias: str) -> exp.Expression:
        """The level of the least node above two ordinals; `alias` is the reach of the lower one."""
        if self.natural:
            return exp.Case().when(equal(low.copy(), high.copy()), literal(0)).else_(literal(self.height))
        return self._by_level(high, alias, [literal(level) for level in range(self.height + 1)])

    def node_size(self, high: exp.Expression, alias: str) -> exp.Expression:
        """The leaves of that node, of a column without an order of its own."""
        return self._by_level(high, alias, [column(f"leaves_{level}", alias) for level in range(self.height + 1)])

    def range_size(
        self, low: exp.Expression, high: exp.Expression, lower: exp.Expression, upper: exp.Expression
    ) -> exp.Expression:
        """The leaves from one ordinal to another, by their places. NULL lies in no interval but that of everything."""
        length = expression("(:upper - :lower + 1)", upper=upper, lower=lower)
        if self.null is None:
            return length
        mixed = expression(":high = :null and :low < :null", high=high, low=low, null=self.null)
        return exp.Case().when(mixed, literal(self.values)).else_(length)

    def _by_level(self, high: exp.Expression, alias: str, found: Sequence[exp.Expression]) -> exp.Expression:
        cases = exp.Case()
        for level, value in enumerate(found[:-1]):
            cases = cases.when(exp.LTE(this=high.copy(), expression=column(f"last_{level}", alias)), value)
        return cases.else_(found[-1])

    def child(self, level: exp.Expression, alias: str) -> exp.Expression:
        """Where the part of a node of this level begins that an ordinal lies in; `alias` is the ordinal's reach."""
        cases = exp.Case()
        for above in range(1, self.height + 1):
            cases = cases.when(equal(level.copy(), literal(above)), column(f"first_{above - 1}", alias))
        return cases


def reach(domain: Table, height: int, *, of_labels: bool = False) -> exp.Select:
    """A domain with, for each level, the first and last ordinal of the value's node, its leaves, rows and label.

    Where ordinals stand for labels, also their ends.
    """
    items: list[exp.Expression] = [column("o"), column("n"), column("lower"), column("upper")]
    items.append(named(expression("sum(n) over (order by o)"), "total"))
    for level in range(height + 1):
        code = column(f"code_{level}")
        items.append(named(expression("min(o) over (partition by :code)", code=code), f"first_{level}"))
        items.append(named(expression("max(o) over (partition by :code)", code=code), f"last_{level}"))
        items.append(named(expression("sum(n) over (partition by :code)", code=code), f"rows_{level}"))
        items += [column(f"leaves_{level}"), named(cast(column(f"label_{level}"), "text"), f"label_{level}")]
    if of_labels:
        items += [column("low"), column("high"), column("half_open")]
    return exp.select(*items).from_(table_expression(domain), copy=False)


def node_columns(level: int) -> list[exp.Expression]:
    """The first and last ordinal and the leaves of a value's node, of a reach `r`."""
    return [column(f"{part}_{level}", "r") for part in ("first", "last", "leaves")]


def extents(rows: Table, attributes: Sequence[Attribute]) -> exp.Select:
    """Each group with its rows `m`, its extent, and what the extent loses of Equation 5, as `cost`."""
    inner = query("select g, sum(n) as m from w group by g", {"w": rows})
    for item in attributes:
        inner = inner.select(
            named(exp.Min(this=column(item.ordinal)), f"lo_{item.position}"),
            named(exp.Max(this=column(item.ordinal)), f"hi_{item.position}"),
            copy=False,
        )
    return measured(inner, attributes)


def measured(groups: exp.Query, attributes: Sequence[Attribute]) -> exp.Select:
    """Groups given by `g`, `m`, `lo_i` and `hi_i`, with `level_i`, `size_i` and `cost`, `from_i` and `upto_i`."""
    select = exp.select(column("g", "e"), column("m", "e")).from_(subquery(groups, "e"), copy=False)
    costs: list[exp.Expression] = []
    for item in attributes:
        place = item.position
        low, high = column(f"lo_{place}", "e"), column(f"hi_{place}", "e")
        alias, other = f"r_{place}", f"q_{place}"
        select = select.join(table_expression(item.reach, alias), on=equal(low.copy(), column("o", alias)), copy=False)
        if item.natural:
            on = equal(high.copy(), column("o", other))
            select = select.join(table_expression(item.reach, other), on=on, copy=False)
            lower, upper = column("lower", alias), column("upper", other)
            select = select.select(named(lower, f"from_{place}"), named(upper, f"upto_{place}"), copy=False)
            size = item.range_size(low.copy(), high.copy(), lower, upper)
        else:
            size = item.node_size(high, alias)
        select = select.select(
            low,
            high,
            named(item.level(low.copy(), high.copy(), alias), f"level_{place}"),
            named(size, f"size_{place}"),
            copy=False,
        )
        costs.append(expression(":factor * (:size - 1)", factor=item.factor(), size=exp.Paren(this=size.copy())))
    everything = reduce(lambda left, right: exp.Add(this=left, expression=right), costs)
    return select.select(named(expression("cast(e.m as double) * (:cost)", cost=everything), "cost"), copy=False)


def single(attributes: Sequence[Attribute], alias: str) -> exp.Expression:
    """Whether a group is of one combination of values."""
    parts = [
        expression(":low = :high", low=column(f"lo_{item.position}", alias), high=column(f"hi_{item.position}", alias))
        for item in attributes
    ]
    return exp.Paren(this=reduce(lambda left, right: exp.And(this=left, expression=right), parts))


def best_divisions(rows: Table, groups: Table, attributes: Sequence[Attribute]) -> exp.Select:
    """For each group the division that lowers the loss of its quasi-identifier most: column `a`, and where to `cut`."""
    candidates = union_all([_candidates(rows, groups, item) for item in attributes])
    return query(
        "select g, a, cut from"
        " (select g, a, cut, row_number() over (partition by g order by gain desc, a, cut) as place from candidates)"
        " as ranked where place = 1",
        {"candidates": candidates},
    )


def _candidates(rows: Table, groups: Table, item: Attribute) -> exp.Select:
    counted = query("select g, :o as o, sum(n) as n from w group by g, :o", {"w": rows}, o=column(item.ordinal))
    names = {
        "lo": column(f"lo_{item.position}", "e"),
        "hi": column(f"hi_{item.position}", "e"),
        "size": column(f"size_{item.position}", "e"),
        "level": column(f"level_{item.position}", "e"),
    }
    if item.natural:
        return _intervals(counted, groups, item, names)
    return _branches(counted, groups, item, names)


def _intervals(counted: exp.Select, groups: Table, item: Attribute, names: dict[str, exp.Column]) -> exp.Select:
    """An interval is divided after any value that occurs."""
    places = query(
        "select h.g, h.o, r.upper, e.m, :lo as lo, :hi as hi, :lower as range_lower, :upper as range_upper,"
        " :size as size, sum(h.n) over (partition by h.g order by h.o) as low,"
        " lead(h.o) over (partition by h.g order by h.o) as following,"
        " lead(r.lower) over (partition by h.g order by h.o) as following_lower"
        " from h join e on h.g = e.g join r on h.o = r.o where :lo < :hi",
        {"h": counted, "e": groups, "r": item.reach},
        lo=names["lo"],
        hi=names["hi"],
        size=names["size"],
        lower=column(f"from_{item.position}", "e"),
        upper=column(f"upto_{item.position}", "e"),
    )
    lower = item.range_size(column("lo"), column("o"), column("range_lower"), column("upper"))
    upper = item.range_size(column("following"), column("hi"), column("following_lower"), column("range_upper"))
    return query(
        "select g, :a as a, o as cut, cast(low * (size - :lower) + (m - low) * (size - :upper) as double) * :factor"
        " as gain from places where following is not null",
        {"places": places},
        a=item.position,
        lower=lower,
        upper=upper,
        factor=item.factor(),
    )


def _branches(counted: exp.Select, groups: Table, item: Attribute, names: dict[str, exp.Column]) -> exp.Select:
    """A node is divided into its children."""
    parts = query(
        "select h.g, :child as part, min(h.o) as lo, max(h.o) as hi, sum(h.n) as n, min(:size) as size"
        " from h join e on h.g = e.g join r on h.o = r.o where :lo < :hi group by h.g, :child",
        {"h": counted, "e": groups, "r": item.reach},
        child=item.child(names["level"], "r"),
        size=names["size"],
        lo=names["lo"],
        hi=names["hi"],
    )
    return query(
        "select p.g, :a as a, -1 as cut, cast(sum(p.n * (p.size - :own)) as double) * :factor as gain"
        " from parts as p join r on p.lo = r.o group by p.g",
        {"parts": parts, "r": item.reach},
        a=item.position,
        own=exp.Paren(this=item.node_size(column("hi", "p"), "r")),
        factor=item.factor(),
    )


def divided(
    rows: Table, held: Sequence[str], groups: Table, divisions: Table, attributes: Sequence[Attribute]
) -> exp.Select:
    """The rows of groups that are divided, with the part `k` of their group that they go to."""
    cases = exp.Case()
    select = exp.select(*(column(name, "w") for name in held)).from_(table_expression(rows, "w"), copy=False)
    select = select.join(table_expression(divisions, "b"), on=equal(column("g", "w"), column("g", "b")), copy=False)
    select = select.join(table_expression(groups, "e"), on=equal(column("g", "w"), column("g", "e")), copy=False)
    for item in attributes:
        chosen = equal(column("a", "b"), literal(item.position))
        own = column(item.ordinal, "w")
        if item.natural:
            part: exp.Expression = expression("case when :own <= b.cut then 0 else 1 end", own=own)
        else:
            alias = f"r_{item.position}"
            select = select.join(
                table_expression(item.reach, alias), on=equal(own.copy(), column("o", alias)), copy=False
            )
            part = item.child(column(f"level_{item.position}", "e"), alias)
        cases = cases.when(chosen, part)
    return select.select(named(cases, "k"), copy=False)


def numbered_parts(rows: Table, after: int) -> exp.Select:
    """The parts of divided groups, numbered from there on: `g`, the group `parent` and the part `k`."""
    return query(
        "select :after + row_number() over (order by parent, k) as g, parent, k"
        " from (select distinct g as parent, k from w) as parts",
        {"w": rows},
        after=after,
    )


def in_parts(rows: Table, parts: Table, held: Sequence[str]) -> exp.Select:
    """The divided rows by their new groups."""
    select = query("select p.g from w join p on w.g = p.parent and w.k = p.k", {"w": rows, "p": parts})
    return select.select(*(column(name, "w") for name in held if name != "g"), copy=False)


def labels(kept: Table, attributes: Sequence[Attribute]) -> exp.Select:
    """The labels of groups given by their extents: `class`, `label_i`, `leaves_i`, `rows_i`."""
    select = query("select e.g as class from e", {"e": kept})
    for item in attributes:
        place = item.position
        low, high, level = (column(f"{part}_{place}", "e") for part in ("lo", "hi", "level"))
        first, last = f"f_{place}", f"t_{place}"
        for alias, end in ((first, low), (last, high)):
            select = select.join(
                table_expression(item.reach, alias), on=equal(end.copy(), column("o", alias)), copy=False
            )
        label, covered = exp.Case(), exp.Case()
        if item.natural:
            label = label.when(equal(low.copy(), high.copy()), column("label_0", first))
            covered = covered.when(equal(low.copy(), high.copy()), column("n", first))
            if item.null is not None:
                everything = equal(high.copy(), literal(item.null))
                label = label.when(everything, cast(literal(item.top), "text"))
                covered = covered.when(everything.copy(), column("total", last))
            if not item.of_labels:
                interval = concat("[", column("label_0", first), ", ", column("label_0", last), "]")
            else:
                interval = range_label(first, last, literal(", "))
            label = label.else_(interval)
            total, before = column("total", last), column("total", first)
            rows = expression(":upto - :before + :own", upto=total, before=before, own=column("n", first))
            covered = covered.else_(rows)
        else:
            for above in range(item.height + 1):
                at = equal(level.copy(), literal(above))
                label = label.when(at, column(f"label_{above}", first))
                covered = covered.when(at.copy(), column(f"rows_{above}", first))
        select = select.select(
            named(label, f"label_{place}"),
            named(column(f"size_{place}", "e"), f"leaves_{place}"),
            named(covered, f"rows_{place}"),
            copy=False,
        )
    return select
