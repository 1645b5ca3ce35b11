"""The named steps of an audit's statement: queries of its WITH clause, under names that no table of a user has.

A step that bore the name of the audited table would hide it from the steps after it.
"""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from sqlanon.sql.build import with_queries
from sqlanon.sql.relations import Table, table_expression

Steps = dict[str, exp.Query]
"""Queries by name, each reading only those before it."""

_PREFIX = "sqlanon_audit_"


def step(name: str) -> exp.Table:
    """A step for a FROM clause; its columns are those of alias `name`."""
    return table_expression(Table((_PREFIX + name,)), name)


def statement(select: exp.Select, steps: Mapping[str, exp.Query]) -> exp.Select:
    """A select that reads steps."""
    return with_queries(select, {_PREFIX + name: query for name, query in steps.items()})
