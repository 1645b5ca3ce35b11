"""What `init` asks of the values of a column, so that it can group them: counts, company and quantiles.

Aggregates of one column or of two, for columns of few values. The answers become a hierarchy that its owner reviews.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from decimal import Decimal

from sqlglot import exp

from sqlanon.draft.profile import Profile, number_of
from sqlanon.engines.base import Engine, Row, Statement
from sqlanon.hierarchies.base import Family
from sqlanon.sql.build import count, is_present, named
from sqlanon.sql.relations import Relation, column, literal

MOST_VALUES = 2_000
"""Columns of more values are not grouped value by value."""
TILES = 16
FEWEST_NUMBERS = 10 * TILES
"""Below that the quantiles of a column are little else than its values, which a draft does not name."""
MOST_COMPANY = 4
"""So many other columns tell which values are alike."""
MOST_BESIDE = 30
"""Other columns have so many values at the most."""


class ValueQuestions:
    """Questions about the values of one table's columns; each is asked once, where it is needed."""

    def __init__(self, engine: Engine, relation: Relation, profiles: Sequence[Profile]) -> None:
        self._engine = engine
        self._relation = relation
        few = [profile for profile in profiles if 2 <= profile.distinct <= MOST_BESIDE and _is_comparable(profile)]
        self._beside = sorted(few, key=lambda profile: -profile.distinct)

    def counts(self, profile: Profile) -> dict[str, int]:
        """Rows with each value, NULL left out."""
        key = self._key(profile)
        select = exp.select(self._text(profile, key), named(count(), "rows")).from_(self._source())
        rows = self._ask("values", select.where(is_present(column(profile.name, "drafted"))).group_by(key.copy()))
        return {str(value): int(number) for value, number in rows}

    def company(self, profile: Profile) -> Mapping[str, Sequence[Mapping[str, int]]] | None:
        """Of each value, how often it occurs with each value of some other columns; None without such columns."""
        others = [other for other in self._beside if other.name != profile.name][:MOST_COMPANY]
        found: dict[str, list[dict[str, int]]] = defaultdict(lambda: [{} for _ in others])
        for position, other in enumerate(others):
            first, second = self._key(profile), self._key(other)
            items = (self._text(profile, first), named(self._engine.traits.text(second, other.family), "beside"))
            select = exp.select(*items, named(count(), "rows")).from_(self._source())
            present = is_present(column(profile.name, "drafted"))
            for value, beside, rows in self._ask("company", select.where(present).group_by(first, second)):
                found[str(value)][position]["" if beside is None else str(beside)] = int(rows)
        return found if others else None

    def quantiles(self, profile: Profile) -> list[Decimal]:
        """The greatest number of each tile of equally many rows, but for the last."""
        value = column(profile.name, "drafted")
        tile = exp.Window(
            this=exp.Anonymous(this="NTILE", expressions=[literal(TILES)]),
            order=exp.Order(expressions=[exp.Ordered(this=value.copy())]),
        )
        tiles = exp.select(named(value, "value"), named(tile, "tile")).from_(self._source())
        inner = tiles.where(is_present(value.copy())).subquery("tiles")
        greatest = self._engine.traits.text(exp.Max(this=column("value", "tiles")), profile.family)
        select = exp.select(named(greatest, "greatest"), column("tile", "tiles")).from_(inner)
        rows = self._ask("quantiles", select.group_by(column("tile", "tiles")))
        numbers = sorted(number for text, _ in rows if (number := number_of(text)) is not None)
        return numbers[:-1]

    def _source(self) -> exp.Expression:
        return self._engine.traits.relation(self._relation, "drafted")

    def _key(self, profile: Profile) -> exp.Expression:
        return self._engine.traits.key(column(profile.name, "drafted"), profile.family)

    def _text(self, profile: Profile, key: exp.Expression) -> exp.Expression:
        return named(self._engine.traits.text(key.copy(), profile.family), "value")

    def _ask(self, step: str, select: exp.Select) -> list[Row]:
        return self._engine.query(Statement(step, select, fresh=True))


def _is_comparable(profile: Profile) -> bool:
    return profile.family in (Family.TEXT, Family.BOOLEAN, Family.INTEGER)
