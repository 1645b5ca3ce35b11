"""The statement that compares two published tables, class by class, and that of the labels which they have in common.

One row of counts answers the first: rows in classes of one table alone, then for each view the figures of leavers,
joiners and those who stayed. Rows are counted once for both tables; every view is grouped from these counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from sqlglot import exp

from sqlanon.hierarchies.base import TOP
from sqlanon.sql.build import (
    all_of,
    any_of,
    count,
    equal,
    is_null,
    left_join,
    named,
    subquery,
    total,
    total_where,
    union_all,
    with_queries,
)
from sqlanon.sql.relations import Table, cast, column, explained, literal, table_expression

PREFIX = "sqlanon_difference_"
"""Of the steps of a statement: one that bore the name of a compared table would hide it."""

KINDS = ("leavers", "joiners", "stayers")

Classes = Literal["class", "coarser class", "table"]


@dataclass(frozen=True)
class ComparedBy:
    """What two published tables are compared by."""

    quasi_identifier: tuple[str, ...]
    others: tuple[str, ...]
    """The columns beside it; the sensitive ones among them."""
    k: int
    """The least number of leavers or joiners of a class that nobody stands out of."""
    diversity: Mapping[str, int] = field(default_factory=dict)
    """The sensitive columns, each with the least number of values that a difference must have."""
    respondent: str | None = None
    """The column that names the person, where both tables hold it. Without it rows are counted."""

    @property
    def unit(self) -> str:
        """What is counted."""
        return "rows" if self.respondent is None else "people"


@dataclass(frozen=True)
class Side:
    """A published table with what its rows are compared by."""

    relation: exp.Expression
    keys: Sequence[exp.Expression]
    others: Sequence[exp.Expression]
    person: exp.Expression | None


@dataclass(frozen=True)
class ViewQuestion:
    """A view as it is asked: what rows are grouped and compared by."""

    place: int
    classes: Classes
    column: str | None
    keys: tuple[str, ...]
    values: tuple[str, ...]
    sensitive: Mapping[str, str]
    """The sensitive columns whose values are counted, each with its name in the statement."""


class DifferenceStatement:
    """Writes the statement of a comparison that looks at some of the sensitive columns, and reads its one row."""

    def __init__(self, comparison: ComparedBy, sensitive: Sequence[str], coarser: Mapping[str, Table] | None) -> None:
        self._comparison = comparison
        self._coarser = coarser
        plain = explained((*comparison.quasi_identifier, *comparison.others))
        self._keys = tuple(f"key_{plain[name]}" for name in comparison.quasi_identifier)
        self._others = {name: f"value_{plain[name]}" for name in comparison.others}
        self._person = [] if comparison.respondent is None else ["person"]
        asked = {name: self._others[name] for name in sensitive}
        values = tuple(self._others.values())
        classes: Classes = "class" if coarser is None else "coarser class"
        questions: list[tuple[Classes, str | None, tuple[str, ...], tuple[str, ...], dict[str, str]]]
        questions = [(classes, None, self._keys, values, asked)]
        if len(values) > 1:
            questions += [(classes, name, self._keys, (own,), {name: own}) for name, own in asked.items()]
        if coarser is None:
            questions.append(("table", None, (), values, asked))
        self.questions = [ViewQuestion(place, *question) for place, question in enumerate(questions)]

    def statement(self, older: Side, newer: Side) -> exp.Select:
        """One row: rows in classes of one table, then for each view the figures of leavers, joiners and stayers."""
        steps: dict[str, exp.Query] = {f"{PREFIX}rows": self._rows(older, newer)}
        select = exp.select()
        for question in self.questions:
            name = f"{PREFIX}groups_{question.place}"
            steps[name] = self._groups(question)
            figures = exp.select(*self._figures(question)).from_(table_expression(Table((name,))))
            alias = f"view_{question.place}"
            found = subquery(figures, alias)
            place = (
                select.from_(found, copy=False)
                if question.place == 0
                else select.join(found, join_type="cross", copy=False)
            )
            select = place.select(*(column(item.alias, alias) for item in figures.expressions), copy=False)
        return with_queries(select, steps)

    def _rows(self, older: Side, newer: Side) -> exp.Select:
        """What rows of both tables are compared by, with how many rows of each have it."""
        names = [*self._keys, *self._others.values(), *self._person]
        parts: list[exp.Query] = []
        for place, side in enumerate((older, newer)):
            values = [*side.keys, *side.others, *([side.person] if side.person is not None else [])]
            items = [named(value.copy(), name) for value, name in zip(values, names, strict=True)]
            numbers: list[exp.Expression] = [cast(literal(0), "bigint"), cast(literal(0), "bigint")]
            numbers[place] = count()
            select = exp.select(*items, named(numbers[0], "older"), named(numbers[1], "newer"))
            parts.append(select.from_(side.relation.copy()).group_by(*(value.copy() for value in values)))
        both = subquery(union_all(parts), "both")
        if self._coarser is None:
            return _summed(exp.select(*(column(name) for name in names)).from_(both), names)
        return self._with_common_labels(both, names)

    def _with_common_labels(self, both: exp.Subquery, names: Sequence[str]) -> exp.Select:
        """The rows under the coarser labels; those that show nothing of their quasi-identifier stay as they are."""
        coarser = self._coarser or {}
        labels = dict(zip(self._comparison.quasi_identifier, self._keys, strict=True))
        shows = exp.Not(this=exp.Paren(this=blank([column(key, "both") for key in self._keys])))
        items: dict[str, exp.Expression] = {name: column(name, "both") for name in names}
        select = exp.select().from_(both)
        for name, table in coarser.items():
            key = labels[name]
            on = all_of([equal(column(key, "both"), column("label", key)), shows.copy()])
            select = select.join(left_join(table_expression(table, key), on), copy=False)
            items[key] = exp.Coalesce(this=column("common", key), expressions=[column(key, "both")])
        numbers = [column("older", "both"), column("newer", "both")]
        inner = select.select(*(named(value, name) for name, value in items.items()), *numbers, copy=False)
        return _summed(exp.select(*(column(name) for name in names)).from_(subquery(inner, "labelled")), names)

    def _groups(self, question: ViewQuestion) -> exp.Select:
        """Each class with its leavers, joiners and those who stayed: rows, people, and values of sensitive columns."""
        source = table_expression(Table((f"{PREFIX}rows",)))
        names = [*question.keys, *question.values, *self._person]
        select = exp.select(*(column(name) for name in names)).from_(source)
        if {*names} == {*self._keys, *self._others.values(), *self._person}:
            # Counted by just these columns.
            compared = select.select(column("older"), column("newer"), copy=False)
        else:
            compared = _summed(select, names)
        older, newer = column("older"), column("newer")
        left = exp.Case().when(
            exp.GT(this=older, expression=newer), exp.Sub(this=older.copy(), expression=newer.copy())
        )
        came = exp.Case().when(
            exp.GT(this=newer.copy(), expression=older.copy()), exp.Sub(this=newer.copy(), expression=older.copy())
        )
        stayed = exp.Case().when(exp.LT(this=older.copy(), expression=newer.copy()), older.copy())
        moved = exp.select(
            *(column(name) for name in names),
            older.copy(),
            newer.copy(),
            named(left.else_(literal(0)), "leavers"),
            named(came.else_(literal(0)), "joiners"),
            named(stayed.else_(newer.copy()), "stayers"),
        ).from_(subquery(compared, "compared"))
        items: list[exp.Expression] = [
            *(column(name) for name in question.keys),
            named(total(column("older")), "older"),
            named(total(column("newer")), "newer"),
        ]
        for kind in KINDS:
            items.append(named(total(column(kind)), f"{kind}_rows"))
            items += [named(_distinct("person", kind), f"{kind}_people") for _ in self._person]
            items += [named(_distinct(own, kind), f"{kind}_{own}") for own in question.sensitive.values()]
        groups = exp.select(*items).from_(subquery(moved, "moved"))
        return groups.group_by(*(column(name) for name in question.keys)) if question.keys else groups

    def _figures(self, question: ViewQuestion) -> Iterator[exp.Alias]:
        if question.place == 0:
            for own, other in (("older", "newer"), ("newer", "older")):
                yield named(total_where(equal(column(other), literal(0)), column(own)), f"only_{own}")
        for kind in KINDS:
            there: exp.Expression = exp.GT(this=column(f"{kind}_rows"), expression=literal(0))
            if kind == "stayers" and not question.keys:
                there = exp.false()
            elif kind == "stayers":
                moves = [exp.GT(this=column(f"{other}_rows"), expression=literal(0)) for other in KINDS[:2]]
                there = all_of([there, *moves])
            size = column(f"{kind}_people" if self._person else f"{kind}_rows")
            for number, value in enumerate(self._counted(question, kind, there, size)):
                yield named(value, f"{kind}_figure_{number}_of_view_{question.place}")

    def _counted(
        self, question: ViewQuestion, kind: str, there: exp.Expression, size: exp.Expression
    ) -> Iterator[exp.Expression]:
        """The figures of a change, in its order."""
        below = exp.LT(this=size.copy(), expression=literal(self._comparison.k))
        yield total_where(there, size.copy())
        yield total_where(there.copy(), literal(1))
        yield exp.Min(this=exp.Case().when(there.copy(), size.copy()))
        yield total_where(all_of([there.copy(), equal(size.copy(), literal(1))]), size.copy())
        yield total_where(all_of([there.copy(), below]), size.copy())
        for name, own in question.sensitive.items():
            for least in (2, self._comparison.diversity[name]):
                few = exp.LT(this=column(f"{kind}_{own}"), expression=literal(least))
                yield total_where(all_of([there.copy(), few]), size.copy())


def _summed(select: exp.Select, names: Sequence[str]) -> exp.Select:
    """How many rows of each table have these columns."""
    numbers = [named(cast(exp.Sum(this=column(name)), "bigint"), name) for name in ("older", "newer")]
    return select.select(*numbers, copy=False).group_by(*(column(name) for name in names), copy=False)


def _distinct(name: str, kind: str) -> exp.Expression:
    """How many values the rows of a kind have, NULL among them."""
    there = exp.GT(this=column(kind), expression=literal(0))
    values = exp.Count(this=exp.Distinct(expressions=[exp.Case().when(there, column(name))]))
    absent = all_of([there.copy(), is_null(column(name))])
    return exp.Add(this=values, expression=exp.Max(this=exp.Case().when(absent, literal(1)).else_(literal(0))))


def blank(keys: Sequence[exp.Expression]) -> exp.Expression:
    """A row that shows nothing of its quasi-identifier."""
    return all_of(any_of([is_null(key.copy()), equal(cast(key.copy(), "text"), literal(TOP))]) for key in keys)


def common_labels(sides: Sequence[Side], place: int, stored: Table, texts: Sequence[exp.Expression]) -> exp.Select:
    """Each `label` of two tables that has another label of theirs above it, with the highest such as `common`.

    `stored` is the hierarchy of the column in that place of the quasi-identifier, `texts` its labels from level 0 to
    the top. Labels of several levels are compared by what they have in common: who is in 9413* of the one table is in
    941** of the other. Rows that show nothing of their quasi-identifier count for none: everybody may be below them.
    """
    shown: list[exp.Query] = []
    for side in sides:
        label = side.keys[place]
        select = exp.select(named(label.copy(), "label")).distinct().from_(side.relation.copy())
        shown.append(select.where(exp.Not(this=exp.Paren(this=blank(side.keys)))))
    used = exp.union(shown[0], shown[1], distinct=True)
    levels = exp.select(*(named(text, f"label_{level}") for level, text in enumerate(texts)))
    select = exp.select().from_(subquery(levels.distinct().from_(table_expression(stored)), "levels"))
    for level in range(len(texts)):
        on = equal(column(f"label_{level}", "levels"), column("label", f"used_{level}"))
        select = select.join(left_join(table_expression(Table((f"{PREFIX}used",)), f"used_{level}"), on), copy=False)
    highest = exp.Coalesce(
        this=column("label", f"used_{len(texts) - 1}"),
        expressions=[column("label", f"used_{level}") for level in reversed(range(len(texts) - 1))],
    )
    labels = [named(column("label", f"used_{level}"), f"used_{level}") for level in range(len(texts))]
    paths = select.select(*labels, named(highest, "common"), copy=False)
    steps: dict[str, exp.Query] = {f"{PREFIX}used": used, f"{PREFIX}paths": paths}
    path = table_expression(Table((f"{PREFIX}paths",)))
    pairs: list[exp.Query] = [
        exp.select(named(column(f"used_{level}"), "label"), column("common")).from_(path.copy())
        for level in range(len(texts) - 1)
    ]
    found = exp.select(column("label"), named(exp.Max(this=column("common")), "common"))
    found = found.from_(subquery(union_all(pairs), "pairs")).where(
        exp.NEQ(this=column("label"), expression=column("common"))
    )
    return with_queries(found.group_by(column("label")), steps)
