"""Attacks that look people up in a table: linking, the intersection of two releases, who was suppressed.

Values of people are matched with released labels by the hierarchies, ranges and sets of class-wise recoding by their
form: the labels that cover each value stand in scratch tables. A label that cannot be read is refused: it would match
nobody and look safe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.attack.result import Exposure
from sqlanon.attack.values import measured
from sqlanon.audit.opened import Opened, text_key
from sqlanon.binding import BoundColumn
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.hierarchy_store import draft_hierarchy
from sqlanon.label_reading import read_labels
from sqlanon.scratch import Scratch
from sqlanon.sqlgen import linking as linking_sql
from sqlanon.sqlgen.hierarchy import domain
from sqlanon.sqlgen.linking import Linked, Side
from sqlanon.sqlgen.relations import Query, Relation, Table, column

MOST_NAMES = 100


@dataclass(frozen=True)
class Labels:
    """Labels of one release that cover the values of people, as scratch tables."""

    columns: tuple[str, ...]
    """Columns of the quasi-identifier that people are known by."""
    pairs: tuple[Table, ...]
    blank: bool
    """Rows without any quasi-identifier are released too."""


@dataclass(frozen=True)
class People:
    """An identified table, and its columns by those of the quasi-identifier."""

    relation: Relation
    columns: Mapping[str, str]

    def side(self, engine: Engine, names: Sequence[str]) -> Side:
        opened = Opened.at(engine, self.relation, "known")
        opened.require(*(self.columns[name] for name in names))
        return Side(opened.expression(), [opened.key(self.columns[name], as_text=True) for name in names])


def label_pairs(
    engine: Engine,
    release: Relation,
    known_by: Sequence[BoundColumn],
    people: Sequence[tuple[Relation, Mapping[str, str]]],
    scratch: Scratch,
    *,
    blank: bool,
    place: str = "a",
) -> Labels:
    """Make the tables of labels: `people` are all tables whose values are looked up, with their columns' names."""
    names = tuple(item.name for item in known_by)
    linked = Linked(_side(engine, release, names), blank=blank)
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
        query = linking_sql.unknown_labels(labelled, texts, linked, position)
        unknown = {str(label): int(rows) for label, rows in engine.query(Statement(step, query))}
        # Level 0 by the value itself: listed values that nobody has are in the table too.
        levels = [value, *texts[1:]]
        found = linking_sql.pairs(labelled, value, levels, linked.side, position)
        if unknown:
            read = read_labels(engine, item, labelled, levels, value, sorted(unknown), scratch, f"{place}{position}")
            _refuse_unread(item.name, release, sum(unknown[label] for label in read.unread))
            found = linking_sql.more_pairs(found, read.table)
        tables.append(scratch.create(step, f"{place}p{position}", found))
    return Labels(names, tuple(tables), blank)


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
    engine: Engine, people: People, table: Relation, labels: Labels | Sequence[str], within: Sequence[int]
) -> Exposure:
    """How many people match no row of a table, one row, or few: a release by its labels, a source by its values."""
    known, linked = _both(engine, people, table, labels)
    return measured(engine, "linking", *linking_sql.linking(known, linked, within))


def recognize_suppressed(engine: Engine, people: People, table: Relation, labels: Labels) -> Exposure:
    """How many of those who are known to be in the source match no class of its release."""
    known, linked = _both(engine, people, table, labels)
    return measured(engine, "minimality", *linking_sql.suppressed(known, linked))


def re_identified(
    engine: Engine, people: People, table: Relation, labels: Labels | Sequence[str], name: str
) -> tuple[str, ...]:
    """The names of those who are re-identified for certain, the first of them."""
    known, linked = _both(engine, people, table, labels)
    opened = Opened.at(engine, people.relation, "known")
    opened.require(name)
    text = engine.traits.text(column(name, "known"), opened.family(name))
    rows = engine.query(Statement("names", linking_sql.names(known, linked, text, MOST_NAMES)))
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
        sides.append(_both(engine, people, table, labels)[1])
        values.append(opened.key(sensitive, as_text=True))
    known = people.side(engine, first[1].columns)
    query = linking_sql.intersection(known, sides[0], sides[1], (values[0], values[1]))
    return measured(engine, "intersection", *query)


def people_as_released(engine: Engine, people: People, table: Relation, labels: Labels) -> Relation:
    """People under the labels of a release, as a table with its columns: who could be in each class."""
    known, linked = _both(engine, people, table, labels)
    return Query(linking_sql.generalized(known, linked, labels.columns))


def _both(engine: Engine, people: People, table: Relation, labels: Labels | Sequence[str]) -> tuple[Side, Linked]:
    names = labels.columns if isinstance(labels, Labels) else tuple(labels)
    side = _side(engine, table, names)
    linked = Linked(side, labels.pairs, labels.blank) if isinstance(labels, Labels) else Linked(side)
    return people.side(engine, names), linked


def _side(engine: Engine, table: Relation, names: Sequence[str]) -> Side:
    opened = Opened.at(engine, table, "audited")
    opened.require(*names)
    return Side(opened.expression(), [opened.key(name, as_text=True) for name in names])
