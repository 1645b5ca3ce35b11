"""Statements that evaluate lattice nodes on a frequency set or on a roll-up of one.

A node is a GROUP BY over the code columns of its levels; a column at its top is one value and is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.lattice import Node
from sqlanon.sqlgen.build import count, named, subquery, total_where, with_queries
from sqlanon.sqlgen.frequency import HierarchyTable
from sqlanon.sqlgen.relations import Table, column, literal, table_expression


@dataclass(frozen=True)
class Shape:
    """What node queries need to know of the frequency set: its hierarchies and extra aggregates per class."""

    hierarchies: tuple[HierarchyTable, ...]
    aggregates: Mapping[str, exp.Expression]
    """Further columns of a class, each an aggregate over frequency rows, beside `n`."""

    def heights(self) -> Node:
        return tuple(hierarchy.height for hierarchy in self.hierarchies)

    def code_columns(self, node: Node) -> list[str]:
        """The columns a node groups by."""
        return [
            f"c{position}_{level}" for position, level in enumerate(node) if level < self.hierarchies[position].height
        ]


def classes(frequency: Table, node: Node, shape: Shape) -> exp.Select:
    """The classes of a node: one row each, with `n` and the aggregates of the requirement."""
    items = [named(exp.Sum(this=column("n")), "n")]
    items += [named(aggregate.copy(), name) for name, aggregate in shape.aggregates.items()]
    keys = [column(name) for name in shape.code_columns(node)]
    select = exp.select(*items).from_(table_expression(frequency), copy=False)
    return select.group_by(*keys, copy=False) if keys else select


def check(requests: Sequence[tuple[int, Node, Table]], shape: Shape, satisfied: Sequence[exp.Expression]) -> exp.Query:
    """Counts of many nodes in one statement: index, classes, then suppressed rows and satisfying classes per
    requirement.
    """
    queries = [_check_one(index, classes(table, node, shape), satisfied) for index, node, table in requests]
    result: exp.Query = queries[0]
    for query in queries[1:]:
        result = exp.union(result, query, distinct=False, copy=False)
    return result


def _check_one(index: int, class_query: exp.Select, satisfied: Sequence[exp.Expression]) -> exp.Select:
    items = [named(literal(index), "node"), named(count(), "all_classes")]
    for position, condition in enumerate(satisfied):
        fails = exp.Not(this=exp.Paren(this=condition.copy()))
        items.append(named(total_where(fails, column("n")), f"suppressed_{position}"))
        items.append(named(total_where(condition.copy(), literal(1)), f"classes_{position}"))
    return exp.select(*items).from_(subquery(class_query, "classes"), copy=False)


def measure(
    requests: Sequence[tuple[int, Node, Table]],
    shape: Shape,
    satisfied: exp.Expression,
    figures: Mapping[str, exp.Expression],
) -> exp.Query:
    """As `check` for one requirement, with the figures of the metrics after the counts."""
    queries = [
        _measure_one(index, _classes_with_values(table, node, shape), satisfied, figures)
        for index, node, table in requests
    ]
    result: exp.Query = queries[0]
    for query in queries[1:]:
        result = exp.union(result, query, distinct=False, copy=False)
    return result


def _measure_one(
    index: int, class_query: exp.Select, satisfied: exp.Expression, figures: Mapping[str, exp.Expression]
) -> exp.Select:
    items: list[exp.Expression] = [
        named(literal(index), "node"),
        named(count(), "all_classes"),
        named(total_where(exp.Not(this=column("kept")), column("n")), "suppressed"),
        named(total_where(column("kept"), literal(1)), "classes"),
    ]
    items += [named(figure.copy(), name) for name, figure in figures.items()]
    judged = exp.select(exp.Star(), named(satisfied.copy(), "kept")).from_(subquery(class_query, "grouped"), copy=False)
    measured = with_queries(exp.select(*items).from_("classes", copy=False), {"classes": judged})
    # A subquery, so that each node of a batch may have classes of its own.
    return exp.select(exp.Star()).from_(subquery(measured, "measured"), copy=False)


def _classes_with_values(frequency: Table, node: Node, shape: Shape) -> exp.Select:
    """Classes with the code of each column's value and the leaves under it, as metrics expect them."""
    select = classes(frequency, node, shape)
    for position, level in enumerate(node):
        hierarchy = shape.hierarchies[position]
        value: exp.Expression = literal(0)
        leaves: exp.Expression = literal(hierarchy.leaves)
        if level < hierarchy.height:
            value = column(f"c{position}_{level}")
            leaves = literal(1) if level == 0 else exp.Min(this=column(f"w{position}_{level}"))
        select = select.select(named(value, f"code_{position}"), named(leaves, f"leaves_{position}"), copy=False)
    return select


def roll_up(frequency: Table, node: Node, shape: Shape) -> exp.Select:
    """The frequency set of `node`, fit to evaluate every generalization of it.

    Codes of higher levels follow from those of the node, so grouping by them too makes no more groups; it is cheaper
    than an aggregate for each.
    """
    keys: list[str] = []
    for position, level in enumerate(node):
        for higher in range(level, shape.hierarchies[position].height):
            keys += [f"c{position}_{higher}"] if higher == 0 else [f"c{position}_{higher}", f"w{position}_{higher}"]
    items: list[exp.Expression] = [column(name) for name in keys]
    select = exp.select(named(exp.Sum(this=column("n")), "n"), *items).from_(table_expression(frequency))
    return select.group_by(*(column(name) for name in keys)) if keys else select
