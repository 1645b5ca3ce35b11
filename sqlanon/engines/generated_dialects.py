"""Traits of dialects that scripts are written for and no engine of ours runs.

Imports no driver. The tests parse such scripts back; ClickHouse's they also run where chdb is installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.adapted import AdaptedTraits, BinaryTextTraits, framed, ordered_anyhow
from sqlanon.engines.spark.traits import SparkTraits
from sqlanon.engines.stars import spelled_out
from sqlanon.sql.build import named
from sqlanon.sql.relations import literal

_PLAIN_NAME = re.compile(r"[a-z_][a-z0-9_]*")


@dataclass(frozen=True)
class SparkScriptTraits(AdaptedTraits, SparkTraits):
    """Spark and Databricks: a window of row numbers has an order."""

    dialect: str = "spark"

    def divided(self, value: exp.Expr, by: exp.Expr) -> exp.Expr:
        return exp.IntDiv(this=exp.Paren(this=value), expression=exp.Paren(this=by))

    def window(self, window: exp.Window) -> None:
        ordered_anyhow(window)


@dataclass(frozen=True)
class SnowflakeTraits(BinaryTextTraits):
    """Snowflake: names without quotes are upper case, so that is what plain lower case names mean there."""

    dialect: str = "snowflake"
    temporary_scratch: bool = True

    def binary(self, text: exp.Expression) -> exp.Expression:
        return exp.Collate(this=text, expression=literal("utf8"))

    def named(self, name: exp.Identifier) -> None:
        if name.args.get("quoted") and _PLAIN_NAME.fullmatch(name.name):
            name.set("this", name.name.upper())

    def window(self, window: exp.Window) -> None:
        ordered_anyhow(window)

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        return exp.Extract(this=exp.var("YEAROFWEEKISO"), expression=value)

    def iso_week(self, value: exp.Expr) -> exp.Expr:
        return exp.Extract(this=exp.var("WEEKISO"), expression=value)


@dataclass(frozen=True)
class BigQueryTraits(BinaryTextTraits):
    """BigQuery: temporary tables belong to the script."""

    dialect: str = "bigquery"
    temporary_scratch: bool = True

    def binary(self, text: exp.Expression) -> exp.Expression:
        return exp.Collate(this=text, expression=literal(""))

    def divided(self, value: exp.Expr, by: exp.Expr) -> exp.Expr:
        return exp.IntDiv(this=value, expression=by)

    def iso_week(self, value: exp.Expr) -> exp.Expr:
        return exp.Extract(this=exp.var("ISOWEEK"), expression=value)

    def at_time_zone(self, value: exp.Expr, zone: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="DATETIME", expressions=[value, zone])

    def decimal_text(self, value: exp.Expr, scale: int) -> exp.Expr:
        return exp.Anonymous(this="FORMAT", expressions=[literal(f"%.{scale}f"), value])

    def window(self, window: exp.Window) -> None:
        # Running sums take no word on NULL there; nothing that rows are numbered or summed by is NULL.
        for item in window.args["order"].expressions if window.args.get("order") else ():
            if item.args.get("nulls_first") is None and not item.args.get("desc"):
                item.set("nulls_first", True)


@dataclass(frozen=True)
class RedshiftTraits(BinaryTextTraits):
    """Redshift: running aggregates say their frame; the ISO year is that of the week's Thursday."""

    dialect: str = "redshift"
    temporary_scratch: bool = True

    def binary(self, text: exp.Expression) -> exp.Expression:
        return exp.Anonymous(this="COLLATE", expressions=[text, literal("case_sensitive")])

    def window(self, window: exp.Window) -> None:
        framed(window)

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        monday = exp.TimestampTrunc(this=value, unit=exp.var("WEEK"))
        thursday = exp.Anonymous(this="DATEADD", expressions=[exp.var("DAY"), literal(3), monday])
        return exp.Extract(this=exp.var("YEAR"), expression=thursday)


@dataclass(frozen=True)
class TrinoTraits(BinaryTextTraits):
    """Trino: scratch tables lie in the schema of the target, there are no temporary ones."""

    dialect: str = "trino"

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        return exp.Extract(this=exp.var("YEAR_OF_WEEK"), expression=value)


@dataclass(frozen=True)
class ClickHouseTraits(BinaryTextTraits):
    """ClickHouse: every table has an engine and an order, counts are signed, columns of joins keep their names."""

    dialect: str = "clickhouse"

    def adapted(self, expression: exp.Expr) -> exp.Expr:
        return super().adapted(expression).transform(_signed)

    def divided(self, value: exp.Expr, by: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="intDiv", expressions=[value, by])

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        return exp.Anonymous(this="toISOYear", expressions=[value])

    def iso_week(self, value: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="toISOWeek", expressions=[value])

    def at_time_zone(self, value: exp.Expr, zone: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="toTimeZone", expressions=[value, zone])

    def decimal_text(self, value: exp.Expr, scale: int) -> exp.Expr:
        return exp.Anonymous(this="toDecimalString", expressions=[value, literal(scale)])

    def selected(self, select: exp.Select) -> None:
        """A column of two joined tables would be called after its table too."""
        items = [
            named(item, item.name) if isinstance(item, exp.Column) and item.table and not item.is_star else item
            for item in spelled_out(select)
        ]
        select.set("expressions", items)

    def created(self, create: exp.Create) -> None:
        properties = create.args.get("properties") or exp.Properties(expressions=[])
        engine = exp.EngineProperty(this=exp.to_identifier("MergeTree"))
        order = exp.Order(expressions=[exp.Ordered(this=exp.Struct(), nulls_first=False)])
        create.set("properties", exp.Properties(expressions=[*properties.expressions, engine, order]))


def _signed(node: exp.Expr) -> exp.Expr:
    """Counts and numbers of rows are unsigned in ClickHouse, and have no common type with signed numbers. Narrow
    decimals cannot be compared with numbers that they do not hold.
    """
    if isinstance(node, exp.Floor) and isinstance(node.parent, (exp.LT, exp.GTE)):
        return exp.Cast(this=node.copy(), to=exp.DataType.build("decimal(38, 0)"))
    counts = node.this if isinstance(node, exp.Window) else node
    if not isinstance(counts, (exp.Count, exp.RowNumber, exp.DenseRank)):
        return node
    return exp.Cast(this=node.copy(), to=exp.DataType.build("bigint"))


SPARK_SCRIPT = SparkScriptTraits()
DATABRICKS = SparkScriptTraits(dialect="databricks")
SNOWFLAKE = SnowflakeTraits()
BIGQUERY = BigQueryTraits()
REDSHIFT = RedshiftTraits()
TRINO = TrinoTraits()
CLICKHOUSE = ClickHouseTraits()
