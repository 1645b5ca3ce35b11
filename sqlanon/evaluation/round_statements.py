"""Statements for requirements with several groupings: rows are suppressed in rounds until all groupings are content.

A table of counted rows carries `kept`. A round judges the classes of each grouping by the rows still kept; a row stays
kept when every class that it lies in satisfies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sql.build import all_of, equal, named, subquery, total_where
from sqlanon.sql.classes import Population, classes
from sqlanon.sql.relations import Table, column, literal, table_expression
from sqlanon.sql.values import Counted, Keys, Measures, ValueTables, joined


@dataclass(frozen=True)
class Judged:
    """One grouping as a round asks it: what makes its classes, what is measured, what must hold."""

    keys: Keys
    measures: Sequence[Measures]
    satisfied: exp.Expression
    population: Population | None = None


def survivors(
    table: Table, columns: Sequence[str], groupings: Sequence[Judged], persons: bool, tables: Mapping[int, ValueTables]
) -> exp.Select:
    """The table after one round: the same rows, those of failing classes no longer kept."""
    numbered = exp.select(*(column(name) for name in columns), column("kept")).from_(table_expression(table))
    for index, judged in enumerate(groupings):
        numbered = numbered.select(*(named(key.copy(), f"g_{index}_{name}") for name, key in judged.keys))
    conditions: list[exp.Expression] = [column("kept", "rows")]
    select = exp.select(*(column(name, "rows") for name in columns)).from_(subquery(numbered, "rows"))
    for index, judged in enumerate(groupings):
        alias = f"classes_{index}"
        verdicts = _verdicts(table, judged, f"g_{index}_", persons, tables)
        names = [f"g_{index}_{name}" for name, _ in judged.keys]
        select = joined(select, subquery(verdicts, alias), names, "rows", alias, "left")
        conditions.append(exp.Coalesce(this=column("satisfied", alias), expressions=[exp.false()]))
    return select.select(named(all_of(conditions), "kept"))


def _verdicts(
    table: Table, judged: Judged, prefix: str, persons: bool, tables: Mapping[int, ValueTables]
) -> exp.Select:
    """The classes of one grouping among the kept rows, each with its verdict."""
    kept = exp.select().from_(table_expression(table)).where(column("kept"))
    counted = Counted(kept, judged.keys, persons)
    found = classes(counted, judged.measures, tables, judged.population)
    names = [named(column(name), f"{prefix}{name}") for name in counted.names]
    return exp.select(*names, named(judged.satisfied.copy(), "satisfied")).from_(subquery(found, "found"))


def left_out(table: Table) -> exp.Select:
    """How many rows are not kept."""
    return exp.select(total_where(exp.Not(this=column("kept")), column("n"))).from_(table_expression(table))


def left_out_by_node(table: Table, words: Sequence[str]) -> exp.Select:
    """For each node of a table of several: its classes, the rows not kept, and the classes with a kept row."""
    by_class = exp.select(
        column("node"),
        named(total_where(exp.Not(this=column("kept")), column("n")), "lost"),
        named(total_where(column("kept"), column("n")), "held"),
    ).from_(table_expression(table))
    by_class = by_class.group_by(column("node"), *(column(word) for word in words))
    held = exp.GT(this=column("held"), expression=literal(0))
    select = exp.select(
        column("node"),
        named(exp.Count(this=exp.Star()), "all_classes"),
        named(exp.Sum(this=column("lost")), "suppressed"),
        named(total_where(held, literal(1)), "classes"),
    )
    return select.from_(subquery(by_class, "classes")).group_by(column("node"))


def classes_of_node(table: Table, node: int, words: Sequence[str]) -> exp.Select:
    """The kept and the suppressed part of each class of a node, for measures of what the release loses."""
    keys = [column(word) for word in words]
    select = exp.select(*keys, column("kept"), named(exp.Sum(this=column("n")), "n"))
    select = select.from_(table_expression(table)).where(equal(column("node"), literal(node)))
    return select.group_by(*(key.copy() for key in keys), column("kept"))
