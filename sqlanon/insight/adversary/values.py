"""Attacks on sensitive values by whoever finds a person's class, and the results of all attacks.

One statement each, on any table. Results are counts, shares and the statements that found them; never a value. Last,
inference from all classes together: naive Bayes, trained by three GROUP BYs (values, values by label of each column,
values by class), and the share of a value in a class; what they predict is compared with the values of the rows.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

from sqlglot import exp

from sqlanon.auditor.figures import rounded
from sqlanon.auditor.request import NUMBERS, Opened, text_key
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.insight.adversary import statements as attacks_sql
from sqlanon.insight.adversary.people import GroupedTable
from sqlanon.insight.adversary.statements import ClassValues, same
from sqlanon.notebook import html_table
from sqlanon.source.scratch import Scratch
from sqlanon.sql.build import all_of, equal, named, query, scalar, subquery, total, total_where, with_queries
from sqlanon.sql.relations import Query, Relation, Table, cast, column, literal, table_expression

Figure = int | float | None


OF_PEOPLE = frozenset({"linking", "linking_known", "intersection", "missing", "minimality", "downcoding"})
"""Attacks whose headline is a part of all people."""
OF_SHARES = frozenset({"skewness", "credibility"})
"""Attacks whose headline is a share itself."""


@dataclass(frozen=True)
class Exposure:
    """One attack on one table."""

    figures: Mapping[str, Figure]
    sql: str
    """The statement that counted."""

    def to_dict(self, *, statements: bool = False) -> dict[str, Any]:
        return {**self.figures, "sql": self.sql} if statements else dict(self.figures)


@dataclass(frozen=True)
class Attack:
    """One attack, on the source and on the release."""

    name: str
    """linking, linking_known, homogeneity, background, skewness, similarity, inference, intersection, missing,
    minimality, credibility or downcoding."""
    column: str | None
    """The sensitive column that is attacked; None: identities are."""
    explained: str
    """What was counted, in a sentence."""
    headline: str
    """The figure that says most."""
    before: Exposure | None
    after: Exposure | None

    @property
    def share(self) -> str | None:
        """The figure that the headline is a part of; None where it is a share itself."""
        return None if self.name in OF_SHARES else "people" if self.name in OF_PEOPLE else "rows"

    def to_dict(self, *, statements: bool = False) -> dict[str, Any]:
        return {
            "attack": self.name,
            "column": self.column,
            "explained": self.explained,
            "headline": self.headline,
            "before": None if self.before is None else self.before.to_dict(statements=statements),
            "after": None if self.after is None else self.after.to_dict(statements=statements),
        }


@dataclass(frozen=True)
class AttackResult:
    """All attacks that were run."""

    source: str
    target: str | None
    attacks: tuple[Attack, ...]
    names: tuple[str, ...] | None = None
    """Who was re-identified in the release, where somebody asked for names."""
    notes: tuple[str, ...] = ()

    def of(self, name: str, column: str | None = None) -> Attack:
        """The attack of a name, on a column where one is named."""
        return next(item for item in self.attacks if item.name == name and column in (None, item.column))

    def to_dict(self, *, statements: bool = False) -> dict[str, Any]:
        """Plain data; with the SQL of each attack where statements are asked for."""
        content: dict[str, Any] = {
            "source": self.source,
            "target": self.target,
            "attacks": [item.to_dict(statements=statements) for item in self.attacks],
            "notes": list(self.notes),
        }
        return content if self.names is None else content | {"names": list(self.names)}

    def _repr_html_(self) -> str:
        rows = [(_title(item), f"{shown(item, item.before)} → {shown(item, item.after)}") for item in self.attacks]
        return html_table(f"sqlanon attack {self.source}", rows)


def _title(item: Attack) -> str:
    return item.name if item.column is None else f"{item.name} of {item.column}"


def shown(item: Attack, exposure: Exposure | None) -> str:
    """The headline of an attack for people: a count of so many, or a share."""
    if exposure is None:
        return "-"
    value = exposure.figures[item.headline]
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{100 * value:.1f}%"
    return f"{value:,} of {exposure.figures[item.share]:,}" if item.share else f"{value:,}"


@dataclass(frozen=True)
class CountedValues:
    """The values of one sensitive column by the classes of a table, which several attacks read."""

    engine: Engine
    shown: ClassValues
    """As statements show it: counted from the table where it is read."""
    read: ClassValues
    """The same, or the scratch table that holds it."""
    relation: Relation
    sensitive: str

    @classmethod
    def of(
        cls,
        engine: Engine,
        table: Relation,
        columns: Sequence[str],
        sensitive: str,
        scratch: Scratch | None = None,
    ) -> CountedValues:
        """Look the columns up; with scratch, the values are counted once."""
        opened = _opened(engine, table, columns, sensitive)
        keys = [opened.key(name, as_text=True) for name in columns]
        value = opened.key(sensitive, as_text=True)
        shown = read = attacks_sql.values_of(opened.expression(), keys, value)
        if scratch is not None:
            counted = scratch.create("values of classes", "cells", attacks_sql.cells(opened.expression(), keys, value))
            read = ClassValues(table_expression(counted, "cells"), len(keys))
        return cls(engine, shown, read, table, sensitive)

    def classes(self, names: tuple[str, ...], scratch: Scratch) -> GroupedTable:
        """The classes without their values; `names` are the columns that make them."""
        keys = self.read.names()
        select = exp.select(*(named(column(key, "cells"), f"q_{place}") for place, key in enumerate(keys)))
        rows = cast(exp.Sum(this=column("m", "cells")), "bigint")
        select = select.select(named(rows, "n"), copy=False).from_(self.read.cells.copy(), copy=False)
        select = select.group_by(*(column(key, "cells") for key in keys), copy=False)
        return GroupedTable(scratch.create("group people", "grouped", select), names, self.relation)

    def ask(self, step: str, make: Callable[[ClassValues], tuple[exp.Select, list[str]]]) -> Exposure:
        """Run the statement of an attack."""
        query, names = make(self.read)
        found = measured(self.engine, step, query, names)
        if self.read is self.shown:
            return found
        return replace(found, sql=self.engine.traits.render(make(self.shown)[0], pretty=True))


def homogeneity(held: CountedValues) -> Exposure:
    """How many rows lie in a class of one value."""
    return held.ask("homogeneity", attacks_sql.homogeneity)


def background(held: CountedValues, excluded: int) -> Exposure:
    """Rows whose value becomes known to somebody who can exclude that many values."""
    if excluded < 0:
        raise UsageError("the number of excluded values must be at least 0")
    return held.ask("background knowledge", lambda values: attacks_sql.background(values, excluded))


def skewness(held: CountedValues, reference: CountedValues) -> Exposure:
    """By how much a class says more of a value than the reference does."""

    def make(values: ClassValues) -> tuple[exp.Select, list[str]]:
        there = reference.shown if values is held.shown else reference.read
        return attacks_sql.skewness(values, there.values())

    return held.ask("skewness", make)


def similarity_by_taxonomy(held: CountedValues, taxonomy: Table, families: Sequence[Family]) -> Exposure:
    """How many rows lie in a class whose values are all under one node, level by level.

    `taxonomy` is a hierarchy table of the column; `families` are the kinds of its labels, from level 0 to the top.
    """
    levels = len(families) - 2
    if levels < 1:
        raise UsageError(
            f"column '{held.sensitive}' has no level between its values and the top: no two values are similar"
        )
    texts = [
        named(
            text_key(column(f"label_{level}"), families[level], held.engine.traits),
            "value" if level == 0 else f"label_{level}",
        )
        for level in range(levels + 1)
    ]
    listed = Query(exp.select(*texts).from_(table_expression(taxonomy)))
    labels = held.engine.traits.relation(listed, "taxonomy")
    return held.ask("similarity", lambda values: attacks_sql.similarity_by_taxonomy(values, labels, levels))


def similarity_by_range(
    engine: Engine, table: Relation, columns: Sequence[str], sensitive: str, reference: Relation, within: Decimal
) -> Exposure:
    """How many rows lie in a class whose numbers are no farther apart than a share of the whole range."""
    opened, whole = _opened(engine, table, columns, sensitive), Opened.at(engine, reference, "reference")
    whole.require(sensitive)
    if not (is_number(opened, sensitive) and is_number(whole, sensitive)):
        raise UsageError(f"column '{sensitive}' does not hold numbers: its values have no range")
    query = attacks_sql.similarity_by_range(
        opened.expression(),
        _keys(opened, columns),
        column(sensitive, opened.alias),
        whole.expression(),
        column(sensitive, whole.alias),
        within,
    )
    return measured(engine, "similarity", *query)


def is_number(opened: Opened, name: str) -> bool:
    return opened.family(name) in NUMBERS


def measured(engine: Engine, step: str, query: exp.Select, names: Sequence[str]) -> Exposure:
    """Run the statement of an attack."""
    [row] = engine.query(Statement(step, query))
    figures = {name: _figure(value) for name, value in zip(names, row, strict=True)}
    return Exposure(figures, engine.traits.render(query, pretty=True))


def _figure(value: object) -> Figure:
    """Counts are whole on every engine, sums of them too, however wide the engine makes those."""
    if value is None:
        return None
    if isinstance(value, float):
        return rounded(value)
    return int(str(value))


def _opened(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str) -> Opened:
    opened = Opened.at(engine, table, "audited")
    opened.require(*columns, sensitive)
    return opened


def _keys(opened: Opened, columns: Sequence[str]) -> list[exp.Expression]:
    return [opened.key(name) for name in columns]


# -- inference ---------------------------------------------------------------------------------------------------------

SIZES = (10, 100)
"""Classes are told apart by their rows: below the first of these, below the second, others."""
_PREFIX = "sqlanon_inference_"

# Ties go to the first value, NULL last; sums of logarithms that differ in their last digits are ties.
_BEST = """
select id, v, case when row_number() over (
    partition by id order by floor(score * 1e9 + 0.5) desc, case when v is null then 1 else 0 end, v
  ) = 1 then 1 else 0 end as bayes
from scored as s
"""

_JUDGED = """
select c.id, c.size, c.m, c.v, case when row_number() over (
    partition by c.id order by c.m desc, case when c.v is null then 1 else 0 end, c.v
  ) = 1 then 1 else 0 end as share
from cells as c
"""


def inference(held: ClassValues) -> tuple[exp.Select, list[str]]:
    """How many rows have the value that somebody would guess: of all values the most frequent one (`guess`), of the
    row's class (`share`), by the labels of its columns (`bayes`); by the size of classes too."""
    names = held.names()
    steps: dict[str, exp.Query] = {"cells": _numbered_cells(held)}
    steps["totals"] = _totals()
    for place, name in enumerate(names):
        steps[f"by_{place}"] = _by_label(name)
    steps["scored"] = _scored(names)
    steps["best"] = query(_BEST, {"scored": _table("scored")})
    steps["judged"] = query(_JUDGED, {"cells": _table("cells")})
    found = _guessed()
    guess = scalar(exp.select(exp.Max(this=column("t"))).from_(table_expression(_table("totals"))))
    figures: dict[str, exp.Expression] = {
        "rows": total(column("m")),
        "classes": exp.Count(this=exp.Distinct(expressions=[column("id")])),
        "guess": guess,
        **{name: total_where(_one(name), column("m")) for name in ("share", "bayes")},
    }
    for low, high in zip((None, *SIZES), (*SIZES, None), strict=True):
        here = _sized(low, high)
        suffix = f"below_{high}" if high is not None else f"from_{low}"
        figures[f"rows_{suffix}"] = total_where(here, column("m"))
        for name in ("share", "bayes"):
            figures[f"{name}_{suffix}"] = total_where(all_of([here.copy(), _one(name)]), column("m"))
    items = [named(cast(figure, "bigint"), name) for name, figure in figures.items()]
    select = exp.select(*items).from_(subquery(found, "found"))
    return with_queries(select, {_PREFIX + name: step for name, step in steps.items()}), list(figures)


def _one(name: str) -> exp.Expression:
    return equal(column(name), literal(1))


def _sized(low: int | None, high: int | None) -> exp.Expression:
    """Whether a class has so many rows."""
    ends: list[exp.Expression] = []
    if low is not None:
        ends.append(exp.GTE(this=column("size"), expression=literal(low)))
    if high is not None:
        ends.append(exp.LT(this=column("size"), expression=literal(high)))
    return all_of(ends)


def infer(held: CountedValues) -> Exposure:
    """The rows of a table whose sensitive value is guessed from what the table shows of their quasi-identifier."""
    return held.ask("inference", inference)


def _table(name: str) -> Table:
    return Table((_PREFIX + name,))


def _numbered_cells(held: ClassValues) -> exp.Select:
    """The values of every class: its number `id`, labels `k_i`, a value `v` with its rows `m`, `size` of the class."""
    by: list[exp.Expression] = [column(name, "cells") for name in held.names()]
    order = exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in by])
    number = named(exp.Window(this=exp.DenseRank(), order=order), "id")
    items = [column(name, "cells") for name in ("size", "v", "m")]
    return exp.select(number, *items, *by).from_(held.cells.copy(), copy=False)


def _totals() -> exp.Select:
    """The first GROUP BY: the rows `t` of each value."""
    rows = cast(exp.Sum(this=column("m")), "bigint")
    return exp.select(column("v"), named(rows, "t")).from_(table_expression(_table("cells"))).group_by(column("v"))


def _by_label(name: str) -> exp.Select:
    """The second, for each column: the rows of each value `v` with a label, of all labels (`labels`)."""
    rows = cast(exp.Sum(this=column("m")), "bigint")
    return (
        exp.select(named(column(name), "label"), column("v"), named(rows, "c"))
        .from_(table_expression(_table("cells")))
        .group_by(column(name), column("v"))
    )


def _scored(names: Sequence[str]) -> exp.Select:
    """The logarithm of how likely each value is by the labels of a class, up to a constant; counts are one more."""
    labels = [column(name) for name in names]
    classes = exp.select(column("id"), *labels).distinct().from_(table_expression(_table("cells")))
    rows = cast(column("t", "w"), "double")
    score: exp.Expression = exp.Ln(this=rows.copy())
    select = exp.select(column("id", "c"), column("v", "w")).from_(subquery(classes, "c"))
    select = select.join(table_expression(_table("totals"), "w"), join_type="cross", copy=False)
    for place, name in enumerate(names):
        alias = f"b_{place}"
        on = all_of([same(column("label", alias), column(name, "c")), same(column("v", alias), column("v", "w"))])
        select = select.join(table_expression(_table(f"by_{place}"), alias), on=on, join_type="left", copy=False)
        number = exp.select(exp.Count(this=exp.Star())).from_(
            subquery(exp.select(column("label")).distinct().from_(table_expression(_table(f"by_{place}"))), "l")
        )
        more = cast(exp.Add(this=_or_none(column("c", alias)), expression=literal(1)), "double")
        whole = exp.Paren(this=exp.Add(this=rows.copy(), expression=cast(exp.Subquery(this=number), "double")))
        score = exp.Add(this=score, expression=exp.Ln(this=exp.Div(this=more, expression=whole)))
    return select.select(named(score, "score"), copy=False)


def _or_none(value: exp.Expression) -> exp.Expression:
    return exp.Coalesce(this=value, expressions=[literal(0)])


def _guessed() -> exp.Select:
    """The third: the values of every class, each with what was guessed."""
    items = [column(name, "j") for name in ("id", "size", "m", "share")]
    on = all_of([equal(column("id", "j"), column("id", "b")), same(column("v", "j"), column("v", "b"))])
    select = exp.select(*items, column("bayes", "b")).from_(table_expression(_table("judged"), "j"))
    return select.join(table_expression(_table("best"), "b"), on=on, copy=False)
