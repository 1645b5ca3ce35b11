"""Roles are doubted: what a release shows unchanged, and looks like an identifier, is refused unless it is accepted.

Reads aggregates of the source, one row for each column; no value leaves the database. The rules are those by which
`init` guesses roles.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from sqlanon.draft.profile import NUMBERS, SHAPES, Profile, count_shape, greatest, least, number_of, unusual
from sqlanon.draft.rules import doubted, person_key
from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.engines.dialects import family
from sqlanon.errors import SpecError
from sqlanon.hierarchies.base import Family
from sqlanon.source.binding import Binding
from sqlanon.spec import Role
from sqlanon.sql.build import count, is_null, is_present, named, subquery, total, total_where, union_all
from sqlanon.sql.relations import cast, column, literal
from sqlanon.sql.traits import Traits

COLUMNS_PER_QUERY = 25
"""Each is a reading of the source of its own; more of them in one statement would only make it long."""
CROWD = "crowd"
"""The rows of each class beside its persons."""


@dataclass(frozen=True)
class Doubt:
    """A column that looks like an identifier."""

    column: str
    reason: str
    how: str = "as it is"
    """How it is released."""

    def __str__(self) -> str:
        return (
            f"columns.{self.column}: it is released {self.how}, but {self.reason}; give it the role identifier, "
            f"or say under columns.{self.column}.accept why it may be released"
        )


@dataclass(frozen=True)
class Crowding:
    """Persons whose own rows fill classes that few persons share."""

    person: str
    """The column that tells persons apart."""
    k: int
    persons: int
    classes: int

    def __str__(self) -> str:
        return (
            f"'{self.person}' comes in several rows: classes of at least {self.k} rows but fewer than {self.k} persons "
            f"hold {self.persons} {'person' if self.persons == 1 else 'persons'}; respondent: {self.person} makes k "
            f"count persons"
        )

    def to_dict(self) -> dict[str, Any]:
        return {"column": self.person, "k": self.k, "persons": self.persons, "classes": self.classes}


def refuse_doubted(engine: Engine, binding: Binding) -> None:
    """SpecError when a column that is released unchanged looks like an identifier and nobody has accepted it."""
    found = list(doubts(engine, binding))
    if found:
        raise SpecError(*map(str, found))


def doubts(engine: Engine, binding: Binding) -> Iterator[Doubt]:
    """The columns that look like identifiers, in the order of the source."""
    asked = [(info, role) for info in binding.columns if (role := _unchanged(binding, info.name)) is not None]
    for start in range(0, len(asked), COLUMNS_PER_QUERY):
        part = asked[start : start + COLUMNS_PER_QUERY]
        for (info, role), profile in zip(part, _profiles(engine, binding, [info for info, _ in part]), strict=True):
            reason = doubted(profile, role)
            if reason is not None:
                listed = binding.spec.columns.get(info.name)
                words = "" if listed is None else listed.words()
                yield Doubt(info.name, reason, words or "as it is")


def _unchanged(binding: Binding, name: str) -> Role | None:
    """The role of a column whose values are released as they are, or as a rule makes them, each for itself.

    None of others, and of one that is accepted. Averages and dates that moved in secret are nobody's values.
    """
    listed = binding.spec.columns.get(name)
    if name not in binding.released:
        # A person's own key beside its pseudonym is in no spec either.
        return None
    if listed is not None and (listed.averaged or (listed.rule and listed.rule.shift)):
        return None
    role = binding.spec.default_role if listed is None else listed.role
    if role not in ("sensitive", "insensitive") or (listed is not None and listed.accept is not None):
        return None
    return role


def _person(engine: Engine, binding: Binding) -> exp.Expression | None:
    """What tells persons apart: the respondent, else an identifier that is named like a person's."""
    if binding.respondent is not None:
        return binding.respondent.key("source", engine.traits)
    info = person_column(binding)
    return None if info is None else _key(info, engine.traits)


def person_column(binding: Binding) -> ColumnInfo | None:
    """Of the columns that are not released, the one whose name says that it tells persons apart."""
    kept_back = {info.name: info for info in binding.columns if info.name not in binding.released}
    name = person_key(kept_back)
    return None if name is None else kept_back[name]


def _key(info: ColumnInfo, traits: Traits) -> exp.Expression:
    # Some types of the family OTHER have no equality; their text has.
    value = column(info.name, "source")
    return traits.text(value, info.family) if info.family is Family.OTHER else traits.key(value, info.family)


def _profiles(engine: Engine, binding: Binding, infos: Sequence[ColumnInfo]) -> Iterator[Profile]:
    person = _person(engine, binding)
    parts = [
        _measured(engine.traits.relation(binding.source, "source"), info, person, position, engine.traits)
        for position, info in enumerate(infos)
    ]
    answers = {int(row[0]): row[1:] for row in engine.query(Statement("doubt roles", union_all(parts), fresh=True))}
    for position, info in enumerate(infos):
        yield _read(info, answers[position], persons=person is not None)


def _read(info: ColumnInfo, answer: Sequence[Any], *, persons: bool) -> Profile:
    rows, present, distinct, pairs, shortest, longest, low, high, odd, *shapes = answer
    shaped: dict[str, Any] = dict(zip(SHAPES, map(int, shapes), strict=True))
    kept_as = family(info.type) if info.family is Family.TEXT and shaped["whole"] >= int(present) else info.family
    return Profile(
        info.name,
        # Numbers that an engine reads as texts, for it spells them in ways of its own, are amounts all the same.
        kept_as if kept_as in NUMBERS else info.family,
        int(rows),
        int(present),
        int(distinct),
        shortest=None if shortest is None else int(shortest),
        longest=None if longest is None else int(longest),
        least=number_of(low),
        greatest=number_of(high),
        extraordinary=int(odd),
        pairs=int(pairs) if persons else None,
        **shaped,
    )


def _measured(
    source: exp.Expression, info: ColumnInfo, person: exp.Expression | None, position: int, traits: Traits
) -> exp.Select:
    """One row: the counts of a column, its shapes and its range, from its distinct values."""
    kind = Family.TEXT if info.family is Family.OTHER else info.family
    value, rows, there = column("value"), column("n"), is_present(column("value"))
    lengths: list[exp.Expression] = [literal(0), literal(0)]
    extent: list[exp.Expression] = [cast(exp.null(), "text"), cast(exp.null(), "text"), literal(0)]
    shapes: list[exp.Expression] = [literal(0) for _ in SHAPES]
    if kind is Family.TEXT or kind in NUMBERS:
        length = exp.Length(this=traits.text(value, kind))
        lengths = [exp.Min(this=length), exp.Max(this=length.copy())]
        shapes = [count_shape(pattern, value, kind, traits, rows) for pattern in SHAPES.values()]
    if kind in NUMBERS:
        extent = [least(value, kind, traits), greatest(value, kind, traits), unusual(value)]
    figures = [
        total(rows),
        total_where(there, rows.copy()),
        exp.Count(this=value.copy()),
        total_where(there.copy(), column("people")),
        *lengths,
        *extent,
        *shapes,
    ]
    people = literal(0) if person is None else _persons(person)
    grouped = (
        exp.select(named(_key(info, traits), "value"), named(count(), "n"), named(people, "people"))
        .from_(source, copy=False)
        .group_by(_key(info, traits))
    )
    items = [named(literal(position), "place"), *(named(item, f"f_{place}") for place, item in enumerate(figures))]
    return exp.select(*items).from_(subquery(grouped, "grouped"), copy=False)


def _persons(person: exp.Expression) -> exp.Expression:
    """Distinct persons, those without a name as one."""
    nameless = exp.Max(this=exp.Case().when(is_null(person.copy()), literal(1)).else_(literal(0)))
    return exp.Add(this=exp.Count(this=exp.Distinct(expressions=[person.copy()])), expression=nameless)


def crowding(engine: Engine, binding: Binding) -> Crowding | None:
    """How many persons fill classes with rows of their own, where rows are counted and an identifier repeats.

    Classes are those of the values as they are; generalizing merges them, and the rows of a person stay together.
    """
    info = None if binding.persons else person_column(binding)
    if info is None:
        return None
    traits, source = engine.traits, engine.traits.relation(binding.source, "source")
    keys = [item.key("source", traits) for item in binding.quasi_identifiers]
    person = _key(info, traits)
    classes = (
        exp.select(named(count(), "n"), named(_persons(person), "people")).from_(source, copy=False).group_by(*keys)
    )
    full = exp.GTE(this=column("n"), expression=literal(binding.k))
    few = exp.LT(this=column("people"), expression=literal(binding.k))
    small = exp.And(this=full, expression=few)
    query = exp.select(
        total(column("n")), total_where(small, literal(1)), total_where(small.copy(), column("people"))
    ).from_(subquery(classes, CROWD), copy=False)
    [(rows, number, persons)] = engine.query(Statement("count persons of small classes", query))
    again = exp.select(exp.Count(this=exp.Distinct(expressions=[person.copy()]))).from_(
        traits.relation(binding.source, "source"), copy=False
    )
    [(distinct,)] = engine.query(Statement("count persons", again))
    if int(distinct) >= int(rows):
        return None
    return Crowding(info.name, binding.k, int(persons), int(number))
