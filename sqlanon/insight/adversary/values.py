"""Attacks on sensitive values by whoever finds a person's class, and the results of all attacks.

One statement each, on any table. Results are counts, shares and the statements that found them; never a value. Last,
inference from all classes together: naive Bayes, trained by three GROUP BYs (values, values by label of each column,
values by class), and the share of a value in a class; what they predict is compared with the values of the rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from sqlglot import exp

from sqlanon.auditor.figures import rounded
from sqlanon.auditor.request import NUMBERS, Opened, text_key
from sqlanon.engines.base import Engine, Statement
from sqlanon.errors import UsageError
from sqlanon.hierarchies.base import Family
from sqlanon.insight.adversary import statements as attacks_sql
from sqlanon.insight.adversary.statements import Keys, key_names, same
from sqlanon.notebook import html_table
from sqlanon.sql.build import all_of, count, equal, named, query, scalar, subquery, total, total_where, with_queries
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


def homogeneity(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str) -> Exposure:
    """How many rows lie in a class of one value."""
    opened = _opened(engine, table, columns, sensitive)
    query = attacks_sql.homogeneity(opened.expression(), _keys(opened, columns), opened.key(sensitive))
    return measured(engine, "homogeneity", *query)


def background(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str, excluded: int) -> Exposure:
    """Rows whose value becomes known to somebody who can exclude that many values."""
    if excluded < 0:
        raise UsageError("the number of excluded values must be at least 0")
    opened = _opened(engine, table, columns, sensitive)
    keys = _keys(opened, columns)
    query = attacks_sql.background(opened.expression(), keys, opened.key(sensitive), excluded)
    return measured(engine, "background knowledge", *query)


def skewness(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str, reference: Relation) -> Exposure:
    """By how much a class says more of a value than the reference does."""
    opened, whole = _opened(engine, table, columns, sensitive), Opened.at(engine, reference, "reference")
    whole.require(sensitive)
    query = attacks_sql.skewness(
        opened.expression(),
        _keys(opened, columns),
        opened.key(sensitive, as_text=True),
        whole.expression(),
        whole.key(sensitive, as_text=True),
    )
    return measured(engine, "skewness", *query)


def similarity_by_taxonomy(
    engine: Engine,
    table: Relation,
    columns: Sequence[str],
    sensitive: str,
    taxonomy: Table,
    families: Sequence[Family],
) -> Exposure:
    """How many rows lie in a class whose values are all under one node, level by level.

    `taxonomy` is a hierarchy table of the column; `families` are the kinds of its labels, from level 0 to the top.
    """
    opened = _opened(engine, table, columns, sensitive)
    levels = len(families) - 2
    if levels < 1:
        raise UsageError(f"column '{sensitive}' has no level between its values and the top: no two values are similar")
    texts = [
        named(
            text_key(column(f"label_{level}"), families[level], engine.traits),
            "value" if level == 0 else f"label_{level}",
        )
        for level in range(levels + 1)
    ]
    labels = engine.traits.relation(Query(exp.select(*texts).from_(table_expression(taxonomy))), "taxonomy")
    keys, value = _keys(opened, columns), opened.key(sensitive, as_text=True)
    return measured(
        engine, "similarity", *attacks_sql.similarity_by_taxonomy(opened.expression(), keys, value, labels, levels)
    )


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


def inference(relation: exp.Expression, keys: Keys, value: exp.Expression) -> tuple[exp.Select, list[str]]:
    """How many rows have the value that somebody would guess: of all values the most frequent one (`guess`), of the
    row's class (`share`), by the labels of its columns (`bayes`); by the size of classes too."""
    names = key_names(keys)
    steps: dict[str, exp.Query] = {"cells": _cells_of(relation, keys, value)}
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


def infer(engine: Engine, table: Relation, columns: Sequence[str], sensitive: str) -> Exposure:
    """The rows of a table whose sensitive value is guessed from what the table shows of their quasi-identifier."""
    opened = Opened.at(engine, table, "audited")
    opened.require(*columns, sensitive)
    keys = [opened.key(name, as_text=True) for name in columns]
    return measured(engine, "inference", *inference(opened.expression(), keys, opened.key(sensitive, as_text=True)))


def _table(name: str) -> Table:
    return Table((_PREFIX + name,))


def _cells_of(relation: exp.Expression, keys: Keys, value: exp.Expression) -> exp.Select:
    """The values of every class: its number `id`, labels `k_i`, a value `v` with its rows `m`, `size` of the class."""
    names = key_names(keys)
    items = [named(key.copy(), name) for name, key in zip(names, keys, strict=True)]
    inner = exp.select(*items, named(value.copy(), "v"), named(count(), "m")).from_(relation.copy(), copy=False)
    inner = inner.group_by(*(key.copy() for key in keys), value.copy(), copy=False)
    by: list[exp.Expression] = [column(name) for name in names]
    order = exp.Order(expressions=[exp.Ordered(this=key.copy()) for key in by])
    number = exp.Window(this=exp.DenseRank(), order=order)
    size = cast(exp.Window(this=exp.Sum(this=column("m")), partition_by=[key.copy() for key in by]), "bigint")
    items = [named(number, "id"), named(size, "size")]
    return exp.select(*items, *by, column("v"), column("m")).from_(subquery(inner, "counted"), copy=False)


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
