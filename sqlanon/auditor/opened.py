"""A relation that an audit reads, with its columns looked up: how each of them becomes a grouping key.

Reads the catalog.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from sqlglot import exp

from sqlanon.engines.base import ColumnInfo, Engine
from sqlanon.errors import SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.sql.relations import Relation, column
from sqlanon.sql.traits import Traits

NUMBERS = frozenset({Family.INTEGER, Family.DECIMAL, Family.FLOAT})


@dataclass(frozen=True)
class Opened:
    """A relation under the alias that its statements give it."""

    relation: Relation
    alias: str
    columns: Mapping[str, ColumnInfo]
    traits: Traits

    @classmethod
    def at(cls, engine: Engine, relation: Relation, alias: str) -> Opened:
        """Look the columns up."""
        return cls(relation, alias, {info.name: info for info in engine.columns(relation)}, engine.traits)

    def expression(self) -> exp.Expression:
        """The relation for a FROM clause."""
        return self.traits.relation(self.relation, self.alias)

    def require(self, *names: str) -> None:
        """SourceError unless these columns are there."""
        for name in names:
            if name not in self.columns:
                raise SourceError(f"{self.relation} has no column '{name}'")

    def family(self, name: str) -> Family:
        return self.columns[name].family

    def key(self, name: str, *, as_text: bool = False) -> exp.Expression:
        """A column as a grouping key: byte-wise text, one zero."""
        value, family = column(name, self.alias), self.family(name)
        return text_key(value, family, self.traits) if as_text else self.traits.key(value, family)

    def compares_with(self, other: Opened, name: str, there: str) -> bool:
        """Whether a column and one of another relation are of a kind; else they are compared by their texts."""
        own, others = self.family(name), other.family(there)
        return own is others or {own, others} <= NUMBERS


def text_key(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """The text of a value as a grouping key."""
    return traits.key(traits.text(value, family), Family.TEXT)
