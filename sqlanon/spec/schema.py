"""The JSON Schema of the release spec, for editors that complete YAML; also which keys may stand where.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from functools import cache
from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from sqlanon.spec.limit import Limit
from sqlanon.spec.refusals import KeyPath
from sqlanon.spec.release import Spec
from sqlanon.spec.secret import Secret

DIALECT = "https://json-schema.org/draft/2020-12/schema"


class _ForEditors(GenerateJsonSchema):
    """Leaves out titles that only repeat the key, and writes defaults as a spec would."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False

    def encode_default(self, dft: Any) -> Any:
        if isinstance(dft, Decimal):
            return float(dft)
        return str(dft) if isinstance(dft, Limit | Secret) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a release spec."""
    schema = Spec.model_json_schema(schema_generator=_ForEditors)
    return {"$schema": DIALECT, **schema, "title": "sqlanon release spec"}


def keys_at(path: KeyPath) -> list[str]:
    """The keys that may stand below a path of a spec, in the order of the reference.

    >>> keys_at(("privacy", "suppression"))
    ['limit', 'mode']
    """
    places = [_schema()]
    for part in path:
        places = [below for place in places for variant in _variants(place) for below in _below(variant, part)]
    found = (key for place in places for variant in _variants(place) for key in variant.get("properties", {}))
    return list(dict.fromkeys(found))


@cache
def _schema() -> dict[str, Any]:
    return json_schema()


def _variants(place: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The schema itself, and all it refers to or chooses among."""
    yield place
    if "$ref" in place:
        yield from _variants(_schema()["$defs"][place["$ref"].rpartition("/")[2]])
    for choice in (*place.get("anyOf", ()), *place.get("oneOf", ())):
        yield from _variants(choice)


def _below(place: dict[str, Any], part: str | int) -> Iterator[dict[str, Any]]:
    if isinstance(part, int):
        below = place.get("items")
    else:
        below = place.get("properties", {}).get(part) or place.get("additionalProperties")
    if isinstance(below, dict):
        yield below
