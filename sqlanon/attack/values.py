"""Attacks on sensitive values by whoever finds a person's class: one statement each, on any table.

Reads counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from sqlglot import exp

from sqlanon.attack.result import Exposure, Figure
from sqlanon.audit.figures import rounded
from sqlanon.audit.opened import NUMBERS, Opened, text_key
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.sqlgen import attacks as attacks_sql
from sqlanon.sqlgen.build import named
from sqlanon.sqlgen.relations import Query, Relation, Table, column, table_expression


def homogeneity(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str) -> Exposure:
    """How many rows lie in a class of one value."""
    opened = _opened(engine, table, columns, sensitive)
    query = attacks_sql.homogeneity(opened.expression(), _keys(opened, columns), opened.key(sensitive))
    return measured(engine, "homogeneity", *query)


def background(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str, excluded: int) -> Exposure:
    """How many rows lie in a class of which somebody who can exclude so many values knows the value."""
    if excluded < 0:
        raise UsageError("the number of excluded values must be at least 0")
    opened = _opened(engine, table, columns, sensitive)
    keys = _keys(opened, columns)
    query = attacks_sql.background(opened.expression(), keys, opened.key(sensitive), excluded)
    return measured(engine, "background knowledge", *query)


def skewness(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str, reference: Relation) -> Exposure:
    """By how much a class says more of a value than the reference does."""
    opened, whole = _opened(engine, table, columns, sensitive), Opened.at(engine, reference, "reference")
    whole.require(sensitive)
    query = attacks_sql.skewness(
        opened.expression(),
        _keys(opened, columns),
        opened.key(sensitive, as_text=True),
        whole.expression(),
        whole.key(sensitive, as_text=True),
    )
    return measured(engine, "skewness", *query)


def similarity_by_taxonomy(
    engine: Engine,
    table: Relation,
    columns: Sequence[str],
    sensitive: str,
    taxonomy: Table,
    families: Sequence[Family],
) -> Exposure:
    """How many rows lie in a class whose values are all under one node, level by level.

    `taxonomy` is a hierarchy table of the column; `families` are the kinds of its labels, from level 0 to the top.
    """
    opened = _opened(engine, table, columns, sensitive)
    levels = len(families) - 2
    if levels < 1:
        raise UsageError(f"column '{sensitive}' has no level between its values and the top: no two values are similar")
    texts = [
        named(
            text_key(column(f"label_{level}"), families[level], engine.traits),
            "value" if level == 0 else f"label_{level}",
        )
        for level in range(levels + 1)
    ]
    labels = engine.traits.relation(Query(exp.select(*texts).from_(table_expression(taxonomy))), "taxonomy")
    keys, value = _keys(opened, columns), opened.key(sensitive, as_text=True)
    return measured(
        engine, "similarity", *attacks_sql.similarity_by_taxonomy(opened.expression(), keys, value, labels, levels)
    )


def similarity_by_range(
    engine: Engine, table: Relation, columns: Sequence[str], sensitive: str, reference: Relation, within: Decimal
) -> Exposure:
    """How many rows lie in a class whose numbers are no farther apart than a share of the whole range."""
    opened, whole = _opened(engine, table, columns, sensitive), Opened.at(engine, reference, "reference")
    whole.require(sensitive)
    if not (is_number(opened, sensitive) and is_number(whole, sensitive)):
        raise UsageError(f"column '{sensitive}' does not hold numbers: its values have no range")
    query = attacks_sql.similarity_by_range(
        opened.expression(),
        _keys(opened, columns),
        column(sensitive, opened.alias),
        whole.expression(),
        column(sensitive, whole.alias),
        within,
    )
    return measured(engine, "similarity", *query)


def is_number(opened: Opened, name: str) -> bool:
    return opened.family(name) in NUMBERS


def measured(engine: Engine, step: str, query: exp.Select, names: Sequence[str]) -> Exposure:
    """Run the statement of an attack."""
    [row] = engine.query(Statement(step, query))
    figures = {name: _figure(value) for name, value in zip(names, row, strict=True)}
    return Exposure(figures, engine.traits.render(query, pretty=True))


def _figure(value: object) -> Figure:
    """Counts are whole on every engine, sums of them too, however wide the engine makes those."""
    if value is None:
        return None
    if isinstance(value, float):
        return rounded(value)
    return int(str(value))


def _opened(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str) -> Opened:
    opened = Opened.at(engine, table, "audited")
    opened.require(*columns, sensitive)
    return opened


def _keys(opened: Opened, columns: Sequence[str]) -> list[exp.Expression]:
    return [opened.key(name) for name in columns]
