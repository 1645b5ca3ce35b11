"""Statements on the classes of a table, beside its population too; the steps and arithmetic of all audits.

Classes are grouped by the published values themselves, NULL equal to NULL. Nothing is shared with the search: there is
no frequency set. Steps are queries of a WITH clause; their names have a prefix, because a step that bore the name of
the audited table would hide it from the steps after it. Classes of a table and of the population it comes from (k-map,
delta-presence) are brought together by a union, not by a join: NULL equals NULL on every engine, and at the cost of a
GROUP BY.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import reduce

from sqlglot import exp

from sqlanon.hierarchies.base import TOP
from sqlanon.sql.build import all_of, count, equal, is_null, named, subquery, total, total_where, with_queries
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

BUCKETS = (1, 2, 3, 5, 10, 20, 50, 100, 1000)
"""Lower ends of the class-size distribution's buckets."""

Figures = Mapping[str, exp.Expression]
"""Expressions by the name of what they measure; the answer to a query of them comes in their order."""


def classes(relation: exp.Expression, keys: Sequence[exp.Expression]) -> exp.Select:
    """The size of every class of the quasi-identifier."""
    return _grouped(exp.select(named(count(), "size")).from_(relation, copy=False), keys)


def classes_of_persons(relation: exp.Expression, keys: Sequence[exp.Expression], person: exp.Expression) -> exp.Select:
    """The distinct persons of every class, those without a name as one, beside its rows."""
    nameless = exp.Max(this=exp.Case().when(is_null(person.copy()), literal(1)).else_(literal(0)))
    persons = exp.Add(this=exp.Count(this=exp.Distinct(expressions=[person])), expression=nameless)
    return _grouped(exp.select(named(persons, "size"), named(count(), "rows")).from_(relation, copy=False), keys)


@dataclass(frozen=True)
class AuditQuestion:
    """Figures over the rows of a query. An engine asks for all of them in one row; a script asserts some where they
    stand, or keeps that row as a table to assert several.
    """

    title: str
    rows: exp.Select
    """A query without items."""
    figures: Figures

    def measured(self) -> exp.Select:
        """One row: the figures in their order."""
        return self.rows.copy().select(*self.figures.values(), copy=False)

    def kept(self) -> exp.Select:
        """The same row with names."""
        items = [named(value.copy(), name) for name, value in self.figures.items()]
        return self.rows.copy().select(*items, copy=False)

    def holds(self, zero: Sequence[str], positive: Sequence[str]) -> exp.Select:
        """TRUE when these figures are 0, and those more than 0."""
        conditions = [equal(self.figures[name].copy(), literal(0)) for name in zero]
        conditions += [exp.GT(this=self.figures[name].copy(), expression=literal(0)) for name in positive]
        return self.rows.copy().select(all_of(conditions), copy=False)


def size_question(
    relation: exp.Expression, keys: Sequence[exp.Expression], person: exp.Expression | None, k: int
) -> AuditQuestion:
    """The sizes of the classes of a table: the figures of `size_figures`."""
    found = classes(relation, keys) if person is None else classes_of_persons(relation, keys, person)
    rows = exp.select().from_(subquery(found, "classes"), copy=False)
    return AuditQuestion("audit", rows, size_figures(k, "size" if person is None else "rows"))


def size_figures(k: int, rows: str = "size") -> Figures:
    """What is said of the sizes of classes: `size` is what k counts, `rows` the column of their rows.

    The risk of a row is one over the size of its class; `risk` is the sum over all rows.
    """
    size = column("size")
    below = exp.LT(this=size, expression=literal(k))
    figures: dict[str, exp.Expression] = {
        "rows": total(column(rows)),
        "classes": count(),
        "smallest": exp.Min(this=size.copy()),
        "largest": exp.Max(this=size.copy()),
        "classes_at_risk": total_where(below, literal(1)),
        "rows_at_risk": total_where(below.copy(), column(rows)),
        "risk": total(exp.Div(this=double(column(rows)), expression=double(column("size")))),
    }
    for low, high in zip(BUCKETS, (*BUCKETS[1:], None), strict=True):
        inside: exp.Expression = exp.GTE(this=size.copy(), expression=literal(low))
        if high is not None:
            inside = all_of([inside, exp.LT(this=size.copy(), expression=literal(high))])
        figures[f"classes_from_{low}"] = total_where(inside, literal(1))
        figures[f"rows_from_{low}"] = total_where(inside.copy(), column(rows))
    return figures


def person_count(relation: exp.Expression, person: exp.Expression) -> exp.Select:
    """How many persons there are, those without a name as one."""
    distinct = exp.select(named(person, "person")).distinct(copy=False).from_(relation, copy=False)
    return exp.select(count()).from_(subquery(distinct, "persons"), copy=False)


def _grouped(select: exp.Select, keys: Sequence[exp.Expression]) -> exp.Select:
    return select.group_by(*(key.copy() for key in keys)) if keys else select


Steps = dict[str, exp.Query]
"""Queries by name, each reading only those before it."""

_PREFIX = "sqlanon_audit_"


def step(name: str) -> exp.Table:
    """A step for a FROM clause; its columns are those of alias `name`."""
    return table_expression(Table((_PREFIX + name,)), name)


def statement(select: exp.Select, steps: Mapping[str, exp.Query]) -> exp.Select:
    """A select that reads steps."""
    return with_queries(select, {_PREFIX + name: query for name, query in steps.items()})


NARROW, WIDE = "bigint", "decimal(38, 0)"


def wide(value: exp.Expression) -> exp.Expression:
    """A whole number in 38 digits."""
    return cast(value, WIDE)


def product(*factors: exp.Expression) -> exp.Expression:
    """A product of counts in 38 digits; an engine that needs more fails, and nothing passes."""
    return times(*(wide(factor.copy()) for factor in factors))


def times(*factors: exp.Expression) -> exp.Expression:
    return reduce(lambda left, right: exp.Mul(this=left, expression=right), factors)


def double(value: exp.Expression) -> exp.Expression:
    return cast(value.copy(), "double")


def greatest(first: exp.Expression, *others: exp.Expression) -> exp.Expression:
    """The greatest that is not NULL."""
    # Without the flag, sqlglot tests every operand for NULL first.
    return exp.Greatest(this=first, expressions=list(others), ignore_nulls=True) if others else first


def least(first: exp.Expression, *others: exp.Expression) -> exp.Expression:
    """The least that is not NULL."""
    return exp.Least(this=first, expressions=list(others), ignore_nulls=True) if others else first


Keys = Sequence[exp.Expression]


def matched_classes(
    audited: exp.Expression,
    keys: Keys,
    person: exp.Expression | None,
    population: exp.Expression,
    there: Keys,
    blanks: Sequence[bool] = (),
) -> exp.Select:
    """Every class of either: size (rows or persons of the table), rows, and rows of the population.

    Where rows may be blanked, `blanks` tells of each key whether NULL may stand there instead of `*`. Anybody could be
    behind such a row.
    """
    names = [f"key_{position}" for position in range(len(keys))]
    own = classes(audited, keys) if person is None else classes_of_persons(audited, keys, person)
    if person is None:
        own = own.select(named(count(), "rows"), copy=False)
    own = own.select(named(cast(literal(0), "bigint"), "population"), copy=False)
    zero = [named(cast(literal(0), "bigint"), name) for name in ("size", "rows")]
    others = exp.select(*zero, named(count(), "population")).from_(population, copy=False)
    others = others.group_by(*(key.copy() for key in there))
    for select, given in ((own, keys), (others, there)):
        select.select(*(named(key.copy(), name) for name, key in zip(names, given, strict=True)), copy=False)
    both = subquery(exp.union(own, others, distinct=False), "both")
    sums = [named(cast(exp.Sum(this=column(name)), "bigint"), name) for name in ("size", "rows", "population")]
    found = exp.select(*sums).from_(both, copy=False).group_by(*(column(name) for name in names))
    if not blanks:
        return found
    found = found.select(*(column(name) for name in names), copy=False)
    blank = [_is_blank(name, null=null) for name, null in zip(names, blanks, strict=True)]
    everybody = cast(exp.Window(this=exp.Sum(this=column("population"))), "bigint")
    occupied = exp.GTE(this=column("size"), expression=literal(1))
    matches = exp.Case().when(all_of([occupied, *blank]), everybody).else_(column("population"))
    return exp.select(column("size"), column("rows"), named(matches, "population")).from_(
        subquery(found, "labelled"), copy=False
    )


def _is_blank(name: str, *, null: bool) -> exp.Expression:
    """Keys that take no `*` cannot be compared with it, unless they are compared as texts."""
    star = equal(cast(column(name), "text"), literal(TOP))
    return exp.Paren(this=exp.Or(this=star, expression=is_null(column(name)))) if null else star


def population_figures(k_map: int | None, presence: tuple[Decimal, Decimal] | None) -> Figures:
    """What is said of matched classes: those of the table against the population, and those that it lacks."""
    occupied = exp.GTE(this=column("size"), expression=literal(1))
    known = exp.GTE(this=column("population"), expression=literal(1))
    share = exp.Div(this=cast(column("size"), "double"), expression=cast(column("population"), "double"))
    figures: dict[str, exp.Expression] = {
        # Above 0 wherever there is anybody; blank rows count everybody once more.
        "population_rows": total(column("population")),
        "classes": total_where(occupied, literal(1)),
        "all_classes": count(),
        "rows": total(column("rows")),
        "fewest": exp.Min(this=exp.Case().when(occupied.copy(), column("population"))),
        "unmatched": total_where(exp.Not(this=known), literal(1)),
        "least": exp.Min(this=exp.Case().when(known.copy(), share)),
        "greatest": exp.Max(this=exp.Case().when(known.copy(), share.copy())),
    }
    if k_map is not None:
        too_few = exp.LT(this=column("population"), expression=literal(k_map))
        figures |= _failing("k_map", all_of([occupied.copy(), too_few]))
    if presence is not None:
        figures |= _failing("delta_presence", exp.Not(this=exp.Paren(this=_within(*presence))))
    return figures


def population_question(matched: exp.Select, figures: Figures) -> AuditQuestion:
    """The figures of `population_figures` over matched classes."""
    return AuditQuestion("audit population", exp.select().from_(subquery(matched, "matched"), copy=False), figures)


def _within(least: Decimal, greatest: Decimal) -> exp.Expression:
    """least <= size / population <= greatest, in whole numbers; a class that matches nobody is beyond every bound."""
    low, high = Fraction(least), Fraction(greatest)
    return all_of(
        [
            exp.GTE(this=_times("size", low.denominator), expression=_times("population", low.numerator)),
            exp.LTE(this=_times("size", high.denominator), expression=_times("population", high.numerator)),
        ]
    )


def _times(name: str, factor: int) -> exp.Expression:
    return product(column(name), literal(factor))


def _failing(name: str, failing: exp.Expression) -> Figures:
    return {
        f"classes_failing_{name}": total_where(failing, literal(1)),
        f"rows_failing_{name}": total_where(failing.copy(), column("rows")),
    }
