"""Minimality: what somebody who knows everybody's quasi-identifier learns of sensitive values from who was suppressed.

Wong, Fu, Wang and Pei, "Minimality Attack in Privacy Preserving Data Publishing" (VLDB 2007). A cell of the released
levels that has k people, and no class, failed a model of sensitive columns: its values break the very bound that the
model promises. Reads the source's quasi-identifiers and the labels of the release; no sensitive value.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from sqlanon.auditor.downcoding import LabelLevels
from sqlanon.auditor.request import Opened
from sqlanon.engines.base import Statement
from sqlanon.hierarchies.base import TOP
from sqlanon.insight.adversary.algorithm import label_levels
from sqlanon.insight.adversary.statements import same
from sqlanon.insight.adversary.values import Attack, measured
from sqlanon.source.run import Run
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.sql.build import all_of, any_of, count, equal, is_null, named, query, subquery
from sqlanon.sql.relations import Relation, Table, column, literal, table_expression

EXPLAINED = "people in cells without a class that have k people: that their values fail a model is known"
FIGURES = ("people", "suppressed", "told", "cells")

_TOLD = """
select cast(coalesce(sum(n), 0) as bigint) as people,
  cast(coalesce(sum(case when released = 0 then n else 0 end), 0) as bigint) as suppressed,
  cast(coalesce(sum(case when released = 0 and persons >= :k then n else 0 end), 0) as bigint) as told,
  cast(coalesce(sum(case when released = 0 and persons >= :k then 1 else 0 end), 0) as bigint) as cells
from cells as c
"""


_LEVELS = """
select coalesce(sum(case when low is null then 1 else 0 end), 0) as unknown, max(low) as low, min(high) as high
from joined as j
"""


def unjudged(run: Run) -> str | None:
    """Why minimality says nothing of a release; None where it does."""
    spec, row = run.binding.spec, ALGORITHMS[run.binding.spec.search.algorithm]
    if not spec.privacy.models() or spec.privacy.differential is not None:
        return "no model of sensitive columns can have failed"
    if row.kind != "lattice":
        return f"{row.name} has no one vector of levels at which classes failed"
    if spec.privacy.several_groupings or run.binding.history is not None:
        return "people are held back for other reasons than their class"
    return None


def minimality(run: Run, target: Relation, levels: Sequence[LabelLevels]) -> Attack | str:
    """How many suppressed people are known to have values that fail a model; or why that cannot be counted."""
    opened = Opened.at(run.engine, target, "audited")
    opened.require(*run.binding.names)
    keys = [opened.key(name, as_text=True) for name in run.binding.names]
    node = []
    for name, key, known in zip(run.binding.names, keys, label_levels(run, levels, run.binding.names), strict=True):
        level = _level(run, opened, key, known)
        if level is None:
            return f"column '{name}' shows labels of several levels, or of none"
        node.append(level)
    source = Opened.at(run.engine, run.binding.source, "source")
    cells = _cells(run, source, levels, node)
    shown = (
        exp.select(*(named(key, f"q_{place}") for place, key in enumerate(keys))).distinct().from_(opened.expression())
    )
    places = range(len(node))
    on = all_of(same(column(f"c_{place}", "c"), column(f"q_{place}", "r")) for place in places)
    joined = exp.select(column("n", "c"), column("persons", "c")).from_(subquery(cells, "c"))
    shown = shown.select(named(literal(1), "here"), copy=False)
    joined = joined.join(subquery(shown, "r"), on=on, join_type="left", copy=False)
    released = exp.Case().when(is_null(column("here", "r")), literal(0)).else_(literal(1))
    statement = query(_TOLD, {"cells": joined.select(named(released, "released"), copy=False)}, k=run.binding.k)
    return Attack("minimality", None, EXPLAINED, "told", None, measured(run.engine, "minimality", statement, FIGURES))


def _level(run: Run, opened: Opened, key: exp.Expression, known: Table) -> int | None:
    """The lowest level that every label of a column of the release stands at; None where some label is of no one set of
    values, or none such level is."""
    blank = all_of(_nothing(opened.key(name, as_text=True)) for name in run.binding.names)
    labels = exp.select(named(key.copy(), "label")).distinct().from_(opened.expression())
    if run.binding.blank:
        labels = labels.where(exp.Not(this=exp.Paren(this=blank)))
    joined = exp.select(column("low", "k"), column("high", "k")).from_(subquery(labels, "l"))
    on = same(column("label", "l"), column("label", "k"))
    joined = joined.join(table_expression(known, "k"), on=on, join_type="left", copy=False)
    [row] = run.engine.query(Statement("levels of labels", query(_LEVELS, {"joined": joined})))
    unknown, low, high = row
    return int(low) if not unknown and low is not None and low <= high else None


def _nothing(key: exp.Expression) -> exp.Expression:
    return any_of([is_null(key.copy()), equal(key.copy(), literal(TOP))])


def _cells(run: Run, source: Opened, levels: Sequence[LabelLevels], node: Sequence[int]) -> exp.Select:
    """The source by the labels of a vector of levels: `c_i`, rows `n`, `persons`."""
    select = exp.select().from_(source.expression())
    keys: list[exp.Expression] = []
    for place, (name, item, level) in enumerate(zip(run.binding.names, levels, node, strict=True)):
        key, alias = source.key(name, as_text=True), f"h_{place}"
        names = exp.select(named(item.labels[0].copy(), "value"), named(item.labels[level].copy(), "label"))
        labels = run.scratch.create("labels of values", f"ym{place}", names.distinct().from_(_of(item)))
        select = select.join(
            table_expression(labels, alias), on=equal(key.copy(), column("value", alias)), join_type="left", copy=False
        )
        label: exp.Expression = column("label", alias)
        if level == len(item.labels) - 1 and level:
            top = exp.select(exp.Max(this=item.labels[level].copy())).from_(_of(item))
            label = exp.Subquery(this=top)
        keys.append(label)
    items = [named(key, f"c_{place}") for place, key in enumerate(keys)]
    who = None if run.binding.respondent is None else run.binding.respondent.key("source", run.engine.traits)
    inner = select.select(*items, *([] if who is None else [named(who, "who")]), copy=False)
    persons = count() if who is None else exp.Count(this=exp.Distinct(expressions=[column("who")]))
    names_of = [column(f"c_{place}") for place in range(len(keys))]
    grouped = exp.select(*names_of, named(count(), "n"), named(persons, "persons"))
    return grouped.from_(subquery(inner, "labelled")).group_by(*(name.copy() for name in names_of))


def _of(item: LabelLevels) -> exp.Table:
    return table_expression(item.table)
