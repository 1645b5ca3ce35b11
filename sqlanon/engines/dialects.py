"""The traits of the engines: how DuckDB and PostgreSQL want a few things written.

Imports no driver, so that SQL can be printed for an engine that is not installed.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlglot import exp
from sqlglot.expressions import DType

from sqlanon.engines.catalog import parsed, with_holes_filled
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import File, Table, cast, identifier, literal, table_expression
from sqlanon.sql.traits import Traits

# PostgreSQL writes a float in scientific notation from 10^15 (real: 10^6) on and drops a fraction of zero; DuckDB
# keeps '.0', goes on to 10^16 and spells nan and inf.
_FLOAT_TEXT = """
case
    when isnan(:value) then 'NaN'
    when isinf(:value) then case when :value > 0 then 'Infinity' else '-Infinity' end
    when strpos(ltrim(cast(:value as text), '-'), '.') - 1 > case when typeof(:value) = 'FLOAT' then 6 else 15 end then
        case when :value < 0 then '-' else '' end
        || regexp_replace(
            regexp_replace(
                replace(ltrim(cast(:value as text), '-'), '.', ''), '^(.)(.*?)0*$', '\\1.\\2'
            ), '[.]$', ''
        )
        || 'e+' || lpad(cast(strpos(ltrim(cast(:value as text), '-'), '.') - 2 as text), 2, '0')
    else regexp_replace(cast(:value as text), '[.]0$', '')
end
"""

NESTED = frozenset({DType.ARRAY, DType.LIST, DType.MAP, DType.STRUCT, DType.UNION, DType.VARIANT}) | {
    DType.BLOB,
    DType.BINARY,
    DType.VARBINARY,
}
"""What a csv file has no form for: the texts that engines write for these are their own."""

# Written as doubles (HUGEINT), in milliseconds (INTERVAL), without their zone, or as a structure.
_NOT_IN_PARQUET = frozenset({DType.INT128, DType.UINT128, DType.INTERVAL, DType.TIMETZ, DType.UNION})


@dataclass(frozen=True)
class DuckDBTraits(Traits):
    """DuckDB reads files; its floats are spelled as PostgreSQL spells them."""

    dialect: str = "duckdb"
    temporary_scratch: bool = True
    plain_names: bool = True

    def text(self, value: exp.Expression, family: Family) -> exp.Expression:
        if family is Family.FLOAT:
            return exp.Paren(this=with_holes_filled(parsed(_FLOAT_TEXT, "duckdb"), value=value))
        return super().text(value, family)

    def file(self, file: File, alias: str) -> exp.Expression:
        of_text = file.format != "parquet"
        options: list[tuple[str, exp.Expression]] = []
        if of_text:
            options += [("sample_size", exp.Literal.number(-1)), ("header", exp.true())]
        if of_text and file.reading != "found":
            marks = {"delim": file.delimiter, "quote": '"', "escape": '"', "comment": ""}
            options += [(name, literal(mark)) for name, mark in marks.items()]
        if of_text and file.reading == "text":
            options.append(("all_varchar", exp.true()))
        reader = exp.Anonymous(
            this="read_csv" if of_text else "read_parquet",
            expressions=[
                literal(file.path),
                *(exp.EQ(this=exp.var(name), expression=value) for name, value in options),
            ],
        )
        return exp.Table(this=reader, alias=exp.TableAlias(this=identifier(alias)))

    def carries(self, file: File, kind: exp.DataType) -> bool:
        refused = _NOT_IN_PARQUET if file.format == "parquet" else NESTED
        return not any(part.this in refused for part in kind.find_all(exp.DataType))

    def header(self, file: File, alias: str) -> exp.Expression:
        """A file of texts whose first row is its header."""
        options = (("header", exp.false()), ("all_varchar", exp.true()))
        reader = exp.Anonymous(
            this="read_csv",
            expressions=[
                literal(file.path),
                *(exp.EQ(this=exp.var(name), expression=value) for name, value in options),
            ],
        )
        return exp.Table(this=reader, alias=exp.TableAlias(this=identifier(alias)))

    def copy_to_file(self, table: Table, file: File) -> exp.Expression:
        select = exp.select("*").from_(table_expression(table))
        of_text = file.format != "parquet"
        options = [exp.CopyParameter(this=exp.var("FORMAT"), expression=exp.var("csv" if of_text else "parquet"))]
        if of_text:
            options.append(exp.CopyParameter(this=exp.var("HEADER"), expression=exp.true()))
        if file.format == "tsv":
            options.append(exp.CopyParameter(this=exp.var("DELIMITER"), expression=literal("\t")))
        return exp.Copy(this=exp.Subquery(this=select), kind=False, files=[literal(file.path)], params=options)


@dataclass(frozen=True)
class PostgresTraits(Traits):
    """PostgreSQL: scratch tables need no write-ahead log, a crash reclaims them."""

    dialect: str = "postgres"
    unlogged_scratch: bool = True
    plans_by_statistics: bool = True
    plain_names: bool = True
    views_need_barrier: bool = True

    def bit_count(self, value: exp.Expression) -> exp.Expression:
        return exp.Anonymous(this="BIT_COUNT", expressions=[cast(value, "bit(64)")])


DUCKDB = DuckDBTraits()
POSTGRES = PostgresTraits()
