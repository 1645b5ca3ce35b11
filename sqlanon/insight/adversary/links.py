"""Attacks that look people up in a table: linking, the intersection of two releases, who was suppressed.

Values of people are matched with released labels by the hierarchies, ranges and sets of class-wise recoding by their
form: the labels that cover each value stand in scratch tables. A label that cannot be read is refused: it would match
nobody and look safe. Statements have the steps `people` (`who`, texts `q_0`, ..., `p` of them) and `classes` (`id`,
texts `q_0`, ..., rows `n`). A pair is a value with a label that covers it; without pairs values match themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.auditor.labels import read_labels
from sqlanon.auditor.request import Opened, text_key
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError, UsageError
from sqlanon.hierarchies.base import TOP
from sqlanon.insight.adversary.statements import same
from sqlanon.insight.adversary.values import Exposure, measured
from sqlanon.source.binding import BoundColumn
from sqlanon.source.drafts import draft_hierarchy
from sqlanon.source.hierarchy_statements import domain
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import (
    all_of,
    any_of,
    count,
    equal,
    is_null,
    is_present,
    named,
    scalar,
    subquery,
    total,
    total_where,
    with_queries,
)
from sqlanon.sql.relations import Query, Relation, Table, cast, column, literal, table_expression

Keys = Sequence[exp.Expression]

_PREFIX = "sqlanon_attack_"


@dataclass(frozen=True)
class TableSide:
    """A relation and its columns as texts that compare byte by byte."""

    relation: exp.Expression
    keys: Keys


@dataclass(frozen=True)
class LinkedPeople:
    """A table that people are looked for in."""

    side: TableSide
    pairs: Sequence[Table] | None = None
    """For each key, the labels that cover each value; None: values are as people have them."""
    blank: bool = False
    """Rows without any quasi-identifier may be anybody's who matches no class."""
    levels: Sequence[Table] | None = None
    """Where the algorithm is known to release the finest classes first: the level of each label (`label`, `low`)."""


def pairs(
    labelled: Table, value: exp.Expression, labels: Sequence[exp.Expression], side: TableSide, key: int
) -> exp.Query:
    """A value with each of its labels that a release has; NULL is covered by itself and by the top."""
    released = exp.select(named(side.keys[key].copy(), "label")).distinct().from_(side.relation.copy(), copy=False)
    found: exp.Query | None = None
    for label in labels:
        query = exp.select(named(value.copy(), "value"), named(label.copy(), "label"))
        query = query.from_(table_expression(labelled)).where(is_present(column("value")), is_present(label.copy()))
        found = query if found is None else exp.union(found, query, distinct=False, copy=False)
    if found is None:
        raise ValueError("a hierarchy has a level at least")
    nothing = cast(exp.Null(), "text")
    top = exp.select(named(nothing.copy(), "value"), named(exp.Max(this=labels[-1].copy()), "label"))
    found = exp.union(found, top.from_(table_expression(labelled)), distinct=False, copy=False)
    used = exp.In(this=column("label", "found"), query=scalar(released.where(is_present(side.keys[key].copy()))))
    known = exp.select(column("value", "found"), column("label", "found")).distinct()
    known = known.from_(subquery(found, "found"), copy=False).where(used)
    itself = exp.select(named(nothing, "value"), named(cast(exp.Null(), "text"), "label"))
    return exp.union(known, itself, distinct=False, copy=False)


def more_pairs(found: exp.Query, read: Table) -> exp.Query:
    """Pairs of the hierarchy with those of labels that were read by their form."""
    more = exp.select(column("value"), column("label")).from_(table_expression(read))
    return exp.union(found, more, distinct=False, copy=False)


def unknown_labels(labelled: Table, labels: Sequence[exp.Expression], linked: LinkedPeople, key: int) -> exp.Select:
    """The labels of a release that no value of the hierarchy has, with their rows."""
    found: exp.Query | None = None
    for label in labels:
        query = exp.select(named(label.copy(), "label")).distinct().from_(table_expression(labelled))
        query = query.where(is_present(label.copy()))
        found = query if found is None else exp.union(found, query, distinct=True, copy=False)
    if found is None:
        raise ValueError("a hierarchy has a level at least")
    own = linked.side.keys[key]
    select = exp.select(named(own.copy(), "label"), count()).from_(linked.side.relation.copy(), copy=False)
    outside = exp.Not(this=exp.In(this=own.copy(), query=scalar(found)))
    kept = [is_present(own.copy()), outside, *([exp.Not(this=exp.Paren(this=_blank(linked)))] if linked.blank else [])]
    return select.where(*kept, copy=False).group_by(own.copy(), copy=False)


def _blank(linked: LinkedPeople) -> exp.Expression:
    """A row that shows nothing of its quasi-identifier."""
    return all_of(
        any_of([is_null(key.copy()), equal(key.copy(), cast(literal(TOP), "text"))]) for key in linked.side.keys
    )


def shown_rows(linked: LinkedPeople) -> exp.Select:
    """The rows that show something of their quasi-identifier."""
    select = exp.select(exp.Star()).from_(linked.side.relation.copy(), copy=False)
    return select.where(exp.Not(this=exp.Paren(this=_blank(linked))))


def linking(people: TableSide, linked: LinkedPeople, within: Sequence[int]) -> tuple[exp.Select, list[str]]:
    """How many people match a row, one row, up to each number of rows; `certain`: one row, which fits nobody else."""
    known = exp.GTE(this=column("candidates"), expression=literal(1))
    one = equal(column("candidates"), literal(1))
    figures: dict[str, exp.Expression] = {
        "people": total(column("p")),
        "matched": total_where(known, column("p")),
        "unique": total_where(one, column("p")),
        "certain": total_where(all_of([one.copy(), equal(column("others"), literal(1))]), column("p")),
    }
    for most in within:
        few = exp.LTE(this=column("candidates"), expression=literal(most))
        figures[f"within_{most}"] = total_where(all_of([known.copy(), few]), column("p"))
    items = [named(figure, name) for name, figure in figures.items()]
    return _with_steps(exp.select(*items).from_(_step("candidates"), copy=False), people, linked), list(figures)


def suppressed(people: TableSide, linked: LinkedPeople) -> tuple[exp.Select, list[str]]:
    """People of the source who match no class: that they were suppressed, and why, is plain to see."""
    nobody = equal(column("found"), literal(0))
    blanked = scalar(exp.select(count()).from_(linked.side.relation.copy(), copy=False).where(_blank(linked)))
    figures: dict[str, exp.Expression] = {
        "people": total(column("p")),
        "recognized": total_where(nobody, column("p")),
        "combinations": total_where(nobody.copy(), literal(1)),
        "blanked": blanked if linked.blank else cast(literal(0), "bigint"),
    }
    items = [named(figure, name) for name, figure in figures.items()]
    return _with_steps(exp.select(*items).from_(_step("candidates"), copy=False), people, linked), list(figures)


def names(people: TableSide, linked: LinkedPeople, name: exp.Expression, limit: int) -> exp.Select:
    """Who is re-identified for certain; asked for by name only."""
    certain = all_of(
        [equal(column("candidates", "candidates"), literal(1)), equal(column("others", "candidates"), literal(1))]
    )
    select = exp.select(named(name.copy(), "name")).distinct().from_(people.relation.copy(), copy=False)
    on = all_of(same(key, column(f"q_{place}", "candidates")) for place, key in enumerate(people.keys))
    select = select.join(_step("candidates"), on=on, copy=False).where(certain, copy=False)
    return _with_steps(select.order_by(column("name"), copy=False).limit(limit, copy=False), people, linked)


def generalized(people: TableSide, linked: LinkedPeople, columns: Sequence[str]) -> exp.Select:
    """People with the labels that cover them, as a table with a release's columns; one row for each match."""
    if linked.pairs is None:
        items = [named(key.copy(), name) for key, name in zip(people.keys, columns, strict=True)]
        return exp.select(*items).from_(people.relation.copy(), copy=False)
    items = [named(column("label", f"pair_{place}"), name) for place, name in enumerate(columns)]
    select = exp.select(*items).from_(people.relation.copy(), copy=False)
    for place, (key, table) in enumerate(zip(people.keys, linked.pairs, strict=True)):
        alias = f"pair_{place}"
        select = select.join(table_expression(table, alias), on=same(key, column("value", alias)), copy=False)
    return select


def intersection(
    people: TableSide, first: LinkedPeople, second: LinkedPeople, values: tuple[exp.Expression, exp.Expression]
) -> tuple[exp.Select, list[str]]:
    """People in two releases: how many have one value in the one, in the other, and in common; values are texts."""
    queries: dict[str, exp.Query] = {"people": _people(people)}
    for place, (linked, value) in enumerate(zip((first, second), values, strict=True)):
        queries[f"cells_{place}"] = _cells(linked, value)
        queries[f"holds_{place}"] = _holds(linked, place)
    both = exp.union(_flagged(0), _flagged(1), distinct=False)
    either = exp.select(
        column("who"), named(exp.Sum(this=column("f_0")), "f_0"), named(exp.Sum(this=column("f_1")), "f_1")
    ).from_(subquery(both, "held"), copy=False)
    queries["either"] = either.group_by(column("who"), column("v"), copy=False)
    here = [equal(column(f"f_{place}"), literal(1)) for place in (0, 1)]
    counted = exp.select(
        column("who"),
        *(named(total_where(flag.copy(), literal(1)), f"values_{place}") for place, flag in enumerate(here)),
        named(total_where(all_of([flag.copy() for flag in here]), literal(1)), "common"),
    ).from_(_step("either"), copy=False)
    queries["counted"] = counted.group_by(column("who"), copy=False)
    in_both = all_of(exp.GTE(this=column(f"values_{place}"), expression=literal(1)) for place in (0, 1))
    figures: dict[str, exp.Expression] = {
        "people": total_where(in_both, column("p", "people")),
        **{
            name: total_where(all_of([in_both.copy(), equal(column(counts), literal(1))]), column("p", "people"))
            for name, counts in (("certain_first", "values_0"), ("certain_second", "values_1"), ("certain", "common"))
        },
        "impossible": total_where(all_of([in_both.copy(), equal(column("common"), literal(0))]), column("p", "people")),
        "fewest": exp.Min(this=exp.Case().when(in_both.copy(), column("common"))),
    }
    items = [named(figure, name) for name, figure in figures.items()]
    select = exp.select(*items).from_(_step("people"), copy=False)
    on = equal(column("who", "people"), column("who", "counted"))
    select = select.join(_step("counted"), on=on, copy=False)
    return _statement(select, queries), list(figures)


def _cells(linked: LinkedPeople, value: exp.Expression) -> exp.Select:
    keys = linked.side.keys
    items = [named(key.copy(), f"q_{place}") for place, key in enumerate(keys)]
    select = exp.select(*items, named(value.copy(), "v")).distinct()
    return select.from_(linked.side.relation.copy(), copy=False)


def _holds(linked: LinkedPeople, place: int) -> exp.Select:
    """Each value that a person may have by one release."""
    select = exp.select(column("who", "people"), column("v", f"cells_{place}")).distinct()
    return _matched(select.from_(_step("people"), copy=False), linked, f"cells_{place}")


def _flagged(place: int) -> exp.Select:
    flags = [named(literal(int(other == place)), f"f_{other}") for other in (0, 1)]
    return exp.select(column("who"), column("v"), *flags).from_(_step(f"holds_{place}"), copy=False)


def _people(people: TableSide) -> exp.Select:
    return _grouped(people, "who", "p")


def _classes(linked: LinkedPeople) -> exp.Select:
    select = _grouped(linked.side, "id", "n")
    return select.where(exp.Not(this=exp.Paren(this=_blank(linked)))) if linked.blank else select


def _grouped(side: TableSide, number: str, counted: str) -> exp.Select:
    order = exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in side.keys])
    items = [named(key.copy(), f"q_{place}") for place, key in enumerate(side.keys)]
    select = exp.select(named(exp.Window(this=exp.RowNumber(), order=order), number), *items, named(count(), counted))
    return select.from_(side.relation.copy(), copy=False).group_by(*(key.copy() for key in side.keys), copy=False)


def _matched(select: exp.Select, linked: LinkedPeople, classes: str) -> exp.Select:
    """People joined to the classes whose labels cover them."""
    width = len(linked.side.keys)
    labels: list[exp.Expression] = [column(f"q_{place}", "people") for place in range(width)]
    for place, table in enumerate(linked.pairs or ()):
        alias = f"pair_{place}"
        on = same(labels[place], column("value", alias))
        select = select.join(table_expression(table, alias), on=on, copy=False)
        labels[place] = column("label", alias)
    on = all_of(same(label, column(f"q_{place}", classes)) for place, label in enumerate(labels))
    return select.join(_step(classes), on=on, copy=False)


def _with_steps(select: exp.Select, people: TableSide, linked: LinkedPeople) -> exp.Select:
    """`candidates`: each combination of people, its `p`, rows `found`, `candidates` and `others` who match them."""
    each = exp.select(column("who", "people"), column("n", "classes"), named(_others("people", "classes"), "others"))
    each = _matched(each.from_(_step("people"), copy=False), linked, "classes")
    finest: dict[str, exp.Query] = {}
    if linked.levels is not None:
        finest = _finest(linked)
        each = exp.select(column("who", "kept"), column("n", "kept"), named(_others("kept"), "others"))
        each = each.from_(_step("kept"), copy=False)
    matches = exp.select(
        column("who"),
        named(cast(exp.Sum(this=column("n")), "bigint"), "n"),
        named(exp.Max(this=column("others")), "others"),
    ).from_(subquery(each, "each"), copy=False)
    matches = matches.group_by(column("who"), copy=False)
    found = exp.Coalesce(this=column("n", "matches"), expressions=[literal(0)])
    candidates: exp.Expression = found.copy()
    if linked.blank:
        rows = exp.select(count()).from_(linked.side.relation.copy(), copy=False).where(_blank(linked))
        candidates = exp.Coalesce(this=column("n", "matches"), expressions=[scalar(rows)])
    labels = [column(f"q_{place}", "people") for place in range(len(people.keys))]
    total_of = exp.select(
        *labels,
        column("p", "people"),
        named(found, "found"),
        named(candidates, "candidates"),
        column("others", "matches"),
    ).from_(_step("people"), copy=False)
    on = equal(column("who", "people"), column("who", "matches"))
    total_of = total_of.join(_step("matches"), on=on, join_type="left", copy=False)
    steps: dict[str, exp.Query] = {"people": _people(people), "classes": _classes(linked), **finest}
    steps |= {"matches": matches, "candidates": total_of}
    return _statement(select, steps)


def _others(people: str, classes: str | None = None) -> exp.Expression:
    """How many people match the class of a row."""
    return exp.Window(this=exp.Sum(this=column("p", people)), partition_by=[column("id", classes or people)])


def _finest(linked: LinkedPeople) -> dict[str, exp.Query]:
    """`kept`: the classes that people match, without those that are coarser than another one of theirs in no column
    finer: whoever lies in the finer class was released there before."""
    places = range(len(linked.side.keys))
    items = [column("who", "people"), column("p", "people"), column("id", "classes"), column("n", "classes")]
    found = _matched(exp.select(*items).from_(_step("people"), copy=False), linked, "classes")
    for place, table in enumerate(linked.levels or ()):
        alias = f"level_{place}"
        on = same(column("label", alias), column(f"q_{place}", "classes"))
        found = found.join(table_expression(table, alias), on=on, join_type="left", copy=False)
        found = found.select(named(column("low", alias), f"g_{place}"), copy=False)
    finer = [exp.LTE(this=column(f"g_{p}", "finer"), expression=column(f"g_{p}", "coarse")) for p in places]
    on = all_of([equal(column("who", "finer"), column("who", "coarse")), *finer])
    beaten = exp.select(column("who", "coarse"), column("id", "coarse")).distinct()
    beaten = beaten.from_(table_expression(Table((_PREFIX + "found",)), "coarse"))
    beaten = beaten.join(table_expression(Table((_PREFIX + "found",)), "finer"), on=on, copy=False)
    beaten = beaten.where(exp.NEQ(this=column("id", "finer"), expression=column("id", "coarse")))
    kept = exp.select(*(column(name, "found") for name in ("who", "p", "id", "n"))).from_(_step("found"), copy=False)
    on = all_of([equal(column(name, "found"), column(name, "beaten")) for name in ("who", "id")])
    kept = kept.join(_step("beaten"), on=on, join_type="left", copy=False).where(is_null(column("id", "beaten")))
    return {"found": found, "beaten": beaten, "kept": kept}


def _step(name: str) -> exp.Table:
    return table_expression(Table((_PREFIX + name,)), name)


def _statement(select: exp.Select, steps: Mapping[str, exp.Query]) -> exp.Select:
    return with_queries(select, {_PREFIX + name: query for name, query in steps.items()})


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


@dataclass(frozen=True)
class People:
    """An identified table, and its columns by those of the quasi-identifier."""

    relation: Relation
    columns: Mapping[str, str]

    def side(self, engine: Engine, names: Sequence[str]) -> TableSide:
        opened = Opened.at(engine, self.relation, "known")
        opened.require(*(self.columns[name] for name in names))
        return TableSide(opened.expression(), [opened.key(self.columns[name], as_text=True) for name in names])


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
    linked = LinkedPeople(_side(engine, release, names), blank=blank)
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
            _refuse_unread(item.name, release, sum(unknown[label] for label in read.unread))
            found = more_pairs(found, read.table)
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
    return measured(engine, "linking", *linking(known, linked, within))


def recognize_suppressed(engine: Engine, people: People, table: Relation, labels: Labels) -> Exposure:
    """How many of those who are known to be in the source match no class of its release."""
    known, linked = _both(engine, people, table, labels)
    return measured(engine, "missing", *suppressed(known, linked))


def re_identified(
    engine: Engine, people: People, table: Relation, labels: Labels | Sequence[str], name: str
) -> tuple[str, ...]:
    """The names of those who are re-identified for certain, the first of them."""
    known, linked = _both(engine, people, table, labels)
    opened = Opened.at(engine, people.relation, "known")
    opened.require(name)
    text = engine.traits.text(column(name, "known"), opened.family(name))
    rows = engine.query(Statement("names", names(known, linked, text, MOST_NAMES)))
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
    query = intersection(known, sides[0], sides[1], (values[0], values[1]))
    return measured(engine, "intersection", *query)


def people_as_released(engine: Engine, people: People, table: Relation, labels: Labels) -> Relation:
    """People under the labels of a release, as a table with its columns: who could be in each class."""
    known, linked = _both(engine, people, table, labels)
    return Query(generalized(known, linked, labels.columns))


def _both(
    engine: Engine, people: People, table: Relation, labels: Labels | Sequence[str]
) -> tuple[TableSide, LinkedPeople]:
    names = labels.columns if isinstance(labels, Labels) else tuple(labels)
    side = _side(engine, table, names)
    linked = LinkedPeople(side)
    if isinstance(labels, Labels):
        linked = LinkedPeople(side, labels.pairs, labels.blank, labels.levels)
    return people.side(engine, names), linked


def _side(engine: Engine, table: Relation, names: Sequence[str]) -> TableSide:
    opened = Opened.at(engine, table, "audited")
    opened.require(*names)
    return TableSide(opened.expression(), [opened.key(name, as_text=True) for name in names])
