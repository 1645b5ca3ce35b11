"""Statements that build and check hierarchy tables; formulas become one expression over the value for each level.

A hierarchy table has one row per value: `value` (as a grouping key; NULL for listed values that the source lacks),
`label_0` (its text), `label_1` ... `label_h`, and for levels below the top `code_l` (a small integer per label, from 1;
0 is kept for NULL), `index_l` (the label's number among its siblings, from 0; from 1 under the top, where 0 is NULL)
and `leaves_l` (values under that label).
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from itertools import pairwise

from sqlglot import exp

from sqlanon.hierarchies.base import Family, Level
from sqlanon.hierarchies.levels import DateLevel, IntervalLevel, MaskLevel
from sqlanon.sql.build import (
    checksum,
    concat,
    count,
    equal,
    is_null,
    is_present,
    mixed,
    named,
    scalar,
    subquery,
    text_values,
    with_queries,
)
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.traits import Traits


def domain(relation: exp.Expression, key: exp.Expression) -> exp.Select:
    """The distinct values of a column, NULL left out."""
    return exp.select(named(key, "value")).distinct().from_(relation).where(is_present(key.copy()))


def longest(domain_query: exp.Query, length: exp.Expression) -> exp.Select:
    """The length of the longest value's text; `length` reads column `value`."""
    return exp.select(exp.Max(this=length)).from_(subquery(domain_query, "domain"))


def labelled_by_formula(domain_query: exp.Query, text: exp.Expression, labels: Sequence[exp.Expression]) -> exp.Select:
    """Values with labels computed from them; `text` and `labels` read column `value`."""
    items = [column("value"), named(text, "label_0"), *_numbered(labels)]
    return exp.select(*items).from_(subquery(domain_query, "domain"), copy=False)


def listed_labels(height: int, constant_top: str | None) -> list[exp.Expression]:
    """The labels of a listed value above level 0, and the top above them where there is one."""
    known: list[exp.Expression] = [column(f"label_{level}", "listed") for level in range(1, height + 1)]
    if constant_top is not None:
        present = is_present(column("label_0", "listed"))
        known.append(exp.Case().when(present, literal(constant_top)))
    return known


def labelled_by_list(
    domain_query: exp.Query, text: exp.Expression, listing: exp.Query, labels: Sequence[exp.Expression]
) -> exp.Select:
    """Values matched by their text to a listing; listed values that the source lacks stay as leaves."""
    own_text = exp.Coalesce(this=column("label_0", "listed"), expressions=[text.copy()])
    return (
        exp.select(column("value", "domain"), named(own_text, "label_0"), *_numbered(labels))
        .from_(subquery(listing, "listed"))
        .join(subquery(domain_query, "domain"), on=equal(text, column("label_0", "listed")), join_type="full outer")
    )


def labelled_by_groups(labelled: exp.Query, level: int, listing: exp.Query, constant_top: str | None) -> exp.Select:
    """Values of the source with their text and the group that a listing has for their label at a level."""
    known: list[exp.Expression] = [column("label_1", "listed")]
    if constant_top is not None:
        known.append(exp.Case().when(is_present(column("label_0", "listed")), literal(constant_top)))
    label = cast(column(f"label_{level}", "under"), "text")
    return (
        exp.select(column("value", "under"), column("label_0", "under"), *_numbered(known))
        .from_(subquery(labelled, "under"))
        .join(subquery(listing, "listed"), on=equal(label, column("label_0", "listed")), join_type="left")
        .where(is_present(column("value", "under")))
    )


def listing_of_table(table: exp.Expression, texts: exp.Expression, labels: Sequence[exp.Expression]) -> exp.Select:
    """The distinct rows of a reference table: level 0 as text, then the labels."""
    present = is_present(texts.copy())
    return exp.select(named(texts, "label_0"), *_numbered(labels)).distinct().from_(table).where(present)


def listing_of_rows(rows: Table | Sequence[Sequence[str]], height: int) -> exp.Select:
    """The distinct rows of a definition: loaded into a table, or written out."""
    names = [f"label_{level}" for level in range(height + 1)]
    if not isinstance(rows, Table):
        return text_values(names, rows)
    return exp.select(*(column(name) for name in names)).distinct().from_(table_expression(rows))


def coded(labelled: exp.Query, height: int, families: Sequence[Family], traits: Traits) -> exp.Select:
    """The labelled values with codes and leaf counts for every level below the top."""
    source = "labelled"
    labels = [one_of_equals(level, families[level], traits) for level in range(height)]
    items: list[exp.Expression] = [column("value"), *labels, column(f"label_{height}")]
    for level in range(height):
        key = traits.key(column(f"label_{level}"), families[level])
        rank = exp.Window(this=exp.DenseRank(), order=exp.Order(expressions=[exp.Ordered(this=key)]))
        items.append(named(cast(rank, "int"), f"code_{level}"))
        leaves = exp.Window(this=count(), partition_by=[key.copy()])
        items.append(named(cast(leaves, "int"), f"leaves_{level}"))
        items.append(named(cast(_index(level, height, key, families, traits), "int"), f"index_{level}"))
    return with_queries(exp.select(*items).from_(source, copy=False), {source: labelled})


def one_of_equals(level: int, family: Family, traits: Traits) -> exp.Expression:
    """The label of a level. Of labels that are equal and yet can be told apart, the same one everywhere."""
    label = column(f"label_{level}")
    if family.exact:
        return label
    first = exp.Window(this=exp.FirstValue(this=label), partition_by=[traits.key(label.copy(), family)])
    return named(first, f"label_{level}")


def taxonomy(table: Table, height: int) -> exp.Select:
    """The values of the source with their labels above level 0."""
    labels = [column(f"label_{level}") for level in range(1, height + 1)]
    select = exp.select(column("value"), *labels).from_(table_expression(table))
    return select.where(is_present(column("value")))


def sound(coded_query: exp.Select, height: int) -> exp.Select:
    """The coded values that can be relied on without validation: in the source, labelled at every level, listed once.

    For hierarchies that nobody validates when they are read, in a view or a script. What is left out is not covered.
    """
    occurrences = exp.Window(this=count(), partition_by=[column("value")])
    counted = exp.select(exp.Star(), named(occurrences, "occurrences")).from_(subquery(coded_query, "coded"))
    labelled = [is_present(column(f"label_{level}")) for level in range(1, height + 1)]
    once = equal(column("occurrences"), literal(1))
    return (
        exp.select(exp.Star()).from_(subquery(counted, "counted")).where(is_present(column("value")), once, *labelled)
    )


def _index(level: int, height: int, key: exp.Expression, families: Sequence[Family], traits: Traits) -> exp.Expression:
    """The number of a label among the labels that share its parent."""
    siblings = [] if level + 1 == height else [traits.key(column(f"label_{level + 1}"), families[level + 1])]
    order = exp.Order(expressions=[exp.Ordered(this=key.copy())])
    rank: exp.Expression = exp.Window(this=exp.DenseRank(), partition_by=siblings, order=order)
    return exp.Sub(this=rank, expression=literal(1)) if siblings else rank


def validation(table: Table, height: int) -> exp.Select:
    """One row: missing labels per level 1..h, labels with two parents per level 0..h-1, tops, leaves, values, the top,
    two checksums of the codes, the greatest index per level 0..h-1.

    A label with two parents and a label shared by two branches are one thing seen from below and from above.
    """
    present = is_present(column("value"))
    items: list[exp.Expression] = []
    for level in range(1, height + 1):
        items.append(exp.Count(this=exp.Case().when(is_null(column(f"label_{level}")), literal(1))))
    for level in range(height):
        items.append(scalar(_several_parents(table, level, height)))
    items.append(exp.Count(this=exp.Distinct(expressions=[column(f"label_{height}")])))
    items.append(count())
    items.append(exp.Count(this=exp.Case().when(present, literal(1))))
    items.append(exp.Min(this=cast(column(f"label_{height}"), "text")))
    items += checksum(mixed([column(f"code_{level}") for level in range(height)]))
    items += [exp.Max(this=column(f"index_{level}")) for level in range(height)]
    return exp.select(*items).from_(table_expression(table), copy=False)


def _several_parents(table: Table, level: int, height: int) -> exp.Select:
    return exp.select(count()).from_(subquery(_codes_with_several_parents(table, level, height), "labels"))


def offenders(table: Table, level: int, height: int, *, missing: bool, most: int) -> exp.Select:
    """A few labels of `level` without a label above (`missing`) or with two parents, where they may be shown."""
    label = column(f"label_{level}")
    parent = column(f"label_{level + 1}")
    select = exp.select(label).distinct().from_(table_expression(table)).order_by(label.copy()).limit(most)
    if missing:
        return select.where(is_null(parent))
    codes = scalar(_codes_with_several_parents(table, level, height))
    return select.where(exp.In(this=column(f"code_{level}"), query=codes))


def last_level(labelled: exp.Query, height: int, star: str) -> exp.Select:
    """How many labels the last given level has, how many rows carry the label `star` there, and the first label."""
    label = cast(column(f"label_{height}"), "text")
    stars = exp.Count(this=exp.Case().when(equal(label.copy(), literal(star)), literal(1)))
    distinct = exp.Count(this=exp.Distinct(expressions=[label]))
    return exp.select(distinct, stars, exp.Min(this=label.copy())).from_(subquery(labelled, "labelled"))


def _codes_with_several_parents(table: Table, level: int, height: int) -> exp.Select:
    """Counted by the codes of the parents: not every type of label has a least and a greatest."""
    parent = column(f"label_{level + 1}")
    code_of_parent = column(f"code_{level + 1}") if level + 1 < height else parent.copy()
    several = exp.GT(this=exp.Count(this=exp.Distinct(expressions=[code_of_parent])), expression=literal(1))
    return (
        exp.select(column(f"code_{level}"))
        .from_(table_expression(table), copy=False)
        .where(is_present(parent), copy=False)
        .group_by(column(f"code_{level}"), copy=False)
        .having(several, copy=False)
    )


def labels_in_cycles(table: Table, height: int, traits: Traits) -> exp.Select:
    """How many labels are, by some rows, their own ancestor, up to level `height`."""
    edges: exp.Query = _edges_of(table, 0)
    for level in range(1, height):
        edges = exp.union(edges, _edges_of(table, level), distinct=True)
    if not traits.recursive_union:
        return _starts_of_walks(edges, height + 1)
    start = exp.select(column("child"), column("parent")).from_(exp.to_table("edges"))
    onward = (
        exp.select(column("child", "reach"), column("parent", "edges"))
        .from_(exp.to_table("reach"))
        .join(exp.to_table("edges"), on=equal(column("parent", "reach"), column("child", "edges")))
    )
    reach = exp.union(start, onward, distinct=True)
    query = exp.select(exp.Count(this=exp.Distinct(expressions=[column("child")]))).from_(exp.to_table("reach"))
    query = query.where(equal(column("child"), column("parent")))
    return query.with_("edges", as_=edges, copy=False).with_("reach", as_=reach, recursive=True, copy=False)


def _starts_of_walks(edges: exp.Query, steps: int) -> exp.Select:
    """How many labels have a walk of so many steps above them.

    More steps than there are levels are possible only where a label stands at two levels and not above itself: in every
    cycle, and beyond that where a refusal is what the rule asks for too.
    """
    select = exp.select(exp.Count(this=exp.Distinct(expressions=[column("child", "e_1")])))
    select = select.from_(exp.to_table("edges", alias="e_1"))
    for step in range(2, steps + 1):
        on = equal(column("parent", f"e_{step - 1}"), column("child", f"e_{step}"))
        select = select.join(exp.to_table("edges", alias=f"e_{step}"), on=on)
    return with_queries(select, {"edges": edges})


def _edges_of(table: Table, level: int) -> exp.Select:
    child, parent = column(f"label_{level}"), column(f"label_{level + 1}")
    return (
        exp.select(named(cast(child, "text"), "child"), named(cast(parent, "text"), "parent"))
        .distinct()
        .from_(table_expression(table))
        .where(exp.NEQ(this=cast(child.copy(), "text"), expression=cast(parent.copy(), "text")))
    )


def label_counts(table: Table, height: int) -> exp.Select:
    """The number of distinct labels of each level."""
    counts = [exp.Count(this=exp.Distinct(expressions=[column(f"code_{level}")])) for level in range(height)]
    top = exp.Count(this=exp.Distinct(expressions=[column(f"label_{height}")]))
    return exp.select(*counts, top).from_(table_expression(table))


def rows(table: Table, height: int, first: int, last: int) -> exp.Select:
    """The labels of the values whose codes lie between two numbers, in the order of their codes."""
    labels = [cast(column(f"label_{level}"), "text") for level in range(height + 1)]
    page = exp.Between(this=column("code_0"), low=literal(first), high=literal(last))
    return exp.select(*labels).from_(table_expression(table)).where(page).order_by(column("code_0"))


def _numbered(labels: Sequence[exp.Expression]) -> list[exp.Alias]:
    return [named(label, f"label_{level}") for level, label in enumerate(labels, start=1)]


_DECIMAL = "DECIMAL(28, 9)"
"""Wide enough for 19 integer digits, and still within 38 digits after scaling by up to 10^9."""

_LARGEST_UNITS = 4 * 10**18
"""Beyond this, sums with a definition's bounds (below 10^18 each) would leave 64 bits."""


def label(level: Level, value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """The label of `value` at this level. NULL for a value outside the rule's domain.

    `hierarchies.levels` computes the same in Python; tests hold the two against each other on every engine.
    """
    match level:
        case MaskLevel():
            return _mask(level, traits.text(value, family))
        case IntervalLevel():
            return _interval(level, value, family)
        case DateLevel():
            return _date(level, value, family, traits)
        case _:
            raise TypeError(f"no SQL for level rule {type(level).__name__}")


def text_length(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """The number of characters of a value's text."""
    return exp.Length(this=traits.text(value, family))


def _mask(level: MaskLevel, text: exp.Expression) -> exp.Expression:
    if level.length is None:
        raise TypeError("a mask needs its length before it becomes SQL")
    visible = literal(level.length - level.masked)
    stars = level.character * level.masked
    if level.side == "right":
        masked = concat(exp.Substring(this=text, start=literal(1), length=visible), stars)
    else:
        masked = concat(stars, exp.Right(this=text, expression=visible))
    fits = exp.LTE(this=exp.Length(this=text.copy()), expression=literal(level.length))
    return exp.Case().when(fits, masked)


def _scaled(number: Decimal, scale: int) -> int:
    return int(number.scaleb(scale).to_integral_exact())


def _interval(level: IntervalLevel, value: exp.Expression, family: Family) -> exp.Expression:
    """Whole-number arithmetic on the value times 10^scale: no division, so no rounding at a boundary.

    What would not fit the arithmetic is labelled first: every bound of a definition lies well inside its range.
    """
    case = _not_finite(exp.Case(), level, value, family)
    reach = _LARGEST_UNITS // 10**level.scale
    whole = exp.Floor(this=value.copy()) if family is Family.DECIMAL else value
    case = case.when(exp.LT(this=whole.copy(), expression=_bound(-reach, family)), literal(_outermost(level, -1)))
    case = case.when(exp.GTE(this=whole.copy(), expression=_bound(reach, family)), literal(_outermost(level, 1)))
    units = _units(value, family, level.scale)
    if level.cuts is not None:
        return _explicit_cuts(case, level, units)
    if level.minimum is not None:
        below = exp.LT(this=units.copy(), expression=literal(_scaled(level.minimum, level.scale)))
        case = case.when(below, literal(f"<{_plain(level.minimum, level.scale)}"))
    if level.maximum is not None:
        above = exp.GTE(this=units.copy(), expression=literal(_scaled(level.maximum, level.scale)))
        case = case.when(above, literal(f">={_plain(level.maximum, level.scale)}"))
    return case.else_(_equal_width(level, units))


def _not_finite(case: exp.Case, level: IntervalLevel, value: exp.Expression, family: Family) -> exp.Case:
    """Floats have NaN and infinities on every engine, decimals on some: those are told by their text."""
    if family is Family.INTEGER:
        return case
    for name in ("NaN", "Infinity", "-Infinity"):
        special = literal(name) if family is Family.DECIMAL else _double(name)
        known = cast(value.copy(), "text") if family is Family.DECIMAL else value.copy()
        case = case.when(equal(known, special), literal(level.label(float(name))))
    return case


def _bound(number: int, family: Family) -> exp.Expression:
    return _double(str(number)) if family is Family.FLOAT else literal(number)


def _outermost(level: IntervalLevel, sign: int) -> str | None:
    """The label of what lies beyond every number we compute with; None, so outside the hierarchy, where none is."""
    coded = level.cuts or (level.minimum if sign < 0 else level.maximum) is not None
    return level.label(Decimal(sign).scaleb(100)) if coded else None


def _explicit_cuts(case: exp.Case, level: IntervalLevel, units: exp.Expression) -> exp.Expression:
    cuts = level.cuts or ()
    texts = [_plain(cut, level.scale) for cut in cuts]
    labels = [f"<{texts[0]}", *(f"[{low}, {high})" for low, high in pairwise(texts))]
    for cut, name in zip(cuts, labels, strict=True):
        below = exp.LT(this=units.copy(), expression=literal(_scaled(cut, level.scale)))
        case = case.when(below, literal(name))
    return case.else_(literal(f">={texts[-1]}"))


def _equal_width(level: IntervalLevel, units: exp.Expression) -> exp.Expression:
    if level.width is None:
        raise TypeError("an interval level has a width or cut points")
    width = literal(_scaled(level.width, level.scale))
    offset = exp.Paren(this=exp.Sub(this=units.copy(), expression=literal(_scaled(level.origin, level.scale))))
    # The remainder takes the sign of the dividend on every engine; adding the width once makes it non-negative.
    remainder = exp.Mod(
        this=exp.Paren(this=exp.Add(this=exp.Mod(this=offset, expression=width), expression=width.copy())),
        expression=width.copy(),
    )
    low = exp.Sub(this=units.copy(), expression=remainder)
    high: exp.Expression = exp.Add(this=low.copy(), expression=width.copy())
    if level.maximum is not None:
        most = literal(_scaled(level.maximum, level.scale))
        high = exp.Case().when(exp.GT(this=high.copy(), expression=most), most.copy()).else_(high)
    return concat("[", _unscaled(low, level.scale), ", ", _unscaled(high, level.scale), ")")


def _units(value: exp.Expression, family: Family, scale: int) -> exp.Expression:
    """The value times 10^scale, rounded down to a whole number."""
    if scale > 9:
        raise TypeError("an interval has at most 9 decimals")
    if family is Family.INTEGER:
        whole: exp.Expression = cast(value, "bigint")
        return whole if scale == 0 else exp.Paren(this=exp.Mul(this=whole, expression=literal(10**scale)))
    exact = _rounded_down(value, family)
    if scale:
        exact = exp.Mul(this=exact, expression=cast(literal(10**scale), f"DECIMAL({scale + 1}, 0)"))
    return cast(exp.Floor(this=exact), "bigint")


def _rounded_down(value: exp.Expression, family: Family) -> exp.Expression:
    """The value with nine decimals. A cast rounds to the nearest: what it rounded up goes one step back.

    A float counts as the shortest decimal that reads back as it, so it goes through its text. Nine decimals that read
    back as the same float are that shortest decimal, or it would have been shorter itself.
    """
    original: exp.Expression = value.copy()
    rounded: exp.Expression = cast(value.copy(), _DECIMAL)
    compared = rounded
    if family is Family.FLOAT:
        text = cast(value.copy(), "text")
        original = cast(text, "double")
        rounded = cast(text.copy(), _DECIMAL)
        compared = cast(rounded.copy(), "double")
    step = cast(literal("0.000000001"), "DECIMAL(10, 9)")
    went_up = exp.GT(this=compared.copy(), expression=original)
    correction = exp.Case().when(went_up, step).else_(cast(literal("0"), "DECIMAL(10, 9)"))
    return exp.Paren(this=exp.Sub(this=rounded.copy(), expression=correction))


def _unscaled(units: exp.Expression, scale: int) -> exp.Expression:
    if scale == 0:
        return cast(units, "text")
    unit = cast(exp.Literal.string(_plain(Decimal(1).scaleb(-scale), scale)), f"DECIMAL({scale + 1}, {scale})")
    return cast(exp.Mul(this=cast(units, "DECIMAL(19, 0)"), expression=unit), "text")


def _plain(number: Decimal, scale: int) -> str:
    return f"{number:.{scale}f}"


def _double(text: str) -> exp.Expression:
    return cast(literal(text), "double")


def _date(level: DateLevel, value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """Infinite dates are labelled as such. Engines number years before 1 differently: those have no label."""
    case = exp.Case()
    for name in ("infinity", "-infinity") if traits.infinite_dates else ():
        case = case.when(equal(value.copy(), cast(literal(name), _DATE_TYPES[family])), literal(name))
    if family is Family.TIMESTAMP_TZ:
        value = exp.AtTimeZone(this=value, zone=literal("UTC"))
    counted = exp.GTE(this=_field("YEAR", value), expression=literal(1))
    return case.when(counted, _period(level, value, traits))


_DATE_TYPES = {Family.DATE: "date", Family.TIMESTAMP: "timestamp", Family.TIMESTAMP_TZ: "timestamptz"}


def _period(level: DateLevel, value: exp.Expression, traits: Traits) -> exp.Expression:
    year = _field("YEAR", value)
    match level.unit:
        case "hour":
            return concat(_day(value), " ", _padded(_field("HOUR", value), 2))
        case "day":
            return _day(value)
        case "week":
            week_year = cast(traits.iso_year(value.copy()), "int")
            return concat(_padded(week_year, 4), "-W", _padded(_field("WEEK", value), 2))
        case "month":
            return concat(_padded(year, 4), "-", _padded(_field("MONTH", value), 2))
        case "quarter":
            return concat(_padded(year, 4), "-Q", cast(_field("QUARTER", value), "text"))
        case _ if level.count == 1:
            return _padded(year, 4)
    low = exp.Sub(this=year, expression=exp.Mod(this=year.copy(), expression=literal(level.count)))
    high = exp.Add(this=low.copy(), expression=literal(level.count - 1))
    return concat("[", _padded(low, 4), "-", _padded(high, 4), "]")


def _day(value: exp.Expression) -> exp.Expression:
    parts = (("YEAR", 4), ("MONTH", 2), ("DAY", 2))
    year, month, day = (_padded(_field(name, value), width) for name, width in parts)
    return concat(year, "-", month, "-", day)


def _field(name: str, value: exp.Expression) -> exp.Expression:
    return cast(exp.Extract(this=exp.var(name), expression=value.copy()), "int")


def _padded(number: exp.Expression, width: int) -> exp.Expression:
    """At least `width` digits: only a year can have more, and padding to less than a text's length would cut it."""
    text = cast(number, "text")
    padded = exp.Pad(this=text, expression=literal(width), fill_pattern=literal("0"), is_left=True)
    if width < 4:
        return padded
    long = exp.GT(this=number.copy(), expression=literal(10**width - 1))
    return exp.Case().when(long, text.copy()).else_(padded)
