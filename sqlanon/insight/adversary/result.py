"""What attacks found. Plain results: counts, shares and the statements that found them; never a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlanon.notebook import html_table

Figure = int | float | None


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
    """linking, homogeneity, background, skewness, similarity, intersection or minimality."""
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
        return {"linking": "people", "intersection": "people", "minimality": "people", "skewness": None}.get(
            self.name, "rows"
        )

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
