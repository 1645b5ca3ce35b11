"""The date builder: days into months, years and spans of years.

Pure. Timestamps with time zone are read in UTC, so that labels do not depend on a session's time zone.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Annotated, get_args

from pydantic import AfterValidator, Field, RootModel, WithJsonSchema, field_validator

from sqlanon.hierarchies.base import TOP, Family, Formula
from sqlanon.hierarchies.definition import BARE, require_family
from sqlanon.hierarchies.levels import DateLevel, DateUnit

ANY = "any"
UNITS: tuple[DateUnit, ...] = get_args(DateUnit)
_YEARS = re.compile(r"([1-9][0-9]{0,3}) years?")


def parse_unit(text: str) -> DateLevel:
    """The level that a word of the spec means.

    >>> parse_unit("5 years")
    DateLevel(unit='year', count=5)
    """
    for unit in UNITS:
        if text == unit:
            return DateLevel(unit)
    years = _YEARS.fullmatch(text)
    if years is None:
        raise ValueError(f"one of {', '.join(UNITS)}, n years, {ANY} is expected")
    return DateLevel("year", int(years[1]))


def _known(text: str) -> str:
    if text != ANY:
        parse_unit(text)
    return text


Word = Annotated[
    str,
    AfterValidator(_known),
    WithJsonSchema({"anyOf": [{"enum": [*UNITS, ANY]}, {"type": "string", "pattern": "^[1-9][0-9]{0,3} years?$"}]}),
]


class Date(RootModel[Annotated[tuple[Word, ...], Field(min_length=1)]]):
    """Dates by ever longer units, finest first: [day, month, year, 5 years, any]."""

    model_config = BARE

    @field_validator("root", mode="after")
    @classmethod
    def _check_order(cls, words: tuple[str, ...]) -> tuple[str, ...]:
        if ANY in words[:-1]:
            raise ValueError(f"{ANY} must come last")
        for finer, coarser in pairwise(parse_unit(word) for word in words if word != ANY):
            _check_nesting(finer, coarser)
        return words

    def rule(self, family: Family) -> Formula:
        """One level per unit; `any` is the top, and the days of a date are level 0 itself."""
        fitting = (Family.DATE, Family.TIMESTAMP, Family.TIMESTAMP_TZ)
        require_family("date", family, fitting, "it needs dates or timestamps; cast the column in the source query")
        levels = [parse_unit(word) for word in self.root if word != ANY]
        if family is Family.DATE:
            levels = _of_dates(levels)
        return Formula(tuple(levels), TOP if self.root[-1] == ANY else None)


def _of_dates(levels: Sequence[DateLevel]) -> list[DateLevel]:
    if any(level.unit == "hour" for level in levels):
        raise ValueError("date level hour does not fit a column of date values; leave it out")
    return [level for level in levels if level.unit != "day"]


def _check_nesting(finer: DateLevel, coarser: DateLevel) -> None:
    if finer.unit == "week":
        raise ValueError("after week only any may follow: weeks straddle months and years")
    if (UNITS.index(coarser.unit), coarser.count) <= (UNITS.index(finer.unit), finer.count):
        raise ValueError("units must go from finer to coarser, each once")
    if coarser.count % finer.count != 0:
        raise ValueError("spans of years must nest: each a multiple of the one before")
