"""Statements of evidence: its tables, what is written to them, read and removed; and the classes of the source.

The tables are those of sql/metadata, which people may run themselves; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sqlglot import exp

from sqlanon.sql.build import count, named, subquery, total, total_where
from sqlanon.sql.relations import Table, cast, column, identifier, literal, table_expression

RUN = "sqlanon_run"
LEVEL = "sqlanon_run_level"
CHECK = "sqlanon_run_check"
STATEMENT = "sqlanon_run_statement"

TABLES: Mapping[str, Mapping[str, str]] = {
    RUN: {
        "run": "text",
        "command": "text",
        "outcome": "text",
        "failure": "text",
        "spec_hash": "text",
        "recipient": "text",
        "source": "text",
        "target": "text",
        "engine": "text",
        "engine_version": "text",
        "sqlanon_version": "text",
        "python_version": "text",
        "started_utc": "timestamp",
        "finished_utc": "timestamp",
        "source_rows": "bigint",
        "suppressed_rows": "bigint",
        "blanked_rows": "bigint",
        "released_rows": "bigint",
        "classes": "bigint",
        "smallest_class": "bigint",
        "satisfied": "boolean",
        "evidence": "text",
    },
    LEVEL: {"run": "text", "place": "int", "column_name": "text", "level": "int", "height": "int"},
    CHECK: {
        "run": "text",
        "place": "int",
        "model": "text",
        "column_name": "text",
        "required": "text",
        "measured": "double",
        "classes_at_risk": "bigint",
        "rows_at_risk": "bigint",
        "satisfied": "boolean",
    },
    STATEMENT: {
        "run": "text",
        "place": "int",
        "step": "text",
        "seconds": "double",
        "row_count": "bigint",
        "failed": "boolean",
    },
}
"""Columns and types of each table; the first column is never NULL."""


def create(table: Table) -> exp.Create:
    """The statement that makes one of the tables where it is missing."""
    columns = TABLES[table.name]
    definitions = [
        exp.ColumnDef(this=identifier(name), kind=exp.DataType.build(kind)) for name, kind in columns.items()
    ]
    definitions[0].set("constraints", [exp.ColumnConstraint(kind=exp.NotNullColumnConstraint())])
    schema = exp.Schema(this=table_expression(table), expressions=definitions)
    return exp.Create(this=schema, kind="TABLE", exists=True)


def insert(table: Table, rows: Sequence[Sequence[Any]]) -> exp.Insert:
    """Write rows, each in the order of the table's columns."""
    types = list(TABLES[table.name].values())
    values = [
        exp.Tuple(expressions=[_typed(value, kind) for value, kind in zip(row, types, strict=True)]) for row in rows
    ]
    into = exp.Schema(this=table_expression(table), expressions=[identifier(name) for name in TABLES[table.name]])
    return exp.Insert(this=into, expression=exp.Values(expressions=values))


def _typed(value: Any, kind: str) -> exp.Expression:
    if value is None:
        return exp.Null()
    if kind == "boolean":
        return exp.true() if value else exp.false()
    if kind in ("int", "bigint"):
        return literal(int(value))
    return literal(value) if kind == "text" else cast(literal(str(value)), kind)


def runs(table: Table) -> exp.Select:
    """The evidence of every run, newest first."""
    newest = exp.Ordered(this=column("finished_utc"), desc=True, nulls_first=False)
    return exp.select(column("evidence")).from_(table_expression(table)).order_by(newest, column("run"))


def statements(table: Table, run: str) -> exp.Select:
    """The statements of one run, in their order."""
    names = ("step", "seconds", "row_count", "failed")
    found = exp.select(*(column(name) for name in names)).from_(table_expression(table))
    return found.where(_of(run)).order_by(column("place"))


def remove(table: Table, run: str) -> exp.Delete:
    """Forget one run."""
    return exp.Delete(this=table_expression(table), where=exp.Where(this=_of(run)))


def _of(run: str) -> exp.Expression:
    return exp.EQ(this=column("run"), expression=literal(run))


def source_classes(base: Table, width: int, k: int, *, grouped: bool) -> exp.Select:
    """Rows, classes, smallest class, classes and rows below k, of the scan's result: the source as it is.

    Where the scan counted by the quasi-identifier alone, its rows are the classes.
    """
    rows: exp.Expression = table_expression(base, "classes")
    if not grouped:
        keys = [column(f"q_{position}") for position in range(width)]
        sums = exp.select(named(exp.Sum(this=column("n")), "n")).from_(table_expression(base)).group_by(*keys)
        rows = subquery(sums, "classes")
    small = exp.LT(this=column("n"), expression=literal(k))
    figures = [
        total(column("n")),
        count(),
        exp.Min(this=column("n")),
        total_where(small, literal(1)),
        total_where(small.copy(), column("n")),
    ]
    return exp.select(*figures).from_(rows)
