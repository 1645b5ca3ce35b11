"""Nodes under a requirement of several groupings: suppression in rounds, until every grouping is content.

A row of a class that fails in one grouping is missing in the classes of the others. Many nodes take a round together,
by one statement.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from typing import Any

from sqlglot import exp

from sqlanon.engines.base import Engine, Statement
from sqlanon.evaluation import statements as node_sql
from sqlanon.evaluation.statements import Judged
from sqlanon.hierarchies.lattice import Node
from sqlanon.privacy.base import Requirement
from sqlanon.source.frequency_statements import Shape
from sqlanon.source.scratch import Scratch
from sqlanon.sql.relations import Table
from sqlanon.sql.values import ValueTables

Request = tuple[int, Node, Table]
"""A node to evaluate: its number in the batch, its levels, and the set to evaluate it on."""


def settle(
    engine: Engine,
    scratch: Scratch,
    table: Table,
    columns: Sequence[str],
    groupings: Sequence[Judged],
    persons: bool,
    tables: Mapping[int, ValueTables],
) -> Table:
    """Repeat rounds on a table of counted rows until nothing changes; the last table, the others are dropped."""
    lost = -1
    for number in count(1):
        query = node_sql.survivors(table, columns, groupings, persons, tables)
        following = scratch.create("suppression round", f"{_plain(table, scratch)}_{number}", query)
        scratch.drop(table)
        table = following
        [(now,)] = engine.query(Statement("suppression round", node_sql.left_out(table)))
        if int(now) == lost:
            return table
        lost = int(now)
    raise AssertionError("rounds end: each suppresses more rows or is the last")


def _plain(table: Table, scratch: Scratch) -> str:
    """The name of a scratch table without the run's mark and the number of a round."""
    return table.name.removeprefix(scratch.name("").name).partition("_")[0]


class Rounds:
    """Evaluates batches of nodes in rounds."""

    def __init__(self, engine: Engine, scratch: Scratch, shape: Shape) -> None:
        self._engine = engine
        self._scratch = scratch
        self._shape = shape
        self._numbers = count(1)

    def counts(self, requests: Sequence[Request], requirement: Requirement) -> Iterator[tuple[int, int, int, int]]:
        """For each node: its number, classes, suppressed rows and classes with a kept row."""
        words = [f"p_{word}" for word in range(self._shape.layout.words)]
        table = self._settled(requests, requirement)
        for row in self._engine.query(Statement("evaluate nodes", node_sql.left_out_by_node(table, words))):
            index, size, suppressed, classes = (int(number) for number in row)
            yield index, size, suppressed, classes
        self._scratch.drop(table)

    def measures(
        self, requests: Sequence[Request], requirement: Requirement, figures: Mapping[str, exp.Expression]
    ) -> list[tuple[Any, ...]]:
        """The same with the figures of a metric."""
        table = self._settled(requests, requirement)
        nodes = [(index, node) for index, node, _ in requests]
        query = node_sql.measure_survivors(nodes, table, self._shape, figures)
        answers = self._engine.query(Statement("measure nodes", query, fresh=True))
        self._scratch.drop(table)
        return list(answers)

    def _settled(self, requests: Sequence[Request], requirement: Requirement) -> Table:
        name = f"t{next(self._numbers)}"
        start = self._scratch.create("counted rows", name, node_sql.several_nodes(requests, self._shape))
        groupings = [self._judged(requests, index, requirement) for index in range(len(requirement.groupings))]
        columns = ["node", *self._shape.columns]
        tables = dict(enumerate(self._shape.tables))
        return settle(self._engine, self._scratch, start, columns, groupings, self._shape.persons, tables)

    def _judged(self, requests: Sequence[Request], index: int, requirement: Requirement) -> Judged:
        grouping = requirement.groupings[index]
        keys = node_sql.grouping_keys(grouping.columns, grouping.known, self._shape)
        population = None
        if grouping.reads_population:
            nodes = [(number, node) for number, node, _ in requests]
            population = node_sql.population_of_nodes(nodes, grouping.columns, self._shape)
        return Judged(keys, grouping.measures(), grouping.satisfied(), population)
