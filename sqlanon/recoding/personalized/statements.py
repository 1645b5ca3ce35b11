"""Statements of personalized privacy (Xiao and Tao 2006): guarded cells, breaches, SA-generalization, publication.

`taxonomy` has a row for each leaf `v` and level `l`: its `node` there and the leaves `size` below that. `cells` hold
for each group `g` (before there are groups, for each combination of ordinals) the rows `n` by leaf `v` and guarding
node, given by its level `gl` (-1: none) and size `gs`; where persons are counted also `respondent` and
`lone_respondents`: persons are the distinct ones of the first and the sum of the second. `people` holds for each group
the number `m` that stands for n in Theorems 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from sqlanon.sql.build import all_of, equal, expression, named, query, union_all
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

WIDE = "decimal(38, 0)"
LARGEST = 2**62
MARGIN = "1.000000001"
"""Logarithms are not exact; what lies within this factor of a breach counts as one. Ties are decided exactly."""


@dataclass(frozen=True)
class Breach:
    """When a guarding node is inferred with more than the probability that is allowed (Theorems 1 and 2)."""

    p: Fraction
    primary: bool
    largest: int
    """No smaller than rows times leaves: decides the type that holds products."""

    def of(self, b: exp.Expression, guard: exp.Expression, node: exp.Expression, n: exp.Expression) -> exp.Expression:
        """Whether `b` rows of a group of `n` persons, published as a node of so many leaves, breach the guarding node.

        The ratio of the leaves of `guard` and `node` is c of the theorems; it is 1 where both are the same expression.
        """
        if self.p >= 1:
            return exp.false()
        if self.primary:
            return self._linear(self.p, _product(self._kind(), b, guard), node, n)
        kind = self._kind()
        cases = exp.Case()
        for rows, share in self._ties():
            cases = cases.when(equal(b, literal(rows)), self._linear(share, cast(guard, kind), node, n))
        certain = exp.LTE(this=_product(kind, node, n), expression=cast(guard.copy(), kind))
        return cases.when(certain, exp.true()).else_(self._logarithmic(b, guard, node, n))

    def _kind(self) -> str:
        return "bigint" if self.largest * max(self.p.denominator, self.p.numerator) < LARGEST else WIDE

    def _linear(self, p: Fraction, above: exp.Expression, node: exp.Expression, n: exp.Expression) -> exp.Expression:
        """`above / (node * n) > p`, in whole numbers."""
        kind = self._kind()
        left = exp.Mul(this=cast(literal(p.denominator), kind), expression=above)
        return exp.GT(this=left, expression=_product(kind, literal(p.numerator), node, n))

    def _logarithmic(
        self, b: exp.Expression, guard: exp.Expression, node: exp.Expression, n: exp.Expression
    ) -> exp.Expression:
        """(1 - c/n)^b < 1 - p by logarithms, which do not underflow. No ties remain here."""
        return expression(
            "cast(:b as double) * ln(1 - cast(:guard as double) / (cast(:node as double) * cast(:n as double)))"
            " * cast(:margin as double) < ln(cast(:above as double) / cast(:below as double))",
            b=b,
            guard=guard,
            node=node,
            n=n,
            margin=exp.Literal.number(MARGIN),
            above=self.p.denominator - self.p.numerator,
            below=self.p.denominator,
        )

    def _ties(self) -> list[tuple[int, Fraction]]:
        """The numbers of rows b for which (1 - c/n)^b can equal 1 - p, with the c/n at which it does."""
        kept = 1 - self.p
        found = []
        for power in range(1, kept.denominator.bit_length() + 1):
            above, below = _root(kept.numerator, power), _root(kept.denominator, power)
            if above is not None and below is not None:
                found.append((power, 1 - Fraction(above, below)))
        return found


def _root(number: int, power: int) -> int | None:
    """The whole root, where there is one.

    >>> _root(16, 2), _root(3, 1), _root(8, 2)
    (4, 3, None)
    """
    low, high = 1, number
    while low < high:
        middle = (low + high) // 2
        low, high = (middle + 1, high) if middle**power < number else (low, middle)
    return low if low**power == number else None


def _product(kind: str, *factors: exp.Expression) -> exp.Expression:
    result: exp.Expression = cast(factors[0].copy(), kind)
    for factor in factors[1:]:
        result = exp.Mul(this=result, expression=cast(factor.copy(), kind))
    return exp.Paren(this=result)


def taxonomy(hierarchy: Table, height: int, leaves: int) -> exp.Query:
    """The nodes above each leaf; NULL is leaf 0, a child of the root."""
    parts: list[exp.Query] = []
    for level in range(height):
        parts.append(
            query(
                "select h.code_0 as v, :l as l, :code as node, :size as size from h",
                {"h": hierarchy},
                l=level,
                code=column(f"code_{level}", "h"),
                size=column(f"leaves_{level}", "h"),
            )
        )
        parts.append(query("select 0 as v, :l as l, 0 as node, 1 as size", l=level))
    everything = "select h.code_0 as v, :l as l, 1 as node, :size as size from h"
    parts.append(query(everything, {"h": hierarchy}, l=height, size=leaves))
    parts.append(query("select 0 as v, :l as l, 1 as node, :size as size", l=height, size=leaves))
    return union_all(parts)


def guards(pairs: Table | exp.Query, hierarchy: Table, height: int, leaves: int, top: str) -> exp.Select:
    """Pairs of a sensitive `value` and the text of its guarding node `guard`, with leaf `v`, level `gl` and size `gs`.

    The level is NULL where the node does not lie on the path from the root to the value. A label that stands on the
    path twice is taken where it protects more.
    """
    level, size = exp.Case(), exp.Case()
    for above in range(height, -1, -1):
        label = literal(top) if above == height else cast(column(f"label_{above}", "h"), "text")
        known = equal(column("guard", "p"), label)
        if above < height:
            known = all_of([known, expression("p.value is not null")])
        level = level.when(known, literal(above))
        size = size.when(known.copy(), literal(leaves) if above == height else column(f"leaves_{above}", "h"))
    return query(
        "select p.*, case when p.value is null then 0 else h.code_0 end as v,"
        " case when p.guard is null then -1 else :level end as gl,"
        " case when p.guard is null then 0 else :size end as gs"
        " from pairs as p left join h on p.value = h.value",
        {"pairs": pairs, "h": hierarchy},
        level=level,
        size=size,
    )


def nodes(cells: Table, taxonomy_table: Table) -> exp.Select:
    """For every group and node: rows `b`, whether somebody guards it, the largest guarding node strictly below it."""
    return query(
        "select c.g, t.l, t.node, t.size, sum(c.n) as b, max(case when c.gl = t.l then 1 else 0 end) as here,"
        " max(case when c.gl < t.l then c.gs else 0 end) as below"
        " from c join t on c.v = t.v group by c.g, t.l, t.node, t.size",
        {"c": cells, "t": taxonomy_table},
    )


def groups_in_breach(nodes_table: Table, people: Table, breach: Breach) -> exp.Select:
    """The groups in which some guarding node is breached when every value is published as it is (S_bad, line 3)."""
    size = column("size", "x")
    return query(
        "select distinct x.g from x join p on x.g = p.g where x.here = 1 and :breach",
        {"x": nodes_table, "p": people},
        breach=breach.of(column("b", "x"), size, size, column("m", "p")),
    )


def generalized(nodes_table: Table, bad: Table, people: Table, taxonomy_table: Table, breach: Breach) -> exp.Select:
    """SA-generalization (Figure 5) of the groups in breach: for each leaf `v` its rows `n`, and the node to publish.

    A node is out of question where a guarding node at or above it is breached as it stands, or one strictly below it
    when all of the node is published as the node. The result is the lowest node above each leaf that is not, raised to
    that of any other leaf below it: the least generalization there is (Theorem 3). `l` is NULL where there is none.
    """
    size, b, m = column("size", "x"), column("b", "x"), column("m", "p")
    exposed = all_of([expression("x.here = 1"), breach.of(b, size, size, m)])
    unsafe = all_of([expression("x.below > 0"), breach.of(b, column("below", "x"), size, m)])
    return query(
        "with judged as (select x.g, x.l, x.node, x.size, x.b,"
        "   case when :exposed then 1 else 0 end as exposed, case when :unsafe then 1 else 0 end as unsafe"
        "   from x join bad on x.g = bad.g join p on x.g = p.g),"
        " paths as (select leaf.g, leaf.node as v, leaf.b as n, j.l, j.node, j.size, j.unsafe,"
        "   max(case when j.exposed = 1 then j.l else -1 end) over (partition by leaf.g, leaf.node) as high"
        "   from judged as leaf join t on leaf.node = t.v"
        "   join judged as j on j.g = leaf.g and j.l = t.l and j.node = t.node where leaf.l = 0),"
        " lowest as (select g, v, n, l, node, size,"
        "   min(case when l > high and unsafe = 0 then l end) over (partition by g, v) as least from paths),"
        " marked as (select g, v, n, l, size, least,"
        "   max(case when least = l then 1 else 0 end) over (partition by g, l, node) as chosen from lowest)"
        " select g, v, min(n) as n, case when min(coalesce(least, -1)) = -1 then null"
        "   else max(case when chosen = 1 then l end) end as l,"
        "   max(case when chosen = 1 then size end) as size from marked group by g, v",
        {"x": nodes_table, "bad": bad, "p": people, "t": taxonomy_table},
        exposed=exposed,
        unsafe=unsafe,
    )


def lost(generalized_table: Table) -> exp.Select:
    """For each group in breach: the sum over rows of leaves beyond one (Equation 4 times the leaves of the taxonomy),
    and whether no generalization helps.
    """
    return query(
        "select g, sum(n * (coalesce(size, 1) - 1)) as lost, max(case when l is null then 1 else 0 end) as hopeless"
        " from s group by g",
        {"s": generalized_table},
    )


HOPELESS = 10**15
"""The loss of a group that no generalization of the sensitive value protects: more than any table can lose."""

SLACK = "1.000000001"
"""Sums of losses differ in their last digits by the order of adding: what is equal but for these counts as equal."""

COUNTS = ("v", "gl", "gs")


def pairs(
    combinations: Table, sensitive: tuple[str, Table], guarding: tuple[str, Table], text: exp.Expression
) -> exp.Select:
    """The pairs of sensitive and guarding codes that occur, `s` and `t`, with `value` and the text `guard`, and rows.

    `text` spells the `value` of alias `b`.
    """
    found = query(
        "select :s as s, :t as t, sum(n) as n from c group by :s, :t",
        {"c": combinations},
        s=column(sensitive[0]),
        t=column(guarding[0]),
    )
    return query(
        "select f.s, f.t, f.n, a.value, :text as guard from f left join a on f.s = a.code left join b on f.t = b.code",
        {"f": found, "a": sensitive[1], "b": guarding[1]},
        text=text,
    )


def misplaced(guards: Table) -> exp.Select:
    """Rows whose guarding node does not lie on the path to their value, and rows whose value has no leaf."""
    return query(
        "select coalesce(sum(case when gl is null then n else 0 end), 0),"
        " coalesce(sum(case when v is null then n else 0 end), 0) from g",
        {"g": guards},
    )


def cells(
    combinations: Table, guards: Table, codes: tuple[str, str], ordinals: Sequence[str], more: Sequence[str]
) -> exp.Select:
    """The combinations by leaf and guarding node."""
    select = exp.select(*(column(name, "c") for name in ordinals), *(column(name, "g") for name in COUNTS))
    select = select.select(*(column(name, "c") for name in ("n", *more)), copy=False)
    on = [equal(column(codes[0], "c"), column("s", "g")), equal(column(codes[1], "c"), column("t", "g"))]
    return select.from_(table_expression(combinations, "c"), copy=False).join(
        table_expression(guards, "g"), on=exp.and_(*on), copy=False
    )


def one_group(cells_table: Table, held: Sequence[str]) -> exp.Select:
    """All cells as group 0."""
    items = [column(name) for name in held if name != "g"]
    return exp.select(named(cast(literal(0), "bigint"), "g"), *items).from_(table_expression(cells_table), copy=False)


def finished(rows: Table, groups: Table, held: Sequence[str], done: exp.Expression) -> exp.Select:
    """The rows of groups that are not divided further."""
    select = exp.select(*(column(name, "w") for name in held)).from_(table_expression(rows, "w"), copy=False)
    on = equal(column("g", "w"), column("g", "e"))
    return select.join(table_expression(groups, "e"), on=on, copy=False).where(done, copy=False)


def folded(done: Table, below: tuple[Table, Table] | None, more: Sequence[str]) -> exp.Select:
    """The cells of all groups of a round: its finished ones, and the parts of the others, folded into them."""
    names = [*COUNTS, "n", *more]
    keys = ["g", *COUNTS, *(name for name in more if name == "respondent")]
    sources: list[exp.Query] = [
        exp.select(column("g"), *(column(name) for name in names)).from_(table_expression(done), copy=False)
    ]
    if below is not None:
        cells_table, parts = below
        part = query("select p.parent as g from c join p on c.g = p.g", {"c": cells_table, "p": parts})
        sources.append(part.select(*(column(name, "c") for name in names), copy=False))
    select = exp.select(*(column(name) for name in keys))
    select = select.select(
        *(
            named(exp.Sum(this=column(name)), name)
            for name in ("n", *(name for name in more if name == "lone_respondents"))
        ),
        copy=False,
    )
    everything = exp.Subquery(this=union_all(sources), alias=exp.TableAlias(this=exp.to_identifier("f", quoted=True)))
    return select.from_(everything, copy=False).group_by(*(column(name) for name in keys), copy=False)


def worth_judging(groups: Table, below: tuple[Table, Table] | None) -> exp.Select:
    """Each group with what its parts lose together, `below`; NULL where it was not divided."""
    if below is None:
        return query("select g, m, cost, cast(null as double) as below from e", {"e": groups})
    best, parts = below
    return query(
        "select e.g, e.m, e.cost, f.below from e left join"
        " (select p.parent as g, sum(b.best) as below from b join p on b.g = p.g group by p.parent) as f on e.g = f.g",
        {"e": groups, "b": best, "p": parts},
    )


def judged_cells(cells_table: Table, judged: Table, more: Sequence[str]) -> exp.Select:
    """The cells of groups that may lose less than their parts."""
    select = query(
        "select c.g, c.v, c.gl, c.gs, c.n from c join j on c.g = j.g"
        " where j.below is null or j.cost <= j.below * cast(:slack as double)",
        {"c": cells_table, "j": judged},
        slack=exp.Literal.number(SLACK),
    )
    return select.select(*(column(name, "c") for name in more), copy=False)


def people(cells_table: Table, *, persons: bool) -> exp.Select:
    """What stands for n of the theorems: the rows of each group, or its distinct persons."""
    number = expression("count(distinct respondent) + sum(lone_respondents)") if persons else expression("sum(n)")
    return query("select g, :number as m from c group by g", {"c": cells_table}, number=number)


def best(judged: Table, lost: Table, weight: Fraction | None, leaves: int) -> exp.Select:
    """Of each group the least that it can lose: whole, `keep` is 1, or in parts."""
    hopeless = expression("s.hopeless = 1")
    extra = literal(0)
    if weight is None:
        hopeless = expression("(s.hopeless = 1 or s.lost > 0)")
    else:
        share = weight / leaves
        extra = expression(
            "cast(coalesce(s.lost, 0) as double) * cast(:above as double) / cast(:below as double)",
            above=share.numerator,
            below=share.denominator,
        )
    return query(
        "select g, case when below is null or own <= bound then 1 else 0 end as keep,"
        " case when below is null or own <= bound then own else below end as best from"
        " (select j.g, j.below, j.below * cast(:slack as double) as bound,"
        "   case when :hopeless or j.cost > j.below * cast(:slack as double) then :most else j.cost + :extra end as own"
        " from j left join s on j.g = s.g) as owned",
        {"j": judged, "s": lost},
        slack=exp.Literal.number(SLACK),
        hopeless=hopeless,
        most=cast(literal(HOPELESS), "double"),
        extra=extra,
    )


def classes(best_table: Table, above: tuple[Table, Table] | None) -> exp.Select:
    """For each group of a round the class that it belongs to: the topmost group above it that is kept whole."""
    if above is None:
        return query("select g, case when keep = 1 then g end as class from b", {"b": best_table})
    classes_above, parts = above
    return query(
        "select b.g, coalesce(c.class, case when b.keep = 1 then b.g end) as class"
        " from b join p on b.g = p.g join c on p.parent = c.g",
        {"b": best_table, "p": parts, "c": classes_above},
    )


def assigned(rounds: Sequence[tuple[Table, Table]], ordinals: Sequence[str]) -> exp.Select:
    """The assignment: each combination of ordinals with its rows and class, from the finished rows of every round."""
    parts: list[exp.Query] = []
    for done, of_class in rounds:
        select = query("select c.class from d join c on d.g = c.g", {"d": done, "c": of_class})
        parts.append(select.select(*(column(name, "d") for name in (*ordinals, "n")), copy=False))
    everything = exp.Subquery(this=union_all(parts), alias=exp.TableAlias(this=exp.to_identifier("f", quoted=True)))
    keys = [column(name) for name in (*ordinals, "class")]
    return (
        exp.select(*keys, named(exp.Sum(this=column("n")), "n"))
        .from_(everything, copy=False)
        .group_by(*(key.copy() for key in keys), copy=False)
    )


def kept(rounds: Sequence[tuple[Table, Table]]) -> exp.Query:
    """The extents of the groups that are classes."""
    return union_all(
        [
            query("select e.* from e join c on e.g = c.g and c.class = c.g", {"e": groups, "c": of_class})
            for groups, of_class in rounds
        ]
    )


def class_cells(cells_table: Table, assignment: Table, ordinals: Sequence[str], more: Sequence[str]) -> exp.Select:
    """The cells of each class."""
    keys = ["v", "gl", "gs", *(name for name in more if name == "respondent")]
    sums = ["n", *(name for name in more if name == "lone_respondents")]
    select = exp.select(named(column("class", "a"), "g"), *(column(name, "c") for name in keys))
    select = select.select(*(named(exp.Sum(this=column(name, "c")), name) for name in sums), copy=False)
    on = exp.and_(*(equal(column(name, "c"), column(name, "a")) for name in ordinals))
    select = select.from_(table_expression(cells_table, "c"), copy=False).join(
        table_expression(assignment, "a"), on=on, copy=False
    )
    return select.group_by(column("class", "a"), *(column(name, "c") for name in keys), copy=False)


def sensitive_labels(
    cells_table: Table, generalized: Table, guards: Table, hierarchy: Table, height: int, top: str
) -> exp.Select:
    """What each class publishes for each of its sensitive values: `class`, the value's code `s`, level `l`, `label`."""
    label = exp.Case()
    for level in range(height):
        at = expression("coalesce(z.l, 0) = :level", level=level)
        label = label.when(at, cast(column(f"label_{level}", "h"), "text"))
    label = label.else_(cast(literal(top), "text"))
    return query(
        "select x.g as class, f.s, coalesce(z.l, 0) as l, :label as label from (select distinct g, v from c) as x"
        " join (select distinct s, v from f) as f on x.v = f.v"
        " left join z on z.g = x.g and z.v = x.v left join h on h.code_0 = x.v",
        {"c": cells_table, "f": guards, "z": generalized, "h": hierarchy},
        label=label,
    )


def totals(kept_table: Table, generalized: Table, positions: Sequence[int]) -> exp.Select:
    """One row: for each column the sum over rows of leaves beyond one, and last the same of the sensitive column."""
    sums = [
        expression("cast(sum(m * (:size - 1)) as decimal(38, 0))", size=column(f"size_{position}"))
        for position in positions
    ]
    sensitive = query("select cast(coalesce(sum(n * (size - 1)), 0) as decimal(38, 0)) from z", {"z": generalized})
    return exp.select(*sums, exp.Subquery(this=sensitive)).from_(table_expression(kept_table), copy=False)


def regions(assignment: Table, labels: Table, width: int) -> exp.Select:
    """The classes as regions, which do not overlap: for each column the first ordinal, the last and the label."""
    bounds = exp.select(column("class"))
    for position in range(width):
        own = column(f"o_{position}")
        bounds = bounds.select(
            named(exp.Min(this=own), f"lo_{position}"), named(exp.Max(this=own.copy()), f"hi_{position}"), copy=False
        )
    bounds = bounds.from_(table_expression(assignment), copy=False).group_by(column("class"), copy=False)
    select = query("select g.class from g join n on g.class = n.class order by g.class", {"g": bounds, "n": labels})
    for position in range(width):
        items = [column(f"lo_{position}", "g"), column(f"hi_{position}", "g"), column(f"label_{position}", "n")]
        select = select.select(*items, copy=False)
    return select


def published_nodes(sensitive: Table) -> exp.Select:
    """The nodes of each class, as its release shows them."""
    return query("select distinct s.class, s.l, s.label from s order by s.class, s.l, s.label", {"s": sensitive})
