"""The classes of a generalization with all that a requirement reads of them: one row for each class.

Columns: the keys, `n` (rows), the aggregates of every model, `population_rows` where there is a population; and, with
any of these or with respondents, `size`: rows, or respondents where they are counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.sql.build import named, subquery
from sqlanon.sql.relations import column, literal
from sqlanon.sql.values import Counted, Measures, Values, ValueTables, View, joined, whole


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
