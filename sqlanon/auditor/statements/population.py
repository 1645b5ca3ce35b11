"""Statements that measure a table against the population it comes from (k-map, delta-presence).

Classes of both are brought together by a union, not by a join: NULL equals NULL on every engine, and at the cost of a
GROUP BY.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction

from sqlglot import exp

from sqlanon.auditor.statements.classes import AuditQuestion, Figures, classes, classes_of_persons, product
from sqlanon.hierarchies.base import TOP
from sqlanon.sql.build import all_of, count, equal, is_null, named, subquery, total, total_where
from sqlanon.sql.relations import cast, column, literal

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
