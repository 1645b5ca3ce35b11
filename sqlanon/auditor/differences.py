"""What two published tables of one source say together: their difference, class by class, by SQL over them alone.

The rows of a class that only the older table has are its leavers, those that only the newer has its joiners, both as
multisets; the others stayed. Somebody who knows that a person has left, and the person's quasi-identifier, looks among
the leavers of the class: one row alone tells everything about the person, rows of one value tell that value.

Columns are compared together and, because a change of one column hides what another tells, each sensitive column for
itself. Rows are compared without their classes too: what a class loses, another may have, or rows without a
quasi-identifier. Counts only; writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from sqlanon.auditor.request import Opened, text_key
from sqlanon.auditor.statements.differences import (
    KINDS,
    Classes,
    ComparedBy,
    DifferenceStatement,
    Side,
    ViewQuestion,
    common_labels,
)
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Spec
from sqlanon.sql.build import row_count
from sqlanon.sql.relations import File, Relation, Table, column, literal, table_expression

MOST_COLUMNS = 16
"""Sensitive columns that one statement looks at: each adds figures to its one row."""


@dataclass(frozen=True)
class Movement:
    """The leavers, the joiners, or those who stayed, of all classes. Counts are of rows, or of people in each class."""

    number: int
    classes: int
    """Classes that have such."""
    smallest: int | None
    """The fewest of a class that has any."""
    alone: int
    """Those who are alone in their class."""
    below_k: int
    """Those with fewer than k in their class, the lonely ones among them."""
    one_value: Mapping[str, int]
    """By sensitive column, those whose class has a single value among them."""
    few_values: Mapping[str, int]
    """By sensitive column, those whose class has fewer values among them than is required."""

    def to_dict(self) -> dict[str, Any]:
        return {
            "number": self.number,
            "classes": self.classes,
            "smallest": self.smallest,
            "alone": self.alone,
            "below_k": self.below_k,
            "one_value": dict(self.one_value),
            "few_values": dict(self.few_values),
        }


@dataclass(frozen=True)
class DifferenceView:
    """One way to look at the difference."""

    classes: Classes
    """Rows are compared in their class, in classes of the coarser labels of both tables, or in the table as a whole."""
    column: str | None
    """The one column that is compared beside the class; None: all of them are."""
    leavers: Movement
    joiners: Movement
    stayers: Movement
    """Only of classes that have leavers and joiners: elsewhere one of the tables alone says as much. The table as a
    whole has none."""

    @property
    def changes(self) -> tuple[Movement, Movement, Movement]:
        return self.leavers, self.joiners, self.stayers

    @property
    def alone(self) -> int:
        return sum(change.alone for change in self.changes)

    @property
    def below_k(self) -> int:
        return sum(change.below_k for change in self.changes)

    def one_value(self, name: str) -> int:
        """Leavers and joiners whose class tells a value of this sensitive column."""
        return sum(change.one_value.get(name, 0) for change in self.changes)

    def few_values(self, name: str) -> int:
        return sum(change.few_values.get(name, 0) for change in self.changes)

    def to_dict(self) -> dict[str, Any]:
        return {
            "classes": self.classes,
            "column": self.column,
            **{kind: change.to_dict() for kind, change in zip(KINDS, self.changes, strict=True)},
        }


@dataclass(frozen=True)
class Difference:
    """What an older and a newer table say together."""

    older: str
    newer: str
    comparison: ComparedBy
    views: tuple[DifferenceView, ...]
    only_older: int
    """Rows of the older table in classes that the newer one does not have."""
    only_newer: int
    sql: tuple[str, ...] = ()
    """The statements that counted."""

    @property
    def whole(self) -> DifferenceView:
        """All columns compared, class by class."""
        return self.views[0]

    @property
    def alone(self) -> int:
        """Those who stand alone, by the view that shows most of them."""
        return max(view.alone for view in self.views)

    @property
    def below_k(self) -> int:
        """Those in groups of fewer than k, by the view that shows most of them."""
        return max(view.below_k for view in self.views)

    @property
    def one_value(self) -> dict[str, int]:
        """By sensitive column, those whose value is told, by the view that shows most of them."""
        return {name: max(view.one_value(name) for view in self.views) for name in self.comparison.diversity}

    @property
    def few_values(self) -> dict[str, int]:
        return {name: max(view.few_values(name) for view in self.views) for name in self.comparison.diversity}

    @property
    def exposing(self) -> bool:
        """Whether somebody stands out of the difference."""
        return bool(self.alone or self.below_k or any(self.few_values.values()))

    def sentence(self) -> str:
        """What the difference exposes, in one line."""
        told = [f"the value of {number} in '{name}'" for name, number in self.one_value.items() if number]
        k = self.comparison.k
        small = f", {self.below_k} in groups of fewer than {k}" if k > 1 else ""
        return (
            f"the difference of {self.older} and {self.newer} shows {self.whole.leavers.number} "
            f"{self.comparison.unit} that left and {self.whole.joiners.number} that came: {self.alone} alone in their "
            f"class{small}" + (f"; it tells {', '.join(told)}" if told else "")
        )

    def to_dict(self, *, statements: bool = False) -> dict[str, Any]:
        """Plain data; with the SQL where statements are asked for."""
        content: dict[str, Any] = {
            "older": self.older,
            "newer": self.newer,
            "counted": self.comparison.unit,
            "k": self.comparison.k,
            "leavers": self.whole.leavers.number,
            "joiners": self.whole.joiners.number,
            "alone": self.alone,
            "below_k": self.below_k,
            "one_value": self.one_value,
            "few_values": self.few_values,
            "only_older": self.only_older,
            "only_newer": self.only_newer,
            "views": [view.to_dict() for view in self.views],
        }
        return content | {"sql": list(self.sql)} if statements else content


def difference_of(
    engine: Engine, older: Relation, newer: Relation, comparison: ComparedBy, coarser: Mapping[str, Table] | None = None
) -> Difference:
    """Compare two published tables, in one statement for every sixteen sensitive columns.

    `coarser`: by column of the quasi-identifier, tables of each `label` with the `common` label above it that one of
    the tables shows; the classes of these are compared instead of those that the tables show.
    """
    sides = _opened(engine, older, newer, comparison, coarser or ())
    found: list[DifferenceView] = []
    only = (0, 0)
    texts = []
    sensitive = tuple(comparison.diversity)
    for start in range(0, max(1, len(sensitive)), MOST_COLUMNS):
        names = sensitive[start : start + MOST_COLUMNS]
        asked = DifferenceStatement(comparison, names, coarser)
        statement = asked.statement(*sides)
        texts.append(engine.traits.render(statement))
        [row] = engine.query(Statement("compare releases", statement))
        figures = iter([None if value is None else int(value) for value in row])
        only = _number(next(figures)), _number(next(figures))
        views = [_view(question, figures) for question in asked.questions]
        found = views if not found else _merged(found, views)
    return Difference(str(older), str(newer), comparison, tuple(found), *only, tuple(texts))


def comparison_of(
    spec: Spec, k: int, names: Sequence[str], others: Sequence[str], respondent: str | None = None
) -> ComparedBy:
    """What releases of a spec are compared by: a difference has to have as many values as a class."""
    least = {name: 2 for name in spec.sensitive if name in others}
    for name, number in [
        *((entry.column, entry.l) for entry in spec.privacy.l_diversity),
        *((entry.column, entry.p) for entry in spec.privacy.p_sensitive),
    ]:
        if name in least:
            least[name] = max(least[name], number)
    return ComparedBy(tuple(names), tuple(others), k, least, respondent)


Stored = Mapping[str, tuple[Table, Sequence[Family]]]
"""By column of the quasi-identifier, its hierarchy: the table of `label_0` to the top, and the kinds of its labels."""


def compared(
    engine: Engine,
    tables: tuple[Relation, Relation],
    comparison: ComparedBy,
    scratch: Scratch,
    hierarchies: Callable[[], Stored] | None = None,
) -> Difference:
    """The difference of two published tables; where classes of the one are none of the other and hierarchies are known,
    also by the labels that those of different levels have in common."""
    found = difference_of(engine, *tables, comparison)
    if hierarchies is None or not (found.only_older or found.only_newer):
        return found
    coarser = {}
    made = len(scratch)
    keys = replace(comparison, others=(), respondent=None)
    for name, (stored, families) in hierarchies().items():
        sides = _opened(engine, *tables, keys, as_texts={name})
        texts = [text_key(column(f"label_{level}"), family, engine.traits) for level, family in enumerate(families)]
        labels = common_labels(sides, comparison.quasi_identifier.index(name), stored, texts)
        table = scratch.create("labels in common", "common", labels)
        [(rows,)] = engine.query(Statement("labels in common", row_count(table_expression(table))))
        if int(rows):
            coarser[name] = table
    if coarser:
        more = difference_of(engine, *tables, comparison, coarser)
        found = replace(found, views=(*found.views, *more.views), sql=(*found.sql, *more.sql))
    scratch.drop_since(made)
    return found


def _merged(found: Sequence[DifferenceView], more: Sequence[DifferenceView]) -> list[DifferenceView]:
    """The views of several statements: those of all columns once, with the figures of all sensitive columns."""
    both = {(view.classes, view.column): view for view in found}
    for view in more:
        known = both.get((view.classes, view.column))
        both[(view.classes, view.column)] = view if known is None else _joined(known, view)
    return list(both.values())


def _joined(one: DifferenceView, other: DifferenceView) -> DifferenceView:
    changes = {
        kind: replace(
            mine,
            one_value={**mine.one_value, **others.one_value},
            few_values={**mine.few_values, **others.few_values},
        )
        for kind, mine, others in zip(KINDS, one.changes, other.changes, strict=True)
    }
    return replace(one, **changes)  # type: ignore[arg-type]  # the names of the changes


def _view(question: ViewQuestion, figures: Iterator[int | None]) -> DifferenceView:
    """The figures of a view, in the order in which they were asked for."""
    changes = [_movement(question, figures) for _ in KINDS]
    return DifferenceView(question.classes, question.column, *changes)


def _movement(question: ViewQuestion, figures: Iterator[int | None]) -> Movement:
    number, classes = _number(next(figures)), _number(next(figures))
    smallest = next(figures)
    alone, below_k = _number(next(figures)), _number(next(figures))
    values = {name: (_number(next(figures)), _number(next(figures))) for name in question.sensitive}
    one = {name: pair[0] for name, pair in values.items()}
    few = {name: pair[1] for name, pair in values.items()}
    return Movement(number, classes, smallest, alone, below_k, one, few)


def _number(value: int | None) -> int:
    return 0 if value is None else value


def _opened(
    engine: Engine, older: Relation, newer: Relation, comparison: ComparedBy, as_texts: Collection[str] = ()
) -> tuple[Side, Side]:
    """Both tables: columns of one kind compare as such, others by their texts; of a csv file, the fields do."""
    opened = [_read(engine, relation, alias) for relation, alias in ((older, "older"), (newer, "newer"))]
    names = [*comparison.quasi_identifier, *comparison.others]
    for side in opened:
        side.require(*names, *([comparison.respondent] if comparison.respondent else []))
    fields = any(side.empty_is_null for side in opened)
    found = []
    for side in opened:
        keys = [_key(side, name, opened, fields=fields, as_text=name in as_texts) for name in names]
        person = None
        if comparison.respondent is not None:
            person = _key(side, comparison.respondent, opened, fields=fields)
        width = len(comparison.quasi_identifier)
        found.append(Side(side.expression(), keys[:width], keys[width:], person))
    return found[0], found[1]


def _read(engine: Engine, relation: Relation, alias: str) -> Opened:
    """A table, or the fields of a csv file where they can be read as texts of the same columns."""
    found = Opened.at(engine, relation, alias)
    if not isinstance(relation, File) or not relation.of_text:
        return found
    fields = replace(relation, reading="text")
    try:
        texts = Opened.at(engine, fields, alias)
    except SourceError:
        texts = found
    return replace(texts if texts.columns.keys() == found.columns.keys() else found, empty_is_null=True)


def _key(side: Opened, name: str, both: Sequence[Opened], *, fields: bool, as_text: bool = False) -> exp.Expression:
    family = side.family(name)
    alike = not as_text and both[0].compares_with(both[1], name, name) and family is not Family.OTHER
    if not fields:
        return side.key(name, as_text=not alike)
    value: exp.Expression = column(name, side.alias)
    text = value if side.empty_is_null and family is Family.TEXT else side.traits.csv_text(value, family)
    # In a csv file an empty text and NULL are one field.
    return side.traits.key(exp.Nullif(this=text, expression=literal("")), Family.TEXT)


def shared_columns(
    engine: Engine, tables: Sequence[Relation], quasi_identifier: Sequence[str], apart: Sequence[str] = ()
) -> tuple[str, ...]:
    """The columns beside the quasi-identifier that all tables have; SourceError where one lacks a part of it."""
    opened = [Opened.at(engine, table, "published") for table in tables]
    for side in opened:
        side.require(*quasi_identifier)
    left_out = {*quasi_identifier, *apart}
    names = [name for name in opened[0].columns if name not in left_out]
    return tuple(name for name in names if all(name in side.columns for side in opened))
