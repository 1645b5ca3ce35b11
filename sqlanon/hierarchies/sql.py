"""The sql builder: labels as SQL expressions over the column.

Text only: `sql.user_sql` parses the expressions and refuses what is not one.
"""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, RootModel, field_validator

from sqlanon.hierarchies.base import Expressions, Family
from sqlanon.hierarchies.definition import BARE, require_few_levels

Expression = Annotated[str, Field(min_length=1)]


class Sql(RootModel[Annotated[tuple[Expression, ...], Field(min_length=1)]]):
    """One SQL expression per level over the column, in the engine's dialect; the first is the column itself."""

    model_config = BARE

    @field_validator("root", mode="after")
    @classmethod
    def _check_levels(cls, expressions: tuple[str, ...]) -> tuple[str, ...]:
        require_few_levels(len(expressions) - 1)
        return expressions

    def starts_with(self, column: str) -> bool:
        """Whether level 0 is the bare column, as it must be.

        >>> Sql(("amount", "'*'")).starts_with("amount")
        True
        """
        return self.root[0].strip() in (column, '"' + column.replace('"', '""') + '"')

    def rule(self, family: Family) -> Expressions:
        """The expressions above level 0."""
        return Expressions(self.root[1:])
