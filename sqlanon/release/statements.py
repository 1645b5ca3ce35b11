"""Statements of a full-domain release: its classes, measured anew at publish time, and the table itself.

Both read the source joined to the hierarchies of the columns that are not at their top. Class keys are codes, never
NULL, so that classes join back by plain equality.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from sqlglot import exp

from sqlanon.hierarchies.base import TOP
from sqlanon.source.frequency_statements import code, sensitive_code
from sqlanon.source.sensitive import SensitiveColumn
from sqlanon.sql.build import (
    all_of,
    any_of,
    concat,
    count,
    equal,
    is_null,
    is_present,
    left_join,
    named,
    scalar,
    subquery,
    total,
    total_where,
)
from sqlanon.sql.relations import Table, cast, column, identifier, literal, table_expression
from sqlanon.sql.traits import Traits
from sqlanon.sql.values import relation


@dataclass(frozen=True)
class QuasiIdentifier:
    """A quasi-identifier column at the level it is released at."""

    name: str
    plain: str
    """A plain name of the column, for what is made of it."""
    key: exp.Expression
    """The column as a grouping key, read from alias `source`."""
    lookup: Table | None
    """The table of the hierarchy; None where the column is released as it is, and classes are made of its values."""
    text: exp.Expression
    """The value of the column as text, read from alias `source`."""
    level: int
    at_top: bool
    top: str
    """The one label of the hierarchy's top."""
    blank: exp.Expression
    """What stands in the column of a blanked row."""
    exact: bool = True
    """Values that are equal look alike. Where they do not (0.0 and -0.0, 1.0 and 1.00) one of them stands for all."""
    top_when_read: Table | None = None
    """Where the label of the top stands that the data make anew."""

    @property
    def alias(self) -> str:
        """What the hierarchy is called in a statement."""
        return f"hierarchy_{self.plain}"

    @property
    def key_name(self) -> str:
        """What the key of the column is called in the classes."""
        return f"{self.plain}_value" if self.lookup is None else f"{self.plain}_code"

    def value(self) -> exp.Expression:
        """What is released: the value itself, its label, or the top."""
        if self.at_top and self.top_when_read is not None:
            return scalar(exp.select(column("label")).from_(table_expression(self.top_when_read)))
        if self.at_top:
            return literal(self.top)
        if self.level > 0:
            return column(f"label_{self.level}", self.alias)
        return column(self.name, "source") if self.exact or self.lookup is None else column("value", self.alias)

    def class_key(self) -> exp.Expression:
        """What makes the classes: the code of the label, 0 for NULL; or the text of the value, never NULL."""
        if self.lookup is not None:
            return code(column(self.name, "source"), self.alias, self.level)
        marked = concat(PRESENT, self.text.copy())
        return exp.Coalesce(this=marked, expressions=[literal(ABSENT)])


OUTSIDE = -1
"""The key of a value that its hierarchy does not cover."""

PRESENT, ABSENT = "=", ""
"""How the text of a value begins as a key of classes, and the key of NULL: no value has the key of another."""


def classes(source: exp.Expression, columns: Sequence[QuasiIdentifier], satisfied: exp.Expression) -> exp.Select:
    """Every class of the release with its rows `n`, and whether it is `kept`: where rows are all that is asked.

    A value outside its hierarchy shows as a NULL key.
    """
    items = [(item.key_name, item.class_key()) for item in below_top(columns)]
    counts = {"n": count()}
    judged_by = satisfied.transform(lambda node: counts.get(node.name, node) if isinstance(node, exp.Column) else node)
    return _grouped(
        _joined(_select(items).from_(source), columns), items, named(count(), "n"), named(judged_by, "kept")
    )


def classes_of_alike(alike: Table, columns: Sequence[QuasiIdentifier], satisfied: exp.Expression) -> exp.Select:
    """The same from rows that were counted before (`alike_rows`)."""
    names = key_names(columns)
    rows: exp.Expression = exp.Sum(this=column("n")) if names else total(column("n"))
    judged_by = satisfied.transform(
        lambda node: rows.copy() if isinstance(node, exp.Column) and node.name == "n" else node
    )
    select = exp.select(*(column(name) for name in names), named(rows, "n"), named(judged_by, "kept"))
    return _by(select.from_(table_expression(alike), copy=False), names)


def counted_rows(
    source: exp.Expression,
    columns: Sequence[QuasiIdentifier],
    sensitive: Sequence[SensitiveColumn],
    respondent: exp.Expression | None,
) -> exp.Select:
    """The source by class, codes of sensitive values and respondent (`who`), with rows `n`."""
    keys = [(item.key_name, _covered(item)) for item in below_top(columns)]
    keys += [(item.code, sensitive_code(item.key, item.alias)) for item in sensitive]
    if respondent is not None:
        keys.append(("who", respondent))
    return _grouped(_with_codes(_joined(_select(keys).from_(source), columns), sensitive), keys, named(count(), "n"))


def _select(keys: Sequence[tuple[str, exp.Expression]]) -> exp.Select:
    return exp.select(*(_called(key, name) for name, key in keys) if keys else [literal(1)])


def _called(value: exp.Expression, name: str) -> exp.Expression:
    """A value under a name, which a column may have already."""
    return value if isinstance(value, exp.Column) and value.name == name else named(value, name)


def _grouped(rows: exp.Select, keys: Sequence[tuple[str, exp.Expression]], *counts: exp.Expression) -> exp.Select:
    """Rows counted by their keys: each key is written once."""
    names = [name for name, _ in keys]
    select = exp.select(*(column(name) for name in names), *counts).from_(subquery(rows, "coded"), copy=False)
    return _by(select, names)


def _by(select: exp.Select, names: Sequence[str]) -> exp.Select:
    return select.group_by(*(column(name) for name in names), copy=False) if names else select


def population_rows(population: exp.Expression, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """The population by class, with rows `population_rows`. Its columns are read from alias `source` too."""
    keys = [(item.key_name, _covered(item)) for item in below_top(columns)]
    return _grouped(_joined(_select(keys).from_(population), columns), keys, named(count(), "population_rows"))


def _covered(item: QuasiIdentifier) -> exp.Expression:
    """A key that is never NULL."""
    if item.lookup is None:
        return item.class_key()
    return exp.Coalesce(this=item.class_key(), expressions=[literal(OUTSIDE)])


def _with_codes(select: exp.Select, sensitive: Iterable[SensitiveColumn]) -> exp.Select:
    for item in sensitive:
        on = equal(item.key.copy(), column("value", item.alias))
        select = select.join(relation(item.codes, item.alias), on=on, join_type="left", copy=False)
    return select


def judged(
    classes_query: exp.Select, satisfied: exp.Expression, columns: Sequence[QuasiIdentifier], more: Sequence[str] = ()
) -> exp.Select:
    """The classes of counted rows with the requirement's verdict on each as `kept`.

    Keys of values outside a hierarchy become NULL; they, `more` columns and the rows stay.
    """
    items: list[exp.Expression] = []
    for item in below_top(columns):
        key = column(item.key_name)
        covered = key if item.lookup is None else exp.Nullif(this=key, expression=literal(OUTSIDE))
        items.append(named(covered, item.key_name))
    items += [column(name) for name in (*more, "n")]
    return exp.select(*items, named(satisfied, "kept")).from_(subquery(classes_query, "classes"))


@dataclass(frozen=True)
class ShownColumn:
    """A released column that is not one label for all rows."""

    name: str
    plain: str
    value: exp.Expression
    """What is released, read from alias `source` or from the hierarchy of the column."""
    text: exp.Expression | None = None
    """What tells its texts apart byte by byte, where equal values may differ and no key of classes does it."""
    later: bool = False
    """Its class key is looked up once rows are counted: fewer of them are joined."""
    labelled: bool = False
    """It shows what its hierarchy has for the key of its class: that too is looked up once rows are counted."""

    own_name: bool = True
    """It keeps its name among rows that are alike; not so where something of ours is called so there."""

    @property
    def column_name(self) -> str:
        """What the column is called among rows that are alike."""
        return self.name if self.own_name else f"{self.plain}_shown"

    def differs_by(self) -> list[tuple[str, exp.Expression]]:
        """What makes two rows differ in the column."""
        text = [] if self.text is None else [(f"{self.plain}_text", self.text.copy())]
        return [(self.column_name, self.value.copy()), *text]


def alike_rows(source: exp.Expression, columns: Sequence[QuasiIdentifier], shown: Sequence[ShownColumn]) -> exp.Select:
    """The rows that will look the same when they are published, counted as `n`, each with the key of its class.

    Codes of columns that are released as they are, are looked up once rows are counted, and so are labels where rows
    are grouped by their codes alone.
    """
    names = {item.name: item.column_name for item in shown if item.later}
    later = [_read_as(item, names[item.name]) for item in below_top(columns) if item.name in names]
    at_once = [item for item in below_top(columns) if item.name not in names]
    of_source = [item for item in shown if not item.labelled]
    keys = [(item.key_name, item.class_key()) for item in at_once]
    keys += [key for item in of_source for key in item.differs_by()]
    rows = _joined(_select(keys).from_(source), at_once).select(named(count(), "n"), copy=False)
    # By their places: a name could be that of another column of the source.
    rows = rows.group_by(*(literal(place) for place in range(1, len(keys) + 1)), copy=False) if keys else rows
    if not later and len(of_source) == len(shown):
        return rows
    items: list[exp.Expression] = [named(item.class_key(), item.key_name) for item in later]
    items += [_called(item.value.copy(), item.column_name) for item in shown if item.labelled]
    counted = [*(item.key_name for item in at_once), *(item.column_name for item in of_source), "n"]
    select = exp.select(*items, *(column(name, "source") for name in counted)).from_(subquery(rows, "source"))
    labelled = {item.name for item in shown if item.labelled}
    for item in at_once:
        if item.name in labelled and item.lookup is not None:
            select = select.join(_labels_of_codes(item, item.lookup), copy=False)
    return _joined(select, later)


def _labels_of_codes(item: QuasiIdentifier, lookup: Table) -> exp.Join:
    """What a column shows for each of its codes, to be joined to rows that have the code."""
    code_name = f"code_{item.level}"
    pairs = exp.select(column(code_name), column(item.value().name)).distinct().from_(table_expression(lookup))
    on = equal(column(item.key_name, "source"), column(code_name, item.alias))
    return left_join(subquery(pairs, item.alias), on)


def _read_as(item: QuasiIdentifier, name: str) -> QuasiIdentifier:
    """A column where it is read under another name."""

    def renamed(value: exp.Expression) -> exp.Expression:
        found = exp.Paren(this=value.copy())
        for place in list(found.find_all(exp.Column)):
            if place.name == item.name:
                place.replace(column(name, "source"))
        inner: exp.Expression = found.this
        return inner

    return replace(item, name=name, key=renamed(item.key), text=renamed(item.text))


def release_of_alike(
    alike: Table,
    columns: Sequence[QuasiIdentifier],
    shown: Sequence[ShownColumn],
    released: Sequence[str],
    classes: Table,
    *,
    blank: exp.Expression | None,
) -> exp.Select:
    """The rows to publish, each once, with how often it is published as the last column (`name_of_copies`).

    What is released and left out is said at `release`.
    """
    by_name = {item.name: item for item in columns}
    values = {item.name: column(item.column_name, "alike") for item in shown}
    select = exp.select().from_(table_expression(alike, "alike"))
    for name in released:
        item = by_name.get(name)
        value = values[name] if item is None or name in values else literal(item.top)
        if item is not None and blank is not None:
            value = exp.Case().when(column("kept", "class"), value).else_(item.blank.copy())
        select = select.select(_called(value, name), copy=False)
    select = select.select(named(column("n", "alike"), name_of_copies(released)), copy=False)
    keys = [identifier(name) for name in key_names(columns)]
    class_relation = table_expression(classes, "class")
    join = (
        exp.Join(this=class_relation, kind="INNER", using=keys) if keys else exp.Join(this=class_relation, kind="CROSS")
    )
    select = select.join(join, copy=False)
    may_stay: exp.Expression = column("kept", "class")
    return select.where(may_stay if blank is None else any_of([may_stay, blank]), copy=False)


def copied(rows: exp.Select, released: Sequence[str], traits: Traits) -> exp.Select:
    """Each of the rows as often as its last column says; equal rows stand together."""
    copies = name_of_copies(released)
    times = traits.copies(column(copies))
    if times is None:
        raise ValueError(f"{traits.dialect} has no way to repeat a row")
    repeated = exp.select(*(column(name) for name in released), named(times, copies)).from_(
        subquery(rows, "distinct_rows")
    )
    return exp.select(*(column(name) for name in released)).from_(subquery(repeated, "all_rows"))


def name_of_copies(released: Sequence[str]) -> str:
    """A name that no released column has."""
    name, taken = "copies", {name.lower() for name in released}
    while name in taken:
        name += "_"
    return name


def shown_blank(takes_text: bool) -> exp.Expression:
    """`*` where the released column takes any text, NULL where it does not: numbers, dates, enumerations."""
    return cast(literal(TOP), "text") if takes_text else exp.Null()


def labelled_rows(relation_: exp.Expression, columns: Sequence[QuasiIdentifier], names: Sequence[str]) -> exp.Select:
    """Rows of another table generalized like the release, under the release's names."""
    items = [named(item.value(), name) for item, name in zip(columns, names, strict=True)]
    return _joined(exp.select(*items).from_(relation_), columns)


def below_top(columns: Sequence[QuasiIdentifier]) -> list[QuasiIdentifier]:
    """The columns that tell classes apart."""
    return [item for item in columns if not item.at_top]


def key_names(columns: Sequence[QuasiIdentifier]) -> list[str]:
    """What the keys of classes are called: one for each column below its top."""
    return [item.key_name for item in below_top(columns)]


def class_totals(table: Table, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """One row: rows, suppressed rows, kept classes, and rows outside a hierarchy for each column below its top."""
    outside = [total_where(is_null(column(name)), column("n")) for name in key_names(columns)]
    return exp.select(
        total(column("n")),
        total_where(exp.Not(this=column("kept")), column("n")),
        total_where(column("kept"), literal(1)),
        *outside,
    ).from_(table_expression(table))


def enough_to_blank(classes: Table | exp.Query, columns: Sequence[QuasiIdentifier], k: int) -> exp.Expression:
    """Whether the rows of failing classes are at least k together."""
    return exp.GTE(this=exp.Subquery(this=suppressed_rows(classes, columns)), expression=literal(k))


def suppressed_rows(classes: Table | exp.Query, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    """How many rows lie in classes that fail. Rows outside a hierarchy belong to no class that can be released."""
    failing = total_where(exp.Not(this=column("kept")), column("n"))
    covered = [is_present(column(item.key_name)) for item in below_top(columns) if item.lookup is not None]
    return exp.select(failing).from_(relation(classes, "failing")).where(*covered)


def within_limit(table: Table, most: int, of_rows: int | None) -> exp.Select:
    """TRUE when at most `most` rows are suppressed, or `most` of every `of_rows`. Whole numbers, so exact."""
    suppressed = total_where(exp.Not(this=column("kept")), column("n"))
    allowed: exp.Expression = literal(most)
    if of_rows is not None:
        suppressed = exp.Mul(this=suppressed, expression=literal(of_rows))
        allowed = exp.Mul(this=total(column("n")), expression=allowed)
    return exp.select(exp.LTE(this=suppressed, expression=allowed)).from_(table_expression(table))


def release(
    source: exp.Expression,
    columns: Sequence[QuasiIdentifier],
    released: Sequence[str],
    classes: Table | exp.Query,
    *,
    blank: exp.Expression | None,
    known: Mapping[int, SensitiveColumn] | None = None,
    fenced: bool = False,
) -> exp.Select:
    """The rows to publish, in no order yet.

    `released` are the columns in their order; those that are no quasi-identifier go out as they are. Rows of classes
    that fail are left out. Where `blank` holds they are kept without their quasi-identifier: blanked rows are one
    class, which must satisfy like any other. `known` sensitive columns are keys of the classes too. `fenced`: no
    planner may match classes by one of their keys before the labels of all of them are known.
    """
    by_name = {item.name: item for item in columns}
    keys = [(item.class_key(), item.key_name) for item in below_top(columns)]
    keys += [(sensitive_code(item.key, item.alias), item.code) for item in (known or {}).values()]
    labelled = _with_codes(_joined(exp.select().from_(source), columns), (known or {}).values())
    if fenced:
        labelled, keys = _fenced(labelled, by_name, released, keys)
        items = [
            _fenced_item(place, name, by_name.get(name), blank=blank is not None) for place, name in enumerate(released)
        ]
    else:
        items = [_item(name, by_name.get(name), blank=blank is not None) for name in released]
    select = labelled.select(*items, copy=False)
    matched = [equal(key, column(name, "class")) for key, name in keys]
    class_relation = relation(classes, "class")
    if matched:
        select = select.join(class_relation, on=all_of(matched), join_type="inner", copy=False)
    else:
        select = select.join(class_relation, join_type="cross", copy=False)
    released_rows: exp.Expression = column("kept", "class")
    if blank is not None:
        released_rows = any_of([released_rows, blank])
    return select.where(released_rows, copy=False)


def rows_of_people(
    source: exp.Expression,
    columns: Sequence[QuasiIdentifier],
    released: Sequence[str],
    stay: Table,
    keys: tuple[exp.Expression, str],
) -> exp.Select:
    """The rows to publish of a table whose people stay or leave as they do in all others, in an order of their own.

    `stay` lists those who stay by their own key `who`, with the `pseudonym` that is released. `keys` are a row's own
    key, and the column that shows the pseudonym.
    """
    by_name = {item.name: item for item in columns}
    own, shown = keys
    items = [
        named(column("pseudonym", "stay"), name) if name == shown else _item(name, by_name.get(name), blank=False)
        for name in released
    ]
    select = _joined(exp.select(*items).from_(source), columns)
    on = equal(own, column("who", "stay"))
    return select.join(table_expression(stay, "stay"), on=on, copy=False).order_by(exp.Rand(), copy=False)


_Keys = list[tuple[exp.Expression, str]]
"""Keys of a row's class, each with what it is called among the classes."""


def _fenced(
    labelled: exp.Select, by_name: Mapping[str, QuasiIdentifier], released: Sequence[str], keys: _Keys
) -> tuple[exp.Select, _Keys]:
    """The rows with all their labels and keys as a query that no planner takes apart: one with an offset."""
    for place, name in enumerate(released):
        value = by_name[name].value() if name in by_name else column(name, "source")
        labelled = labelled.select(named(value, f"value_{place}"), copy=False)
    for place, (key, _) in enumerate(keys):
        labelled = labelled.select(named(key, f"key_{place}"), copy=False)
    inner = subquery(labelled.offset(0, copy=False), "labelled")
    return exp.select().from_(inner), [
        (column(f"key_{place}", "labelled"), name) for place, (_, name) in enumerate(keys)
    ]


def _fenced_item(place: int, name: str, item: QuasiIdentifier | None, *, blank: bool) -> exp.Expression:
    value: exp.Expression = column(f"value_{place}", "labelled")
    if blank and item is not None:
        value = exp.Case().when(column("kept", "class"), value).else_(item.blank.copy())
    return named(value, name)


def _item(name: str, item: QuasiIdentifier | None, *, blank: bool) -> exp.Expression:
    if item is None:
        return column(name, "source")
    value = item.value()
    if blank:
        value = exp.Case().when(column("kept", "class"), value).else_(item.blank.copy())
    return _called(value, name)


def _joined(select: exp.Select, columns: Sequence[QuasiIdentifier]) -> exp.Select:
    for item in below_top(columns):
        if item.lookup is not None:
            on = equal(item.key.copy(), column("value", item.alias))
            select = select.join(left_join(table_expression(item.lookup, item.alias), on), copy=False)
    return select


def outside(table: Table, columns: Sequence[QuasiIdentifier]) -> exp.Select | None:
    """How many classes have a value that its hierarchy does not cover; None where every key is a value."""
    uncovered = [is_null(column(item.key_name)) for item in below_top(columns) if item.lookup is not None]
    return exp.select(count()).from_(table_expression(table)).where(any_of(uncovered)) if uncovered else None


def class_sizes(table: Table, names: Sequence[str], k: int) -> exp.Select:
    """The classes of a published table with their rows; none smaller than k."""
    keys = [column(name) for name in names]
    enough = exp.GTE(this=count(), expression=literal(k))
    rows = named(count(), "rows" if "rows" not in names else "rows_of_class")
    select = exp.select(*keys, rows).from_(table_expression(table)).group_by(*(key.copy() for key in keys))
    return select.having(enough).order_by(exp.Ordered(this=count(), desc=True))
