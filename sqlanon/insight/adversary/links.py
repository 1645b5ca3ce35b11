"""Attacks that look people up in a table: linking, the intersection of two releases, who was suppressed.

Values of people are matched with released labels by the hierarchies, ranges and sets of class-wise recoding by their
form: the labels that cover each value stand in scratch tables. A label that cannot be read is refused: it would match
nobody and look safe. The statements are those of `people`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor.labels import read_labels
from sqlanon.auditor.request import Opened, text_key
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.insight.adversary.people import (
    GroupedTable,
    LinkedPeople,
    TableSide,
    generalized,
    intersection,
    linking,
    more_pairs,
    pairs,
    people_named,
    suppressed,
    unknown_labels,
)
from sqlanon.insight.adversary.statements import same
from sqlanon.insight.adversary.values import Exposure, measured
from sqlanon.source.binding import BoundColumn
from sqlanon.source.drafts import draft_hierarchy
from sqlanon.source.hierarchy_statements import domain
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import count, named, subquery
from sqlanon.sql.relations import Query, Relation, Table, column, table_expression

MOST_NAMES = 100


@dataclass(frozen=True)
class Labels:
    """Labels of one release that cover the values of people, as scratch tables."""

    columns: tuple[str, ...]
    """Columns of the quasi-identifier that people are known by."""
    pairs: tuple[Table, ...]
    blank: bool
    """Rows without any quasi-identifier are released too."""
    levels: tuple[Table, ...] | None = None
    """The levels of labels, where the algorithm is known to release the finest classes first."""
    nodes: int = 0
    """How many vectors of levels classes stand at."""
    grouped: GroupedTable | None = None
    """The release, grouped."""


@dataclass(frozen=True)
class People:
    """An identified table, and its columns by those of the quasi-identifier."""

    relation: Relation
    columns: Mapping[str, str]
    grouped: GroupedTable | None = None
    """The same, grouped by these columns."""

    def side(self, engine: Engine, names: Sequence[str], *, rows: bool = False) -> TableSide:
        """It by some columns; `rows`: as it is, although it was grouped."""
        if self.grouped is not None and not rows:
            return self.grouped.side(names)
        opened = Opened.at(engine, self.relation, "known")
        opened.require(*(self.columns[name] for name in names))
        return TableSide(opened.expression(), [opened.key(self.columns[name], as_text=True) for name in names])


def grouped_table(engine: Engine, relation: Relation, names: Mapping[str, str], scratch: Scratch) -> GroupedTable:
    """Group a relation by its quasi-identifier; `names` are its columns by those of the quasi-identifier."""
    opened = Opened.at(engine, relation, "known")
    opened.require(*names.values())
    keys = [opened.key(name, as_text=True) for name in names.values()]
    items = [named(key, f"q_{place}") for place, key in enumerate(keys)]
    select = exp.select(*items, named(count(), "n")).from_(opened.expression())
    table = scratch.create("group people", "grouped", select.group_by(*(key.copy() for key in keys)))
    return GroupedTable(table, tuple(names), relation)


def count_nodes(engine: Engine, grouped: GroupedTable, names: Sequence[str], levels: Sequence[Table]) -> int:
    """How many vectors of levels the classes of a release stand at."""
    select = exp.select().from_(table_expression(grouped.table, "grouped"))
    for name, key, table in zip(names, grouped.side(names).keys, levels, strict=True):
        alias = f"level_{names.index(name)}"
        on = same(column("label", alias), key)
        select = select.join(table_expression(table, alias), on=on, copy=False)
        select = select.select(named(column("low", alias), f"g_{names.index(name)}"), copy=False)
    number = exp.select(count()).from_(subquery(select.distinct(), "nodes"))
    return int(engine.query(Statement("vectors of levels", number))[0][0])


def label_pairs(
    engine: Engine,
    release: Relation | GroupedTable,
    known_by: Sequence[BoundColumn],
    people: Sequence[tuple[Relation, Mapping[str, str]]],
    scratch: Scratch,
    *,
    blank: bool,
    place: str = "a",
) -> Labels:
    """Make the tables of labels: `people` are all tables whose values are looked up, with their columns' names."""
    names = tuple(item.name for item in known_by)
    grouped = release if isinstance(release, GroupedTable) else None
    table = release.relation if isinstance(release, GroupedTable) else release
    side = _side(engine, table, names) if grouped is None else grouped.side(names)
    linked = LinkedPeople(side, blank=blank)
    tables = []
    for position, item in enumerate(known_by):
        known = _domain(engine, item, people)
        draft = draft_hierarchy(engine, item, known, scratch.name(f"{place}l{position}"))
        step = f"labels of {item.name}"
        if draft.listing is not None:
            listing = scratch.create_text(step, f"{place}l{position}", draft.listing_columns())
            engine.load(step, listing, draft.listing_columns(), draft.listing.rows)
        labelled = scratch.create(step, f"{place}h{position}", draft.labelled)
        texts = [
            text_key(column(f"label_{level}"), family, engine.traits) for level, family in enumerate(draft.families)
        ]
        value = text_key(column("value"), item.family, engine.traits)
        query = unknown_labels(labelled, texts, linked, position)
        unknown = {str(label): int(rows) for label, rows in engine.query(Statement(step, query))}
        # Level 0 by the value itself: listed values that nobody has are in the table too.
        levels = [value, *texts[1:]]
        found = pairs(labelled, value, levels, linked.side, position)
        if unknown:
            read = read_labels(item, labelled, levels, value, sorted(unknown), scratch, f"{place}{position}")
            _refuse_unread(item.name, table, sum(unknown[label] for label in read.unread))
            found = more_pairs(found, read.table)
        tables.append(scratch.create(step, f"{place}p{position}", found))
    return Labels(names, tuple(tables), blank, grouped=grouped)


def _refuse_unread(name: str, release: Relation, rows: int) -> None:
    if rows:
        raise UsageError(
            f"column '{name}': {rows} rows of {release} have a label that is neither in its hierarchy nor a range or "
            f"set of its labels; it would match nobody and look safe"
        )


def _domain(engine: Engine, item: BoundColumn, people: Sequence[tuple[Relation, Mapping[str, str]]]) -> exp.Query:
    found: exp.Query | None = None
    for relation, names in people:
        opened = Opened.at(engine, relation, "known")
        name = names.get(item.name, item.name)
        opened.require(name)
        if opened.family(name) is not item.family:
            raise SourceError(
                f"column '{name}' of {relation} holds {opened.family(name).value} values, "
                f"but '{item.name}' of the source holds {item.family.value} values"
            )
        query = domain(opened.expression(), opened.key(name))
        found = query if found is None else exp.union(found, query, distinct=True)
    if found is None:
        raise ValueError("no people to look up")
    return found


def link(
    engine: Engine,
    people: People,
    table: Relation | GroupedTable,
    labels: Labels | Sequence[str],
    within: Sequence[int],
) -> Exposure:
    """How many people match no row of a table, one row, or few: a release by its labels, a source by its values."""
    known, linked = _both(engine, people, table, labels)
    return measured(engine, "linking", *linking(known, linked, within))


def recognize_suppressed(engine: Engine, people: People, table: Relation, labels: Labels) -> Exposure:
    """How many of those who are known to be in the source match no class of its release."""
    known, linked = _both(engine, people, table, labels)
    return measured(engine, "missing", *suppressed(known, linked))


def re_identified(
    engine: Engine, people: People, table: Relation, labels: Labels | Sequence[str], name: str
) -> tuple[str, ...]:
    """The names of those who are re-identified for certain, the first of them."""
    known, linked = _both(engine, people, table, labels, rows=True)
    opened = Opened.at(engine, people.relation, "known")
    opened.require(name)
    text = engine.traits.text(column(name, "known"), opened.family(name))
    rows = engine.query(Statement("names", people_named(known, linked, text, MOST_NAMES)))
    return tuple(str(value) for (value,) in rows)


def intersect(
    engine: Engine,
    people: People,
    first: tuple[Relation, Labels],
    second: tuple[Relation, Labels],
    sensitive: str,
) -> Exposure:
    """What two releases say together of people who are in both."""
    sides = []
    values = []
    for table, labels in (first, second):
        opened = Opened.at(engine, table, "audited")
        opened.require(sensitive)
        sides.append(_both(engine, people, table, labels, rows=True)[1])
        values.append(opened.key(sensitive, as_text=True))
    known = people.side(engine, first[1].columns)
    query = intersection(known, sides[0], sides[1], (values[0], values[1]))
    return measured(engine, "intersection", *query)


def people_as_released(engine: Engine, people: People, table: Relation, labels: Labels) -> Relation:
    """People under the labels of a release, as a table with its columns: who could be in each class."""
    known, linked = _both(engine, people, table, labels, rows=True)
    return Query(generalized(known, linked, labels.columns))


def _both(
    engine: Engine,
    people: People,
    table: Relation | GroupedTable,
    labels: Labels | Sequence[str],
    *,
    rows: bool = False,
) -> tuple[TableSide, LinkedPeople]:
    """People and the table that they are looked for in; `rows`: as they are, although they were grouped."""
    names = labels.columns if isinstance(labels, Labels) else tuple(labels)
    known = people.side(engine, names, rows=rows)
    if isinstance(table, GroupedTable):
        side = table.side(names)
    elif isinstance(labels, Labels) and labels.grouped is not None and not rows:
        side = labels.grouped.side(names)
    else:
        side = _side(engine, table, names)
    linked = LinkedPeople(side)
    if isinstance(labels, Labels):
        linked = LinkedPeople(side, labels.pairs, labels.blank, labels.levels, labels.nodes)
    return known, linked


def _side(engine: Engine, table: Relation, names: Sequence[str]) -> TableSide:
    opened = Opened.at(engine, table, "audited")
    opened.require(*names)
    return TableSide(opened.expression(), [opened.key(name, as_text=True) for name in names])
