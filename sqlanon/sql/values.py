"""The classes of a generalization with all that a requirement reads of them, the values of sensitive columns too.

Relations have one row for each class and value; models say which relation they read and which aggregates they need of
it. `classes` puts them together, one row for each class: the keys, `n` (rows), the aggregates of every model, `w` (rows
of the population) where there is one; and, with any of these or with respondents, `size`: rows, or respondents where
they are counted. Nothing here knows a model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

from sqlglot import exp

from sqlanon.sql.build import all_of, count, equal, is_null, is_present, named, subquery, total
from sqlanon.sql.relations import Table, cast, column, literal, table_expression

Keys = Sequence[tuple[str, exp.Expression]]
"""Names and expressions of what makes a class; never NULL."""


class View(Enum):
    """The relation of values that a model reads, one row for each class and...

    Counts `members` are rows; with respondents they are persons. Every view but the plain one also has `size`, the
    class's rows or persons, `reference_members` and `total`, the same counts in the whole source.
    """

    NUMBER = "number"
    """... value: only how many there are, each aggregate being that number. Sets of values know it too."""
    PLAIN = "plain"
    """... value: `members` alone."""
    HOLDERS = "holders"
    """... value, where persons are counted: `alone` are the persons without another row who hold it, `first` and `last`
    the least and the greatest number of the others, which tells none, one and several apart without counting them."""
    HELD = "held"
    """... value: `members` persons hold it, also those who hold others."""
    ASSIGNED = "assigned"
    """... value: each person counts once, for the value that most persons of the class hold."""
    RANKED = "ranked"
    """... value, as assigned, with `place`: 1 for the value with most rows or persons."""
    CUMULATIVE = "cumulative"
    """... position in the order of values: `members` and `reference_members` count all values up to it. Positions
    before the first value of a class have no row: `reference_everywhere` is the sum of `reference_members` over all."""
    LABELS = "labels"
    """... label of each of the `levels` below the top of the column's own hierarchy."""


@dataclass(frozen=True)
class Measures:
    """Aggregates over one view of one sensitive column."""

    column: int
    view: View
    aggregates: Mapping[str, exp.Expression]


@dataclass(frozen=True)
class ValueTables:
    """The values of a sensitive column in the whole source, as relations that can stand in a FROM clause.

    `values`: code, reference_held, reference_assigned, total, reference_below (assigned, up to this code),
    reference_everywhere, steps (values less one), and a flag `is_0`... for each value that a model names. `labels`:
    level, code, label, reference_members (assigned), total, levels (below the top).
    """

    values: Table | exp.Query
    labels: Table | exp.Query | None = None
    code: str = ""
    """What counted rows call the codes of the column: `s_` and its position, where nothing else is said."""


@dataclass(frozen=True)
class Counted:
    """Counted rows that classes are made of.

    `rows` is a select without items over columns `n` (rows), `s_0`... (codes of sensitive values) and, with
    respondents, `respondent` and `lone_respondents`: the number of a respondent, or NULL and how many respondents have
    no other row.
    """

    rows: exp.Select
    keys: Keys
    persons: bool = False
    sets: Mapping[int, exp.Expression] = field(default_factory=dict)
    """Of sensitive columns that are held as sets of values: the number of values in the union of a group's sets."""

    def grouped(self, *items: exp.Expression, by: Sequence[tuple[str, exp.Expression]] = ()) -> exp.Select:
        """The rows grouped by the class and more, with the keys first."""
        keys = [*self.keys, *by]
        select = self.rows.select(*(named(key.copy(), name) for name, key in keys), *items)
        return select.group_by(*(key.copy() for _, key in keys), copy=False) if keys else select

    def size(self) -> exp.Expression:
        """Rows, or distinct respondents, of a group."""
        if not self.persons:
            return whole(exp.Sum(this=column("n")))
        several = exp.Count(this=exp.Distinct(expressions=[column("respondent")]))
        return whole(exp.Add(this=total(column("lone_respondents")), expression=several))

    @property
    def names(self) -> list[str]:
        return [name for name, _ in self.keys]


@dataclass(frozen=True)
class Values:
    """Builds the views of one sensitive column over counted rows."""

    counted: Counted
    position: int
    tables: ValueTables

    def of(self, view: View) -> exp.Select:
        """A view: the keys, then its columns."""
        match view:
            case View.PLAIN | View.NUMBER:
                return self._plain()
            case View.HOLDERS:
                return self._holders()
            case View.HELD:
                return self._with_reference(self._held_with_size(), "reference_held")
            case View.ASSIGNED:
                return self._with_reference(self._assigned_with_size(), "reference_assigned")
            case View.RANKED:
                return self._ranked()
            case View.CUMULATIVE:
                return self._cumulative()
            case View.LABELS:
                return self._by_label()

    def _plain(self) -> exp.Select:
        return self.counted.grouped(named(self.counted.size(), "members"), by=self._code())

    def _holders(self) -> exp.Select:
        items = [
            named(total(column("lone_respondents")), "alone"),
            named(exp.Min(this=column("respondent")), "first"),
            named(exp.Max(this=column("respondent")), "last"),
        ]
        return self.counted.grouped(*items, by=self._code())

    def _code(self) -> list[tuple[str, exp.Expression]]:
        return [("code_held", column(self.tables.code or f"s_{self.position}"))]

    def _held_with_size(self) -> exp.Select:
        if not self.counted.persons:
            return self._windowed(self._plain())
        held = subquery(self._plain(), "held")
        items = [column(name, "held") for name in (*self.counted.names, "code_held", "members")]
        select = exp.select(*items, column("size", "sizes")).from_(held, copy=False)
        sizes = self.counted.grouped(named(self.counted.size(), "size"))
        return joined(select, subquery(sizes, "sizes"), self.counted.names, "held", "sizes")

    def _windowed(self, cells: exp.Select) -> exp.Select:
        """Cells with the size of their class, where sizes are sums of cells."""
        keys: list[exp.Expression] = [column(name) for name in self.counted.names]
        size = exp.Window(this=exp.Sum(this=column("members")), partition_by=keys)
        items = [column(name) for name in (*self.counted.names, "code_held", "members")]
        return exp.select(*items, named(whole(size), "size")).from_(subquery(cells, "cells"), copy=False)

    def assigned(self) -> exp.Select:
        """Cells in which each row, or each person, counts once."""
        if not self.counted.persons:
            return self._plain()
        names = [*self.counted.names, "code_held"]
        simple = Counted(self.counted.rows.where(is_null(column("respondent"))), self.counted.keys)
        alone = simple.grouped(named(whole(exp.Sum(this=column("lone_respondents"))), "members"), by=self._code())
        chosen = exp.select(*(column(name) for name in names), named(count(), "members")).from_(
            subquery(self._choices(), "choices")
        )
        chosen = chosen.where(equal(column("choice"), literal(1))).group_by(*(column(name) for name in names))
        both = exp.union(alone, chosen, distinct=False)
        cells = exp.select(*(column(name) for name in names), named(whole(exp.Sum(this=column("members"))), "members"))
        return cells.from_(subquery(both, "assigned")).group_by(*(column(name) for name in names), copy=False)

    def _choices(self) -> exp.Select:
        """The values of each respondent with several rows, the one that most hold first."""
        several = Counted(self.counted.rows.where(is_present(column("respondent"))), self.counted.keys)
        own = several.grouped(by=[*self._code(), ("who", column("respondent"))])
        names = self.counted.names
        partition: list[exp.Expression] = [column(name, "own") for name in (*names, "who")]
        order = [
            exp.Ordered(this=column("members", "held"), desc=True),
            exp.Ordered(this=column("code_held", "own")),
        ]
        choice = exp.Window(this=exp.RowNumber(), partition_by=partition, order=exp.Order(expressions=order))
        items = [column(name, "own") for name in (*names, "code_held")]
        select = exp.select(*items, named(choice, "choice")).from_(subquery(own, "own"), copy=False)
        return joined(select, subquery(self._plain(), "held"), [*names, "code_held"], "own", "held")

    def _assigned_with_size(self) -> exp.Select:
        return self._windowed(self.assigned())

    def _with_reference(self, cells: exp.Select, reference: str) -> exp.Select:
        items = [column(name, "cells") for name in (*self.counted.names, "code_held", "members", "size")]
        flags = exp.Column(this=exp.Star(), table=exp.to_identifier("reference", quoted=True))
        values = relation(self.tables.values, "reference")
        select = exp.select(*items, named(column(reference, "reference"), "reference_members"), flags).from_(
            subquery(cells, "cells"), copy=False
        )
        return select.join(values, on=equal(column("code_held", "cells"), column("code", "reference")), copy=False)

    def _ranked(self) -> exp.Select:
        keys: list[exp.Expression] = [column(name) for name in self.counted.names]
        order = exp.Order(
            expressions=[exp.Ordered(this=column("members"), desc=True), exp.Ordered(this=column("code_held"))]
        )
        place = exp.Window(this=exp.RowNumber(), partition_by=keys, order=order)
        items = [column(name) for name in (*self.counted.names, "members")]
        return exp.select(*items, named(place, "place")).from_(subquery(self.assigned(), "cells"), copy=False)

    def _cumulative(self) -> exp.Select:
        """Every position from the first value of a class on, with all that lies up to it."""
        names = self.counted.names
        keys: list[exp.Expression] = [column(name, "cells") for name in (*names, "size")]
        reference = ("code", "reference_below", "total", "reference_everywhere", "steps")
        keys += [column(name, "reference") for name in reference]
        items: list[exp.Expression] = [column(name, "cells") for name in (*names, "size")]
        items += [named(column("reference_below", "reference"), "reference_members"), column("total", "reference")]
        items += [column("reference_everywhere", "reference"), column("steps", "reference")]
        upto = exp.LTE(this=column("code_held", "cells"), expression=column("code", "reference"))
        select = exp.select(*items, named(whole(exp.Sum(this=column("members", "cells"))), "members"))
        select = select.from_(subquery(self._assigned_with_size(), "cells"), copy=False)
        return select.join(relation(self.tables.values, "reference"), on=upto, copy=False).group_by(*keys, copy=False)

    def _by_label(self) -> exp.Select:
        if self.tables.labels is None:
            raise ValueError("the column has no hierarchy")
        names = self.counted.names
        keys: list[exp.Expression] = [column(name, "cells") for name in (*names, "size")]
        keys += [column(name, "reference") for name in ("level", "label", "reference_members", "total", "levels")]
        items = [column(name, "cells") for name in (*names, "size")]
        items += [column(name, "reference") for name in ("reference_members", "total", "levels")]
        select = exp.select(*items, named(whole(exp.Sum(this=column("members", "cells"))), "members"))
        select = select.from_(subquery(self._assigned_with_size(), "cells"), copy=False)
        on = equal(column("code_held", "cells"), column("code", "reference"))
        return select.join(relation(self.tables.labels, "reference"), on=on, copy=False).group_by(*keys, copy=False)


def whole(value: exp.Expression) -> exp.Expression:
    """A sum of counts as a plain 64-bit number: engines widen sums to types that are slow to compute with."""
    return cast(value, "bigint")


def relation(given: Table | exp.Query, alias: str) -> exp.Expression:
    """A table or a query for a FROM clause."""
    return table_expression(given, alias) if isinstance(given, Table) else subquery(given.copy(), alias)


def joined(
    select: exp.Select, other: exp.Expression, names: Sequence[str], left: str, right: str, side: str = ""
) -> exp.Select:
    """A select joined to another relation by equally named columns; to its one row where there are none."""
    on = all_of(equal(column(name, left), column(name, right)) for name in names)
    if not names:
        if side:
            return select.join(other, on=exp.true(), join_type=side, copy=False)
        return select.join(other, join_type="cross", copy=False)
    return select.join(other, on=on, join_type=side, copy=False)


@dataclass(frozen=True)
class Population:
    """The population counted by the same keys: a select without items over `population_rows`, and whether classes that
    only the population has are listed too, as classes of size 0 with the population's rows as theirs."""

    rows: exp.Select
    keys: Sequence[tuple[str, exp.Expression]]
    everywhere: bool


def classes(
    counted: Counted,
    measures: Sequence[Measures] = (),
    tables: Mapping[int, ValueTables] | None = None,
    population: Population | None = None,
) -> exp.Select:
    """The classes of counted rows with the aggregates of these measures."""
    of_sets = [item for item in measures if item.column in counted.sets]
    parts = _parts(counted, [item for item in measures if item.column not in counted.sets], tables or {})
    if not parts:
        query = _counts_alone(counted, of_sets)
    elif counted.persons or of_sets:
        query = _put_together(counted.names, [_counts_alone(counted, of_sets), *parts])
    else:
        query = _put_together(counted.names, parts)
    return query if population is None else _with_population(query, counted.names, population)


def _counts_alone(counted: Counted, of_sets: Sequence[Measures] = ()) -> exp.Select:
    numbers = {name: counted.sets[item.column] for item in of_sets for name in item.aggregates}
    items = [named(exp.Sum(this=column("n")), "n")]
    if counted.persons or of_sets:
        items.append(named(counted.size(), "size"))
    return counted.grouped(*items, *(named(number.copy(), name) for name, number in numbers.items()))


def _parts(counted: Counted, measures: Sequence[Measures], tables: Mapping[int, ValueTables]) -> list[exp.Select]:
    """One query for each view of each column; the first also counts the rows where they are the sum of its counts."""
    wanted: dict[tuple[int, View], dict[str, exp.Expression]] = {}
    for item in measures:
        wanted.setdefault((item.column, item.view), {}).update(item.aggregates)
    _serve_plain_by_richer(wanted, counted.persons)
    parts: list[exp.Select] = []
    for (position, view), aggregates in sorted(wanted.items(), key=lambda item: (item[0][0], item[0][1].value)):
        values = Values(counted, position, tables[position]).of(view)
        items: list[exp.Expression] = [column(name) for name in counted.names]
        if not parts and not counted.persons and not counted.sets:
            items += _rows_of(view)
        items += [named(aggregate.copy(), name) for name, aggregate in aggregates.items()]
        select = exp.select(*items).from_(subquery(values, "held"), copy=False)
        keys = [column(name) for name in counted.names]
        parts.append(select.group_by(*keys, copy=False) if keys else select)
    return parts


RICHER = (
    (View.ASSIGNED, View.HELD),
    (View.PLAIN, View.HELD),
    (View.PLAIN, View.ASSIGNED),
    (View.NUMBER, View.HELD),
    (View.NUMBER, View.ASSIGNED),
    (View.NUMBER, View.PLAIN),
)
"""Views whose columns another view has too, where rows are counted."""


def _serve_plain_by_richer(wanted: dict[tuple[int, View], dict[str, exp.Expression]], persons: bool) -> None:
    """Where rows are counted, plain counts are columns of the richer views, which are one then."""
    if persons:
        return
    for position in {position for position, _ in wanted}:
        for poorer, richer in RICHER:
            if (position, poorer) in wanted and (position, richer) in wanted:
                wanted[position, richer] |= wanted.pop((position, poorer))


def _rows_of(view: View) -> list[exp.Expression]:
    """The rows of a class from a view of its values."""
    if view in (View.CUMULATIVE, View.LABELS):
        rows: exp.Expression = exp.Max(this=column("size"))
    else:
        rows = whole(exp.Sum(this=column("members")))
    return [named(rows, "n"), named(rows.copy(), "size")]


def _put_together(names: Sequence[str], parts: Sequence[exp.Select]) -> exp.Select:
    if len(parts) == 1:
        return parts[0]
    items: list[exp.Expression] = []
    for index, part in enumerate(parts):
        wanted = [item.alias_or_name for item in part.expressions]
        items += [column(name, f"part_{index}") for name in wanted if index == 0 or name not in names]
    select = exp.select(*items).from_(subquery(parts[0], "part_0"), copy=False)
    for index, part in enumerate(parts[1:], start=1):
        select = joined(select, subquery(part, f"part_{index}"), names, "part_0", f"part_{index}")
    return select


def _with_population(query: exp.Select, names: Sequence[str], population: Population) -> exp.Select:
    everybody = population.rows.select(
        *(named(key.copy(), name) for name, key in population.keys),
        named(whole(exp.Sum(this=column("population_rows"))), "population_rows"),
    )
    if population.keys:
        everybody = everybody.group_by(*(key.copy() for _, key in population.keys))
    more = [item.alias_or_name for item in query.expressions if item.alias_or_name not in (*names, "n", "size")]
    rows = column("population_rows", "everybody")
    found = column("n", "found")
    size = column("size" if any(item.alias_or_name == "size" for item in query.expressions) else "n", "found")
    items: list[exp.Expression] = [
        named(exp.Coalesce(this=column(name, "found"), expressions=[column(name, "everybody")]), name) for name in names
    ]
    items += [
        named(exp.Coalesce(this=found, expressions=[rows]) if population.everywhere else found, "n"),
        named(exp.Coalesce(this=size, expressions=[literal(0)]), "size"),
        named(exp.Coalesce(this=rows.copy(), expressions=[literal(0)]), "population_rows"),
        *(column(name, "found") for name in more),
    ]
    select = exp.select(*items).from_(subquery(query, "found"))
    side = "full" if population.everywhere and names else "left"
    return joined(select, subquery(everybody, "everybody"), names, "found", "everybody", side)
