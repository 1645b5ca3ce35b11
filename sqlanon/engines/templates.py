"""Fixed catalog queries with named holes, parsed once per dialect and filled with literals of the AST.

For the queries that engines ask their own catalogs; everything about data is made by sqlgen.
"""

from __future__ import annotations

from functools import cache
from typing import cast

from sqlglot import exp, parse_one

from sqlanon.sql.relations import Table, literal, table_expression


def fill(template: str, dialect: str, **values: str | int | None) -> exp.Expression:
    """The parsed template with each `:name` replaced by a literal.

    >>> fill("select :a", "postgres", a="it's").sql("postgres")
    "SELECT 'it''s'"
    """
    holes = {name: literal(value) for name, value in values.items()}
    return with_holes_filled(parsed(template, dialect), **holes)


def with_holes_filled(template: exp.Expression, **holes: exp.Expression) -> exp.Expression:
    """A copy of the template with each `:name` replaced by an expression."""
    return cast(exp.Expression, exp.replace_placeholders(template, **holes))


def quoted_name(table: Table, dialect: str) -> str:
    """The name as the dialect writes it, every part quoted."""
    return table_expression(table).sql(dialect=dialect)


@cache
def parsed(template: str, dialect: str) -> exp.Expression:
    """The template as an AST, shared: never change it in place."""
    return cast(exp.Expression, parse_one(template, dialect=dialect))
