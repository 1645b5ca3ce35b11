"""Dialects as engines write and read them: traits, fixed catalog queries, and the names of types.

How DuckDB and PostgreSQL want a few things written; what adapts a statement node by node where sqlglot's generators do
not know enough of a dialect. Queries of catalogs are fixed templates with named holes, parsed once per dialect and
filled with literals of the AST; the type texts that catalogs print become types of the AST and families of values.
Pure: no driver is imported, so that SQL can be printed for an engine that is not installed.
"""

from __future__ import annotations

import typing
from dataclasses import dataclass
from functools import cache

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError
from sqlglot.expressions import DType

from sqlanon.hierarchies.base import Family
from sqlanon.sql.copies import without_places
from sqlanon.sql.relations import File, FileFormat, Table, cast, identifier, literal, table_expression
from sqlanon.sql.traits import Traits, ViewBarrier

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
    rules: bool = True
    reads_unusual: bool = True
    temporary_scratch: bool = True
    plain_names: bool = True

    def text(self, value: exp.Expression, family: Family) -> exp.Expression:
        if family is Family.FLOAT:
            return exp.Paren(this=with_holes_filled(parsed(_FLOAT_TEXT, "duckdb"), value=value))
        return super().text(value, family)

    def file(self, file: File, alias: str) -> exp.Expression:
        of_text = file.of_text
        options: list[tuple[str, exp.Expression]] = []
        if file.format == "json":
            options.append(("sample_size", exp.Literal.number(-1)))
        if of_text:
            options += [("sample_size", exp.Literal.number(-1)), ("header", exp.true())]
        if of_text and file.reading != "found":
            marks = {"delim": file.delimiter, "quote": '"', "escape": '"', "comment": ""}
            options += [(name, literal(mark)) for name, mark in marks.items()]
        if of_text and file.reading == "text":
            options.append(("all_varchar", exp.true()))
        if file.several:
            # A column that only some files have is seen, not left out; files may have their columns in any order.
            options.append(("union_by_name", exp.true()))
        reader = exp.Anonymous(
            this=_READERS[file.format],
            expressions=[
                _paths(file),
                *(exp.EQ(this=exp.var(name), expression=value) for name, value in options),
            ],
        )
        return exp.Table(this=reader, alias=exp.TableAlias(this=identifier(alias)))

    def carries(self, file: File, kind: exp.DataType) -> bool:
        refused = _NOT_IN_PARQUET if file.format == "parquet" else NESTED
        return not any(part.this in refused for part in kind.find_all(exp.DataType))

    def copies(self, number: exp.Expression) -> exp.Expression:
        numbers = exp.Anonymous(this="RANGE", expressions=[number])
        return exp.Anonymous(this="UNNEST", expressions=[numbers])

    def joined_in_order(self, value: exp.Expression) -> exp.Expression:
        """A list is sorted in half the time of an aggregate with an order; the session may have other orders."""
        ordered = _called("LIST_SORT", _called("LIST", value), literal("ASC"), literal("NULLS LAST"))
        return _called("ARRAY_TO_STRING", ordered, literal(","))

    def keyed_hash(self, text: exp.Expression, inner: exp.Expression, outer: exp.Expression) -> exp.Expression:
        within = _joined_bytes(_called("UNHEX", inner), _called("ENCODE", text))
        whole = _joined_bytes(_called("UNHEX", outer), _called("UNHEX", _called("SHA256", within)))
        return _called("SHA256", whole)

    def header(self, file: File, alias: str) -> exp.Expression:
        """A file of texts whose first row is its header."""
        options = (("header", exp.false()), ("all_varchar", exp.true()))
        reader = exp.Anonymous(
            this="read_csv",
            expressions=[
                _paths(file),
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
    rules: bool = True
    unlogged_scratch: bool = True
    plans_by_statistics: bool = True
    plain_names: bool = True
    view_barrier: ViewBarrier = "security_barrier"

    def copies(self, number: exp.Expression) -> exp.Expression:
        return exp.Anonymous(this="GENERATE_SERIES", expressions=[literal(1), number])

    def bit_count(self, value: exp.Expression) -> exp.Expression:
        return exp.Anonymous(this="BIT_COUNT", expressions=[cast(value, "bit(64)")])

    def keyed_hash(self, text: exp.Expression, inner: exp.Expression, outer: exp.Expression) -> exp.Expression:
        inner, outer = (_called("DECODE", key, literal("hex")) for key in (inner, outer))
        within = _joined_bytes(inner, _called("CONVERT_TO", text, literal("UTF8")))
        whole = _joined_bytes(outer, _called("SHA256", within))
        return _called("ENCODE", _called("SHA256", whole), literal("hex"))


_READERS: dict[FileFormat, str] = {
    "csv": "read_csv",
    "tsv": "read_csv",
    "parquet": "read_parquet",
    "json": "read_json",
    "xlsx": "read_xlsx",
}


def _paths(file: File) -> exp.Expression:
    """A path or pattern as a text, several as a list."""
    found = [literal(path) for path in file.patterns]
    return found[0] if len(found) == 1 else exp.Array(expressions=found)


def _called(function: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=function, expressions=list(arguments))


def _joined_bytes(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.Paren(this=exp.DPipe(this=left, expression=right, safe=True))


DUCKDB = DuckDBTraits()
POSTGRES = PostgresTraits()


_INFINITE = frozenset({"infinity", "-infinity"})
_RUNNING = (exp.Sum, exp.Count, exp.Min, exp.Max, exp.FirstValue)
_NEED_ORDER = (exp.RowNumber, exp.FirstValue)


@dataclass(frozen=True)
class AdaptedTraits(Traits):
    """Traits whose statements are adapted before they are written."""

    infinite_dates: bool = False
    """Dates may be infinite: asking whether one is does not fail."""

    def render(self, expression: exp.Expr, tag: str = "", pretty: bool = False, copy: bool = True) -> str:
        return super().render(self.adapted(expression), tag, pretty, copy=False)

    def adapted(self, expression: exp.Expr) -> exp.Expr:
        """A copy of a statement in the words of the dialect."""
        return expression.transform(self._changed)

    def _changed(self, node: exp.Expr) -> exp.Expr:
        match node:
            case exp.IntDiv():
                return self.divided(self.adapted(node.this), self.adapted(node.expression))
            case exp.Extract() if node.name.upper() == "WEEK":
                return self.iso_week(self.adapted(node.expression))
            case exp.AtTimeZone():
                return self.at_time_zone(self.adapted(node.this), node.args["zone"])
            case exp.Cast() if scale := _scale_of_product(node):
                return self.decimal_text(self.adapted(node.this), scale)
            case exp.Case() if not self.infinite_dates:
                node.set("ifs", [item for item in node.args["ifs"] if not _asks_for_infinity(item)])
            case exp.Window():
                self.window(node)
            case exp.Select():
                self.selected(node)
            case exp.Create() if node.args.get("kind") == "TABLE":
                self.created(node)
            case exp.Identifier():
                self.named(node)
        return node

    def divided(self, value: exp.Expr, by: exp.Expr) -> exp.Expr:
        """The whole part of a quotient of whole numbers, exactly: what is left over is taken away first."""
        rest = exp.Mod(this=exp.Paren(this=value.copy()), expression=exp.Paren(this=by.copy()))
        whole = exp.Paren(this=exp.Sub(this=exp.Paren(this=value), expression=rest))
        return cast(exp.Div(this=whole, expression=exp.Paren(this=by), typed=True, safe=False), "bigint")

    def iso_week(self, value: exp.Expr) -> exp.Expr:
        """The number of the ISO week."""
        return exp.Extract(this=exp.var("WEEK"), expression=value)

    def at_time_zone(self, value: exp.Expr, zone: exp.Expr) -> exp.Expr:
        """The wall clock of a moment in a time zone."""
        return exp.AtTimeZone(this=value, zone=zone)

    def decimal_text(self, value: exp.Expr, scale: int) -> exp.Expr:
        """The text of a decimal number with all its decimals, zeros too."""
        return exp.Cast(this=value, to=exp.DataType.build("text"))

    def window(self, window: exp.Window) -> None:
        """Change a window in place."""

    def selected(self, select: exp.Select) -> None:
        """Change a SELECT in place."""

    def created(self, create: exp.Create) -> None:
        """Change a CREATE TABLE in place."""

    def named(self, name: exp.Identifier) -> None:
        """Change a name in place."""


@dataclass(frozen=True)
class BinaryTextTraits(AdaptedTraits):
    """A dialect that compares texts byte by byte unless their column says otherwise."""

    def key(self, value: exp.Expression, family: Family) -> exp.Expression:
        return self.binary(cast(value, "text")) if family is Family.TEXT else super().key(value, family)

    def binary(self, text: exp.Expression) -> exp.Expression:
        """A text without the collation of its column."""
        return text


def ordered_anyhow(window: exp.Window) -> None:
    """Give a window function an order where the dialect asks for one: a constant, which orders nothing."""
    if isinstance(window.this, _NEED_ORDER) and not window.args.get("order"):
        window.set("order", exp.Order(expressions=[exp.Ordered(this=literal(1))]))


def framed(window: exp.Window) -> None:
    """Say the frame of a running aggregate where the dialect asks for it."""
    if isinstance(window.this, _RUNNING) and window.args.get("order") and not window.args.get("spec"):
        rows = exp.WindowSpec(kind="ROWS", start="UNBOUNDED", start_side="PRECEDING", end="CURRENT ROW")
        window.set("spec", rows)


def _asks_for_infinity(branch: exp.If) -> bool:
    condition = branch.this
    cast_to = condition.expression if isinstance(condition, exp.EQ) else None
    if not isinstance(cast_to, exp.Cast) or not isinstance(cast_to.this, exp.Literal):
        return False
    return cast_to.this.name in _INFINITE and cast_to.to.this in exp.DataType.TEMPORAL_TYPES


def _scale_of_product(node: exp.Cast) -> int:
    """The decimals of a product that is cast to a text; 0 for any other cast."""
    product = node.this
    if (
        node.to.this is not DType.TEXT
        or not isinstance(product, exp.Mul)
        or not isinstance(product.expression, exp.Cast)
    ):
        return 0
    digits = [int(item.name) for item in product.expression.to.expressions]
    return digits[1] if len(digits) == 2 else 0


def fill(template: str, dialect: str, **values: str | int | None) -> exp.Expression:
    """The parsed template with each `:name` replaced by a literal.

    >>> fill("select :a", "postgres", a="it's").sql("postgres")
    "SELECT 'it''s'"
    """
    holes = {name: literal(value) for name, value in values.items()}
    return with_holes_filled(parsed(template, dialect), **holes)


def with_holes_filled(template: exp.Expression, **holes: exp.Expression) -> exp.Expression:
    """A copy of the template with each `:name` replaced by an expression."""
    return typing.cast(exp.Expression, exp.replace_placeholders(template, **holes))


def names_of_call(function: exp.Func, dialect: str) -> set[str]:
    """What a function that is called may be named: somebody may have made one with the name of a built-in one."""
    if isinstance(function, exp.Anonymous):
        return {function.name.lower()}
    written = function.sql(dialect=dialect).partition("(")[0]
    return {name.lower() for name in (*function.sql_names(), written) if name.isidentifier()}


def quoted_name(table: Table, dialect: str) -> str:
    """The name as the dialect writes it, every part quoted."""
    return table_expression(table).sql(dialect=dialect)


@cache
def parsed(template: str, dialect: str) -> exp.Expression:
    """The template as an AST, shared: never change it in place."""
    return typing.cast(exp.Expression, without_places(parse_one(template, dialect=dialect)))


_FAMILIES: dict[Family, frozenset[DType]] = {
    Family.TEXT: frozenset({DType.TEXT, DType.VARCHAR, DType.CHAR, DType.NCHAR, DType.NVARCHAR, DType.BPCHAR})
    | {DType.NAME, DType.ENUM, DType.TINYTEXT, DType.MEDIUMTEXT, DType.LONGTEXT},
    Family.INTEGER: frozenset({DType.TINYINT, DType.SMALLINT, DType.INT, DType.BIGINT, DType.INT128, DType.BIGNUM})
    | {DType.UTINYINT, DType.USMALLINT, DType.UINT, DType.UBIGINT, DType.UINT128},
    Family.DECIMAL: frozenset({DType.DECIMAL}),
    Family.FLOAT: frozenset({DType.FLOAT, DType.DOUBLE}),
    Family.BOOLEAN: frozenset({DType.BOOLEAN}),
    Family.DATE: frozenset({DType.DATE, DType.DATE32}),
    Family.TIMESTAMP: frozenset({DType.TIMESTAMP, DType.TIMESTAMP_NS, DType.TIMESTAMP_MS, DType.TIMESTAMP_S})
    | {DType.DATETIME, DType.DATETIME64, DType.TIMESTAMPNTZ},
    Family.TIMESTAMP_TZ: frozenset({DType.TIMESTAMPTZ, DType.TIMESTAMPLTZ}),
}

FAMILY_OF: dict[DType, Family] = {kind: family for family, kinds in _FAMILIES.items() for kind in kinds}


def data_type(text: str, dialect: str) -> exp.DataType:
    """The type for use in a CAST; a type sqlglot does not know is carried by its name.

    >>> data_type("numeric(5,2)", "postgres").sql("postgres")
    'DECIMAL(5, 2)'
    """
    return _built_type(text, dialect).copy()


@cache
def _built_type(text: str, dialect: str) -> exp.DataType:
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
