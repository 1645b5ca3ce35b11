"""The choice among builders: a mapping of one key, the builder's name, to its definition.

Pure. Teaches pydantic to read, write and describe `{mask: {...}}` as the builder itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from operator import or_
from typing import TYPE_CHECKING, Annotated, Any, Protocol

from pydantic import BaseModel, BeforeValidator, Discriminator, GetCoreSchemaHandler, GetJsonSchemaHandler, Tag
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, core_schema

from sqlanon.hierarchies.base import Family, Rule
from sqlanon.hierarchies.csv import Csv
from sqlanon.hierarchies.date import Date
from sqlanon.hierarchies.interval import Interval
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
        description = handler.resolve_ref_schema(inner).get("description", "")
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
