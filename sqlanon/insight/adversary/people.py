"""Statements that match people with the classes of a table: linking, who was suppressed, two releases together.

Statements have the steps `people` (`who`, texts `q_0`, ..., `p` of them) and `classes` (`id`, texts `q_0`, ..., rows
`n`). A pair is a value with a label that covers it; without pairs values match themselves.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.hierarchies.base import TOP
from sqlanon.insight.adversary.statements import Keys, same
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
from sqlanon.sql.relations import Relation, Table, cast, column, literal, table_expression

_PREFIX = "sqlanon_attack_"


@dataclass(frozen=True)
class TableSide:
    """A relation and its columns as texts that compare byte by byte."""

    relation: exp.Expression
    keys: Keys
    weight: exp.Expression | None = None
    """The rows that a row stands for, where they were grouped before; None: one."""

    def rows(self) -> exp.Expression:
        """How many rows a group has."""
        return count() if self.weight is None else cast(exp.Sum(this=self.weight.copy()), "bigint")

    def counted(self, where: exp.Expression) -> exp.Select:
        """How many rows hold a condition."""
        rows = exp.Coalesce(this=self.rows(), expressions=[literal(0)])
        return exp.select(rows).from_(self.relation.copy(), copy=False).where(where, copy=False)


@dataclass(frozen=True)
class GroupedTable:
    """A relation grouped by its quasi-identifier, as a scratch table of texts `q_0`, ... and rows `n`."""

    table: Table
    names: tuple[str, ...]
    relation: Relation
    """What was grouped."""

    def side(self, names: Sequence[str]) -> TableSide:
        """It by some of its columns."""
        keys = [column(f"q_{self.names.index(name)}", "grouped") for name in names]
        return TableSide(table_expression(self.table, "grouped"), keys, column("n", "grouped"))


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
    nodes: int = 0
    """How many vectors of such levels there are."""


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
    select = exp.select(named(own.copy(), "label"), linked.side.rows())
    select = select.from_(linked.side.relation.copy(), copy=False)
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
    blanked = scalar(linked.side.counted(_blank(linked)))
    figures: dict[str, exp.Expression] = {
        "people": total(column("p")),
        "recognized": total_where(nobody, column("p")),
        "combinations": total_where(nobody.copy(), literal(1)),
        "blanked": blanked if linked.blank else cast(literal(0), "bigint"),
    }
    items = [named(figure, name) for name, figure in figures.items()]
    return _with_steps(exp.select(*items).from_(_step("candidates"), copy=False), people, linked), list(figures)


def people_named(people: TableSide, linked: LinkedPeople, name: exp.Expression, limit: int) -> exp.Select:
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
    select = exp.select(
        named(exp.Window(this=exp.RowNumber(), order=order), number), *items, named(side.rows(), counted)
    )
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
        rows = linked.side.counted(_blank(linked))
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
    finer: whoever lies in the finer class was released there before.

    Vectors of levels are numbered, and those that classes of a person stand at are bits of `words`: a class is beaten
    where some bit is that of a vector below its own. A class with a label of no level is compared with none.
    """
    places = range(len(linked.side.keys))
    placed = exp.select(column("id", "classes")).from_(_step("classes"), copy=False)
    for place, table in enumerate(linked.levels or ()):
        alias = f"level_{place}"
        on = same(column("label", alias), column(f"q_{place}", "classes"))
        placed = placed.join(table_expression(table, alias), on=on, copy=False)
        placed = placed.select(named(column("low", alias), f"g_{place}"), copy=False)
    order = exp.Order(expressions=[exp.Ordered(this=column(f"g_{place}")) for place in places])
    levels = [column(f"g_{place}") for place in places]
    numbered = exp.select(column("id"), *levels, named(exp.Window(this=exp.DenseRank(), order=order), "node"))
    finer = [exp.LTE(this=column(f"g_{p}", "finer"), expression=column(f"g_{p}", "coarse")) for p in places]
    words = range((linked.nodes + _BITS - 1) // _BITS)
    below = exp.select(column("node", "coarse"), *(named(_bits("finer", word), f"below_{word}") for word in words))
    different = exp.NEQ(this=column("node", "finer"), expression=column("node", "coarse"))
    below = below.from_(_step("nodes").as_("coarse", quoted=True), copy=False)
    below = below.join(_step("nodes").as_("finer", quoted=True), on=all_of([*finer, different]), copy=False)
    items = [column("who", "people"), column("p", "people"), column("id", "classes"), column("n", "classes")]
    found = _matched(exp.select(*items).from_(_step("people"), copy=False), linked, "classes")
    on = equal(column("id", "numbered"), column("id", "classes"))
    found = found.join(_step("numbered"), on=on, join_type="left", copy=False)
    found = found.select(column("node", "numbered"), copy=False)
    held = exp.select(column("who", "found"), *(named(_bits("found", word), f"held_{word}") for word in words))
    kept = exp.select(*(column(name, "found") for name in ("who", "p", "id", "n"))).from_(_step("found"), copy=False)
    kept = kept.join(_step("held"), on=equal(column("who", "held"), column("who", "found")), copy=False)
    on = equal(column("node", "below"), column("node", "found"))
    kept = kept.join(_step("below"), on=on, join_type="left", copy=False)
    beaten = (
        any_of(
            [
                exp.NEQ(
                    this=exp.Paren(
                        this=exp.BitwiseAnd(
                            this=column(f"held_{word}", "held"), expression=column(f"below_{word}", "below")
                        )
                    ),
                    expression=literal(0),
                )
                for word in words
            ]
        )
        if linked.nodes
        else exp.false()
    )
    none = is_null(column("node", "below"))
    return {
        "placed": placed,
        "numbered": numbered.from_(_step("placed"), copy=False),
        "nodes": exp.select(column("node"), *(level.copy() for level in levels))
        .distinct()
        .from_(_step("numbered"), copy=False),
        "below": below.group_by(column("node", "coarse")),
        "found": found,
        "held": held.from_(_step("found"), copy=False).group_by(column("who", "found")),
        "kept": kept.where(any_of([none, exp.Not(this=exp.Paren(this=beaten))])),
    }


_BITS = 62


def _bits(alias: str, word: int) -> exp.Expression:
    """The numbers of vectors as bits of one word."""
    place = exp.Sub(this=column("node", alias), expression=literal(1 + word * _BITS))
    inside = exp.Between(this=place.copy(), low=literal(0), high=literal(_BITS - 1))
    power = cast(exp.Pow(this=cast(literal(2), "double"), expression=cast(exp.Paren(this=place), "double")), "bigint")
    bit = exp.Case().when(inside, power)
    total_of = exp.Sum(this=exp.Distinct(expressions=[bit]))
    return cast(exp.Coalesce(this=total_of, expressions=[literal(0)]), "bigint")


def _step(name: str) -> exp.Table:
    return table_expression(Table((_PREFIX + name,)), name)


def _statement(select: exp.Select, steps: Mapping[str, exp.Query]) -> exp.Select:
    return with_queries(select, {_PREFIX + name: query for name, query in steps.items()})
