"""Long queries with named holes: written once as readable SQL, parsed to an AST, filled with tables and expressions.

Every identifier of a template is quoted when it is parsed, so that names mean what they say on every engine.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import cast

from sqlglot import exp, parse_one

from sqlanon.sql.relations import Table, literal, table_expression

Hole = exp.Expression | str | int


def query(template: str, tables: Mapping[str, Table | exp.Query] | None = None, **holes: Hole) -> exp.Select:
    """The template with each `:name` replaced by an expression, and each table that has a meaning by it.

    >>> from sqlanon.sql.relations import Table
    >>> query("select x + :y as z from t as a", {"t": Table(("my s", "t"))}, y=1).sql()
    'SELECT "x" + 1 AS "z" FROM "my s"."t" AS "a"'
    """
    select = cast(exp.Select, _parsed(template).copy())
    for table in list(select.find_all(exp.Table)):
        given = (tables or {}).get(table.name)
        if given is None or table.args.get("db"):
            continue
        alias = table.alias or table.name
        table.replace(
            table_expression(given, alias)
            if isinstance(given, Table)
            else exp.Subquery(this=given.copy(), alias=exp.TableAlias(this=exp.to_identifier(alias, quoted=True)))
        )
    for hole in list(select.find_all(exp.Placeholder)):
        hole.replace(_expression(holes[hole.name]))
    return select


def expression(template: str, **holes: Hole) -> exp.Expression:
    """As `query`, for an expression.

    >>> expression("x + :y", y=1).sql()
    '"x" + 1'
    """
    return cast(exp.Expression, query(template, None, **holes))


def _expression(value: Hole) -> exp.Expression:
    return value.copy() if isinstance(value, exp.Expression) else literal(value)


@lru_cache(maxsize=256)
def _parsed(template: str) -> exp.Expr:
    parsed = parse_one(template)
    for name in parsed.find_all(exp.Identifier):
        name.set("quoted", True)
    return parsed
