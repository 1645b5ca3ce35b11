"""How a sensitive column is distributed: overall, and in the classes where one value weighs most. Shares only.

A value with fewer than k rows, in all or in a class, is summed up with the others like it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlanon.engines.base import Engine, Statement
from sqlanon.reports import statements as report_sql
from sqlanon.sql.relations import Table, column, table_expression

MOST_VALUES = 12
WORST = 5
"""Classes that are shown beside the whole."""

NULL = "NULL"


@dataclass(frozen=True)
class Distribution:
    """The shares of values in one set of rows; what they lack to 1 belongs to values that are not named."""

    name: str
    shares: tuple[tuple[str, float], ...]

    @property
    def rest(self) -> float:
        return max(0.0, 1 - sum(share for _, share in self.shares))

    def to_dict(self) -> dict[str, Any]:
        return {"name": self.name, "shares": {value: round(share, 4) for value, share in self.shares}}


@dataclass(frozen=True)
class SensitiveShares:
    """A sensitive column of the release."""

    column: str
    values: int
    rare: int
    """Values with fewer than k rows in the whole release; they are not named."""
    overall: Distribution
    worst: tuple[Distribution, ...]

    def to_dict(self) -> dict[str, Any]:
        return {
            "column": self.column,
            "values": self.values,
            "rare": self.rare,
            "overall": self.overall.to_dict(),
            "worst_classes": [item.to_dict() for item in self.worst],
        }


def sensitive_shares(
    engine: Engine, table: Table, names: Sequence[str], sensitive: Sequence[str], respondent: str | None, k: int
) -> tuple[SensitiveShares, ...]:
    """The distributions of sensitive columns of a release that lies in a scratch table."""
    families = {info.name: info.family for info in engine.columns(table)}
    traits, relation = engine.traits, table_expression(table)
    keys = [traits.key(column(name), families[name]) for name in names]
    person = traits.key(column(respondent), families[respondent]) if respondent in families and respondent else None
    found = []
    for name in sensitive:
        text, step = traits.text(column(name), families[name]), f"shares of {name}"
        totals = report_sql.share_totals(relation.copy(), text.copy(), person, k)
        [(values, rare, rows)] = engine.query(Statement(step, totals))
        if not rows:
            continue
        query = report_sql.shares(relation.copy(), text.copy(), person, k, MOST_VALUES)
        overall = [(_shown(value), int(number) / int(rows)) for value, number in engine.query(Statement(step, query))]
        classes = [key.copy() for key in keys]
        query = report_sql.worst_classes(relation.copy(), classes, text.copy(), person, k, WORST)
        worst = _worst(engine.query(Statement(step, query)), {value for value, _ in overall})
        found.append(SensitiveShares(name, int(values), int(rare), Distribution("overall", tuple(overall)), worst))
    return tuple(found)


def _shown(value: Any) -> str:
    return NULL if value is None else str(value)


def _worst(rows: Sequence[Sequence[Any]], known: set[str]) -> tuple[Distribution, ...]:
    """The worst classes in their order; only values that are shown of the whole are shown of a class."""
    classes: dict[int, list[tuple[str, float]]] = {}
    for place, value, is_named, number, size in rows:
        shares = classes.setdefault(int(place), [])
        if is_named and _shown(value) in known:
            shares.append((_shown(value), int(number) / int(size)))
    return tuple(
        Distribution(f"worst class {place}", tuple(sorted(shares, key=lambda item: -item[1])))
        for place, shares in sorted(classes.items())
    )
