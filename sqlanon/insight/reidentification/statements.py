"""Statements that measure the risk of re-identification: from sizes of classes, and from subsets of columns.

A class has `size` (rows, or persons where they are counted), `rows`, and beside a population `population`. For subsets
there is a frequency set of plain codes: a combination is a few packed words `p_0`, ... with its rows `n`, and a subset
of columns is a mask of each word.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.statements.classes import Figures, classes, classes_of_persons, matched_classes, size_figures
from sqlanon.sql.build import all_of, count, equal, is_present, named, subquery, total, total_where, union_all
from sqlanon.sql.relations import Table, cast, column, identifier, literal, table_expression

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


Masks = Sequence[int]


def codes(base: Table, name: str) -> exp.Select:
    """The values of a column of the base, NULL left out, numbered from 1 as `index_0`."""
    values = exp.select(named(column(name), "value")).from_(table_expression(base))
    values = values.where(is_present(column(name))).group_by(column(name))
    order = exp.Order(expressions=[exp.Ordered(this=column("value"))])
    number = cast(exp.Window(this=exp.RowNumber(), order=order), "int")
    return exp.select(column("value"), named(number, "index_0")).from_(subquery(values, "present"), copy=False)


def sizes(tables: Sequence[Table]) -> exp.Query:
    """A row for each table: its place, its rows."""
    return union_all(
        [
            exp.select(named(literal(place), "place"), named(count(), "n")).from_(table_expression(table))
            for place, table in enumerate(tables)
        ]
    )


def rolled_up(table: Table, masks: Masks, count_type: str) -> exp.Select:
    """The combinations of fewer columns, from those of more; words without a bit of them stay, as 0."""
    kept = [(word, mask) for word, mask in enumerate(masks) if mask]
    items = [named(_masked(word, mask) if mask else _zero(), f"p_{word}") for word, mask in enumerate(masks)]
    rows = named(cast(exp.Sum(this=column("n")), count_type), "n")
    select = exp.select(*items, rows).from_(table_expression(table))
    return select.group_by(*(_masked(word, mask) for word, mask in kept), copy=False)


def figures(requests: Sequence[tuple[int, Masks, Table]], k: int) -> exp.Query:
    """A row for each subset: its number, classes, rows that are alone, rows in classes below k, sum of n^2."""
    queries = [_figures(index, masks, table, k) for index, masks, table in requests]
    result: exp.Query = queries[0]
    for query in queries[1:]:
        result = exp.union(result, query, distinct=False, copy=False)
    return result


def _figures(index: int, masks: Masks, table: Table, k: int) -> exp.Select:
    size = column("n")
    wide = cast(size.copy(), "bigint")
    return exp.select(
        named(literal(index), "subset"),
        named(count(), "classes"),
        named(total_where(equal(size.copy(), literal(1)), literal(1)), "uniques"),
        named(total_where(exp.LT(this=size.copy(), expression=literal(k)), size.copy()), "at_risk"),
        named(total(exp.Mul(this=wide, expression=wide.copy())), "squares"),
    ).from_(subquery(_grouped(masks, table, named(exp.Sum(this=column("n")), "n")), "classes"), copy=False)


def _grouped(masks: Masks, table: Table, *items: exp.Expression) -> exp.Select:
    keys = [_masked(word, mask) for word, mask in enumerate(masks) if mask]
    return exp.select(*items).from_(table_expression(table)).group_by(*keys, copy=False)


def alone(requests: Sequence[tuple[int, Masks]], table: Table, words: int) -> exp.Query:
    """The combinations that are one row, alone on a subset: the words, and the number of the subset."""
    queries = []
    for index, masks in requests:
        own = [named(exp.Min(this=column(f"p_{word}")), f"p_{word}") for word in range(words)]
        found = _grouped(masks, table, *own, named(literal(index), "subset"))
        queries.append(found.having(equal(exp.Sum(this=column("n")), literal(1)), copy=False))
    result: exp.Query = queries[0]
    for query in queries[1:]:
        result = exp.union(result, query, distinct=False, copy=False)
    return result


def minimal(found: Table, parts: Sequence[tuple[int, int]], words: int) -> exp.Select:
    """Of what `alone` found, where no subset with one column less is alone too; `parts` pairs subsets with those."""
    own = [column(f"p_{word}", "found") for word in range(words)]
    subset = column("subset", "found")
    select = exp.select(*own, subset).from_(table_expression(found, "found"))
    if not parts:
        return select
    smaller = _pairs(parts)
    part = exp.select(literal(1)).from_(smaller)
    on = all_of(
        [
            equal(column("part", "parts"), column("subset", "less")),
            *(equal(column(f"p_{word}", "less"), column(f"p_{word}", "found")) for word in range(words)),
        ]
    )
    part = part.join(table_expression(found, "less"), on=on, copy=False)
    part = part.where(equal(column("whole", "parts"), subset.copy()), copy=False)
    return select.where(exp.Not(this=exp.Exists(this=part)), copy=False)


def _pairs(parts: Sequence[tuple[int, int]]) -> exp.Expression:
    rows = [exp.Tuple(expressions=[literal(whole), literal(part)]) for whole, part in parts]
    alias = exp.TableAlias(this=identifier("parts"), columns=[identifier("whole"), identifier("part")])
    return exp.Values(expressions=rows, alias=alias)


def minimal_counts(minimal_uniques: Table) -> exp.Select:
    """Each subset with the rows for which it is minimally unique."""
    select = exp.select(column("subset"), count()).from_(table_expression(minimal_uniques))
    return select.group_by(column("subset"))


def score_counts(
    minimal_uniques: Table, scores: Sequence[tuple[int, int]], bounds: Sequence[int], words: int
) -> exp.Select:
    """One row: rows with a minimal unique, the greatest and the sum of their scores, rows at or above each bound."""
    rows = [exp.Tuple(expressions=[literal(subset), cast(literal(score), "bigint")]) for subset, score in scores]
    alias = exp.TableAlias(this=identifier("scores"), columns=[identifier("subset"), identifier("score")])
    own = [column(f"p_{word}", "found") for word in range(words)]
    score = named(cast(exp.Sum(this=column("score", "scores")), "bigint"), "score")
    each = (
        exp.select(score)
        .from_(table_expression(minimal_uniques, "found"))
        .join(
            exp.Values(expressions=rows, alias=alias),
            on=equal(column("subset", "found"), column("subset", "scores")),
        )
        .group_by(*own)
    )
    above = [total_where(exp.GTE(this=column("score"), expression=literal(bound)), literal(1)) for bound in bounds]
    figures = [count(), exp.Max(this=column("score")), total(column("score")), *above]
    return exp.select(*figures).from_(subquery(each, "scored"))


def _masked(word: int, mask: int) -> exp.Expression:
    return exp.Paren(this=exp.BitwiseAnd(this=column(f"p_{word}"), expression=literal(mask)))


def _zero() -> exp.Expression:
    return cast(literal(0), "bigint")
