"""Attacks on sensitive values by whoever finds a person's class, and the results of all attacks.

One statement each, on any table. Results are counts, shares and the statements that found them; never a value.
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
from sqlanon.notebook import html_table
from sqlanon.sql.build import named
from sqlanon.sql.relations import Query, Relation, Table, column, table_expression

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
