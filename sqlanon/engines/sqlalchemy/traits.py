"""How each dialect of SQLAlchemy is written: `TRAITS` says it by the dialect's name. Imports no driver."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from sqlglot import exp
from sqlglot.expressions import DType

from sqlanon.engines.dialects import DUCKDB, POSTGRES, AdaptedTraits, parsed, with_holes_filled
from sqlanon.engines.generated_dialects import BIGQUERY, DATABRICKS, REDSHIFT, SNOWFLAKE, TRINO
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
    null_prevails: bool = True
    """GREATEST and LEAST of values of which one is NULL are NULL; elsewhere they pass over it."""
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
        if isinstance(node, (exp.Greatest, exp.Least)) and self.null_prevails:
            return _of_those_present(node, [self.adapted(item) for item in (node.this, *node.expressions)])
        return super()._changed(node)


def _of_those_present(node: exp.Greatest | exp.Least, items: list[exp.Expr]) -> exp.Expr:
    """In the place of each that is NULL the next one: it changes nothing. NULL where all are."""
    if len(items) == 1:
        return items[0]
    turned = [[item.copy() for item in (*items[place:], *items[:place])] for place in range(len(items))]
    first, *others = (exp.Coalesce(this=each[0], expressions=each[1:]) for each in turned)
    return type(node)(this=first, expressions=others)


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
    casts_fail: bool = False
    looks_up_columns: bool = True
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
            case exp.Right():
                return _last(self.adapted(node.this), self.adapted(node.expression))
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


def _last(text: exp.Expr, number: exp.Expr) -> exp.Expr:
    """The last characters of a text, all of a shorter one."""
    length = exp.Length(this=text.copy())
    first = exp.Add(this=exp.Sub(this=length.copy(), expression=number.copy()), expression=literal(1))
    cut = exp.Anonymous(this="SUBSTR", expressions=[text.copy(), first])
    return exp.Case().when(exp.GT(this=length, expression=number), cut).else_(text)


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


_MANTISSA = "substring_index(trim(leading '-' from cast(:value as char)), 'e', 1)"
_DIGITS = "trim(both '0' from replace(:mantissa, '.', ''))"
_EXPONENT = """
case
    when locate('e', cast(:value as char)) > 0 then cast(substring_index(cast(:value as char), 'e', -1) as signed)
    when locate('0.', :mantissa) = 1 then
        char_length(trim(leading '0' from substring(:mantissa, 3))) - char_length(:mantissa) + 1
    else char_length(substring_index(:mantissa, '.', 1)) - 1
end
"""
_FLOAT_TEXT = """
case
    when :value = 0 then '0'
    when :exponent between -4 and 14 then concat(
        case when :value < 0 then '-' else '' end,
        case
            when :exponent < 0 then concat('0.', repeat('0', -:exponent - 1), :digits)
            when char_length(:digits) <= :exponent + 1 then rpad(:digits, :exponent + 1, '0')
            else concat(left(:digits, :exponent + 1), '.', substring(:digits, :exponent + 2))
        end
    )
    else concat(
        case when :value < 0 then '-' else '' end,
        left(:digits, 1),
        case when char_length(:digits) > 1 then concat('.', substring(:digits, 2)) else '' end,
        case when :exponent < 0 then 'e-' else 'e+' end,
        lpad(abs(:exponent), case when abs(:exponent) < 100 then 2 else 3 end, '0')
    )
end
"""
_MOMENT_TEXT = "trim(trailing '.' from trim(trailing '0' from cast(:value as char)))"

_MOMENTS = frozenset({DType.TIMESTAMP, DType.DATETIME, DType.TIMESTAMPNTZ})
_NOT_FINITE = frozenset({"NaN", "Infinity", "-Infinity"})


@dataclass(frozen=True)
class MySQLTraits(CollatedTraits):
    """MySQL and MariaDB: floats and moments are spelled as PostgreSQL spells them; there is no NaN and no infinity."""

    dialect: str = "mysql"
    casts_fail: bool = False
    collations: tuple[str, ...] = ("utf8mb4_0900_bin", "utf8mb4_nopad_bin")
    sets_of_bits: bool = True

    def key(self, value: exp.Expression, family: Family) -> exp.Expression:
        if family is Family.FLOAT:
            # Adding a zero would make a double of a float, with digits that nobody wrote.
            zero = exp.EQ(this=value.copy(), expression=literal(0))
            return exp.Case().when(zero, cast(literal(0), "float")).else_(value)
        return super().key(value, family)

    def text(self, value: exp.Expression, family: Family) -> exp.Expression:
        if family is Family.FLOAT:
            return _float_text(value)
        if family is Family.TIMESTAMP:
            found = _filled(_MOMENT_TEXT, value=value)
            fraction = exp.StrPosition(this=cast(value, "text"), substr=literal("."))
            whole = exp.EQ(this=fraction, expression=literal(0))
            return exp.Paren(this=exp.Case().when(whole, cast(value, "text")).else_(found))
        return super().text(value, family)

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        return _filled("yearweek(:value, 3) div 100", value=value)

    def iso_week(self, value: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="WEEK", expressions=[value, literal(3)])

    def created(self, create: exp.Create) -> None:
        """Columns of text compare byte by byte, whatever the database's default is."""
        if self.collation:
            properties = create.args.get("properties") or exp.Properties(expressions=[])
            ours = exp.CollateProperty(this=exp.to_identifier(self.collation))
            create.set("properties", exp.Properties(expressions=[*properties.expressions, ours]))

    def selected(self, select: exp.Select) -> None:
        """Say which relation is meant: windows read an alias before a column of that name, and a star comes first."""
        origin = select.args.get("from_")
        if origin is None:
            return
        relations = [origin.this, *(join.this for join in select.args.get("joins") or [])]
        items: list[exp.Expr] = []
        for item in select.expressions:
            if isinstance(item, exp.Star) and len(select.expressions) > 1:
                items += [exp.Column(this=exp.Star(), table=identifier(each.alias_or_name)) for each in relations]
                continue
            items.append(item)
            if len(relations) > 1:
                continue
            for window in item.find_all(exp.Window):
                for found in window.find_all(exp.Column):
                    if not found.table and found.parent_select is select:
                        found.set("table", identifier(relations[0].alias_or_name))
        select.set("expressions", items)

    def window(self, window: exp.Window) -> None:
        """NULL comes last, as elsewhere; sqlglot does not write that where a frame is said."""
        order = window.args.get("order")
        if order is None or not window.args.get("spec"):
            return
        items: list[exp.Expr] = []
        for item in order.expressions:
            if not item.args.get("desc") and not item.args.get("nulls_first"):
                absent = exp.Case().when(exp.Is(this=item.this.copy(), expression=exp.Null()), literal(1))
                items.append(exp.Ordered(this=absent.else_(literal(0)), nulls_first=True))
                item.set("nulls_first", True)
            items.append(item)
        order.set("expressions", items)

    def _changed(self, node: exp.Expr) -> exp.Expr:
        match node:
            case exp.Filter():
                return self.adapted(_where_only(node))
            case exp.EQ() if _is_not_finite(node.expression):
                return exp.false()
            case exp.RegexpLike():
                # MariaDB has no REGEXP_LIKE.
                operands = [self.adapted(node.this), self.adapted(node.expression)]
                return exp.GT(this=exp.Anonymous(this="REGEXP_INSTR", expressions=operands), expression=literal(0))
            case exp.BitwiseOrAgg():
                # Without a cast sets of bits are unsigned.
                return cast(exp.BitwiseOrAgg(this=self.adapted(node.this)), "bigint")
            case exp.Cast() if node.to.this in _MOMENTS and not node.to.expressions:
                # Without a precision a cast rounds to whole seconds.
                precise = exp.DataType(this=DType.DATETIME, expressions=[exp.DataTypeParam(this=literal(6))])
                return exp.Cast(this=self.adapted(node.this), to=precise)
        return super()._changed(node)


def _filled(template: str, **holes: exp.Expr) -> exp.Expression:
    return exp.Paren(
        this=with_holes_filled(
            parsed(template, "mysql"), **{name: exp.Paren(this=item.copy()) for name, item in holes.items()}
        )
    )


def _float_text(value: exp.Expression) -> exp.Expression:
    """From the digits that MySQL writes, the shortest, and their exponent."""
    mantissa = _filled(_MANTISSA, value=value)
    digits = _filled(_DIGITS, mantissa=mantissa)
    exponent = _filled(_EXPONENT, value=value, mantissa=mantissa)
    return _filled(_FLOAT_TEXT, value=value, digits=digits, exponent=exponent)


def _where_only(node: exp.Filter) -> exp.Expr:
    """`SUM(a) FILTER (WHERE b)` as `SUM(CASE WHEN b THEN a END)`."""
    aggregate, condition = node.this.copy(), node.expression.this
    inner = aggregate.this
    if isinstance(inner, exp.Distinct):
        [value] = inner.expressions
        inner.set("expressions", [exp.Case().when(condition, value)])
    else:
        value = literal(1) if isinstance(inner, exp.Star) else inner
        aggregate.set("this", exp.Case().when(condition, value))
    found: exp.Expr = aggregate
    return found


def _is_not_finite(value: exp.Expr | None) -> bool:
    return isinstance(value, exp.Cast) and isinstance(value.this, exp.Literal) and value.this.name in _NOT_FINITE


_MYSQL = MySQLTraits()

TRAITS: dict[str, Traits] = {
    "sqlite": SQLiteTraits(),
    "mysql": _MYSQL,
    "mariadb": _MYSQL,
    "mssql": CollatedTraits(
        "tsql", collations=("Latin1_General_100_BIN2_UTF8", "Latin1_General_100_BIN2"), null_prevails=False
    ),
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
    "databricks": DATABRICKS,
}
"""By the name of SQLAlchemy's dialect."""
