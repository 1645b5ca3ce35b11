"""Statements that compare the labels of a published column with those of its hierarchy, as texts, byte by byte."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.auditor.statements.classes import classes
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
    total,
    total_where,
)
from sqlanon.sql.relations import File, Relation, column, explained, literal
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
        if isinstance(relation, File) and relation.of_text:
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

    def takes_text(self, name: str) -> bool:
        """Whether a blanked row shows `*` in a column; NULL where it takes no text, or where a csv file was read."""
        return self.columns[name].family is Family.TEXT and not self.of_fields

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
        part = exp.select(named(text.copy(), "label")).from_(table.traits.relation(hierarchy, "hierarchy"), copy=False)
        part = part.where(is_present(text.copy()), copy=False).distinct(copy=False)
        found = part if found is None else exp.union(found, part, distinct=True, copy=False)
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


def blank_rows(table: Published, names: Sequence[str], texts: Collection[str]) -> exp.Select:
    """All rows, those that show nothing in any of the columns, and for each column those that show something."""
    blank = [_blank(table, name, text=name in texts) for name in names]
    shown = [total_where(exp.Not(this=exp.Paren(this=item.copy())), literal(1)) for item in blank]
    select = exp.select(count(), total_where(all_of(blank), literal(1)), *shown)
    return select.from_(table.traits.relation(table.relation, "published"))


def _blank(table: Published, name: str, *, text: bool) -> exp.Expression:
    """Whether a row shows a column as a blanked row does. Never NULL."""
    star = exp.Coalesce(this=equal(table.text(name), literal(TOP)), expressions=[exp.false()])
    if text:
        return star
    absent = is_null(column(name, "published"))
    return any_of([absent, star]) if table.of_fields else absent


def null_rows(table: Published, source: Relation, names: Sequence[str]) -> exp.Select:
    """How many rows of the source are NULL in all of these columns."""
    select = exp.select(count()).from_(table.traits.relation(source, "source"))
    return select.where(*(is_null(column(name, "source")) for name in names)) if names else select


@dataclass(frozen=True)
class LabelsShown:
    """A published column and the labels that it may show: those of one level, and some further texts."""

    name: str
    labels: Relation | None
    """Where the labels stand; None: only the further texts may be shown."""
    text: exp.Expression
    """The text of a label, read from alias `hierarchy`."""
    also: tuple[str, ...] = ()
    nulls: bool = True
    """Whether the column may show NULL."""


@dataclass(frozen=True)
class LabelQuestion:
    """Which columns of a published table show other labels than they may, in one look at the table for all of them.

    Engines count the rows (`counted`), scripts stop at the first column (`first_wrong`), dbt asks column by column
    (`holds`).
    """

    table: Published
    columns: Sequence[LabelsShown]

    def counted(self) -> exp.Select:
        """One row: all rows; and for each column those that show another label, and those that show `*`."""
        table = self.table
        texts = {item.name: table.text(item.name) for item in self.columns}
        rows, figures = self.of_classes(table.traits.relation(table.relation, "published"), texts, Family.TEXT)
        return rows.select(total(column("size")), *figures, copy=False)

    @property
    def keyed(self) -> bool:
        """Whether values that make one class have one text in every column: then it can be asked of classes."""
        return all(self.table.columns[item.name].family.exact for item in self.columns)

    def of_classes(
        self, relation: exp.Expression, keys: Mapping[str, exp.Expression], family: Family | None = None
    ) -> tuple[exp.Select, list[exp.Expression]]:
        """The classes of a relation, each with its `size`, as a query without items; and figures over their rows: for
        each column those that show another label, and those that show `*`.

        `keys` are those of the classes by column: of all columns asked for, and of others; `family` is theirs where it
        is not that of the column. Rows are grouped before labels are looked up: there are far fewer classes.
        """
        names = {name: f"key_{place}" for place, name in enumerate(keys)}
        grouped = classes(relation, list(keys.values()))
        grouped = grouped.select(*(named(key.copy(), names[name]) for name, key in keys.items()), copy=False)
        select = exp.select().from_(subquery(grouped, "classes"), copy=False)
        figures = []
        for item in self.columns:
            key = column(names[item.name], "classes")
            text = _text(key, family or self.table.columns[item.name].family, self.table.traits, csv=False)
            select = self._with_labels(select, item, text)
            figures.append(total_where(self._wrong(item, key, text), column("size")))
            figures.append(total_where(equal(text.copy(), literal(TOP)), column("size")))
        return select, figures

    def first_wrong(self) -> exp.Select:
        """The name of a column that shows another label, as `wrong`; NULL where no column does."""
        named_wrong = exp.Case()
        for item in self.columns:
            named_wrong = named_wrong.when(self._shows_another(item), literal(item.name), copy=False)
        return self._rows().select(named(exp.Min(this=named_wrong), "wrong"), copy=False)

    def holds(self) -> exp.Select:
        """TRUE where no row shows another label."""
        wrong = any_of([self._shows_another(item) for item in self.columns])
        return self._rows().select(equal(count(), literal(0)), copy=False).where(wrong, copy=False)

    def _rows(self) -> exp.Select:
        """The published rows, each with the allowed label that it shows in every column, if it does."""
        select = exp.select().from_(self.table.traits.relation(self.table.relation, "published"))
        for item in self.columns:
            select = self._with_labels(select, item, self.table.text(item.name))
        return select

    def _with_labels(self, select: exp.Select, item: LabelsShown, text: exp.Expression) -> exp.Select:
        """Rows with the allowed label that one of their texts is, if it is one."""
        if item.labels is None:
            return select
        alias = self._alias(item)
        allowed = exp.select(named(item.text.copy(), "allowed_label")).distinct()
        allowed = allowed.from_(self.table.traits.relation(item.labels, "hierarchy"))
        on = equal(text.copy(), column("allowed_label", alias))
        return select.join(left_join(subquery(allowed, alias), on), copy=False)

    def _shows_another(self, item: LabelsShown) -> exp.Expression:
        return self._wrong(item, column(item.name, "published"), self.table.text(item.name))

    def _wrong(self, item: LabelsShown, shown: exp.Expression, text: exp.Expression) -> exp.Expression:
        """Whether a value shows another label. Never NULL: what is not known to be allowed is wrong."""
        others = [is_null(column("allowed_label", self._alias(item)))] if item.labels is not None else []
        others += [exp.NEQ(this=text.copy(), expression=literal(more)) for more in item.also]
        if item.nulls:
            return all_of([is_present(shown.copy()), *others])
        return any_of([is_null(shown.copy()), all_of(others)])

    def _alias(self, item: LabelsShown) -> str:
        return f"labels_of_{explained(other.name for other in self.columns)[item.name]}"


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
