"""Statements of the frequency set: the one scan of the source, and its packing by the hierarchies.

`base` holds each distinct combination of quasi-identifier values (columns `q_0`, `q_1`, ...) with its number of rows
`n`; where models need them also of sensitive values (`v_0`, ...) and of the respondent (`who`). `frequency` holds the
same combinations packed into a few integers `p_0`, ... (see `Layout`), with the codes of sensitive values `s_0`, ... or
the sets of them (see `ValueSet`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

from sqlglot import exp

from sqlanon.hierarchies.lattice import Node
from sqlanon.sql.build import checksum, count, equal, is_null, left_join, named, subquery, total, with_mix
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.traits import Traits
from sqlanon.sql.values import ValueTables

WORD = 62
"""Bits used of a signed 64-bit integer."""


@dataclass(frozen=True)
class Field:
    """The bits of one level of one column."""

    word: int
    shift: int
    width: int

    @property
    def mask(self) -> int:
        return ((1 << self.width) - 1) << self.shift


@dataclass(frozen=True)
class Layout:
    """For each column, the fields of its levels from 0 up to the one below the top.

    A value is written as its path in the hierarchy, from the label under the top down to the value: one bit field per
    level, holding the number of the child among its siblings. Generalizing is clearing the lower fields, so a lattice
    node is one bit mask per word, and two rows share a class when their masked words are equal.
    """

    fields: tuple[tuple[Field, ...], ...]
    words: int

    @classmethod
    def of(cls, widths: Sequence[Sequence[int]]) -> Layout:
        """Lay out columns one after the other; a column that does not fit a word's rest starts the next word.

        The widest come first, in the lowest bits: they are what is generalized most, and rows that differ only there
        are neighbours in a sorted frequency set.

        >>> Layout.of([[3], [2, 2]]).fields
        ((Field(word=0, shift=4, width=3),), (Field(word=0, shift=0, width=2), Field(word=0, shift=2, width=2)))
        """
        word, used = 0, 0
        columns: dict[int, tuple[Field, ...]] = {}
        for position in sorted(range(len(widths)), key=lambda position: -sum(widths[position])):
            levels = widths[position]
            if used and used + sum(levels) > WORD:
                word, used = word + 1, 0
            fields: list[Field] = []
            for width in levels:
                if used + width > WORD:
                    word, used = word + 1, 0
                fields.append(Field(word, used, width))
                used += width
            columns[position] = tuple(fields)
        return cls(tuple(columns[position] for position in range(len(widths))), word + 1)

    def masks(self, node: Node) -> tuple[int, ...]:
        """The mask of each word that keeps what a node tells apart.

        >>> Layout.of([[3], [2, 2]]).masks((0, 1)), Layout.of([[3], [2, 2]]).masks((1, 2))
        ((124,), (0,))
        """
        masks = [0] * self.words
        for position, level in enumerate(node):
            for word, mask in self.column_masks(position, level).items():
                masks[word] |= mask
        return tuple(masks)

    def column_masks(self, position: int, level: int) -> dict[int, int]:
        """The masks, by word, of one column at one level; none at its top, and none for words without a bit of it."""
        masks: dict[int, int] = {}
        for part in self.fields[position][level:]:
            if part.width:
                masks[part.word] = masks.get(part.word, 0) | part.mask
        return masks


BITS = 62
"""Values in one number."""

MOST_VALUES = 4 * BITS
"""Values up to which sets are held: beyond, rows for each value are smaller."""


@dataclass(frozen=True)
class ValueSet:
    """A column as sets: the numbers that hold the bits, and how many values the union of a group's sets has.

    Sets as bits are all that the number of different values needs: the frequency set then has one row for each
    combination of the quasi-identifier, not one for each value too.
    """

    columns: tuple[str, ...]
    number: exp.Expression


def value_set(position: int, values: int, traits: Traits) -> ValueSet:
    """How the set of a column of so many values is held; its codes run from 0, which is NULL."""
    names = tuple(f"b_{position}_{word}" for word in range(values // BITS + 1))
    # Some engines count bits in the narrowest type there is, whose sum would not hold more than 127 values.
    counts: list[exp.Expression] = [cast(traits.bit_count(united(name)), "int") for name in names]
    return ValueSet(names, reduce(lambda left, right: exp.Add(this=left, expression=right), counts))


def united(name: str) -> exp.Expression:
    """The union of the sets of a group."""
    return exp.BitwiseOrAgg(this=column(name))


def with_sets(rows: exp.Select, keys: Sequence[str], sets: dict[int, ValueSet], count_type: str) -> exp.Select:
    """Rows with a code for each value as rows with sets: grouped by everything else."""
    items: list[exp.Expression] = [column(name) for name in keys]
    for position, held in sets.items():
        for word, name in enumerate(held.columns):
            items.append(named(exp.BitwiseOrAgg(this=_bit(column(f"s_{position}"), word, len(held.columns))), name))
    items.append(named(cast(exp.Sum(this=column("n")), count_type), "n"))
    select = exp.select(*items).from_(subquery(rows, "rows"))
    return select.group_by(*(column(name) for name in keys))


def _bit(code: exp.Expression, word: int, words: int) -> exp.Expression:
    """The bit of a value in one of the numbers, 0 in the others."""
    place = exp.Mod(this=code.copy(), expression=literal(BITS))
    bit = exp.BitwiseLeftShift(this=cast(literal(1), "bigint"), expression=exp.Paren(this=cast(place, "int")))
    if words == 1:
        return bit
    low = exp.GTE(this=code, expression=literal(word * BITS))
    high = exp.LT(this=code.copy(), expression=literal((word + 1) * BITS))
    inside = exp.And(this=low, expression=high)
    return exp.Case().when(inside, bit).else_(_nothing())


def _nothing() -> exp.Expression:
    return cast(literal(0), "bigint")


@dataclass(frozen=True)
class HierarchyTable:
    """Where a column's hierarchy lies and how high it is."""

    table: Table
    height: int
    leaves: int
    """Values of the domain, NULL included when the source has one."""
    widths: tuple[int, ...] = ()
    """Bits that number the children at each level, from 0 up to the one below the top."""
    placed: bool = False
    """Values are measured by their places in a range: the table has `start_l`, the first place of each label."""


def base_groups(source: exp.Expression, keys: Mapping[str, exp.Expression], count_as: str = "n") -> exp.Select:
    """The scan: one GROUP BY of the whole quasi-identifier, and of what else models need, by name."""
    items = [named(key, name) for name, key in keys.items()]
    return exp.select(*items, named(count(), count_as)).from_(source).group_by(*(key.copy() for key in keys.values()))


def base_keys(
    quasi_identifier: Sequence[exp.Expression],
    sensitive: Sequence[exp.Expression] = (),
    respondent: exp.Expression | None = None,
) -> dict[str, exp.Expression]:
    """The keys of the scan by the names that they have in the base."""
    keys = {f"q_{position}": key for position, key in enumerate(quasi_identifier)}
    keys |= {f"v_{position}": key for position, key in enumerate(sensitive)}
    return keys if respondent is None else keys | {"who": respondent}


def base_totals(base: Table, columns: int, counted: str = "n") -> exp.Select:
    """One row: combinations, rows, and for each column how many combinations have NULL there."""
    nulls = [exp.Count(this=exp.Case().when(is_null(column(f"q_{i}")), literal(1))) for i in range(columns)]
    return exp.select(count(), total(column(counted)), *nulls).from_(table_expression(base))


def packed(
    base: Table,
    hierarchies: Sequence[HierarchyTable],
    layout: Layout,
    counts: Mapping[str, exp.Expression],
    codes: Sequence[Table] = (),
    more: Sequence[str] = (),
) -> exp.Select:
    """The base joined once to every hierarchy, each value written as its path, and to the codes of sensitive values.

    `counts` are what the base counts, by name; further columns of the base are taken over as they are.
    """
    words: list[exp.Expression | None] = [None] * layout.words
    select = exp.select().from_(table_expression(base, "base"))
    for position, hierarchy in enumerate(hierarchies):
        alias = f"h_{position}"
        key = column(f"q_{position}", "base")
        on = equal(key, column("value", alias))
        select = select.join(left_join(table_expression(hierarchy.table, alias), on), copy=False)
        fields = layout.fields[position]
        for word in sorted({part.word for part in fields}):
            value = exp.Case().when(is_null(key.copy()), _bigint(0)).else_(path(fields, word, alias))
            before = words[word]
            words[word] = value if before is None else exp.Add(this=before, expression=value)
    items: list[exp.Expression] = [
        named(word if word is not None else _bigint(0), f"p_{index}") for index, word in enumerate(words)
    ]
    for position, table in enumerate(codes):
        alias, key = f"c_{position}", column(f"v_{position}", "base")
        on = equal(key, column("value", alias))
        select = select.join(left_join(table_expression(table, alias), on), copy=False)
        items.append(named(sensitive_code(key, alias), f"s_{position}"))
    items += [column(name, "base") for name in more]
    select = select.select(*items, *(named(value, name) for name, value in counts.items()), copy=False)
    # In order, rows of one class lie close together: grouping then finds its counters in the cache.
    return select.order_by(*(column(f"p_{index}") for index in range(layout.words)), copy=False)


def sensitive_code(key: exp.Expression, alias: str) -> exp.Expression:
    """The code of a sensitive value joined to its codes; 0 for NULL."""
    return exp.Case().when(is_null(key.copy()), literal(0)).else_(column("code", alias))


def path(fields: Sequence[Field], word: int, alias: str, lowest: int = 0) -> exp.Expression:
    """The part of a value's path in one word, from level `lowest` up; reads `index_l` of a hierarchy table."""
    terms: list[exp.Expression] = [
        exp.Mul(this=cast(column(f"index_{level}", alias), "bigint"), expression=literal(1 << field.shift))
        for level, field in enumerate(fields)
        if field.word == word and field.width and level >= lowest
    ]
    return reduce(lambda left, right: exp.Add(this=left, expression=right), terms) if terms else _bigint(0)


def _bigint(number: int) -> exp.Expression:
    return cast(literal(number), "bigint")


def frequency_checksum(frequency: Table, columns: Sequence[str]) -> exp.Select:
    """Two checksums of the combinations and their rows."""
    values = [exp.Coalesce(this=column(name), expressions=[literal(0)]) for name in columns]
    return exp.select(*checksum()).from_(with_mix(table_expression(frequency), values), copy=False)


def code(key: exp.Expression, alias: str, level: int) -> exp.Expression:
    """The code of a joined value: 0 for NULL, NULL for a value that the hierarchy does not cover."""
    return exp.Case().when(is_null(key.copy()), literal(0)).else_(column(f"code_{level}", alias), copy=False)


def domain_counts(base: Table, name: str) -> exp.Select:
    """The distinct values of one column of the base, NULL among them, with their rows."""
    key = column(name)
    select = exp.select(named(key, "value"), named(exp.Sum(this=column("n")), "n")).from_(table_expression(base))
    return select.group_by(key.copy())


def level_figures(domains: Sequence[Table], hierarchies: Sequence[HierarchyTable], rows: int) -> exp.Select:
    """What the levels of each column cost over all rows, from the columns' values alone.

    A row per column and level, from 1 to its top: position, level, its values, sum of rows times leaves, non-uniform
    entropy, HDM, distinct generalized values, most leaves under one value. Columns and levels are one list, grouped
    once: an engine plans that faster than groups of its own for each level.
    """
    queries: list[exp.Query] = [
        _values_at_level(domain, position, hierarchy, level)
        for position, (domain, hierarchy) in enumerate(zip(domains, hierarchies, strict=True))
        for level in [*range(1, hierarchy.height), hierarchy.height]
    ]
    listed = reduce(lambda left, right: exp.union(left, right, distinct=False, copy=False), queries)
    keys = [column(name) for name in ("position", "level", "x")]
    shared = exp.Window(this=exp.Sum(this=column("n")), partition_by=[key.copy() for key in keys])
    grouped = exp.select(
        *keys, named(_double(column("n")), "f"), named(_double(column("leaves")), "leaves"), named(_double(shared), "g")
    ).from_(subquery(listed, "listed"), copy=False)
    figures = [
        count(),
        exp.Sum(this=exp.Mul(this=column("f"), expression=column("leaves"))),
        exp.Sum(this=exp.Mul(this=column("f"), expression=_log_ratio("g"))),
        exp.Sum(this=_penalty("g", _double(literal(rows)))),
        exp.Count(this=exp.Distinct(expressions=[column("x")])),
        exp.Max(this=column("leaves")),
    ]
    select = exp.select(column("position"), column("level"), *figures).from_(subquery(grouped, "grouped"), copy=False)
    return select.group_by(column("position"), column("level"), copy=False)


def _values_at_level(domain: Table, position: int, hierarchy: HierarchyTable, level: int) -> exp.Select:
    """Each value of a column with its rows, and its code and leaves at a level; at the top it is with all others."""
    key = column("value", "domain")
    below = level < hierarchy.height
    group, leaves = _at_level(key, level) if below else (literal(0), literal(hierarchy.leaves))
    items = [
        named(literal(position), "position"),
        named(literal(level), "level"),
        named(group, "x"),
        named(leaves, "leaves"),
        named(column("n", "domain"), "n"),
    ]
    select = exp.select(*items).from_(table_expression(domain, "domain"))
    if not below:
        return select
    on = equal(key.copy(), column("value", "h"))
    return select.join(left_join(table_expression(hierarchy.table, "h"), on), copy=False)


def _at_level(key: exp.Expression, level: int) -> tuple[exp.Expression, exp.Expression]:
    """The code of a value at a level below the top, and the leaves under it; NULL is a leaf of its own."""
    leaves = exp.Case().when(is_null(key.copy()), literal(1)).else_(column(f"leaves_{level}", "h"), copy=False)
    return code(key, "h", level), leaves


def _log_ratio(group: str) -> exp.Expression:
    ratio = exp.Div(this=column(group), expression=column("f"))
    return exp.Div(this=exp.Ln(this=ratio), expression=exp.Ln(this=_double(literal(2))))


def _penalty(group: str, everything: exp.Expression) -> exp.Expression:
    """Li and Li's penalty of a value, times its rows: f * (g - f) / (N - f); none where all rows have one value."""
    own = column("f")
    gained = exp.Mul(this=own, expression=exp.Paren(this=exp.Sub(this=column(group), expression=own.copy())))
    most = exp.Paren(this=exp.Sub(this=everything, expression=own.copy()))
    only = equal(everything.copy(), own.copy())
    return exp.Case().when(only, _double(literal(0))).else_(exp.Div(this=gained, expression=most), copy=False)


def _double(value: exp.Expression) -> exp.Expression:
    return cast(value, "double")


@dataclass(frozen=True)
class Shape:
    """What node queries need to know of the frequency set: its hierarchies, and what is counted beside rows."""

    hierarchies: tuple[HierarchyTable, ...]
    count_type: str
    """The type of a combination's rows: narrow while all rows together fit, because sums of it are faster."""
    sensitive: int = 0
    """How many sensitive columns are in the frequency set."""
    tables: tuple[ValueTables, ...] = ()
    """Of each of them, its values in the whole source."""
    persons: bool = False
    """Whether respondents are counted."""
    population: Table | None = None
    """The population, packed alike, its rows `population_rows`."""
    sets: Mapping[int, ValueSet] = field(default_factory=dict)
    """The sensitive columns that are held as sets of values, not as one row for each value."""

    def heights(self) -> Node:
        return tuple(hierarchy.height for hierarchy in self.hierarchies)

    @cached_property
    def layout(self) -> Layout:
        return layout_of(self.hierarchies)

    def words(self, node: Node) -> Iterator[tuple[int, exp.Expression]]:
        """The words a node groups by, masked."""
        for word, mask in enumerate(self.layout.masks(node)):
            if mask:
                yield word, masked(column(f"p_{word}"), mask)

    def keys(self, node: Node) -> list[tuple[str, exp.Expression]]:
        """What makes the classes of a node."""
        return [(f"p_{word}", key) for word, key in self.words(node)]

    @property
    def others(self) -> list[str]:
        """The columns of the frequency set that tell rows apart, beside the words."""
        codes = [f"s_{position}" for position in range(self.sensitive) if position not in self.sets]
        return [*codes, *(["respondent"] if self.persons else [])]

    @property
    def set_columns(self) -> list[str]:
        return [name for item in self.sets.values() for name in item.columns]

    @property
    def numbers(self) -> dict[int, exp.Expression]:
        """Of each column held as sets, how many values a group has."""
        return {position: item.number for position, item in self.sets.items()}

    @property
    def columns(self) -> list[str]:
        """All columns of the frequency set."""
        words = [f"p_{word}" for word in range(self.layout.words)]
        return [*words, *self.others, *self.set_columns, "n", *(["lone_respondents"] if self.persons else [])]


def layout_of(hierarchies: Sequence[HierarchyTable]) -> Layout:
    return Layout.of([hierarchy.widths for hierarchy in hierarchies])


def masked(word: exp.Expression, mask: int) -> exp.Expression:
    return exp.Paren(this=exp.BitwiseAnd(this=word, expression=literal(mask)))
