"""The request of an audit: columns that make classes, the requirement, and what is read beside the table.

Runs no statement; `Opened` reads the catalog, to tell how each column of a relation becomes a grouping key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from sqlglot import exp

from sqlanon.auditor.breaches import Linked
from sqlanon.auditor.policy_statements import LabelQuestion
from sqlanon.engines.base import ColumnInfo, Engine
from sqlanon.errors import SourceError
from sqlanon.hierarchies.base import Family
from sqlanon.source.scratch import Scratch
from sqlanon.spec import Privacy
from sqlanon.sql.relations import Relation, column, literal
from sqlanon.sql.traits import Traits


@dataclass(frozen=True)
class Request:
    """What to measure of a table."""

    quasi_identifier: tuple[str, ...]
    privacy: Privacy
    """What is required; a `Privacy` without any model only measures."""
    respondent: str | None = None
    """The column that names the person. Where the table lacks it, rows are counted, and the audit says so."""
    sensitive: tuple[str, ...] = ()
    """Further sensitive columns, measured without a requirement."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Every sensitive column, those that models name first."""
        named = (entry.column for entry in self.privacy.models())
        return tuple(dict.fromkeys((*named, *self.sensitive)))

    def others(self, column: str) -> tuple[str, ...]:
        """The sensitive columns whose values somebody may know when looking at this one."""
        if self.privacy.other_sensitive == "unknown":
            return ()
        return tuple(name for name in self.columns if name != column)


@dataclass(frozen=True)
class Ancestors:
    """What tells which labels a value has: hierarchies, as columns value, label_0 ... label_H."""

    hierarchies: Mapping[str, Relation]
    tops: Mapping[str, str]
    """The label above all others, by column."""
    scratch: Scratch
    blanks: bool = False
    """Rows may be blanked: where a column takes no `*`, NULL stands for every value."""


@dataclass(frozen=True)
class Beside:
    """What is read beside the table."""

    source: Relation | None = None
    """The reference distribution, and what rows are missing from; without it the table is its own reference."""
    source_respondent: str | None = None
    """The person's column in the source; by default it is named as in the table."""
    taxonomies: Mapping[str, Relation] = field(default_factory=dict)
    """The hierarchy of a sensitive column: columns value, label_1 ... label_H."""
    linked: Linked | None = None
    """The table beside the microdata, for breach probabilities."""
    population: Relation | None = None
    """Who could be in the table, generalized alike: its columns are named like the quasi-identifier."""
    ancestors: Ancestors | None = None
    """The hierarchies of the quasi-identifier, for what is asked of rows that fit each other."""
    labels: LabelQuestion | None = None
    """Which labels the table may show: asked along with the sizes of its classes, where these are classes of rows."""


NUMBERS = frozenset({Family.INTEGER, Family.DECIMAL, Family.FLOAT})


@dataclass(frozen=True)
class Opened:
    """A relation under the alias that its statements give it."""

    relation: Relation
    alias: str
    columns: Mapping[str, ColumnInfo]
    traits: Traits
    empty_is_null: bool = False
    """It is compared with a csv file, in which an empty text and NULL are one value."""

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
        family = self.family(name)
        value: exp.Expression = column(name, self.alias)
        if self.empty_is_null and family is Family.TEXT:
            value = exp.Nullif(this=value, expression=literal(""))
        return text_key(value, family, self.traits) if as_text else self.traits.key(value, family)

    def compares_with(self, other: Opened, name: str, there: str) -> bool:
        """Whether a column and one of another relation are of a kind; else they are compared by their texts."""
        own, others = self.family(name), other.family(there)
        return own is others or {own, others} <= NUMBERS


def null_is_blank(names: Sequence[str], *sides: Opened) -> list[bool]:
    """Whether a blanked row may show NULL in a column, because it takes no `*` on some side.

    Where types follow from values, a column of labels and NULL may look like one of texts on the other side.
    """
    return [any(side.columns[name].type.this not in exp.DataType.TEXT_TYPES for side in sides) for name in names]


def text_key(value: exp.Expression, family: Family, traits: Traits) -> exp.Expression:
    """The text of a value as a grouping key."""
    return traits.key(traits.text(value, family), Family.TEXT)
