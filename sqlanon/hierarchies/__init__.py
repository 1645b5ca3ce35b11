"""Hierarchies as the spec defines them: the table of builders, the choice among them, and a level of each in words.

A mapping of one key, the builder's name, to its definition is read, written and described as the builder itself. The
words come from the definition, never from data. Pure, but for csv files; imports nothing of sqlanon but errors.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from inspect import cleandoc
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import BaseModel, BeforeValidator, Discriminator, GetCoreSchemaHandler, GetJsonSchemaHandler, Tag
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from sqlanon.hierarchies.base import TOP, Ending, Expressions, Family, Formula, Level, Lookup, Reference, Rule
from sqlanon.hierarchies.csv import Csv
from sqlanon.hierarchies.date import Date
from sqlanon.hierarchies.interval import Interval
from sqlanon.hierarchies.levels import DateLevel, IntervalLevel, MaskLevel
from sqlanon.hierarchies.mask import Mask
from sqlanon.hierarchies.sql import Sql
from sqlanon.hierarchies.suppression import Suppression
from sqlanon.hierarchies.table import Table
from sqlanon.hierarchies.tree import Tree


class Builder(Protocol):
    """What defines a hierarchy in the spec."""

    def rule(self, family: Family) -> Rule:
        """The hierarchy of a column whose values are of this family."""


BUILDERS: dict[str, type[BaseModel]] = {
    "mask": Mask,
    "interval": Interval,
    "date": Date,
    "tree": Tree,
    "csv": Csv,
    "table": Table,
    "sql": Sql,
    "suppression": Suppression,
}
"""The builders by their keys. A new one is one file here and one row."""


@dataclass(frozen=True)
class Keyed:
    """Marks a builder as standing under a key of its own."""

    key: str

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        inner = handler(source)
        return core_schema.no_info_before_validator_function(
            self._unwrapped,
            inner,
            serialization=core_schema.wrap_serializer_function_ser_schema(
                lambda builder, dump: {self.key: dump(builder)}, schema=inner
            ),
        )

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        inner = handler(schema)
        # The builder's own schema may not be finished yet: models are built when the first spec is read.
        description = cleandoc(BUILDERS[self.key].__doc__ or "")
        if self.key == "csv":
            inner = {"anyOf": [{"type": "string", "description": "The file."}, inner]}
        keyed: JsonSchemaValue = {
            "type": "object",
            "description": description,
            "properties": {self.key: inner},
            "required": [self.key],
            "additionalProperties": False,
        }
        if self.key == "suppression":
            return {"anyOf": [{"const": "suppression", "description": description}, keyed]}
        return keyed

    def _unwrapped(self, value: object) -> object:
        return value[self.key] if isinstance(value, Mapping) else value


def _one_builder(value: object) -> object:
    """Refuse, with the nearest name, what is not one known builder."""
    if isinstance(value, BaseModel):
        return value
    if isinstance(value, str):
        value = {value: {}}
        if "suppression" not in value:
            raise ValueError(f"a mapping of one builder is expected: {', '.join(BUILDERS)}")
    if not isinstance(value, Mapping) or len(value) != 1:
        raise ValueError(f"exactly one builder is expected: {', '.join(BUILDERS)}")
    name = str(next(iter(value)))
    if name not in BUILDERS:
        nearest = get_close_matches(name, BUILDERS, n=1, cutoff=0.5)
        hint = f"did you mean '{nearest[0]}'?" if nearest else f"the builders are {', '.join(BUILDERS)}"
        raise ValueError(f"unknown builder '{name}'; {hint}")
    return value


def _name(value: object) -> str | None:
    if isinstance(value, Mapping):
        return str(next(iter(value)))
    return next((name for name, builder in BUILDERS.items() if isinstance(value, builder)), None)


if TYPE_CHECKING:
    HierarchySpec = Builder
else:
    HierarchySpec = Annotated[
        reduce(or_, (Annotated[builder, Keyed(name), Tag(name)] for name, builder in BUILDERS.items())),
        Discriminator(_name),
        BeforeValidator(_one_builder),
    ]
"""A hierarchy of the spec: one of the builders, each with `rule(family) -> Rule`."""


def described(hierarchy: HierarchySpec, level: int, height: int, top: str) -> str:
    """What the release holds of a column at this level.

    >>> described(Mask(length=5, steps=(1, 2, 5)), 2, 3, "*****")
    'the last 2 characters hidden'
    """
    if level == 0:
        return "as it is"
    if level >= height:
        return f"one label for all: {top}"
    match hierarchy:
        case Mask():
            return _masked(hierarchy, level)
        case Interval():
            return _interval(hierarchy, level)
        case Date():
            return _unit(hierarchy, level, height)
        case Table():
            return hierarchy.levels[level]
        case _:
            return f"labels of level {level}"


def _masked(mask: Mask, level: int) -> str:
    hidden = mask.steps[level - 1] if mask.steps is not None else level
    side = "last" if mask.side == "right" else "first"
    return f"the {side} {hidden} characters hidden" if hidden > 1 else f"the {side} character hidden"


def _interval(interval: Interval, level: int) -> str:
    if interval.widths is not None:
        return f"intervals of {interval.widths[level - 1]:f}"
    return f"{len((interval.cuts or ())[level - 1]) + 1} intervals"


def _unit(date: Date, level: int, height: int) -> str:
    """As many units as there are levels below the top: for dates the day is level 0, not one of them."""
    units = [word for word in date.root if word != "any"]
    return f"by {units[len(units) - height + level]}"


__all__ = [
    "BUILDERS",
    "TOP",
    "Csv",
    "Date",
    "DateLevel",
    "Ending",
    "Expressions",
    "Family",
    "Formula",
    "HierarchySpec",
    "Interval",
    "IntervalLevel",
    "Level",
    "Lookup",
    "Mask",
    "MaskLevel",
    "Reference",
    "Rule",
    "Sql",
    "Suppression",
    "Table",
    "Tree",
]
