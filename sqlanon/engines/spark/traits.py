"""The traits of Spark: how it wants a few things written, and what its files are called in a FROM clause.

Imports no driver, so that SQL can be printed for an engine that is not installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from sqlglot import exp
from sqlglot.expressions import DType

from sqlanon.engines.dialects import NESTED, ordered_anyhow, parsed, with_holes_filled
from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import concat
from sqlanon.sql.relations import File, Table, cast, identifier, literal, table_expression
from sqlanon.sql.traits import Traits

_WITH_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")

# Columns of type char(n) come padded. The type of a column is known when a statement is planned: nothing is left of
# the test where there is no padding. The collation comes last, because a trimmed text takes that of the column.
_TEXT_KEY = """
case when typeof(:value) like 'char(%' then rtrim(cast(:value as string)) else cast(:value as string) end
"""

# Java writes 1.0E7 from 10^7 on and below 10^-3, always with a fraction. PostgreSQL writes 1e+15 from 10^15 (real:
# 10^6) on and below 10^-4, and no fraction of zero. Between those bounds 38 decimal digits hold every value.
_FLOAT_TEXT = """
case
    when isnan(:value) or abs(:value) = double('Infinity') then cast(:value as string)
    when :value = 0 then '0'
    when abs(double(cast(:value as string))) < 1e-4
        or abs(:value) >= case when typeof(:value) = 'float' then 1e6 else 1e15 end then
        regexp_replace(
            regexp_replace(substring_index(cast(:value as string), 'E', 1), '^(-?[0-9])([0-9]*)[.]', '$1.$2'),
            '[.]?0*$', ''
        )
        || case when abs(:value) < 1 then 'e-' else 'e+' end
        || case
            when cast(:value as string) like '%E%'
            then lpad(
                regexp_extract(cast(:value as string), '([0-9]+)$', 1),
                greatest(2, length(regexp_extract(cast(:value as string), '([0-9]+)$', 1))), '0'
            )
            else '06'
        end
    else regexp_replace(cast(cast(cast(:value as string) as decimal(38, 22)) as string), '[.]?0*$', '')
end
"""


@dataclass(frozen=True)
class SparkTraits(Traits):
    """Spark compares text byte by byte unless a column says otherwise, and has no infinite dates."""

    dialect: str = "spark"
    rules: bool = True
    infinite_dates: bool = False
    recursive_union: bool = False
    statement_cost: int = 10
    nodes_together: bool = True

    def render(self, expression: exp.Expr, tag: str = "", pretty: bool = False, copy: bool = True) -> str:
        """Row numbers have an order, which Spark asks for; WITH clauses stay where they are.

        sqlglot moves the WITH clauses of a whole statement to its top, where two of one name clash. From version 3 on
        Spark has them in subqueries as well. What is part of something larger is written as it stands.
        """
        adapted = expression.copy() if copy else expression
        for window in adapted.find_all(exp.Window):
            ordered_anyhow(window)
        if self.dialect == "spark":
            adapted.parent = exp.Semicolon()
        return super().render(adapted, tag, pretty, copy=False)

    def gathered(self, rows: exp.Query) -> exp.Query:
        """One task: groups and windows over it need no exchange between workers, each of which is a job of its own."""
        spread = exp.Subquery(this=rows, alias=exp.TableAlias(this=identifier("spread")))
        return exp.select(exp.Star()).from_(spread).hint("COALESCE(1)", dialect="spark", copy=False)

    def key(self, value: exp.Expression, family: Family) -> exp.Expression:
        if family is Family.TEXT:
            bare = with_holes_filled(parsed(_TEXT_KEY, "spark"), value=value)
            return exp.Collate(this=exp.Paren(this=bare), expression=exp.var("UTF8_BINARY"))
        return super().key(value, family)

    def text(self, value: exp.Expression, family: Family) -> exp.Expression:
        if family is Family.FLOAT:
            return exp.Paren(this=with_holes_filled(parsed(_FLOAT_TEXT, "spark"), value=value))
        if family is Family.TIMESTAMP_TZ:
            return exp.Paren(this=concat(cast(value, "text"), "+00"))
        return super().text(value, family)

    def file(self, file: File, alias: str) -> exp.Expression:
        if file.format == "parquet":
            return table_expression(Table(("parquet", location(file.path))), alias)
        return table_expression(text_view_of(file) if file.reading == "text" else view_of(file), alias)

    def carries(self, file: File, kind: exp.DataType) -> bool:
        """Spark writes intervals to parquet as bare numbers that only Spark knows to be intervals."""
        parts = list(kind.find_all(exp.DataType))
        if any(part.this is DType.INTERVAL or isinstance(part.this, exp.Interval) for part in parts):
            return False
        return file.format == "parquet" or not any(part.this in NESTED for part in parts)

    def csv_text(self, value: exp.Expression, family: Family) -> exp.Expression:
        return self.text(value, family)

    def keyed_hash(self, text: exp.Expression, inner: exp.Expression, outer: exp.Expression) -> exp.Expression:
        def hashed(key: exp.Expression, message: exp.Expression) -> exp.Expression:
            whole = _called("CONCAT", _called("UNHEX", key), message)
            return _called("SHA2", whole, literal(256))

        return hashed(outer, _called("UNHEX", hashed(inner, _called("ENCODE", text, literal("UTF-8")))))

    def days_later(self, value: exp.Expression, days: exp.Expression, family: Family) -> exp.Expression:
        return _called("DATE_ADD", value, days) if family is Family.DATE else super().days_later(value, days, family)

    def joined_in_order(self, value: exp.Expression) -> exp.Expression:
        return _called("ARRAY_JOIN", _called("SORT_ARRAY", _called("COLLECT_LIST", value)), literal(","))

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        return exp.Extract(this=exp.var("YEAROFWEEK"), expression=value)


def _called(function: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=function, expressions=list(arguments))


def location(path: str) -> str:
    """A path as Hadoop wants it: one without a scheme means a file of this machine, whatever the cluster's default is.

    >>> location("s3a://bucket/x.parquet"), location("/data/x.parquet")
    ('s3a://bucket/x.parquet', 'file:/data/x.parquet')
    """
    return path if _WITH_SCHEME.match(path) else f"file:{Path(path).absolute()}"


def view_of(file: File) -> Table:
    """The temporary view of a csv file: named after its path, made when its columns are asked for."""
    known = "" if file.reading == "found" else file.delimiter
    return Table((f"sqlanon_file_{sha256((location(file.path) + known).encode()).hexdigest()[:16]}",))


def text_view_of(file: File) -> Table:
    """The temporary view of a csv file before its columns have types."""
    return Table((f"{view_of(file).name}_text",))


SPARK = SparkTraits()
