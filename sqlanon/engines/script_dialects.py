"""The dialects that `sqlanon sql` writes, by name.

Imports no driver, so that scripts can be written for databases whose drivers are not installed.
"""

from __future__ import annotations

from sqlanon.engines.base import Capability, Engine
from sqlanon.engines.dialects import DUCKDB, POSTGRES
from sqlanon.engines.generated_dialects import (
    BIGQUERY,
    CLICKHOUSE,
    DATABRICKS,
    REDSHIFT,
    SNOWFLAKE,
    SPARK_SCRIPT,
    TRINO,
)
from sqlanon.engines.scripting import Scripting, ThrowingScripting

_FILES = frozenset({"csv", "tsv", "parquet"})

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
        isolation="ISOLATION LEVEL REPEATABLE READ",
        settings=(
            "set local timezone = 'UTC'",
            "set local datestyle = 'ISO, YMD'",
            "set local extra_float_digits = 1",
        ),
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
        settings=(
            # Outer joins give NULL, sums over nothing are NULL, and a name means a column before it means an alias.
            "set join_use_nulls = 1",
            "set aggregate_functions_null_for_empty = 1",
            "set prefer_column_name_to_alias = 1",
        ),
        replaces=True,
        failure="throwIf",
    ),
)

SCRIPT_DIALECTS: dict[str, Scripting] = {scripting.name: scripting for scripting in _DIALECTS}


def scripting_for(engine: Engine) -> Scripting:
    """How scripts are written for an engine; for one that is not listed, by what it can do."""
    listed = SCRIPT_DIALECTS.get(engine.dialect)
    if listed is not None:
        return listed
    transactional = Capability.TRANSACTIONAL_DDL in engine.capabilities
    return Scripting(engine.traits, "in one session that stops at the first error", transactional=transactional)
