"""SQL that a user wrote in a spec: parsed, and refused unless it can only read.

A source query must be one SELECT; a hierarchy level one scalar expression over its own column, made of columns,
literals, operators and functions known to be plain. That is a list of what is allowed, not of what is not: a function
nobody has looked at may write, wait or read a file.

And texts that spreadsheets run as formulas: a csv field that begins with = + - @, a tab or a carriage return. A text is
escaped by a quote in front, and read back by taking it away. Texts that begin with quotes before such a mark get one
more, so that no two texts become one.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

from sqlglot import exp, parse
from sqlglot.errors import SqlglotError
from sqlglot.expressions import DType

from sqlanon.errors import SpecError
from sqlanon.sql.build import concat
from sqlanon.sql.relations import identifier, literal

Formulas = Literal["keep", "escape", "refuse"]
"""What becomes of a text that is a formula to spreadsheets."""

_MARKS = "[=+@\t\r-]"
_FORMULA = f"^{_MARKS}"
_TO_ESCAPE = f"^'*{_MARKS}"
_ESCAPED = f"^'+{_MARKS}"


def is_formula(text: exp.Expression) -> exp.Expression:
    """Whether a text begins like a formula."""
    return exp.RegexpLike(this=text.copy(), expression=literal(_FORMULA))


def name_is_formula(name: str) -> bool:
    """Whether the name of a column would be run as a formula.

    >>> name_is_formula("=1+1"), name_is_formula("age")
    (True, False)
    """
    return re.match(_FORMULA, name) is not None


def escaped(text: exp.Expression) -> exp.Expression:
    """The text with a quote in front where spreadsheets would run it."""
    matches = exp.RegexpLike(this=text.copy(), expression=literal(_TO_ESCAPE))
    return exp.Case().when(matches, concat(literal("'"), text.copy())).else_(text.copy())


def unescaped(text: exp.Expression) -> exp.Expression:
    """What `escaped` was given."""
    matches = exp.RegexpLike(this=text.copy(), expression=literal(_ESCAPED))
    without = exp.Substring(this=text.copy(), start=literal(2))
    return exp.Case().when(matches, without).else_(text.copy())


_SYNTAX: frozenset[type[exp.Expr]] = frozenset(
    {exp.Column, exp.Identifier, exp.Literal, exp.Null, exp.Boolean, exp.Paren, exp.Var, exp.Interval, exp.Bracket}
    | {exp.Cast, exp.TryCast, exp.DataTypeParam, exp.Case, exp.If, exp.In, exp.Between, exp.AtTimeZone, exp.Collate}
    | {exp.And, exp.Or, exp.Not, exp.Xor, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is, exp.Escape}
    | {exp.NullSafeEQ, exp.NullSafeNEQ, exp.Like, exp.ILike, exp.SimilarTo, exp.RegexpLike, exp.RegexpILike}
    | {exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Pow, exp.Neg, exp.DPipe}
    | {exp.BitwiseAnd, exp.BitwiseOr, exp.BitwiseXor, exp.BitwiseNot, exp.BitwiseLeftShift, exp.BitwiseRightShift}
)

_FUNCTIONS: frozenset[type[exp.Expr]] = frozenset(
    {exp.Abs, exp.Cbrt, exp.Ceil, exp.Exp, exp.Floor, exp.Ln, exp.Log, exp.Pi, exp.Round, exp.Sign, exp.Sqrt}
    | {exp.Trunc, exp.WidthBucket, exp.IsNan, exp.IsInf, exp.Greatest, exp.Least, exp.Coalesce, exp.Nullif}
    | {exp.Ascii, exp.Chr, exp.Concat, exp.ConcatWs, exp.Contains, exp.EndsWith, exp.Initcap, exp.Left, exp.Length}
    | {exp.Lower, exp.Overlay, exp.Pad, exp.RegexpExtract, exp.RegexpFullMatch, exp.RegexpReplace, exp.Repeat}
    | {exp.Replace, exp.Reverse, exp.Right, exp.Split, exp.SplitPart, exp.StartsWith, exp.StrPosition, exp.Substring}
    | {exp.Translate, exp.Trim, exp.Unicode, exp.Upper, exp.TimeToStr, exp.ToChar, exp.ToNumber, exp.NumberToStr}
    | {exp.Date, exp.DateAdd, exp.DateSub, exp.DateDiff, exp.DateBin, exp.DateFromParts, exp.DateTrunc, exp.Extract}
    | {exp.StrToDate, exp.StrToTime, exp.TimestampTrunc, exp.TsOrDsToDate, exp.TsOrDsToTimestamp, exp.LastDay}
    | {exp.Year, exp.Quarter, exp.Month, exp.Week, exp.WeekOfYear, exp.Day, exp.DayOfMonth, exp.DayOfWeek}
    | {exp.DayOfWeekIso, exp.DayOfYear, exp.Dayname, exp.Monthname, exp.YearOfWeek, exp.YearOfWeekIso}
    | {exp.Hour, exp.Minute, exp.Second}
)

_FUNCTIONS_BY_NAME = frozenset(
    {"date_part", "datepart", "strftime", "decade", "century", "millennium", "isodow", "isoyear", "div", "log2"}
    | {"log10", "round_even", "trim_scale", "strip_accents", "prefix", "suffix", "regexp_matches", "make_date"}
)
"""Plain functions that the parser has no class for."""

_TYPES = frozenset(
    {DType.TEXT, DType.VARCHAR, DType.CHAR, DType.BPCHAR, DType.BOOLEAN, DType.DATE, DType.TIME, DType.INTERVAL}
    | {DType.TINYINT, DType.SMALLINT, DType.INT, DType.BIGINT, DType.INT128, DType.UTINYINT, DType.USMALLINT}
    | {DType.UINT, DType.UBIGINT, DType.DECIMAL, DType.FLOAT, DType.DOUBLE, DType.TIMESTAMP, DType.TIMESTAMPTZ}
    | {DType.TIMESTAMPNTZ}
)

_ACTING_PREFIXES = ("pg_", "lo_", "dblink", "postgres_", "mysql_", "sqlite_", "currval", "nextval", "setval")
_ACTING = frozenset(
    {"set_config", "query_to_xml", "query_to_xmlschema", "query_to_xml_and_xmlschema", "cursor_to_xml", "txid_current"}
    | {"schema_to_xml", "database_to_xml", "table_to_xml", "next_value_for", "force_checkpoint", "checkpoint"}
)


def is_plain(node: exp.Expr) -> bool:
    """Whether a part of an expression can only compute."""
    if isinstance(node, exp.DataType):
        return node.this in _TYPES
    if isinstance(node, exp.Anonymous):
        return node.name.lower() in _FUNCTIONS_BY_NAME
    return type(node) in _SYNTAX or type(node) in _FUNCTIONS


def acts(node: exp.Expr) -> bool:
    """Whether a function is known to do more than compute: sequences, large objects, sessions, other databases."""
    if not isinstance(node, exp.Func):
        return False
    name = (node.name if isinstance(node, exp.Anonymous) else node.sql_name()).lower()
    return name in _ACTING or name.startswith(_ACTING_PREFIXES)


_WRITES = (exp.DML, exp.DDL, exp.Command, exp.Into, exp.Lock)


def parse_query(text: str, dialect: str, where: str) -> exp.Query:
    """One SELECT, or a SpecError at key `where`."""
    expression = _parse_one(text, dialect, where)
    if not isinstance(expression, exp.Query):
        raise SpecError(f"{where}: must be one SELECT")
    if any(isinstance(node, _WRITES) for node in expression.walk() if not isinstance(node, exp.Query)):
        raise SpecError(f"{where}: may only read; found a part that writes or locks")
    if any(acts(node) for node in expression.walk()):
        raise SpecError(f"{where}: may only read; found a function that does more")
    return expression


def parse_expression(text: str, dialect: str, column: str, where: str) -> exp.Expression:
    """A scalar expression over `column`, which becomes the column `value` of the hierarchy's domain."""
    select = _parse_one(f"SELECT {text}", dialect, where)
    if not isinstance(select, exp.Select) or set(_parts(select)) != {"expressions"} or len(select.expressions) != 1:
        raise SpecError(f"{where}: must be one expression over column '{column}'")
    expression: exp.Expression = select.expressions[0]
    for node in list(expression.walk()):
        if isinstance(node, (exp.Query, exp.AggFunc, exp.Window, exp.Star, exp.Alias, *_WRITES)):
            raise SpecError(f"{where}: must be a plain expression: no subquery, aggregate, window or alias")
        if isinstance(node, exp.Column) and (node.table or node.name.lower() != column.lower()):
            raise SpecError(f"{where}: may read only column '{column}'")
        if not is_plain(node):
            raise SpecError(
                f"{where}: has a function, operator or type that is not known to be plain; "
                f"compute it in the source query or in a table of labels"
            )
    replaced = expression.transform(
        lambda node: exp.Column(this=identifier("value")) if isinstance(node, exp.Column) else node
    )
    return exp.Paren(this=replaced)


def _parse_one(text: str, dialect: str, where: str) -> exp.Expression:
    try:
        with _silent_parser():
            parsed = parse(text, dialect=dialect)
    except SqlglotError:
        # The parser's own error quotes the text: it is not chained.
        raise SpecError(f"{where}: is not valid SQL for {dialect}") from None
    except RecursionError:
        raise SpecError(f"{where}: is nested too deeply") from None
    # A semicolon with a comment after it is parsed as a statement of its own.
    statements = [one for one in parsed if one is not None and not isinstance(one, exp.Semicolon)]
    if len(statements) != 1:
        raise SpecError(f"{where}: must be one statement, found {len(statements)}")
    [statement] = statements
    if not isinstance(statement, exp.Expression):
        raise SpecError(f"{where}: is not valid SQL for {dialect}")
    return statement


@contextmanager
def _silent_parser() -> Iterator[None]:
    """The parser logs, text and all, what it takes for a command; we refuse commands in words of our own."""
    logger = logging.getLogger("sqlglot")
    before = logger.disabled
    logger.disabled = True
    try:
        yield
    finally:
        logger.disabled = before


def _parts(select: exp.Select) -> list[str]:
    return [name for name, value in select.args.items() if value not in (None, [], False)]
