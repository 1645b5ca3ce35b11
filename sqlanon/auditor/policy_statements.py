"""Statements that compare the labels of a published column with those of its hierarchy, as texts, byte by byte."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.engines.base import ColumnInfo, Engine, Statement
from sqlanon.hierarchies.base import TOP, Family
from sqlanon.sql.build import (
    all_of,
    any_of,
    count,
    equal,
    is_null,
    is_present,
    left_join,
    named,
    row_count,
    subquery,
    text_values,
    total_where,
)
from sqlanon.sql.relations import File, Relation, column, literal
from sqlanon.sql.traits import Traits


@dataclass(frozen=True)
class Published:
    """A published relation and how its values are spelled: as everywhere, or as the fields of a csv file."""

    relation: Relation
    columns: Mapping[str, ColumnInfo]
    traits: Traits

    @classmethod
    def at(cls, engine: Engine, relation: Relation) -> Published:
        """Look the columns up; the fields of a csv file are texts."""
        if isinstance(relation, File) and relation.format != "parquet":
            engine.columns(relation)
            relation = replace(relation, reading="text")
        return cls(relation, {info.name: info for info in engine.columns(relation)}, engine.traits)

    @property
    def of_fields(self) -> bool:
        """Whether it is a csv file."""
        return isinstance(self.relation, File) and self.relation.reading == "text"

    def rows(self, engine: Engine) -> int:
        """How many rows it has."""
        return int(
            engine.query(Statement("count rows", row_count(self.traits.relation(self.relation, "published"))))[0][0]
        )

    def text(self, name: str) -> exp.Expression:
        """The text of a published value."""
        return _text(column(name, "published"), self.columns[name].family, self.traits, csv=False)

    def label(self, level: int, family: Family, of_values: Family, *, in_text: bool = False) -> exp.Expression:
        """The text of a label, read from alias `hierarchy`; of level 0, the value as it is released.

        A number of its own is a field of a csv file; in a column of texts, as ranges are, it stands as everywhere.
        """
        csv = self.of_fields and not in_text
        if level == 0:
            return _text(column("value", "hierarchy"), of_values, self.traits, csv=csv)
        return _text(column(f"label_{level}", "hierarchy"), family, self.traits, csv=csv)


def _text(value: exp.Expression, family: Family, traits: Traits, *, csv: bool) -> exp.Expression:
    if family is Family.TEXT:
        return traits.key(value, family)
    # A view shows one zero for both: the sign of the other is no label.
    value = traits.key(value, family)
    spelled = traits.csv_text(value, family) if csv else traits.text(value, family)
    return traits.key(spelled, Family.TEXT)


def _counted(table: Published, name: str) -> exp.Select:
    """The labels of a column with their rows; NULL among them."""
    text = table.text(name)
    select = exp.select(named(text, "label"), named(count(), "rows_of_label"))
    return select.from_(table.traits.relation(table.relation, "published")).group_by(text.copy())


def _labels(table: Published, hierarchy: Relation, texts: Sequence[exp.Expression]) -> exp.Query:
    """The distinct labels of some levels."""
    found: exp.Query | None = None
    for text in texts:
        part = exp.select(named(text.copy(), "label")).from_(table.traits.relation(hierarchy, "hierarchy"))
        part = part.where(is_present(text.copy())).distinct()
        found = part if found is None else exp.union(found, part, distinct=True)
    if found is None:
        raise ValueError("a hierarchy has a level")
    return found


def rows_apart(
    table: Published, name: str, hierarchy: Relation, texts: Sequence[exp.Expression], top: str
) -> exp.Select:
    """All rows, those that show `*`, those that show NULL, and for each level the rows whose label is not one of it.

    NULL is a value like any other, and counted for no level. The top has its label also where there are no values.
    """
    label, rows = column("label", "shown"), column("rows_of_label", "shown")
    select = exp.select(
        exp.Coalesce(this=exp.Sum(this=rows.copy()), expressions=[literal(0)]),
        total_where(equal(label.copy(), literal(TOP)), rows.copy()),
        total_where(is_null(label.copy()), rows.copy()),
    ).from_(subquery(_counted(table, name), "shown"))
    for level, text in enumerate(texts):
        alias = f"level_{level}"
        of_level = subquery(_labels(table, hierarchy, [text]), alias)
        on = equal(label.copy(), column("label", alias))
        select = select.join(left_join(of_level, on), copy=False)
        absent = [is_present(label.copy()), is_null(column("label", alias))]
        if level == len(texts) - 1:
            absent.append(exp.NEQ(this=label.copy(), expression=literal(top)))
        missing = all_of(absent)
        select = select.select(total_where(missing, rows.copy()), copy=False)
    return select


def only_labels_of(
    table: Published,
    name: str,
    labels: Relation | None,
    text: exp.Expression,
    also: Sequence[str],
    *,
    nulls: bool = True,
) -> exp.Select:
    """TRUE when a column shows labels of one level, or one of some further texts; and NULL, where it may."""
    shown = exp.select(named(table.text(name), "shown"))
    rows: exp.Query = shown.from_(table.traits.relation(table.relation, "published"))
    if labels is not None:
        allowed = exp.select(named(text, "shown")).from_(table.traits.relation(labels, "hierarchy"))
        rows = exp.except_(rows, allowed, distinct=True)
    others = [exp.NEQ(this=column("shown"), expression=literal(more)) for more in also]
    wrong = all_of([is_present(column("shown")), *others])
    if not nulls:
        wrong = any_of([is_null(column("shown")), all_of(others)])
    return exp.select(equal(count(), literal(0))).from_(subquery(rows, "other_labels")).where(wrong)


def labels_apart(
    table: Published, name: str, hierarchy: Relation, allowed: Sequence[exp.Expression], most: int
) -> exp.Select:
    """The labels of a column that are none of the allowed levels, with their rows."""
    label = column("label", "shown")
    select = exp.select(label, column("rows_of_label", "shown")).from_(subquery(_counted(table, name), "shown"))
    on = equal(label.copy(), column("label", "allowed"))
    select = select.join(subquery(_labels(table, hierarchy, allowed), "allowed"), on=on, join_type="left", copy=False)
    return select.where(is_present(label.copy()), is_null(column("label", "allowed"))).limit(most)


def parts_found(
    table: Published, hierarchy: Relation, allowed: Sequence[exp.Expression], texts: Sequence[str]
) -> exp.Select:
    """Those of some texts that are labels of the allowed levels."""
    given = text_values(["part"], [(text,) for text in texts])
    part = table.traits.key(column("part", "parts"), Family.TEXT)
    select = exp.select(column("part", "parts")).from_(subquery(given, "parts"))
    on = equal(part, column("label", "allowed"))
    return select.join(subquery(_labels(table, hierarchy, allowed), "allowed"), on=on, copy=False)


def levels_of_labels(table: Published, hierarchy: Relation, text: exp.Expression, most: int) -> exp.Select:
    """The labels of one level, so many at most."""
    return exp.select(column("label")).from_(subquery(_labels(table, hierarchy, [text]), "labels")).limit(most)
