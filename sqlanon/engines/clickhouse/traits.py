"""The traits of ClickHouse: how it wants a few things written.

Its functions of texts count bytes unless they are told otherwise, its narrow dates and moments wrap around, and its
sums of no row are 0 unless a setting says NULL. Imports no driver, so that scripts can be written without one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sqlglot import exp
from sqlglot.expressions import DType

from sqlanon.engines.dialects import BinaryTextTraits, parsed, with_holes_filled
from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import named
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.traits import ViewBarrier

LIMITED = ("read", "group_by", "sort", "distinct", "set", "join", "result", "transfer", "timeout")
"""What limits of a role may end."""

SETTINGS: dict[str, str | int] = {
    # Outer joins give NULL, sums over nothing are NULL, and a name means a column before it means an alias.
    "join_use_nulls": 1,
    "aggregate_functions_null_for_empty": 1,
    "prefer_column_name_to_alias": 1,
    # A role may be given settings by which limits cut what is read, joined or grouped without a word, distinct values
    # are estimated, a join takes one row of several, or an answer comes from a cache. Classes would be counted wrongly.
    **{f"{what}_overflow_mode": "throw" for what in LIMITED},
    "count_distinct_implementation": "uniqExact",
    "join_default_strictness": "ALL",
    "group_by_use_nulls": 0,
    "transform_null_in": 0,
    "limit": 0,
    "offset": 0,
    "use_query_cache": 0,
    "skip_unavailable_shards": 0,
}
"""What statements rely on, in scripts too."""

_FLOAT_TEXT = """
case
    when isNaN(:value) then 'NaN'
    when isInfinite(:value) then case when :value > 0 then 'Infinity' else '-Infinity' end
    when :value = 0 then '0'
    when :exponent between -4 and case when toTypeName(:value) like '%Float32%' then 5 else 14 end then concat(
        case when :value < 0 then '-' else '' end,
        case
            when :exponent < 0 then concat('0.', repeat('0', -:exponent - 1), :digits)
            when length(:digits) <= :exponent + 1 then concat(:digits, repeat('0', :exponent + 1 - length(:digits)))
            else concat(substring(:digits, 1, :exponent + 1), '.', substring(:digits, :exponent + 2))
        end
    )
    else concat(
        case when :value < 0 then '-' else '' end,
        substring(:digits, 1, 1),
        case when length(:digits) > 1 then concat('.', substring(:digits, 2)) else '' end,
        case when :exponent < 0 then 'e-' else 'e+' end,
        case when abs(:exponent) < 10 then '0' else '' end,
        toString(abs(:exponent))
    )
end
"""
_PLAIN = "replaceOne(toString(:value), '-', '')"
_MANTISSA = "substringIndex(:plain, 'e', 1)"
_DIGITS = "replaceRegexpAll(replaceOne(:mantissa, '.', ''), '^0+|0+$', '')"
_EXPONENT = """
case
    when position(toString(:value), 'e') > 0 then toInt64OrNull(substringIndex(toString(:value), 'e', -1))
    when startsWith(:mantissa, '0.') then
        toInt64(length(replaceRegexpOne(substring(:mantissa, 3), '^0+', ''))) - toInt64(length(:mantissa)) + 1
    else toInt64(length(substringIndex(:mantissa, '.', 1))) - 1
end
"""
_DECIMAL_TEXT = "toDecimalString(:value, toUInt8(extract(toTypeName(:value), ', ([0-9]+)[)]')))"
_MOMENT_TEXT = r"replaceRegexpOne(toString(:value), '[.]0*$|([.][0-9]*[1-9])0+$', '\\1')"
_FLOAT_KEY = """
case
    when isNaN(:value) then cast('nan' as Nullable(Float32))
    when :value = 0 then cast(0 as Nullable(Float32))
    else :value
end
"""
_DECIMAL_KEY = ":value * cast(1 as Decimal(38, 0))"
_TEXTS = {
    Family.DECIMAL: _DECIMAL_TEXT,
    Family.TIMESTAMP: _MOMENT_TEXT,
    Family.TIMESTAMP_TZ: _MOMENT_TEXT,
}
_IN_CHARACTERS: dict[type[exp.Expr], str] = {
    exp.Left: "leftUTF8",
    exp.Right: "rightUTF8",
    exp.Substring: "substringUTF8",
    exp.StrPosition: "positionUTF8",
    exp.Upper: "upperUTF8",
    exp.Lower: "lowerUTF8",
}
_OF_BITS: dict[type[exp.Expr], str] = {
    exp.BitwiseAnd: "bitAnd",
    exp.BitwiseOr: "bitOr",
    exp.BitwiseXor: "bitXor",
    exp.BitwiseLeftShift: "bitShiftLeft",
    exp.BitwiseRightShift: "bitShiftRight",
}
_MOMENTS = frozenset({DType.TIMESTAMP, DType.DATETIME, DType.TIMESTAMPNTZ, DType.TIMESTAMPTZ})


@dataclass(frozen=True)
class ClickHouseTraits(BinaryTextTraits):
    """ClickHouse: every table has an engine and an order, counts are signed, columns of joins keep their names."""

    dialect: str = "clickhouse"
    casts_fail: bool = False
    view_barrier: ViewBarrier = "limit"
    recursive_union: bool = False
    statement_cost: int = 4

    def adapted(self, expression: exp.Expr) -> exp.Expr:
        return super().adapted(expression).transform(_signed)

    def key(self, value: exp.Expression, family: Family) -> exp.Expression:
        """Zero has two forms, and what is no number several: one is taken. A sum would make a double of a float.

        Narrow decimals cannot be compared with numbers that they do not hold.
        """
        keys = {Family.FLOAT: _FLOAT_KEY, Family.DECIMAL: _DECIMAL_KEY}
        return _filled(keys[family], value=value) if family in keys else super().key(value, family)

    def text(self, value: exp.Expression, family: Family) -> exp.Expression:
        if family is Family.FLOAT:
            return _float_text(value)
        return _filled(_TEXTS[family], value=value) if family in _TEXTS else super().text(value, family)

    def copies(self, number: exp.Expression) -> exp.Expression:
        return _called("arrayJoin", _called("range", _called("assumeNotNull", _called("toUInt64", number))))

    def bit_count(self, value: exp.Expression) -> exp.Expression:
        return cast(_called("bitCount", value), "bigint")

    def days_later(self, value: exp.Expression, days: exp.Expression, family: Family) -> exp.Expression:
        return _called("addDays", value, days)

    def joined_in_order(self, value: exp.Expression) -> exp.Expression:
        return _called("arrayStringConcat", _called("arraySort", _called("groupArray", value)), literal(","))

    def keyed_hash(self, text: exp.Expression, inner: exp.Expression, outer: exp.Expression) -> exp.Expression:
        within = _called("SHA256", _called("concat", _called("unhex", inner), text))
        return _called("lower", _called("hex", _called("SHA256", _called("concat", _called("unhex", outer), within))))

    def divided(self, value: exp.Expr, by: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="intDiv", expressions=[value, by])

    def iso_year(self, value: exp.Expression) -> exp.Expression:
        return _called("toISOYear", value)

    def iso_week(self, value: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="toISOWeek", expressions=[value])

    def at_time_zone(self, value: exp.Expr, zone: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this="toTimeZone", expressions=[value, zone])

    def decimal_text(self, value: exp.Expr, scale: int) -> exp.Expr:
        return exp.Anonymous(this="toDecimalString", expressions=[value, literal(scale)])

    def selected(self, select: exp.Select) -> None:
        """A column of two joined tables would be called after its table too."""
        items = [
            named(item, item.name) if isinstance(item, exp.Column) and item.table and not item.is_star else item
            for item in spelled_out(select)
        ]
        select.set("expressions", items)

    def created(self, create: exp.Create) -> None:
        properties = create.args.get("properties") or exp.Properties(expressions=[])
        engine = exp.EngineProperty(this=exp.to_identifier("MergeTree"))
        order = exp.Order(expressions=[exp.Ordered(this=exp.Struct(), nulls_first=False)])
        create.set("properties", exp.Properties(expressions=[*properties.expressions, engine, order]))

    def _changed(self, node: exp.Expr) -> exp.Expr:
        name = _IN_CHARACTERS.get(type(node)) or _OF_BITS.get(type(node))
        if name is not None:
            return exp.Anonymous(this=name, expressions=[self.adapted(item) for item in _operands(node)])
        match node:
            case exp.Pad() if node.args.get("is_left"):
                operands = (node.this, node.expression, node.args["fill_pattern"])
                return exp.Anonymous(this="leftPadUTF8", expressions=[self.adapted(item) for item in operands])
            case exp.EQ() if _asks_for_nan(node.expression):
                return exp.Anonymous(this="isNaN", expressions=[self.adapted(node.this)])
            case exp.DataType() if not node.expressions and node.this in _MOMENTS:
                precise = [exp.DataTypeParam(this=literal(6))]
                return exp.DataType(this=DType.DATETIME64, expressions=precise, nullable=node.args.get("nullable"))
            case exp.DataType(this=DType.DATE):
                node.set("this", DType.DATE32)
                return node
        return super()._changed(node)


def _operands(node: exp.Expr) -> list[exp.Expr]:
    if isinstance(node, exp.Substring):
        start = node.args.get("start") or literal(1)
        return [item for item in (node.this, start, node.args.get("length")) if item is not None]
    second = node.args.get("substr") or node.args.get("expression")
    return [node.this] if second is None else [node.this, second]


def _asks_for_nan(value: exp.Expr | None) -> bool:
    return isinstance(value, exp.Cast) and isinstance(value.this, exp.Literal) and value.this.name.lower() == "nan"


def _called(function: str, *arguments: exp.Expression) -> exp.Expression:
    return exp.Anonymous(this=function, expressions=list(arguments))


def _filled(template: str, **holes: exp.Expression) -> exp.Expression:
    return exp.Paren(this=with_holes_filled(parsed(template, "clickhouse"), **holes))


def _float_text(value: exp.Expression) -> exp.Expression:
    """From the shortest digits, which ClickHouse writes with an exponent only below 10^-6 and from 10^21 on."""
    bare = exp.Paren(this=value.copy())
    mantissa = _filled(_MANTISSA, plain=_filled(_PLAIN, value=bare))
    digits = _filled(_DIGITS, mantissa=mantissa)
    exponent = _filled(_EXPONENT, value=bare, mantissa=mantissa)
    return _filled(_FLOAT_TEXT, value=bare, digits=digits, exponent=exponent)


def _signed(node: exp.Expr) -> exp.Expr:
    """Counts and numbers of rows are unsigned in ClickHouse, and have no common type with signed numbers. Narrow
    decimals cannot be compared with numbers that they do not hold.
    """
    if isinstance(node, exp.Floor) and isinstance(node.parent, (exp.LT, exp.GTE)):
        return exp.Cast(this=node.copy(), to=exp.DataType.build("decimal(38, 0)"))
    counts = node
    while isinstance(counts, (exp.Window, exp.Filter)):
        counts = counts.this
    if not isinstance(counts, (exp.Count, exp.RowNumber, exp.DenseRank)):
        return node
    return exp.Cast(this=node.copy(), to=exp.DataType.build("bigint"))


def spelled_out(select: exp.Select) -> list[exp.Expr]:
    """The items of a select with stars of one relation as columns under their own names.

    Columns are those that the statement itself names, in its WITH clause and its subqueries; a star over a table of the
    database is left as it is.
    """
    known = dict(_sources(select))
    items: list[exp.Expr] = []
    for item in select.expressions:
        if isinstance(item, exp.Column) and item.is_star and known.get(item.table):
            items += [named(column(name, item.table), name) for name in known[item.table]]
        else:
            items.append(item)
    return items


def _sources(select: exp.Select) -> Iterator[tuple[str, list[str]]]:
    """The relations that a select reads, with their columns; none where they are not known."""
    joins = [join.this for join in select.args.get("joins") or []]
    origin = select.args.get("from_")
    for relation in [*([] if origin is None else [origin.this]), *joins]:
        query = relation.this if isinstance(relation, exp.Subquery) else _step(relation)
        yield relation.alias_or_name, [] if query is None else _names(query)


def _step(table: exp.Expr) -> exp.Query | None:
    """The query of the WITH clause that a table name means."""
    node: exp.Expr | None = table
    while node is not None:
        clause = node.args.get("with_")
        for step in clause.expressions if clause is not None else []:
            if step.alias == table.name:
                found: exp.Query = step.this
                return found
        node = node.parent
    return None


def _names(query: exp.Expr) -> list[str]:
    """The columns of a query; none where they are not all written down."""
    if isinstance(query, exp.SetOperation):
        return _names(query.this)
    if not isinstance(query, exp.Select):
        return []
    known = dict(_sources(query))
    names: list[str] = []
    for item in query.expressions:
        if not item.is_star:
            names.append(item.alias_or_name)
            continue
        read = [known.get(item.table, [])] if isinstance(item, exp.Column) else list(known.values())
        if not all(read):
            return []
        names += [name for columns in read for name in columns]
    return names


CLICKHOUSE = ClickHouseTraits()
