"""Texts that spreadsheets run as formulas: a csv field that begins with = + - @, a tab or a carriage return.

A text is escaped by a quote in front, and read back by taking it away. Texts that begin with quotes before such a mark
get one more, so that no two texts become one. Pure.
"""

from __future__ import annotations

import re
from typing import Literal

from sqlglot import exp

from sqlanon.sql.build import concat
from sqlanon.sql.relations import literal

Formulas = Literal["keep", "escape", "refuse"]
"""What becomes of a text that is a formula to spreadsheets."""

_MARKS = "[=+@\t\r-]"
_FORMULA = f"^{_MARKS}"
_TO_ESCAPE = f"^'*{_MARKS}"
_ESCAPED = f"^'+{_MARKS}"


def is_formula(text: exp.Expression) -> exp.Expression:
    """Whether a text begins like a formula."""
    return exp.RegexpLike(this=text.copy(), expression=literal(_FORMULA))


def name_is_formula(name: str) -> bool:
    """Whether the name of a column would be run as a formula.

    >>> name_is_formula("=1+1"), name_is_formula("age")
    (True, False)
    """
    return re.match(_FORMULA, name) is not None


def escaped(text: exp.Expression) -> exp.Expression:
    """The text with a quote in front where spreadsheets would run it."""
    matches = exp.RegexpLike(this=text.copy(), expression=literal(_TO_ESCAPE))
    return exp.Case().when(matches, concat(literal("'"), text.copy())).else_(text.copy())


def unescaped(text: exp.Expression) -> exp.Expression:
    """What `escaped` was given."""
    matches = exp.RegexpLike(this=text.copy(), expression=literal(_ESCAPED))
    without = exp.Substring(this=text.copy(), start=literal(2))
    return exp.Case().when(matches, without).else_(text.copy())
