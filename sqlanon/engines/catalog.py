"""Catalog queries and type names that engines share.

Queries are fixed templates with named holes, parsed once per dialect and filled with literals of the AST; statements on
data are made elsewhere. The type texts that catalogs print become types of the AST and families of values. Pure.
"""

from __future__ import annotations

from functools import cache
from typing import cast

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.expressions import DType

from sqlanon.hierarchies.base import Family
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


_FAMILIES: dict[Family, frozenset[DType]] = {
    Family.TEXT: frozenset({DType.TEXT, DType.VARCHAR, DType.CHAR, DType.NCHAR, DType.NVARCHAR, DType.BPCHAR})
    | {DType.NAME, DType.ENUM},
    Family.INTEGER: frozenset({DType.TINYINT, DType.SMALLINT, DType.INT, DType.BIGINT, DType.INT128, DType.BIGNUM})
    | {DType.UTINYINT, DType.USMALLINT, DType.UINT, DType.UBIGINT, DType.UINT128},
    Family.DECIMAL: frozenset({DType.DECIMAL}),
    Family.FLOAT: frozenset({DType.FLOAT, DType.DOUBLE}),
    Family.BOOLEAN: frozenset({DType.BOOLEAN}),
    Family.DATE: frozenset({DType.DATE}),
    Family.TIMESTAMP: frozenset({DType.TIMESTAMP, DType.TIMESTAMP_NS, DType.TIMESTAMP_MS, DType.TIMESTAMP_S})
    | {DType.DATETIME, DType.TIMESTAMPNTZ},
    Family.TIMESTAMP_TZ: frozenset({DType.TIMESTAMPTZ, DType.TIMESTAMPLTZ}),
}

FAMILY_OF: dict[DType, Family] = {kind: family for family, kinds in _FAMILIES.items() for kind in kinds}


def data_type(text: str, dialect: str) -> exp.DataType:
    """The type for use in a CAST; a type sqlglot does not know is carried by its name.

    >>> data_type("numeric(5,2)", "postgres").sql("postgres")
    'DECIMAL(5, 2)'
    """
    try:
        built = exp.DataType.build(text, dialect=dialect, udt=True)
    except SqlglotError:
        built = None
    if isinstance(built, exp.DataType):
        return built
    return exp.DataType(this=DType.USERDEFINED, kind=text)


def family(kind: exp.DataType) -> Family:
    """The family of a type; OTHER for anything that no hierarchy rule computes with."""
    return FAMILY_OF.get(kind.this, Family.OTHER)
