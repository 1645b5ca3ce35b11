"""The dialects that `sqlanon sql` writes, by name, and the traits of those that no engine here runs.

Imports no driver, so that scripts can be written for databases whose drivers are not installed. The tests parse such
scripts back; ClickHouse's they also run where chdb is installed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.base import Capability, Engine
from sqlanon.engines.clickhouse.traits import CLICKHOUSE
from sqlanon.engines.clickhouse.traits import SETTINGS as OF_CLICKHOUSE
from sqlanon.engines.dialects import DUCKDB, POSTGRES, AdaptedTraits, BinaryTextTraits, framed, ordered_anyhow
from sqlanon.engines.scripting import Scripting, ThrowingScripting
from sqlanon.engines.spark.traits import SparkTraits
from sqlanon.errors import UsageError
from sqlanon.sql.relations import literal
from sqlanon.sql.traits import ViewBarrier

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
    view_barrier: ViewBarrier = "secure"
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


SPARK_SCRIPT = SparkScriptTraits()
DATABRICKS = SparkScriptTraits(dialect="databricks")
SNOWFLAKE = SnowflakeTraits()
BIGQUERY = BigQueryTraits()
REDSHIFT = RedshiftTraits()
TRINO = TrinoTraits()


_FILES = frozenset({"csv", "tsv", "parquet", "json", "xlsx"})

_DIALECTS = (
    Scripting(
        DUCKDB,
        "cat *.sql | duckdb -bail warehouse.duckdb",
        executed=True,
        settings=("set timezone = 'UTC'", "set default_collation = ''", "set default_null_order = 'nulls_last'"),
        source_files=_FILES,
        target_files=True,
    ),
    Scripting(
        POSTGRES,
        "cat *.sql | psql -v ON_ERROR_STOP=1 -d warehouse",
        executed=True,
        settings=(
            "set local transaction_isolation = 'repeatable read'",
            "set local timezone = 'UTC'",
            "set local datestyle = 'ISO, YMD'",
            "set local extra_float_digits = 1",
        ),
        timeout="set local statement_timeout = :milliseconds",
    ),
    Scripting(
        SPARK_SCRIPT,
        "cat *.sql > release.sql; spark-sql -f release.sql",
        executed=True,
        transactional=False,
        settings=(
            "set spark.sql.ansi.enabled = true",
            "set spark.sql.session.timeZone = UTC",
            "set spark.sql.parser.escapedStringLiterals = false",
            "set spark.sql.preserveCharVarcharTypeInfo = true",
        ),
        failure="RAISE_ERROR",
        source_files=frozenset({"parquet"}),
    ),
    Scripting(
        SNOWFLAKE,
        "cat *.sql | snowsql -o exit_on_error=true",
        transactional=False,
        settings=("alter session set timezone = 'UTC'",),
        replaces=True,
        keeps_grants=True,
    ),
    Scripting(
        BIGQUERY,
        "cat *.sql | bq query --use_legacy_sql=false",
        transactional=False,
        replaces=True,
        failure="ERROR",
    ),
    Scripting(
        REDSHIFT,
        "cat *.sql | psql -v ON_ERROR_STOP=1 -h cluster -d warehouse",
        settings=("set timezone to 'UTC'",),
        timeout="set statement_timeout to :milliseconds",
    ),
    Scripting(
        DATABRICKS,
        "cat *.sql > release.sql; dbsqlcli -e release.sql",
        transactional=False,
        settings=("set ansi_mode = true", "set timezone = UTC"),
        replaces=True,
        failure="RAISE_ERROR",
        source_files=frozenset({"parquet"}),
    ),
    Scripting(TRINO, "cat *.sql > release.sql; trino -f release.sql", transactional=False, replaces=True),
    ThrowingScripting(
        CLICKHOUSE,
        "cat *.sql | clickhouse-client --multiquery",
        transactional=False,
        settings=tuple(f"set {name} = {literal(value).sql('clickhouse')}" for name, value in OF_CLICKHOUSE.items()),
        replaces=True,
        failure="throwIf",
    ),
)

SCRIPT_DIALECTS: dict[str, Scripting] = {scripting.name: scripting for scripting in _DIALECTS}


def scripting_for(engine: Engine) -> Scripting:
    """How scripts are written for an engine; for one that is not listed, by what it can do.

    UsageError where a script could not stop when an audit fails.
    """
    listed = SCRIPT_DIALECTS.get(engine.dialect)
    if listed is not None:
        return listed
    if not engine.traits.casts_fail:
        raise UsageError(
            f"{engine.name} has no statement that fails when an audit does, so that a script would publish what failed "
            f"it: publish with `sqlanon run`, or name another --dialect"
        )
    transactional = Capability.TRANSACTIONAL_DDL in engine.capabilities
    return Scripting(engine.traits, "in one session that stops at the first error", transactional=transactional)
