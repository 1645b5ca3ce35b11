"""Inference of sensitive values from the labels of a release: naive Bayes, and the share of a value in a class.

Three GROUP BYs train it (values, values by label of each column, values by class), all on the released table; what it
predicts for a class is compared with the values of its rows. Counts only: no value enters Python.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.request import Opened
from sqlanon.engines.base import Engine
from sqlanon.insight.adversary.statements import Keys, key_names, same
from sqlanon.insight.adversary.values import Exposure, measured
from sqlanon.sql.build import all_of, count, equal, named, query, scalar, subquery, total, total_where, with_queries
from sqlanon.sql.relations import Relation, Table, cast, column, literal, table_expression

SIZES = (10, 100)
"""Classes are told apart by their rows: below the first of these, below the second, others."""
_PREFIX = "sqlanon_inference_"

# Ties go to the first value, NULL last; sums of logarithms that differ in their last digits are ties.
_BEST = """
select id, v, case when row_number() over (
    partition by id order by floor(score * 1e9 + 0.5) desc, case when v is null then 1 else 0 end, v
  ) = 1 then 1 else 0 end as bayes
from scored as s
"""

_JUDGED = """
select c.id, c.size, c.m, c.v, case when row_number() over (
    partition by c.id order by c.m desc, case when c.v is null then 1 else 0 end, c.v
  ) = 1 then 1 else 0 end as share
from cells as c
"""


def inference(relation: exp.Expression, keys: Keys, value: exp.Expression) -> tuple[exp.Select, list[str]]:
    """How many rows have the value that somebody would guess: of all values the most frequent one (`guess`), of the
    row's class (`share`), by the labels of its columns (`bayes`); by the size of classes too."""
    names = key_names(keys)
    steps: dict[str, exp.Query] = {"cells": _cells(relation, keys, value)}
    steps["totals"] = _totals()
    for place, name in enumerate(names):
        steps[f"by_{place}"] = _by_label(name)
    steps["scored"] = _scored(names)
    steps["best"] = query(_BEST, {"scored": _table("scored")})
    steps["judged"] = query(_JUDGED, {"cells": _table("cells")})
    found = _guessed()
    guess = scalar(exp.select(exp.Max(this=column("t"))).from_(table_expression(_table("totals"))))
    figures: dict[str, exp.Expression] = {
        "rows": total(column("m")),
        "classes": exp.Count(this=exp.Distinct(expressions=[column("id")])),
        "guess": guess,
        **{name: total_where(_one(name), column("m")) for name in ("share", "bayes")},
    }
    for low, high in zip((None, *SIZES), (*SIZES, None), strict=True):
        here = _sized(low, high)
        suffix = f"below_{high}" if high is not None else f"from_{low}"
        figures[f"rows_{suffix}"] = total_where(here, column("m"))
        for name in ("share", "bayes"):
            figures[f"{name}_{suffix}"] = total_where(all_of([here.copy(), _one(name)]), column("m"))
    items = [named(cast(figure, "bigint"), name) for name, figure in figures.items()]
    select = exp.select(*items).from_(subquery(found, "found"))
    return with_queries(select, {_PREFIX + name: step for name, step in steps.items()}), list(figures)


def _one(name: str) -> exp.Expression:
    return equal(column(name), literal(1))


def _sized(low: int | None, high: int | None) -> exp.Expression:
    """Whether a class has so many rows."""
    ends: list[exp.Expression] = []
    if low is not None:
        ends.append(exp.GTE(this=column("size"), expression=literal(low)))
    if high is not None:
        ends.append(exp.LT(this=column("size"), expression=literal(high)))
    return all_of(ends)


def infer(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str) -> Exposure:
    """The rows of a table whose sensitive value is guessed from what the table shows of their quasi-identifier."""
    opened = Opened.at(engine, table, "audited")
    opened.require(*columns, sensitive)
    keys = [opened.key(name, as_text=True) for name in columns]
    return measured(engine, "inference", *inference(opened.expression(), keys, opened.key(sensitive, as_text=True)))


def _table(name: str) -> Table:
    return Table((_PREFIX + name,))


def _cells(relation: exp.Expression, keys: Keys, value: exp.Expression) -> exp.Select:
    """The values of every class: its number `id`, labels `k_i`, a value `v` with its rows `m`, `size` of the class."""
    names = key_names(keys)
    items = [named(key.copy(), name) for name, key in zip(names, keys, strict=True)]
    inner = exp.select(*items, named(value.copy(), "v"), named(count(), "m")).from_(relation.copy(), copy=False)
    inner = inner.group_by(*(key.copy() for key in keys), value.copy(), copy=False)
    by: list[exp.Expression] = [column(name) for name in names]
    order = exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in by])
    number = exp.Window(this=exp.DenseRank(), order=order)
    size = cast(exp.Window(this=exp.Sum(this=column("m")), partition_by=[key.copy() for key in by]), "bigint")
    items = [named(number, "id"), named(size, "size")]
    return exp.select(*items, *by, column("v"), column("m")).from_(subquery(inner, "counted"), copy=False)


def _totals() -> exp.Select:
    """The first GROUP BY: the rows `t` of each value."""
    rows = cast(exp.Sum(this=column("m")), "bigint")
    return exp.select(column("v"), named(rows, "t")).from_(table_expression(_table("cells"))).group_by(column("v"))


def _by_label(name: str) -> exp.Select:
    """The second, for each column: the rows of each value `v` with a label, of all labels (`labels`)."""
    rows = cast(exp.Sum(this=column("m")), "bigint")
    return (
        exp.select(named(column(name), "label"), column("v"), named(rows, "c"))
        .from_(table_expression(_table("cells")))
        .group_by(column(name), column("v"))
    )


def _scored(names: Sequence[str]) -> exp.Select:
    """The logarithm of how likely each value is by the labels of a class, up to a constant; counts are one more."""
    labels = [column(name) for name in names]
    classes = exp.select(column("id"), *labels).distinct().from_(table_expression(_table("cells")))
    rows = cast(column("t", "w"), "double")
    score: exp.Expression = exp.Ln(this=rows.copy())
    select = exp.select(column("id", "c"), column("v", "w")).from_(subquery(classes, "c"))
    select = select.join(table_expression(_table("totals"), "w"), join_type="cross", copy=False)
    for place, name in enumerate(names):
        alias = f"b_{place}"
        on = all_of([same(column("label", alias), column(name, "c")), same(column("v", alias), column("v", "w"))])
        select = select.join(table_expression(_table(f"by_{place}"), alias), on=on, join_type="left", copy=False)
        number = exp.select(exp.Count(this=exp.Star())).from_(
            subquery(exp.select(column("label")).distinct().from_(table_expression(_table(f"by_{place}"))), "l")
        )
        more = cast(exp.Add(this=_or_none(column("c", alias)), expression=literal(1)), "double")
        whole = exp.Paren(this=exp.Add(this=rows.copy(), expression=cast(exp.Subquery(this=number), "double")))
        score = exp.Add(this=score, expression=exp.Ln(this=exp.Div(this=more, expression=whole)))
    return select.select(named(score, "score"), copy=False)


def _or_none(value: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=value, expressions=[literal(0)])


def _guessed() -> exp.Select:
    """The third: the values of every class, each with what was guessed."""
    items = [column(name, "j") for name in ("id", "size", "m", "share")]
    on = all_of([equal(column("id", "j"), column("id", "b")), same(column("v", "j"), column("v", "b"))])
    select = exp.select(*items, column("bayes", "b")).from_(table_expression(_table("judged"), "j"))
    return select.join(table_expression(_table("best"), "b"), on=on, copy=False)
