"""Minimality: what somebody who knows everybody's quasi-identifier learns of sensitive values from who was suppressed.

Wong, Fu, Wang and Pei, "Minimality Attack in Privacy Preserving Data Publishing" (VLDB 2007). A cell of the released
levels that has k people, and no class, failed a model of sensitive columns: its values break the very bound that the
model promises. Here too: the vector of levels that a release shows, and the source's cells at such vectors. Reads
labels of the release and quasi-identifiers of the source, of which it makes scratch tables; no sensitive value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor.downcoding import LabelLevels
from sqlanon.auditor.request import Opened
from sqlanon.engines.base import Statement
from sqlanon.hierarchies.base import TOP
from sqlanon.hierarchies.lattice import Node
from sqlanon.insight.adversary.algorithm import label_levels
from sqlanon.insight.adversary.people import GroupedTable
from sqlanon.insight.adversary.statements import same
from sqlanon.insight.adversary.values import Attack, measured
from sqlanon.source.run import Run
from sqlanon.spec.algorithms import ALGORITHMS
from sqlanon.sql.build import all_of, any_of, count, equal, is_null, named, query, subquery
from sqlanon.sql.relations import Relation, Table, cast, column, literal, table_expression

EXPLAINED = "people in cells without a class that have k people: that their values fail a model is known"
FIGURES = ("people", "suppressed", "told", "cells")

_TOLD = """
select cast(coalesce(sum(n), 0) as bigint) as people,
  cast(coalesce(sum(case when released = 0 then n else 0 end), 0) as bigint) as suppressed,
  cast(coalesce(sum(case when released = 0 and persons >= :k and n >= :least then n else 0 end), 0) as bigint) as told,
  cast(coalesce(sum(case when released = 0 and persons >= :k and n >= :least then 1 else 0 end), 0) as bigint) as cells
from cells as c
"""

_LEVELS = """
select coalesce(sum(case when low is null then 1 else 0 end), 0) as unknown, max(low) as low, min(high) as high
from joined as j
"""


@dataclass(frozen=True)
class ShownLevels:
    """The levels that all labels of a release stand at, column by column."""

    lowest: Node
    highest: Node
    """Other than the lowest where labels are the same at several levels."""


def shown_levels(run: Run, target: Relation, levels: Sequence[LabelLevels]) -> ShownLevels | str:
    """The levels of a release; or the column that has none, in words."""
    opened = Opened.at(run.engine, target, "audited")
    opened.require(*run.binding.names)
    lowest, highest = [], []
    for name, known in zip(run.binding.names, label_levels(run, levels, run.binding.names), strict=True):
        found = _levels_of(run, opened, opened.key(name, as_text=True), known)
        if found is None:
            return f"column '{name}' shows labels of several levels, or of none"
        lowest.append(found[0])
        highest.append(found[1])
    return ShownLevels(tuple(lowest), tuple(highest))


def _levels_of(run: Run, opened: Opened, key: exp.Expression, known: Table) -> tuple[int, int] | None:
    """The lowest and the highest level that every label of a column stands at; None where some label is of no one set
    of values, or none such level is."""
    labels = exp.select(named(key.copy(), "label")).distinct().from_(opened.expression())
    if run.binding.blank:
        labels = labels.where(exp.Not(this=exp.Paren(this=_blank(run, opened))))
    joined = exp.select(column("low", "k"), column("high", "k")).from_(subquery(labels, "l"))
    on = same(column("label", "l"), column("label", "k"))
    joined = joined.join(table_expression(known, "k"), on=on, join_type="left", copy=False)
    [(unknown, low, high)] = run.engine.query(Statement("levels of labels", query(_LEVELS, {"joined": joined})))
    return (int(low), int(high)) if not unknown and low is not None and low <= high else None


def _blank(run: Run, opened: Opened) -> exp.Expression:
    """Whether a row shows nothing of its quasi-identifier."""
    return all_of(_nothing(opened.key(name, as_text=True)) for name in run.binding.names)


def _nothing(key: exp.Expression) -> exp.Expression:
    return any_of([is_null(key.copy()), equal(key.copy(), cast(literal(TOP), "text"))])


def source_cells(
    run: Run,
    levels: Sequence[LabelLevels],
    nodes: Sequence[Node],
    more: Sequence[exp.Alias] = (),
    people: GroupedTable | None = None,
) -> exp.Select:
    """The source (`people`: its combinations) by its labels at several vectors, `c<vector>_<column>`, and by `more` of
    it: rows `n`, `persons`."""
    source = Opened.at(run.engine, run.binding.source, "source")
    keys = {f"q_{place}": source.key(name, as_text=True) for place, name in enumerate(run.binding.names)}
    keys |= {item.alias: item.this for item in more}
    who = None if run.binding.respondent is None else run.binding.respondent.key("source", run.engine.traits)
    keys |= {} if who is None else {"who": who}
    # Grouped before labels are joined: there are far fewer combinations than rows.
    rows = exp.select(*(named(key, name) for name, key in keys.items()), named(count(), "n"))
    rows = rows.from_(source.expression()).group_by(*(key.copy() for key in keys.values()))
    select = exp.select().from_(subquery(rows, "source"))
    if people is not None and who is None and not more:
        select = exp.select().from_(table_expression(people.table, "source"))
    items: dict[str, exp.Expression] = {}
    for place, item in enumerate(levels):
        key, alias = column(f"q_{place}", "source"), f"h_{place}"
        wanted = sorted({node[place] for node in nodes})
        labels = [named(item.labels[level].copy(), f"label_{level}") for level in wanted]
        paths = (
            exp.select(named(item.labels[0].copy(), "value"), *labels).distinct().from_(table_expression(item.table))
        )
        table = run.scratch.create("labels of values", f"ym{place}", paths)
        on = equal(key.copy(), column("value", alias))
        select = select.join(table_expression(table, alias), on=on, join_type="left", copy=False)
        for number, node in enumerate(nodes):
            label: exp.Expression = column(f"label_{node[place]}", alias)
            if node[place] == item.height and item.height:
                # Rows without a value have a label at the top alone.
                top = exp.select(exp.Max(this=item.labels[-1].copy())).from_(table_expression(item.table))
                label = exp.Subquery(this=top)
            items[f"c{number}_{place}"] = label
    items |= {item.alias: column(item.alias, "source") for item in more}
    inner = select.select(*(named(key, name) for name, key in items.items()), column("n", "source"), copy=False)
    if who is not None:
        inner = inner.select(column("who", "source"), copy=False)
    total_of: exp.Expression = cast(exp.Sum(this=column("n")), "bigint")
    persons = total_of if who is None else exp.Count(this=exp.Distinct(expressions=[column("who")]))
    by = [column(name) for name in items]
    grouped = exp.select(*by, named(total_of.copy(), "n"), named(persons, "persons")).from_(subquery(inner, "labelled"))
    return grouped.group_by(*(name.copy() for name in by))


def cells_beside_release(
    run: Run,
    target: Relation,
    levels: Sequence[LabelLevels],
    nodes: Sequence[Node],
    more: Sequence[exp.Alias] = (),
    people: GroupedTable | None = None,
) -> exp.Select:
    """The cells of the source at the first vector, which the release shows, and at others: `released` is 1 where the
    first one stands in the release. `more` of the source tells cells apart too."""
    opened = Opened.at(run.engine, target, "audited")
    keys = [opened.key(name, as_text=True) for name in run.binding.names]
    shown = exp.select(*(named(key, f"q_{place}") for place, key in enumerate(keys))).distinct()
    shown = shown.from_(opened.expression()).select(named(literal(1), "here"), copy=False)
    places = range(len(keys))
    names = [f"c{number}_{place}" for number in range(len(nodes)) for place in places]
    names += [item.alias for item in more]
    on = all_of(same(column(f"c0_{place}", "c"), column(f"q_{place}", "r")) for place in places)
    released = exp.Case().when(is_null(column("here", "r")), literal(0)).else_(literal(1))
    joined = exp.select(*(column(name, "c") for name in (*names, "n", "persons")), named(released, "released"))
    joined = joined.from_(subquery(source_cells(run, levels, nodes, more, people), "c"))
    return joined.join(subquery(shown, "r"), on=on, join_type="left", copy=False)


def unjudged(run: Run) -> str | None:
    """Why minimality says nothing of a release; None where it does."""
    spec, row = run.binding.spec, ALGORITHMS[run.binding.spec.search.algorithm]
    if not spec.privacy.models() or spec.privacy.differential is not None:
        return "no model of sensitive columns can have failed"
    if row.kind != "lattice":
        return f"{row.name} has no one vector of levels at which classes failed"
    if spec.privacy.several_groupings or run.binding.history is not None:
        return "people are held back for other reasons than their class"
    if run.binding.population is not None:
        return "a class may have failed for the population"
    return None


def minimality(
    run: Run, target: Relation, levels: Sequence[LabelLevels], people: GroupedTable | None = None
) -> Attack | str:
    """How many suppressed people are known to have values that fail a model; or why that cannot be counted.

    Of so many people that neither k, however a secret raised it, nor too few rows for the values that a model asks for
    can be the reason.
    """
    shown = shown_levels(run, target, levels)
    if isinstance(shown, str):
        return shown
    cells = cells_beside_release(run, target, levels, [shown.lowest], people=people)
    enough = run.binding.k + run.binding.unknown_k
    least = max(entry.least_rows for entry in run.binding.spec.privacy.models())
    statement = query(_TOLD, {"cells": cells}, k=enough, least=least)
    return Attack("minimality", None, EXPLAINED, "told", None, measured(run.engine, "minimality", statement, FIGURES))
