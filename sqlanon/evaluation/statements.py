"""Statements that evaluate lattice nodes on a frequency set or on a roll-up of one.

A node is a GROUP BY of the packed words under its masks; a column at its top has no bits in them. For requirements with
several groupings rows are suppressed in rounds: the counted rows carry `kept`, a round judges the classes of each
grouping by the rows still kept, and a row stays kept when every class that it lies in satisfies.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlanon.hierarchies.lattice import Node
from sqlanon.metrics.base import WHOLE, code_name, leaves_name
from sqlanon.source.frequency_statements import HierarchyTable, Layout, Shape, masked, path, united
from sqlanon.sql.build import (
    all_of,
    concat,
    count,
    equal,
    left_join,
    named,
    subquery,
    total,
    total_of,
    total_where,
    with_queries,
)
from sqlanon.sql.relations import Table, cast, column, identifier, literal, table_expression
from sqlanon.sql.values import Counted, Keys, Measures, Population, ValueTables, classes, joined


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
        numbered = numbered.select(*(named(key.copy(), f"grouping_{index}_{name}") for name, key in judged.keys))
    conditions: list[exp.Expression] = [column("kept", "rows")]
    select = exp.select(*(column(name, "rows") for name in columns)).from_(subquery(numbered, "rows"))
    for index, judged in enumerate(groupings):
        alias = f"classes_{index}"
        verdicts = _verdicts(table, judged, f"grouping_{index}_", persons, tables)
        names = [f"grouping_{index}_{name}" for name, _ in judged.keys]
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
    """The kept and the suppressed part of each class of a node, for measures of what the release loses.

    `whole` is what both parts together have.
    """
    keys = [column(word) for word in words]
    rows = exp.Sum(this=column("n"))
    whole = exp.Window(this=exp.Sum(this=rows.copy()), partition_by=[key.copy() for key in keys])
    select = exp.select(*keys, column("kept"), named(rows, "n"), named(whole, WHOLE))
    select = select.from_(table_expression(table)).where(equal(column("node"), literal(node)))
    return select.group_by(*(key.copy() for key in keys), column("kept"))


@dataclass(frozen=True)
class Question:
    """What is asked of every class: the measures of all models, and a condition for each requirement."""

    measures: tuple[Measures, ...]
    satisfied: tuple[exp.Expression, ...]
    lost: tuple[exp.Expression | None, ...] = ()
    """For each condition the rows of a class that count as suppressed; None: all of one that does not satisfy it."""
    population: bool = False
    """The population's rows of each class are read."""
    absent: bool = False
    """Classes that only the population has are asked about too."""


def node_classes(frequency: Table, node: Node, shape: Shape, question: Question) -> exp.Select:
    """The classes of a node: one row each, with its masked words, `n` and the aggregates of the question."""
    keys = shape.keys(node)
    rows = exp.select().from_(table_expression(frequency), copy=False)
    counted = Counted(rows, keys, shape.persons, shape.numbers)
    everybody = None
    if question.population and shape.population is not None:
        people = exp.select().from_(table_expression(shape.population), copy=False)
        everybody = Population(people, keys, question.absent)
    return classes(counted, question.measures, dict(enumerate(shape.tables)), everybody)


def check(
    requests: Sequence[tuple[int, Node, Table]], shape: Shape, question: Question, small: Collection[Table] = ()
) -> exp.Query:
    """Counts of many nodes in one statement: index, classes, then suppressed rows and satisfying classes per
    requirement.

    Nodes on a small set are joined to it as a table of masks, which is planned once for all of them; on other sets
    each node is a query of its own, whose classes are gone when the next one runs.
    """
    together: dict[Table, list[tuple[int, Node]]] = {}
    queries: list[exp.Select] = []
    for index, node, table in requests:
        if table in small and not question.absent:
            together.setdefault(table, []).append((index, node))
        else:
            queries.append(_counted(node_classes(table, node, shape, question), question, literal(index)))
    for table, nodes in together.items():
        counted = _counted(_classes_of_many(table, nodes, shape, question), question, column("node"))
        queries.append(counted.group_by(column("node"), copy=False))
    return _all_of_them(queries)


def _classes_of_many(
    frequency: Table, nodes: Sequence[tuple[int, Node]], shape: Shape, question: Question
) -> exp.Select:
    """The classes of several nodes at once: the set times a table of their masks."""
    words = range(shape.layout.words)
    keys: list[tuple[str, exp.Expression]] = [("node", column("node"))]
    for word in words:
        key = exp.Paren(this=exp.BitwiseAnd(this=column(f"p_{word}"), expression=column(f"m_{word}")))
        # Not named like the word itself: some engines would group by the word then.
        keys.append((f"g_{word}", key))
    counted = Counted(_times_masks(frequency, nodes, shape), keys, shape.persons, shape.numbers)
    everybody = None
    if question.population and shape.population is not None:
        everybody = Population(_times_masks(shape.population, nodes, shape), keys, everywhere=False)
    return classes(counted, question.measures, dict(enumerate(shape.tables)), everybody)


def _times_masks(frequency: Table, nodes: Sequence[tuple[int, Node]], shape: Shape) -> exp.Select:
    rows = [
        exp.Tuple(expressions=[literal(index), *(cast(literal(mask), "bigint") for mask in shape.layout.masks(node))])
        for index, node in nodes
    ]
    names = [identifier("node"), *(identifier(f"m_{word}") for word in range(shape.layout.words))]
    masks = exp.Values(expressions=rows, alias=exp.TableAlias(this=identifier("masks"), columns=names))
    return (
        exp.select().from_(table_expression(frequency), copy=False).join(exp.Join(this=masks, kind="CROSS"), copy=False)
    )


def several_nodes(requests: Sequence[tuple[int, Node, Table]], shape: Shape) -> exp.Query:
    """The counted rows of several nodes, masked, all kept: where rounds of suppression begin."""
    by_table: dict[Table, list[tuple[int, Node]]] = {}
    for index, node, table in requests:
        by_table.setdefault(table, []).append((index, node))
    queries = []
    for table, nodes in by_table.items():
        masked_words = [
            (f"p_{word}", exp.Paren(this=exp.BitwiseAnd(this=column(f"p_{word}"), expression=column(f"m_{word}"))))
            for word in range(shape.layout.words)
        ]
        keys = [column("node"), *(key for _, key in masked_words), *(column(name) for name in shape.others)]
        counts = [name for name in shape.columns if name in ("n", "lone_respondents")]
        select = _times_masks(table, nodes, shape).select(
            column("node"),
            *(named(key.copy(), name) for name, key in masked_words),
            *(column(name) for name in shape.others),
            *(named(cast(exp.Sum(this=column(name)), "bigint"), name) for name in counts),
            named(exp.true(), "kept"),
        )
        queries.append(select.group_by(*(key.copy() for key in keys)))
    return _all_of_them(queries)


def grouping_keys(
    columns: Sequence[int] | None, known: Sequence[int], shape: Shape
) -> list[tuple[str, exp.Expression]]:
    """What makes the classes of one grouping among the counted rows of several nodes."""
    keys: list[tuple[str, exp.Expression]] = [("node", column("node"))]
    heights = shape.heights()
    chosen = tuple(0 if columns is None or i in columns else height for i, height in enumerate(heights))
    for word, mask in enumerate(shape.layout.masks(chosen)):
        if mask:
            keys.append((f"p_{word}", masked(column(f"p_{word}"), mask)))
    return [*keys, *((f"s_{position}", column(f"s_{position}")) for position in known)]


def population_of_nodes(
    nodes: Sequence[tuple[int, Node]], columns: Sequence[int] | None, shape: Shape
) -> Population | None:
    """The population's rows by the classes of one grouping, for several nodes."""
    if shape.population is None:
        return None
    keys: list[tuple[str, exp.Expression]] = []
    for name, key in grouping_keys(columns, (), shape):
        word = name.removeprefix("p_")
        keys.append((name, key if name == "node" else exp.BitwiseAnd(this=key, expression=column(f"m_{word}"))))
    return Population(_times_masks(shape.population, nodes, shape), keys, everywhere=False)


def _counted(class_query: exp.Select, question: Question, index: exp.Expression) -> exp.Select:
    items = [named(index, "node"), named(count(), "all_classes")]
    for position, condition in enumerate(question.satisfied):
        lost = question.lost[position] if question.lost else None
        fails = exp.Not(this=exp.Paren(this=condition.copy()))
        rows = total_of(fails, exp.Sum(this=column("n"))) if lost is None else total(lost.copy())
        items.append(named(rows, f"suppressed_{position}"))
        items.append(named(total_of(condition.copy(), count()), f"classes_{position}"))
    return exp.select(*items).from_(subquery(class_query, "classes"), copy=False)


def measure(
    requests: Sequence[tuple[int, Node, Table]],
    shape: Shape,
    question: Question,
    figures: Mapping[str, exp.Expression],
    small: Collection[Table] = (),
) -> exp.Query:
    """As `check` for one requirement, with the figures of the metrics after the counts.

    Before the figures: the rows that the requirement's monotone part, the second condition of the question, suppresses.
    Leaves under a value differ from node to node: figures that read them are asked of one node at a time.
    """
    wanted = _wanted(figures)
    alone = question.absent or any(leaves_name(position) in wanted for position in range(len(shape.hierarchies)))
    together: dict[Table, list[tuple[int, Node]]] = {}
    queries: list[exp.Select] = []
    for index, node, table in requests:
        if table in small and not alone:
            together.setdefault(table, []).append((index, node))
        else:
            grouped = node_classes(table, node, shape, question)
            queries.append(_measured(index, node, shape, grouped, question, figures))
    queries += [_measured_together(table, nodes, shape, question, figures) for table, nodes in together.items()]
    return _all_of_them(queries)


def _measured_together(
    table: Table,
    nodes: Sequence[tuple[int, Node]],
    shape: Shape,
    question: Question,
    figures: Mapping[str, exp.Expression],
) -> exp.Select:
    """Several nodes on one set: their classes in one relation, every figure grouped by node.

    The code of a value is its words under the column's widest mask: what the node's level leaves out is gone already.
    """
    wanted = _wanted(figures)
    select = exp.select(column("node"), *_judged(question))
    for position in range(len(shape.hierarchies)):
        if code_name(position) in wanted:
            masks = shape.layout.column_masks(position, 0)
            code = _code([masked(column(f"g_{word}"), mask) for word, mask in masks.items()])
            select = select.select(named(code, code_name(position)), copy=False)
    if WHOLE in wanted:
        select = select.select(named(column("n"), WHOLE), copy=False)
    judged = select.from_(subquery(_classes_of_many(table, nodes, shape, question), "grouped"), copy=False)
    # Figures by number: a metric may call one as the counts beside it are called.
    plain = [
        named(figure.copy(), f"figure_{number}")
        for number, figure in enumerate(figures.values())
        if not isinstance(figure, exp.Subquery)
    ]
    counts = exp.select(column("node"), *_counts_of_classes(question), *plain)
    counts = counts.from_("classes", copy=False).group_by(column("node"), copy=False)
    names = ("node", "all_classes", "suppressed", "classes", "least")
    whole = exp.select(*(column(name, "counts") for name in names)).from_(subquery(counts, "counts"), copy=False)
    for number, (name, figure) in enumerate(figures.items()):
        alias = f"figure_{number}"
        if not isinstance(figure, exp.Subquery):
            whole = whole.select(named(column(alias, "counts"), name), copy=False)
            continue
        whole = joined(whole, subquery(_by_node(figure, name), alias), ["node"], "counts", alias, "left")
        whole = whole.select(named(exp.Coalesce(this=column(name, alias), expressions=[literal(0)]), name), copy=False)
    measured = with_queries(whole, {"classes": judged})
    return exp.select(exp.Star()).from_(subquery(measured, "measured"), copy=False)


def _by_node(figure: exp.Subquery, name: str) -> exp.Select:
    """A figure that is a query over groups of classes, for every node."""
    outer = figure.copy().this
    groups = outer.args["from_"].this
    groups.set("this", groups.this.select(column("node"), copy=False).group_by(column("node"), copy=False))
    [value] = outer.expressions
    outer.set("expressions", [column("node"), named(value, name)])
    grouped: exp.Select = outer.group_by(column("node"), copy=False)
    return grouped


def _wanted(figures: Mapping[str, exp.Expression]) -> set[str]:
    """The columns of classes that figures read."""
    return {found.name for figure in figures.values() for found in figure.find_all(exp.Column)}


def measure_survivors(
    nodes: Sequence[tuple[int, Node]], table: Table, shape: Shape, figures: Mapping[str, exp.Expression]
) -> exp.Query:
    """The same after rounds of suppression, whose outcome stands in a table."""
    words = [f"p_{word}" for word in range(shape.layout.words)]
    return _all_of_them(
        [
            _measured(
                index,
                node,
                shape,
                classes_of_node(table, index, words),
                Question((), (column("kept"),)),
                figures,
                WHOLE,
            )
            for index, node in nodes
        ]
    )


def _measured(
    index: int,
    node: Node,
    shape: Shape,
    grouped: exp.Select,
    question: Question,
    figures: Mapping[str, exp.Expression],
    whole: str = "n",
) -> exp.Select:
    """A node's counts and figures; `whole` names what a class has with the part of it that is not kept with it."""
    items: list[exp.Expression] = [named(literal(index), "node"), *_counts_of_classes(question)]
    items += [named(figure.copy(), name) for name, figure in figures.items()]
    judged = _with_values(grouped, node, shape, question, _wanted(figures))
    if WHOLE in _wanted(figures):
        judged = judged.select(named(column(whole, "grouped"), WHOLE), copy=False)
    measured = with_queries(exp.select(*items).from_("classes", copy=False), {"classes": judged})
    # A subquery, so that each node of a batch may have classes of its own.
    return exp.select(exp.Star()).from_(subquery(measured, "measured"), copy=False)


def _counts_of_classes(question: Question) -> list[exp.Expression]:
    """What is counted of judged classes whatever the metric."""
    least = total_where(exp.Not(this=column("may_stay")), column("n"))
    if any(lost is not None for lost in question.lost[1:]):
        least = total(column("lost_below"))
    return [
        named(count(), "all_classes"),
        named(total_where(exp.Not(this=column("kept")), column("n")), "suppressed"),
        named(total_where(column("kept"), literal(1)), "classes"),
        named(least, "least"),
    ]


def _judged(question: Question) -> list[exp.Expression]:
    """A class's rows, whether it is kept, and whether the monotone part of the requirement lets it stay, or in part."""
    kept, *part = question.satisfied
    items = [column("n"), named(kept.copy(), "kept"), named(part[0].copy() if part else exp.true(), "may_stay")]
    items += [named(lost.copy(), "lost_below") for lost in question.lost[1:] if lost is not None]
    return items


def _with_values(
    grouped: exp.Select, node: Node, shape: Shape, question: Question, wanted: Collection[str]
) -> exp.Select:
    """Classes as metrics expect them: judged, with the code of each column's value and the leaves under it."""
    select = exp.select(*_judged(question)).from_(subquery(grouped, "grouped"), copy=False)
    for position, level in enumerate(node):
        masks = shape.layout.column_masks(position, level)
        if code_name(position) in wanted:
            code = _code([masked(column(f"p_{word}", "grouped"), mask) for word, mask in masks.items()])
            select = select.select(named(code, code_name(position)), copy=False)
        if leaves_name(position) in wanted:
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
        select = select.join(left_join(subquery(labels, alias), all_of(matching)), copy=False)
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
    others = [column(name) for name in shape.others]
    words = [named(keys.get(word, literal(0)), f"p_{word}") for word in range(shape.layout.words)]
    counts: list[exp.Expression] = [named(united(name), name) for name in shape.set_columns]
    counts.append(named(cast(exp.Sum(this=column("n")), shape.count_type), "n"))
    if shape.persons:
        counts.append(named(cast(exp.Sum(this=column("lone_respondents")), "bigint"), "lone_respondents"))
    select = exp.select(*words, *others, *counts).from_(table_expression(frequency))
    groups = [*(key.copy() for key in keys.values()), *(item.copy() for item in others)]
    return select.group_by(*groups) if groups else select
