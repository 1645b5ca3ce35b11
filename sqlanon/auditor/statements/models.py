"""What each privacy model asks of a class of an audited table, as SQL over the step `measured`.

Written from the papers' definitions apart from the search's own. Counts are compared with decimal thresholds in whole
numbers; only entropy and logarithms are floating point. A predicate that is not TRUE, NULL too, fails the class.
An aggregate is made of SUM, COUNT, MAX and MIN over the cells of a class, whose columns `statements.columns` lists; it
says the same whether or not it sees a cell without members: only some ways of counting leave them out.
"""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from functools import reduce

from sqlglot import exp

from sqlanon.auditor.statements.classes import double, greatest, least, product, times
from sqlanon.sql.build import all_of, equal, total_where
from sqlanon.sql.relations import cast, column, literal

TIES = "1e-13"
"""Entropies that differ by less than this share of the largest are equal: floating point says no more."""


# -- k and distinct values ---------------------------------------------------------------------------------------------


def distinct_values(*, persons: bool) -> exp.Expression:
    """Aggregate: distinct values; of persons, values that one holds alone count once for that person."""
    if not persons:
        return exp.Count(this=exp.Star())
    shared = total_where(_at_least(column("held"), 2), literal(1))
    sole = exp.Min(this=column("sole"))
    size = exp.Min(this=column("size"))
    return least(size, exp.Add(this=shared, expression=sole))


def holds_values(number: int) -> exp.Expression:
    """Distinct l-diversity (Machanavajjhala et al. 2007) and p-sensitivity (Truta and Vinay 2006)."""
    return _at_least(column("distinct"), number)


# -- entropy -----------------------------------------------------------------------------------------------------------


def weight() -> exp.Expression:
    """Aggregate: the sum of m ln m, which is 0 where nobody has the value."""
    logarithm = exp.Ln(this=double(greatest(column("members"), literal(1))))
    return exp.Sum(this=times(double(column("members")), logarithm))


def different_values() -> exp.Expression:
    """Aggregate: values that somebody of the class counts for."""
    return exp.Count(this=exp.Case().when(positive("members"), literal(1)))


def entropy() -> exp.Expression:
    """-sum p ln p of a class."""
    average = exp.Div(this=column("weight"), expression=double(column("size")))
    return exp.Sub(this=exp.Ln(this=double(column("size"))), expression=average)


def has_entropy(diversity: int) -> exp.Expression:
    """Entropy of at least ln l: n ln n - sum m ln m - n ln l >= 0, exactly where there are no more than l values."""
    most = exp.Mul(this=double(column("size")), expression=exp.Ln(this=double(column("size"))))
    bound = exp.Mul(this=double(column("size")), expression=exp.Ln(this=double(literal(diversity))))
    left = exp.Sub(this=exp.Sub(this=most, expression=column("weight")), expression=bound)
    slack = exp.Mul(this=exp.Neg(this=double(exp.Literal.number(TIES))), expression=most.copy())
    different = column("different")
    # As many as the average: all values are equally frequent.
    even = equal(times(column("most"), different.copy()), column("size"))
    return (
        exp.Case()
        .when(exp.LT(this=different, expression=literal(diversity)), exp.false())
        .when(equal(different.copy(), literal(diversity)), even)
        .else_(exp.GTE(this=left, expression=slack))
    )


# -- recursive (c,l) ---------------------------------------------------------------------------------------------------


def tail(diversity: int) -> exp.Expression:
    """Aggregate: the members of the values from the l-th most frequent on."""
    return total_where(_at_least(column("rank_by_members"), diversity), column("members"))


def is_recursive(name: str, c: Decimal) -> exp.Expression:
    """r1 < c * (r_l + ... + r_last)."""
    bound = Fraction(c)
    first = product(column("most"), literal(bound.denominator))
    return exp.LT(this=first, expression=product(column(name), literal(bound.numerator)))


# -- shares of single values -------------------------------------------------------------------------------------------


def flagged(position: int, held: str) -> exp.Expression:
    """Aggregate: how many of the class have a value that the requirement names."""
    return total_where(equal(column(f"flag_{position}"), literal(1)), column(held))


def within_alpha(name: str, alpha: Decimal) -> exp.Expression:
    """m / n <= alpha."""
    bound = Fraction(alpha)
    return _at_most(product(column(name), literal(bound.denominator)), column("size"), literal(bound.numerator))


def lift(held: str) -> exp.Expression:
    """How many of a class have a value for each in the reference: p / q but for a factor of the class.

    NULL where nobody of the class, or nobody in the reference, has the value.
    """
    quotient = exp.Div(this=double(column(held)), expression=column("divisor"))
    return exp.Case().when(positive(held), quotient)


def ratio(name: str) -> exp.Expression:
    """p / q from an extreme lift of a class."""
    scaled = exp.Mul(this=column(name), expression=double(column("total")))
    return exp.Div(this=exp.Paren(this=scaled), expression=double(column("size")))


def outside(held: str, reference: str) -> exp.Expression:
    """Aggregate: values of the class that the reference does not have; no bound on gains holds for them."""
    unknown = exp.LT(this=column(reference), expression=literal(1))
    return total_where(all_of([positive(held), unknown]), literal(1))


def beyond_beta(held: str, reference: str, beta: Decimal) -> exp.Expression:
    """Aggregate: values with (p - q) / q > beta, that is m N > (1 + beta) n Q."""
    bound = 1 + Fraction(beta)
    gained = product(column(held), column("total"), literal(bound.denominator))
    allowed = product(column("size"), column(reference), literal(bound.numerator))
    return total_where(exp.GT(this=gained, expression=allowed), literal(1))


def beyond_logarithm(held: str, reference: str) -> exp.Expression:
    """Aggregate: values with (p - q) / q > -ln q, the second bound of enhanced beta-likeness (Cao and Karras 2012).

    `outside` counts the values whose q is 0.
    """
    above = exp.Paren(this=times(double(column(held)), double(column("total"))))
    below = exp.Paren(this=times(double(column("size")), double(column(reference))))
    gain = exp.Sub(this=exp.Div(this=above, expression=below), expression=double(literal(1)))
    rarity = exp.Div(this=double(column("total")), expression=double(column(reference)))
    beyond = exp.GT(this=gain, expression=exp.Ln(this=rarity))
    known = exp.Case().when(positive(reference), beyond).else_(exp.false())
    return total_where(known, literal(1))


def none_of(*names: str) -> exp.Expression:
    """All of these counts are 0."""
    return all_of(equal(column(name), literal(0)) for name in names)


def within_delta(delta: Decimal) -> exp.Expression:
    """|ln(p/q)| <= delta for every value of the class (Brickell and Shmatikov 2008)."""
    bound = double(exp.Literal.number(f"{delta:f}"))
    most = exp.LTE(this=exp.Ln(this=ratio("lift_greatest")), expression=bound)
    fewest = exp.GTE(this=exp.Ln(this=ratio("lift_least")), expression=exp.Neg(this=bound.copy()))
    return all_of([none_of("outside"), most, fewest])


def shared_values(held: str, reference: str) -> exp.Expression:
    """Aggregate: values of the reference that the class has."""
    return total_where(all_of([positive(held), positive(reference)]), literal(1))


# -- distances ---------------------------------------------------------------------------------------------------------


def excess(kind: str, members: str = "members", reference: str = "reference") -> exp.Expression:
    """What a cell has above its share of the reference, times size and total: max(0, m N - n Q)."""
    above = exp.Mul(this=cast(column(members), kind), expression=column("total"))
    share = exp.Mul(this=cast(column("size"), kind), expression=column(reference))
    difference = exp.Sub(this=above, expression=share)
    return greatest(cast(literal(0), kind), difference)


def node_excess(kind: str, height: int) -> exp.Expression:
    """The excess of a cell and of the nodes it speaks for, over all levels below the top."""
    parts = [excess(kind)]
    for level in range(1, height):
        above = excess(kind, f"members_{level}", f"reference_{level}")
        parts.append(exp.Case().when(column(f"first_{level}"), above).else_(cast(literal(0), kind)))
    return reduce(lambda left, right: exp.Add(this=left, expression=right), parts)


def within_distance(work: str, t: Decimal, scale: exp.Expression) -> exp.Expression:
    """work / (size * total * scale) <= t."""
    bound = Fraction(t)
    done = product(column(work), literal(bound.denominator))
    return _at_most(done, column("size"), column("total"), scale, literal(bound.numerator))


def distance(work: str, scale: exp.Expression) -> exp.Expression:
    """The same as a floating point figure."""
    whole = times(double(column("size")), double(column("total")), double(scale))
    return exp.Div(this=double(column(work)), expression=exp.Paren(this=whole))


# -- words -------------------------------------------------------------------------------------------------------------


def share(part: str, whole: str = "size") -> exp.Expression:
    """A floating point figure."""
    return exp.Div(this=double(column(part)), expression=double(column(whole)))


def positive(name: str) -> exp.Expression:
    return _at_least(column(name), 1)


def _at_least(value: exp.Expression, number: int) -> exp.Expression:
    return exp.GTE(this=value, expression=literal(number))


def _at_most(value: exp.Expression, *factors: exp.Expression) -> exp.Expression:
    return exp.LTE(this=value, expression=product(*factors))
