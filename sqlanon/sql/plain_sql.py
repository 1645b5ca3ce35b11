"""What an expression of a user may consist of: columns, literals, operators and functions known to be plain.

A list of what is allowed, not of what is not: a function nobody has looked at may write, wait or read a file.
"""

from __future__ import annotations

from sqlglot import exp
from sqlglot.expressions import DType

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
