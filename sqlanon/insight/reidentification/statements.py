"""Statements that measure the risk of re-identification from the sizes of classes, alone or beside a population.

A class has `size` (rows, or persons where they are counted), `rows`, and beside a population `population`.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.statements.classes import Figures, classes, classes_of_persons, size_figures
from sqlanon.auditor.statements.population import matched_classes
from sqlanon.sql.build import all_of, count, named, subquery, total, total_where
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

Keys = Sequence[exp.Expression]


def risk_classes(relation: exp.Expression, keys: Keys, person: exp.Expression | None) -> exp.Select:
    """The classes of a table with their sizes and rows."""
    if person is not None:
        return classes_of_persons(relation, keys, person)
    return classes(relation, keys).select(named(count(), "rows"), copy=False)


def matched(
    relation: exp.Expression, keys: Keys, person: exp.Expression | None, population: exp.Expression, there: Keys
) -> exp.Select:
    """The classes of a table with what the population has of them, never less than the class itself."""
    both = subquery(matched_classes(relation, keys, person, population, there), "matched")
    more = exp.GTE(this=column("population"), expression=column("size"))
    people = exp.Case().when(more, column("population")).else_(column("size"))
    items = [column("size"), column("rows"), named(people, "population"), named(column("population"), "found")]
    return exp.select(*items).from_(both, copy=False).where(exp.GTE(this=column("size"), expression=literal(1)))


def risk_figures(bounds: Sequence[int], *, population: bool) -> Figures:
    """What is said of classes: sizes, the sum of each row's risk, and the rows in classes below each bound."""
    alone = exp.EQ(this=column("size"), expression=literal(1))
    figures: dict[str, exp.Expression] = {
        **size_figures(1, "rows"),
        "uniques": total_where(alone, column("rows")),
        "risk": total(_share("rows", "size")),
        **{f"below_{bound}": _rows_below("size", bound) for bound in bounds},
    }
    if population:
        only = exp.EQ(this=column("population"), expression=literal(1))
        fewer = exp.LT(this=column("found"), expression=column("size"))
        figures |= {
            "people": total(column("population")),
            "fewest": exp.Min(this=column("population")),
            "fewer": total_where(fewer, literal(1)),
            "population_uniques": total_where(all_of([alone.copy(), only]), column("rows")),
            "population_risk": total(_share("rows", "population")),
            **{f"people_below_{bound}": _rows_below("population", bound) for bound in bounds},
        }
    return figures


def risk_query(found: exp.Select, figures: Figures) -> exp.Select:
    """One row of figures."""
    return exp.select(*figures.values()).from_(subquery(found, "classes"), copy=False)


def _share(part: str, whole: str) -> exp.Expression:
    return exp.Div(this=cast(column(part), "double"), expression=cast(column(whole), "double"))


def _rows_below(name: str, bound: int) -> exp.Expression:
    return total_where(exp.LT(this=column(name), expression=literal(bound)), column("rows"))


def node_sizes(frequency: Table, keys: Sequence[tuple[str, exp.Expression]]) -> exp.Select:
    """One row: the figures of `size_figures` for the classes of a lattice node, in rows."""
    size = exp.select(named(cast(exp.Sum(this=column("n")), "bigint"), "size")).from_(table_expression(frequency))
    classes_of = size.group_by(*(key.copy() for _, key in keys)) if keys else size
    return exp.select(*size_figures(1).values()).from_(subquery(classes_of, "classes"), copy=False)
