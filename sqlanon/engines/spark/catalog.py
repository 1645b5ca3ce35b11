"""What Spark's catalog knows: which object a name means, what it is made of, what a view reads.

Names fold case, as Spark does. Touches the engine only through its public members.

How many bytes a reading takes, as Spark's planner estimates it; nothing is read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import unquote

from sqlglot import exp
from sqlglot.errors import SqlglotError

from sqlanon.engines.base import ColumnInfo, Statement
from sqlanon.engines.dialects import data_type, family, parsed, quoted_name
from sqlanon.engines.spark.base import SparkBase
from sqlanon.engines.spark.session import SparkError
from sqlanon.errors import SourceError
from sqlanon.sql.relations import File, Query, Relation, Table, table_expression

FORGOTTEN = timedelta(days=1)
"""Where other programs use the catalog too, a run is taken for dead when what it made is older than this."""


class Located(NamedTuple):
    """An object of a catalog. Temporary views have no catalog and no namespace."""

    catalog: str
    namespace: tuple[str, ...]
    name: str
    kind: str


@dataclass(frozen=True)
class Details:
    """What a table is made of."""

    provider: str = ""
    external: bool = False
    partitioned: bool = False
    comment: str | None = None
    column_comments: Mapping[str, str] = field(default_factory=dict)
    properties: Mapping[str, str] = field(default_factory=dict)
    created: datetime | None = None
    view_text: str | None = None


def locate(engine: SparkBase, table: Table) -> Located | None:
    """The object that a name means, or None."""
    name = quoted_name(table, "spark")

    def look(spark: Any) -> Any:
        return spark.catalog.getTable(name) if spark.catalog.tableExists(name) else None

    found = engine.on_spark("catalog", f"look up {table}", look)
    if found is None:
        return None
    kind = "view" if found.isTemporary or found.tableType == "VIEW" else "table"
    return Located(found.catalog or "", tuple(found.namespace or ()), found.name, kind)


def identity(engine: SparkBase, table: Table) -> tuple[str, ...]:
    """Catalog, namespace and name, folded: of the object if there is one, else of what the name would create."""
    found = locate(engine, table)
    if found is not None:
        parts: tuple[str, ...] = (found.catalog, *found.namespace, found.name)
    else:
        catalog, schema = engine.on_spark("catalog", "look up the default schema", _here)
        parts = ((catalog, schema), (catalog,), ())[min(len(table.schema), 2)] + table.parts
    return tuple(part.lower() for part in parts)


def _here(spark: Any) -> tuple[str, str]:
    return spark.catalog.currentCatalog(), spark.catalog.currentDatabase()


def has_schema(engine: SparkBase, schema: tuple[str, ...]) -> bool:
    """Whether a schema is there; the session's own always is."""
    if not schema:
        return True
    place = quoted_name(Table(schema), "spark")
    return engine.on_spark("catalog", "look up a schema", lambda spark: bool(spark.catalog.databaseExists(place)))


def details(engine: SparkBase, table: Table) -> Details:
    """What the catalog says of a table or view."""
    statement = exp.Describe(this=table_expression(table), style="EXTENDED", as_json=True)
    ((text,),) = engine.query(Statement("catalog", statement))
    return read_details(json.loads(text))


def read_details(told: Mapping[str, Any]) -> Details:
    """Spark's JSON as what we look at."""
    created = told.get("created_time")
    return Details(
        provider=str(told.get("provider", "")).lower(),
        external=told.get("type") == "EXTERNAL",
        partitioned=bool(told.get("partition_columns") or told.get("num_buckets") or told.get("clustering_columns")),
        comment=told.get("comment"),
        column_comments={item["name"]: item["comment"] for item in told.get("columns", ()) if item.get("comment")},
        properties=told.get("table_properties", {}),
        created=_moment(created) if isinstance(created, str) else None,
        view_text=told.get("view_text"),
    )


def _moment(text: str) -> datetime | None:
    with suppress(ValueError):
        return datetime.fromisoformat(text).astimezone(UTC)
    return None


def view_query(engine: SparkBase, view: Table) -> exp.Query | None:
    """What a view reads; None for anything else, and for a definition that only Spark understands."""
    found = locate(engine, view)
    if found is None or found.kind != "view":
        return None
    text = details(engine, view).view_text
    try:
        query: exp.Expr | None = parsed(text, "spark") if text else None
    except SqlglotError:
        return None
    return query if isinstance(query, exp.Query) else None


def files_under(engine: SparkBase, relation: Relation) -> list[str]:
    """The files that a relation reads, as Spark plans it; none where it cannot be planned."""
    sql = engine.traits.render(exp.select("*").from_(engine.traits.relation(relation, "source")))

    def look(spark: Any) -> list[str]:
        return [unquote(str(path)) for path in spark.sql(sql).inputFiles()]

    try:
        found: list[str] = engine.on_spark("catalog", f"files under {relation}", look)
    except SparkError:
        return []
    return found


def columns_of(relation: Relation, described: Sequence[tuple[str, str]]) -> tuple[ColumnInfo, ...]:
    """Columns with the families of their types; a query may not have two of one name."""
    seen: set[str] = set()
    for name, _ in described:
        if isinstance(relation, Query) and name.lower() in seen:
            raise SourceError(f"the source query has two columns named '{name}': give one of them another name")
        seen.add(name.lower())
    return tuple(_column(name, text) for name, text in described)


def _column(name: str, text: str) -> ColumnInfo:
    kind = data_type(text, "spark")
    return ColumnInfo(name, kind, family(kind))


def names_like(engine: SparkBase, schema: tuple[str, ...], pattern: str) -> list[str]:
    """The names of a schema's tables and views that match, sorted; none where there is no such schema."""
    place = quoted_name(Table(schema), "spark") if schema else None

    def found(spark: Any) -> list[str]:
        if place is not None and not spark.catalog.databaseExists(place):
            return []
        return sorted(item.name for item in spark.catalog.listTables(place, pattern) if not item.isTemporary)

    return engine.on_spark("leftovers", f"list {pattern}", found)


def is_forgotten(engine: SparkBase, table: Table, made: datetime | None = None) -> bool:
    """Whether no other program can still use it: the catalog is in this process alone, or the table is old."""
    if engine.opened.alone:
        return True
    made = made or details(engine, table).created
    return made is not None and datetime.now(UTC) - made > FORGOTTEN


_READ = re.compile(r"Relation\b.*Statistics\(sizeInBytes=(?P<number>[0-9.E+]+) (?P<unit>[KMGTPE]?i?B)")
_UNITS = {"B": 0, "KiB": 1, "MiB": 2, "GiB": 3, "TiB": 4, "PiB": 5}


def scan_bytes(engine: SparkBase, relation: Relation) -> int | None:
    """The size of the files and tables that a relation reads; None where the planner does not know."""
    if isinstance(relation, File) and relation.format != "parquet":
        # The view of a csv file comes into being when its columns are asked for.
        engine.columns(relation)
    select = exp.select("*").from_(engine.traits.relation(relation, "source"))
    explain = exp.Command(this="EXPLAIN COST", expression=engine.traits.render(select))
    with suppress(SparkError):
        ((plan,),) = engine.query(Statement("size of source", explain))
        return bytes_of_plan(str(plan))
    return None


def bytes_of_plan(plan: str) -> int | None:
    """The sizes of a plan's leaves together; None when one has no size that could be meant.

    >>> bytes_of_plan("Relation t[a#1] parquet, Statistics(sizeInBytes=1.5 KiB)")
    1536
    >>> bytes_of_plan("Relation t[a#1] jdbc, Statistics(sizeInBytes=8.0 EiB)")
    """
    optimized = plan.partition("== Physical Plan ==")[0]
    found = [(match["number"], match["unit"]) for match in _READ.finditer(optimized)]
    if not found or any(unit not in _UNITS for _, unit in found):
        return None
    return sum(round(float(number) * float(1024 ** _UNITS[unit])) for number, unit in found)
