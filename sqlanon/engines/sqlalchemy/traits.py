"""Which dialect of sqlglot writes for a dialect of SQLAlchemy, and how SQLite and its like want a few things written.

Imports no driver. What a dialect's name does not tell is asked of the database (`sqlalchemy_probe`).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from sqlglot import exp

from sqlanon.engines.adapted import AdaptedTraits
from sqlanon.engines.dialects import DUCKDB, POSTGRES
from sqlanon.engines.generated_dialects import BIGQUERY, CLICKHOUSE, DATABRICKS, REDSHIFT, SNOWFLAKE, TRINO
from sqlanon.errors import UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import cast, column, identifier, literal
from sqlanon.sql.traits import Traits

_DATE_PARTS = {"YEAR": "%Y", "MONTH": "%m", "DAY": "%d", "HOUR": "%H"}
_ZEROS = "0" * 16


@dataclass(frozen=True)
class CollatedTraits(AdaptedTraits):
    """A database with a collation that compares texts byte by byte; which one, a probe finds out."""

    collation: str = ""
    collations: tuple[str, ...] = ()
    """Those that the probe tries, in this order."""
    sets_of_bits: bool = False
    """There are functions for sets of bits: BIT_OR over rows, BIT_COUNT. Else they are computed bit by bit."""

    def key(self, value: exp.Expression, family: Family) -> exp.Expression:
        if family is Family.TEXT:
            return exp.Collate(this=cast(value, "text"), expression=exp.to_identifier(self.collation))
        return super().key(value, family)

    def bit_count(self, value: exp.Expression) -> exp.Expression:
        if self.sets_of_bits:
            return super().bit_count(value)
        if isinstance(value, exp.BitwiseOrAgg):
            # A bit of the union is the greatest of the rows' bits: counted without putting the union together.
            bits: list[exp.Expr] = [exp.Max(this=_bit(value.this, position)) for position in range(64)]
        else:
            bits = [_bit(value, position) for position in range(64)]
        return exp.Paren(this=reduce(lambda total, bit: exp.Add(this=total, expression=bit), bits))

    def _changed(self, node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.BitwiseOrAgg) and not self.sets_of_bits:
            return _united(self.adapted(node.this))
        return super()._changed(node)


def _bit(value: exp.Expr, position: int) -> exp.Expr:
    shifted = exp.BitwiseRightShift(this=exp.Paren(this=value.copy()), expression=literal(position))
    return exp.Paren(this=exp.BitwiseAnd(this=exp.Paren(this=shifted), expression=literal(1)))


def _united(value: exp.Expr) -> exp.Expr:
    """The bits that are set in any row."""
    bits = (exp.Max(this=_bit(value, position)) for position in range(64))
    placed: list[exp.Expr] = [
        exp.Paren(this=exp.BitwiseLeftShift(this=bit, expression=literal(position)))
        for position, bit in enumerate(bits)
    ]
    return exp.Paren(this=reduce(lambda left, right: exp.BitwiseOr(this=left, expression=right), placed))


@dataclass(frozen=True)
class SQLiteTraits(CollatedTraits):
    """SQLite: columns of values have names of their own, dates are texts that functions read."""

    dialect: str = "sqlite"
    collations: tuple[str, ...] = ("BINARY",)

    def _changed(self, node: exp.Expr) -> exp.Expr:
        match node:
            case exp.Values() if node.alias_column_names:
                return _named_values(node)
            case exp.Create() if node.args.get("kind") == "VIEW":
                # A view is not replaced: one that stands already is an error, which says so.
                node.set("replace", False)
            case exp.Extract():
                return _date_part(node.name.upper(), self.adapted(node.expression))
            case exp.Pad() if node.args.get("is_left"):
                return _padded(self.adapted(node.this), self.adapted(node.expression))
        return super()._changed(node)


def _date_part(part: str, value: exp.Expr) -> exp.Expr:
    if part == "QUARTER":
        later = exp.Add(this=_date_part("MONTH", value), expression=literal(2))
        return exp.Div(this=exp.Paren(this=later), expression=literal(3), typed=True, safe=False)
    if part not in _DATE_PARTS:
        raise UsageError(
            f"SQLite cannot tell the {part.lower()} of a date: leave it out of the levels of the hierarchy"
        )
    return cast(exp.Anonymous(this="STRFTIME", expressions=[literal(_DATE_PARTS[part]), value]), "int")


def _padded(text: exp.Expr, width: exp.Expr) -> exp.Expr:
    """Zeros in front. The width is never less than the text is long."""
    padded = exp.DPipe(this=literal(_ZEROS), expression=text, safe=True)
    return exp.Anonymous(this="SUBSTR", expressions=[padded, exp.Neg(this=exp.Paren(this=width))])


def _named_values(values: exp.Values) -> exp.Expr:
    """`(VALUES ...) AS v(a, b)` where an alias names no columns: SQLite calls them column1, column2 and so on."""
    names = values.alias_column_names
    items = [
        exp.Alias(this=column(f"column{position}"), alias=identifier(name)) for position, name in enumerate(names, 1)
    ]
    bare = exp.Subquery(this=exp.Values(expressions=values.expressions))
    return exp.Subquery(
        this=exp.select(*items).from_(bare), alias=exp.TableAlias(this=identifier(values.alias_or_name))
    )


_MYSQL = CollatedTraits("mysql", collations=("utf8mb4_0900_bin", "utf8mb4_nopad_bin"), sets_of_bits=True)

TRAITS: dict[str, Traits] = {
    "sqlite": SQLiteTraits(),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "mssql": CollatedTraits("tsql", collations=("Latin1_General_100_BIN2_UTF8", "Latin1_General_100_BIN2")),
    "oracle": CollatedTraits("oracle", collations=("BINARY",)),
    "exasol": CollatedTraits("exasol", collations=("BINARY",)),
    "teradatasql": CollatedTraits("teradata", collations=("BINARY",)),
    "postgresql": POSTGRES,
    "cockroachdb": POSTGRES,
    "duckdb": DUCKDB,
    "redshift": REDSHIFT,
    "snowflake": SNOWFLAKE,
    "bigquery": BIGQUERY,
    "trino": TRINO,
    "presto": TRINO,
    "awsathena": TRINO,
    "clickhouse": CLICKHOUSE,
    "clickhousedb": CLICKHOUSE,
    "databricks": DATABRICKS,
}
"""By the name of SQLAlchemy's dialect."""
