"""Statements of personalized privacy (Xiao and Tao 2006): guarding nodes, breaches, and SA-generalization of groups.

`taxonomy` has a row for each leaf `v` and level `l`: its `node` there and the leaves `size` below that. `cells` hold
for each group `g`, the rows `n` by leaf `v` and guarding node, given by its level `gl` (-1: none) and size `gs`.
`people` holds for each group the number `m` that stands for n in Theorems 1 and 2.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sqlglot import exp

from sqlanon.sql.build import all_of, equal, union_all
from sqlanon.sql.relations import Table, cast, column, literal
from sqlanon.sql.template import expression, query

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
