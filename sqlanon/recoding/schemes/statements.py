"""Statements that cost many generalizations at once: candidate mappings joined to the combinations.

`maps` has for each pair of partitions of a column (`place`, `pair`), one below the other, the groups of every ordinal:
`g` in the lower and `h` in the upper one, written so that their sums over columns name classes, and the penalties `w`
and `v`. `candidates` names the pair of every column (`m_0`, ...). Both come as text, as they were loaded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sql.build import all_of, equal, named, subquery, total, total_where
from sqlanon.sql.relations import Table, cast, column, literal, table_expression
from sqlanon.sql.values import Counted, Measures, ValueTables, classes

MAP_COLUMNS = ("place", "pair", "o", "g", "h", "w", "v")
BLOCK_COLUMNS = ("block", "o", "own", "extra")
_KINDS = {
    "place": "text",
    "g": "bigint",
    "h": "bigint",
    **dict.fromkeys(("w", "v", "own", "extra", "slack"), "double"),
}
"""Types of columns that are no small numbers."""


@dataclass(frozen=True)
class Price:
    """How rows of classes are charged: by discernibility, or by the penalties of the mappings."""

    by_size: bool
    rows: int
    gone: str
    """What a suppressed row costs, as a decimal number."""
    least: int
    """Rows that a class has at least where it is kept."""

    def kept(self, size: exp.Expression, penalties: str) -> exp.Expression:
        """What the rows of a part of a class cost that has this size."""
        return _times(column("n"), size) if self.by_size else column(penalties)

    def lost(self, rows: str) -> exp.Expression:
        """What suppressed rows cost."""
        return _times(column(rows), exp.Literal.number(self.gone))

    def at_least(self) -> exp.Expression:
        """As `kept`, of rows that may yet be merged with others."""
        if not self.by_size:
            return column("w")
        small = exp.LT(this=column("n"), expression=literal(self.least))
        return _times(column("n"), exp.Case().when(small, literal(self.least)).else_(column("n")))


@dataclass(frozen=True)
class Judging:
    """What decides over classes beside their rows: the measures of models, and predicates over them."""

    measures: Sequence[Measures]
    satisfied: exp.Expression
    """A class is kept."""
    possible_measures: Sequence[Measures]
    possible: exp.Expression
    """A class, or one below it, may be kept."""
    tables: Mapping[int, ValueTables]
    persons: bool
    plain: bool
    """Only `n` is read: no aggregates of values or respondents."""


@dataclass(frozen=True)
class Candidates:
    """The loaded mappings, and the columns that they map."""

    combinations: Table
    maps: Table
    candidates: Table
    places: Sequence[int]
    """Columns of the combinations that candidates map."""
    typed: bool = False
    """The columns of both tables are numbers already."""

    def rows(self) -> exp.Select:
        """Combinations with the groups of every candidate: a select without items, aliases c, k, p_0..."""
        select = exp.select().from_(subquery(self._candidates(), "k"), copy=False)
        select = select.join(table_expression(self.combinations, "c"), join_type="cross", copy=False)
        for place in self.places:
            alias = f"p_{place}"
            on = all_of(
                [
                    equal(column("pair", alias), column(f"m_{place}", "k")),
                    equal(column("o", alias), column(f"o_{place}", "c")),
                ]
            )
            select = select.join(subquery(self._map(place), alias), on=on, copy=False)
        return select

    def _candidates(self) -> exp.Select:
        names = ("candidate", *(f"m_{place}" for place in self.places), "slack")
        return exp.select(*map(self._number, names)).from_(table_expression(self.candidates))

    def _number(self, name: str) -> exp.Expression:
        return column(name) if self.typed else named(cast(column(name), _KINDS.get(name, "int")), name)

    def _map(self, place: int) -> exp.Select:
        items = map(self._number, MAP_COLUMNS[1:])
        mine = equal(column("place"), literal(str(place)))
        return exp.select(*items).from_(table_expression(self.maps)).where(mine)

    def sum_of(self, part: str) -> exp.Expression:
        """A sum over columns of one part of the mappings; 0 where no column is mapped."""
        found: exp.Expression | None = None
        for place in self.places:
            item = column(part, f"p_{place}")
            found = item if found is None else exp.Add(this=found, expression=item)
        return exp.Paren(this=found) if found is not None else cast(literal(0), "double" if part in "wv" else "bigint")


def measured(given: Candidates, price: Price, judging: Judging, *, upper: bool) -> exp.Select:
    """For each candidate: cost and suppressed rows of its own end, bound, rows that are lost anyway, static cost."""
    if judging.plain:
        return _plain_totals(_parts(given, ()), price, judging, ("candidate",), upper=upper)
    return _totals(_with_verdicts(given, judging, upper), price, upper=upper)


def block_cells(given: Candidates, pivot: int) -> exp.Select:
    """For each candidate and each ordinal of the pivot: the classes of the other columns, with rows and penalties."""
    return _parts(given, (("o", column(f"o_{pivot}", "c")), ("slack", column("slack", "k"))))


def block_costs(cells: exp.Select | Table, blocks: Table, price: Price, judging: Judging, *, upper: bool) -> exp.Select:
    """For each candidate and each admitted group of the pivot's ordinals: as `measured`, over its rows alone."""
    on = all_of(
        [
            equal(column("o", "b"), column("o", "cells")),
            exp.LTE(this=column("extra", "b"), expression=column("slack", "cells")),
        ]
    )
    own = exp.Mul(this=column("n", "cells"), expression=column("own", "b"))
    grouped = (
        exp.select(
            column("candidate", "cells"),
            column("block", "b"),
            column("g", "cells"),
            column("h", "cells"),
            named(exp.Sum(this=column("n", "cells")), "n"),
            named(exp.Sum(this=exp.Add(this=column("w", "cells"), expression=own)), "w"),
            named(exp.Sum(this=exp.Add(this=column("v", "cells"), expression=own.copy())), "v"),
        )
        .from_(table_expression(cells, "cells") if isinstance(cells, Table) else subquery(cells, "cells"), copy=False)
        .join(table_expression(blocks, "b"), on=on, copy=False)
        .group_by(column("candidate", "cells"), column("block", "b"), column("g", "cells"), column("h", "cells"))
    )
    return _plain_totals(grouped, price, judging, ("candidate", "block"), upper=upper)


def typed(loaded: Table, columns: Sequence[str]) -> exp.Select:
    """A table as it was loaded, with the types of its columns; `place` is compared as text."""
    items = [named(cast(column(name), _KINDS.get(name, "int")), name) for name in columns]
    return exp.select(*items).from_(table_expression(loaded))


def numbered(given: Candidates) -> exp.Select:
    """Of a single candidate whose `w` are leaves and whose `v` are rows of groups: combinations with class and both."""
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("c", quoted=True))
    figures = [
        named(column(part, f"p_{place}"), f"{name}_{place}")
        for place in given.places
        for part, name in (("w", "leaves"), ("v", "rows"))
    ]
    return given.rows().select(named(given.sum_of("g"), "g"), everything, *figures)


def assignment(rows: Table, places: Sequence[int], judging: Judging) -> exp.Select:
    """Of numbered combinations: each one of ordinals with its rows and its class, NULL where it is suppressed."""
    ordinals = [f"o_{place}" for place in places]
    counted = Counted(exp.select().from_(table_expression(rows, "counted")), (("g", column("g")),), judging.persons)
    found = classes(counted, judging.measures, judging.tables)
    verdicts = exp.select(column("g"), named(judging.satisfied.copy(), "kept")).from_(subquery(found, "found"))
    kept = exp.Case().when(column("kept", "verdicts"), column("g", "rows"))
    return (
        exp.select(
            *(column(name, "rows") for name in ordinals),
            named(exp.Sum(this=column("n", "rows")), "n"),
            named(exp.Max(this=kept), "class"),
        )
        .from_(table_expression(rows, "rows"))
        .join(subquery(verdicts, "verdicts"), on=equal(column("g", "rows"), column("g", "verdicts")))
        .group_by(*(column(name, "rows") for name in ordinals))
    )


def class_figures(rows: Table, places: Sequence[int]) -> exp.Select:
    """Of numbered combinations: leaves and rows of the groups of every class."""
    figures = [
        named(cast(exp.Max(this=column(f"{name}_{place}")), "bigint"), f"{name}_{place}")
        for place in places
        for name in ("leaves", "rows")
    ]
    return exp.select(named(column("g"), "class"), *figures).from_(table_expression(rows)).group_by(column("g"))


def _parts(given: Candidates, more: Sequence[tuple[str, exp.Expression]]) -> exp.Select:
    """The classes of the lower ends, within those of the upper ends, with rows and penalties."""
    keys = [("candidate", column("candidate", "k")), ("g", given.sum_of("g")), ("h", given.sum_of("h")), *more]
    rows = cast(column("n", "c"), "double")
    select = given.rows().select(
        *(named(key, name) for name, key in keys),
        named(exp.Sum(this=rows), "n"),
        named(exp.Sum(this=_times(rows.copy(), given.sum_of("w"))), "w"),
        named(exp.Sum(this=_times(rows.copy(), given.sum_of("v"))), "v"),
        copy=False,
    )
    return select.group_by(*(key.copy() for _, key in keys), copy=False)


def _with_above(parts: exp.Select) -> exp.Select:
    """Each part with `above`, the rows of the class that it is in at the upper end."""
    above = exp.Window(this=exp.Sum(this=column("n")), partition_by=[column("candidate"), column("h")])
    return exp.select(exp.Star(), named(above, "above")).from_(subquery(parts, "parts"), copy=False)


def _plain_totals(parts: exp.Select, price: Price, judging: Judging, keys: Sequence[str], *, upper: bool) -> exp.Select:
    """The answer where rows alone decide: parts summed up to classes of the upper ends, and these to candidates."""
    names = [column(key) for key in keys]
    kept = judging.satisfied
    over = (
        exp.select(
            *names,
            named(exp.Sum(this=column("n")), "above"),
            named(exp.Sum(this=column("v")), "v"),
            named(total(exp.Case().when(kept, price.kept(column("n"), "w")).else_(price.lost("n"))), "own"),
            named(total_where(exp.Not(this=exp.Paren(this=kept.copy())), column("n")), "lost"),
            named(exp.Sum(this=price.at_least()), "least"),
            named(exp.Sum(this=_static(price)), "static"),
        )
        .from_(subquery(parts, "parts"), copy=False)
        .group_by(*(name.copy() for name in names), column("h"), copy=False)
    )
    possible = _about(judging.possible, "above")
    if upper:
        kept_over = _about(kept, "above")
        square = _times(column("above"), column("above")) if price.by_size else column("v")
        cost: exp.Expression = exp.Case().when(kept_over, square).else_(price.lost("above"))
        lost: exp.Expression = exp.Case().when(kept_over.copy(), literal(0)).else_(column("above"))
    else:
        cost, lost = column("own"), column("lost")
    return (
        exp.select(
            *(name.copy() for name in names),
            named(total(cost), "cost"),
            named(total(lost), "suppressed"),
            named(total(exp.Case().when(possible, column("least")).else_(price.lost("above"))), "bound"),
            named(total_where(exp.Not(this=possible.copy()), column("above")), "dead"),
            named(total(column("static")), "static"),
        )
        .from_(subquery(over, "over"), copy=False)
        .group_by(*(name.copy() for name in names), copy=False)
    )


def _static(price: Price) -> exp.Expression:
    return _times(column("n"), column("n")) if price.by_size else column("w")


def _about(predicate: exp.Expression, name: str) -> exp.Expression:
    """A predicate over `n`, asked of another column."""
    asked = predicate.copy()
    for found in list(asked.find_all(exp.Column)):
        found.set("this", exp.to_identifier(name, quoted=True))
    return exp.Paren(this=asked)


def _with_verdicts(given: Candidates, judging: Judging, upper: bool) -> exp.Select:
    """The parts with the verdicts of models that measure the values of classes."""
    lower_key, upper_key = ("g", given.sum_of("g")), ("h", given.sum_of("h"))
    own_key = upper_key if upper else lower_key
    own = _verdicts(given, judging, own_key, judging.measures, named(judging.satisfied.copy(), "kept"))
    measures, predicate = judging.possible_measures, judging.possible
    possible = _verdicts(given, judging, upper_key, measures, named(predicate.copy(), "possible"))
    select = exp.select(
        exp.Column(this=exp.Star(), table=exp.to_identifier("parts", quoted=True)),
        column("kept", "own"),
        column("possible", "over"),
    ).from_(subquery(_with_above(_parts(given, ())), "parts"), copy=False)
    for query, alias, key in ((own, "own", "h" if upper else "g"), (possible, "over", "h")):
        on = all_of([equal(column(name, "parts"), column(name, alias)) for name in ("candidate", key)])
        select = select.join(subquery(query, alias), on=on, copy=False)
    return select


def _verdicts(
    given: Candidates,
    judging: Judging,
    key: tuple[str, exp.Expression],
    measures: Sequence[Measures],
    verdict: exp.Expression,
) -> exp.Select:
    keys = (("candidate", column("candidate")), (key[0], column(key[0])))
    found = classes(Counted(_numbered(given, key), keys, judging.persons), measures, judging.tables)
    return exp.select(column("candidate"), column(key[0]), verdict).from_(subquery(found, "found"))


def _numbered(given: Candidates, key: tuple[str, exp.Expression]) -> exp.Select:
    """Combinations of all candidates with their class and all that models read; a select without items."""
    everything = exp.Column(this=exp.Star(), table=exp.to_identifier("c", quoted=True))
    inner = given.rows().select(named(column("candidate", "k"), "candidate"), named(key[1].copy(), key[0]), everything)
    return exp.select().from_(subquery(inner, "counted"))


def _totals(parts: exp.Select, price: Price, *, upper: bool) -> exp.Select:
    kept, possible = column("kept"), column("possible")
    size = column("above" if upper else "n")
    own = exp.Case().when(kept, price.kept(size, "v" if upper else "w")).else_(price.lost("n"))
    least = exp.Case().when(possible, price.at_least()).else_(price.lost("n"))
    return (
        exp.select(
            column("candidate"),
            named(total(own), "cost"),
            named(total_where(exp.Not(this=kept.copy()), column("n")), "suppressed"),
            named(total(least), "bound"),
            named(total_where(exp.Not(this=possible.copy()), column("n")), "dead"),
            named(total(_static(price)), "static"),
        )
        .from_(subquery(parts, "parts"), copy=False)
        .group_by(column("candidate"), copy=False)
    )


def _times(left: exp.Expression, right: exp.Expression) -> exp.Expression:
    return exp.Mul(this=left, expression=right)
