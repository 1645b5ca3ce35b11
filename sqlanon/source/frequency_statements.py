"""Statements of the frequency set: the one scan of the source, and its packing by the hierarchies.

`base` holds each distinct combination of quasi-identifier values (columns `q_0`, `q_1`, ...) with its number of rows
`n`; where models need them also of sensitive values (`v_0`, ...) and of the respondent (`who`). `frequency` holds the
same combinations packed into a few integers `p_0`, ... (see `packing`), with the codes of sensitive values `s_0`, ...
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, reduce

from sqlglot import exp

from sqlanon.hierarchies.lattice import Node
from sqlanon.source.packing import Field, Layout
from sqlanon.source.sets import ValueSet
from sqlanon.sql.build import checksum, count, equal, is_null, mixed, named, subquery, total
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import ValueTables


@dataclass(frozen=True)
class HierarchyTable:
    """Where a column's hierarchy lies and how high it is."""

    table: Table
    height: int
    leaves: int
    """Values the hierarchy knows, NULL included when the source has one."""
    widths: tuple[int, ...] = ()
    """Bits that number the children at each level, from 0 up to the one below the top."""


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
        select = select.join(table_expression(hierarchy.table, alias), on=on, join_type="left", copy=False)
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
        select = select.join(table_expression(table, alias), on=on, join_type="left", copy=False)
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
    return exp.select(*checksum(mixed(values))).from_(table_expression(frequency))


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
    return select.join(table_expression(hierarchy.table, "h"), on=on, join_type="left")


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
    """The population, packed alike, its rows `w`."""
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
        return [*codes, *(["r"] if self.persons else [])]

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
        return [*words, *self.others, *self.set_columns, "n", *(["u"] if self.persons else [])]


def layout_of(hierarchies: Sequence[HierarchyTable]) -> Layout:
    return Layout.of([hierarchy.widths for hierarchy in hierarchies])


def masked(word: exp.Expression, mask: int) -> exp.Expression:
    return exp.Paren(this=exp.BitwiseAnd(this=word, expression=literal(mask)))
