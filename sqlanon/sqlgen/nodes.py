"""Statements that evaluate lattice nodes on a frequency set or on a roll-up of one.

A node is a GROUP BY of the packed words under its masks; a column at its top has no bits in them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce

from sqlglot import exp

from sqlanon.lattice import Node
from sqlanon.sqlgen.build import all_of, concat, count, equal, named, subquery, total_of, total_where, with_queries
from sqlanon.sqlgen.frequency import HierarchyTable, path
from sqlanon.sqlgen.packing import Layout
from sqlanon.sqlgen.relations import Table, cast, column, identifier, literal, table_expression


@dataclass(frozen=True)
class Shape:
    """What node queries need to know of the frequency set: its hierarchies and extra aggregates per class."""

    hierarchies: tuple[HierarchyTable, ...]
    aggregates: Mapping[str, exp.Expression]
    """Further columns of a class, each an aggregate over frequency rows, beside `n`."""
    count_type: str
    """The type of `n` in the frequency set."""

    def heights(self) -> Node:
        return tuple(hierarchy.height for hierarchy in self.hierarchies)

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.hierarchies)

    def words(self, node: Node) -> Iterator[tuple[int, exp.Expression]]:
        """The words a node groups by, masked."""
        for word, mask in enumerate(self.layout.masks(node)):
            if mask:
                yield word, masked(column(f"p_{word}"), mask)


def layout_of(hierarchies: Sequence[HierarchyTable]) -> Layout:
    return Layout.of([hierarchy.widths for hierarchy in hierarchies])


def masked(word: exp.Expression, mask: int) -> exp.Expression:
    return exp.Paren(this=exp.BitwiseAnd(this=word, expression=literal(mask)))


def classes(frequency: Table, node: Node, shape: Shape) -> exp.Select:
    """The classes of a node: one row each, with `n` and the aggregates of the requirement."""
    items = [named(exp.Sum(this=column("n")), "n")]
    items += [named(aggregate.copy(), name) for name, aggregate in shape.aggregates.items()]
    keys = [word for _, word in shape.words(node)]
    select = exp.select(*items).from_(table_expression(frequency), copy=False)
    return select.group_by(*keys, copy=False) if keys else select


def check(
    requests: Sequence[tuple[int, Node, Table]],
    shape: Shape,
    satisfied: Sequence[exp.Expression],
    small: Collection[Table] = (),
) -> exp.Query:
    """Counts of many nodes in one statement: index, classes, then suppressed rows and satisfying classes per
    requirement.

    Nodes on a small set are joined to it as a table of masks, which is planned once for all of them; on other sets
    each node is a query of its own, whose classes are gone when the next one runs.
    """
    together: dict[Table, list[tuple[int, Node]]] = {}
    queries: list[exp.Select] = []
    for index, node, table in requests:
        if table in small:
            together.setdefault(table, []).append((index, node))
        else:
            queries.append(_counted(classes(table, node, shape), satisfied, literal(index)))
    for table, nodes in together.items():
        counted = _counted(_classes_of_many(table, nodes, shape), satisfied, column("node"))
        queries.append(counted.group_by(column("node"), copy=False))
    return _all_of_them(queries)


def _classes_of_many(frequency: Table, nodes: Sequence[tuple[int, Node]], shape: Shape) -> exp.Select:
    """The classes of several nodes at once: the set times a table of their masks."""
    words = range(shape.layout.words)
    rows = [
        exp.Tuple(expressions=[literal(index), *(cast(literal(mask), "bigint") for mask in shape.layout.masks(node))])
        for index, node in nodes
    ]
    names = [identifier("node"), *(identifier(f"m_{word}") for word in words)]
    masks = exp.Values(expressions=rows, alias=exp.TableAlias(this=identifier("masks"), columns=names))
    keys: list[exp.Expression] = [column("node")]
    keys += [exp.Paren(this=exp.BitwiseAnd(this=column(f"p_{word}"), expression=column(f"m_{word}"))) for word in words]
    items: list[exp.Expression] = [column("node"), named(exp.Sum(this=column("n")), "n")]
    items += [named(aggregate.copy(), name) for name, aggregate in shape.aggregates.items()]
    select = (
        exp.select(*items).from_(table_expression(frequency), copy=False).join(masks, join_type="cross", copy=False)
    )
    return select.group_by(*keys, copy=False)


def _counted(class_query: exp.Select, satisfied: Sequence[exp.Expression], index: exp.Expression) -> exp.Select:
    items = [named(index, "node"), named(count(), "all_classes")]
    for position, condition in enumerate(satisfied):
        fails = exp.Not(this=exp.Paren(this=condition.copy()))
        items.append(named(total_of(fails, exp.Sum(this=column("n"))), f"suppressed_{position}"))
        items.append(named(total_of(condition.copy(), count()), f"classes_{position}"))
    return exp.select(*items).from_(subquery(class_query, "classes"), copy=False)


def measure(
    requests: Sequence[tuple[int, Node, Table]],
    shape: Shape,
    satisfied: exp.Expression,
    figures: Mapping[str, exp.Expression],
) -> exp.Query:
    """As `check` for one requirement, with the figures of the metrics after the counts."""
    return _all_of_them(
        [_measure_one(index, table, node, shape, satisfied, figures) for index, node, table in requests]
    )


def _measure_one(
    index: int,
    frequency: Table,
    node: Node,
    shape: Shape,
    satisfied: exp.Expression,
    figures: Mapping[str, exp.Expression],
) -> exp.Select:
    items: list[exp.Expression] = [
        named(literal(index), "node"),
        named(count(), "all_classes"),
        named(total_where(exp.Not(this=column("kept")), column("n")), "suppressed"),
        named(total_where(column("kept"), literal(1)), "classes"),
    ]
    items += [named(figure.copy(), name) for name, figure in figures.items()]
    grouped = classes(frequency, node, shape)
    for word, key in shape.words(node):
        grouped = grouped.select(named(key, f"p_{word}"), copy=False)
    wanted = {found.name for figure in figures.values() for found in figure.find_all(exp.Column)}
    judged = _with_values(grouped, node, shape, satisfied, wanted)
    measured = with_queries(exp.select(*items).from_("classes", copy=False), {"classes": judged})
    # A subquery, so that each node of a batch may have classes of its own.
    return exp.select(exp.Star()).from_(subquery(measured, "measured"), copy=False)


def _with_values(
    grouped: exp.Select, node: Node, shape: Shape, satisfied: exp.Expression, wanted: Collection[str]
) -> exp.Select:
    """Classes as metrics expect them: judged, with the code of each column's value and the leaves under it."""
    select = exp.select(column("n"), named(satisfied.copy(), "kept")).from_(subquery(grouped, "grouped"), copy=False)
    for position, level in enumerate(node):
        masks = shape.layout.column_masks(position, level)
        if f"code_{position}" in wanted:
            code = _code([masked(column(f"p_{word}", "grouped"), mask) for word, mask in masks.items()])
            select = select.select(named(code, f"code_{position}"), copy=False)
        if f"leaves_{position}" in wanted:
            select = _with_leaves(select, position, level, shape)
    return select


def _with_leaves(select: exp.Select, position: int, level: int, shape: Shape) -> exp.Select:
    """The classes with the leaves under their value in one column."""
    hierarchy, alias = shape.hierarchies[position], f"l_{position}"
    leaves: exp.Expression = literal(1 if level == 0 else hierarchy.leaves)
    if 0 < level < hierarchy.height:
        matching = [
            equal(masked(column(f"p_{word}", "grouped"), mask), column(f"p_{word}", alias))
            for word, mask in shape.layout.column_masks(position, level).items()
        ]
        labels = _leaves_of_level(hierarchy, position, level, shape.layout)
        select = select.join(subquery(labels, alias), on=all_of(matching), join_type="left", copy=False)
        # NULL is in no hierarchy table: a leaf of its own.
        leaves = exp.Coalesce(this=column("leaves", alias), expressions=[literal(1)])
    return select.select(named(leaves, f"leaves_{position}"), copy=False)


def _code(words: Sequence[exp.Expression]) -> exp.Expression:
    """One key for a value: its masked word, or the words one after the other as text where its path spans several."""
    if not words:
        return literal(0)
    if len(words) == 1:
        return words[0]
    texts: list[exp.Expression] = [cast(word, "text") for word in words]
    return reduce(lambda left, right: concat(left, " ", right), texts)


def _leaves_of_level(hierarchy: HierarchyTable, position: int, level: int, layout: Layout) -> exp.Select:
    """For each label of a level: its masked words and the leaves under it."""
    fields = layout.fields[position]
    items = [named(path(fields, word, "h", level), f"p_{word}") for word in layout.column_masks(position, level)]
    leaves = named(column(f"leaves_{level}", "h"), "leaves")
    return exp.select(*items, leaves).distinct().from_(table_expression(hierarchy.table, "h"))


def _all_of_them(queries: Sequence[exp.Select]) -> exp.Query:
    result: exp.Query = queries[0]
    for query in queries[1:]:
        result = exp.union(result, query, distinct=False, copy=False)
    return result


def roll_up(frequency: Table, node: Node, shape: Shape) -> exp.Select:
    """The frequency set of `node`, fit to evaluate every generalization of it."""
    keys = dict(shape.words(node))
    words = [named(keys.get(word, literal(0)), f"p_{word}") for word in range(shape.layout.words)]
    rows = named(cast(exp.Sum(this=column("n")), shape.count_type), "n")
    select = exp.select(*words, rows).from_(table_expression(frequency))
    return select.group_by(*(key.copy() for key in keys.values())) if keys else select
