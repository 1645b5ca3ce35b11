"""The JSON Schema: it describes every key, offers every builder and choice, and accepts what the loader accepts."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest
import yaml

from sqlanon.hierarchies import BUILDERS
from sqlanon.spec import Algorithm, Metric, Preference, Spec, json_schema, spec_from_dict

SCHEMA = json_schema()
SPEC: dict[str, Any] = SCHEMA["$defs"]["Spec"]
"""Of one table."""
DOCS = Path(__file__).parents[2] / "docs" / "reference" / "spec.md"


def resolved(place: dict[str, Any]) -> dict[str, Any]:
    return resolved(SCHEMA["$defs"][place["$ref"].rpartition("/")[2]]) if "$ref" in place else place


def accepts(place: dict[str, Any], value: Any) -> bool:
    """Whether a value satisfies the part of JSON Schema that our schema uses."""
    place = resolved(place)
    for choices in ("anyOf", "oneOf"):
        if choices in place and not any(accepts(choice, value) for choice in place[choices]):
            return False
    if "enum" in place and value not in place["enum"]:
        return False
    if "const" in place and value != place["const"]:
        return False
    if "pattern" in place and isinstance(value, str) and not re.search(place["pattern"], value):
        return False
    return accepts_type(place.get("type"), value) and accepts_parts(place, value)


def accepts_type(names: Any, value: Any) -> bool:
    kinds: dict[str, type | tuple[type, ...]] = {
        "object": dict,
        "array": list,
        "string": str,
        "integer": int,
        "number": (int, float),
        "boolean": bool,
        "null": type(None),
    }
    listed = [names] if isinstance(names, str) else names or kinds
    return any(isinstance(value, kinds[name]) for name in listed)


def accepts_parts(place: dict[str, Any], value: Any) -> bool:
    if isinstance(value, dict):
        properties, others = place.get("properties", {}), place.get("additionalProperties", {})
        if set(place.get("required", ())) - set(value):
            return False
        for key, item in value.items():
            part = properties.get(key, others)
            if part is False or (isinstance(part, dict) and not accepts(part, item)):
                return False
    if isinstance(value, list):
        prefix = place.get("prefixItems", [])
        parts = prefix + [place.get("items", {})] * (len(value) - len(prefix))
        return all(accepts(part, item) for part, item in zip(parts, value, strict=False) if isinstance(part, dict))
    return True


def objects(place: Any) -> Iterator[dict[str, Any]]:
    if isinstance(place, dict):
        yield place
        for below in place.values():
            yield from objects(below)
    if isinstance(place, list):
        for item in place:
            yield from objects(item)


GOOD: dict[str, Any] = {
    "version": 1,
    "connection": "duckdb:///a.duckdb",
    "source": {"query": "select 1"},
    "target": "a.csv",
    "scratch": "sqlanon",
    "columns": {
        "id": {"role": "identifier"},
        "mask": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 5], "side": "left"}}},
        "interval": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [2.5, 10], "min": 0, "max": 9}}},
        "cuts": {"role": "quasi_identifier", "hierarchy": {"interval": {"cuts": [[1, 2], [2]]}}},
        "flat": {"role": "quasi_identifier", "hierarchy": {"interval": {"cuts": [1, 2]}}},
        "date": {"role": "quasi_identifier", "hierarchy": {"date": ["day", "5 years", "any"]}},
        "tree": {"role": "quasi_identifier", "hierarchy": {"tree": {"a": ["b", {"c": ["d"]}]}}, "levels": {"max": 1}},
        "csv": {"role": "quasi_identifier", "hierarchy": {"csv": "a.csv"}},
        "csv2": {"role": "quasi_identifier", "hierarchy": {"csv": {"path": "a.csv", "header": True}}},
        "table": {"role": "quasi_identifier", "hierarchy": {"table": {"name": "a.b", "levels": ["c"]}}},
        "sql": {"role": "quasi_identifier", "hierarchy": {"sql": ["sql", "'*'"]}},
        "none": {"role": "quasi_identifier", "hierarchy": "suppression", "weight": 0.5},
        "none2": {"role": "quasi_identifier", "hierarchy": {"suppression": {"label": "x"}}},
        "d": {"role": "sensitive", "hierarchy": "suppression"},
        "e": {"role": "sensitive"},
    },
    "respondent": "id",
    "default_role": "insensitive",
    "privacy": {
        "k": 5,
        "suppression": {"limit": "2%", "mode": "blank"},
        "l_diversity": [{"column": "d", "l": 3}, {"column": "d", "l": 3, "kind": "recursive", "c": 2.5}],
        "t_closeness": [
            {"column": "d", "t": 0.2, "distance": "hierarchical"},
            {"column": "e", "t": "0.2", "distance": "ordered", "order": ["low", "high"]},
        ],
        "alpha": [{"column": "d", "value": "x", "alpha": 0.5}],
        "p_sensitive": [{"column": "d", "p": 2}],
        "beta_likeness": [{"column": "d", "beta": 3, "kind": "enhanced"}],
        "delta_disclosure": [{"column": "d", "delta": 1.5, "kind": "all"}],
        "population": {"source": "voters.csv", "columns": {"mask": "zip"}},
        "k_map": 5,
        "delta_presence": {"min": 0, "max": 0.5},
    },
    "search": {
        "algorithm": "incognito",
        "metric": "dm*",
        "prefer": ["minimum_suppression"],
        "weights": {"mask": 2},
        "constraints": {"before": [["mask", "date"]], "forbidden": [{"mask": 1}]},
        "budget": {"nodes": 5},
    },
    "limits": {"statement_seconds": 1.5},
}


def test_it_is_plain_json_of_its_draft() -> None:
    assert json.loads(json.dumps(SCHEMA)) == SCHEMA
    assert SCHEMA["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert set(SPEC["properties"]) == {field.alias or name for name, field in Spec.model_fields.items()}
    assert set(SPEC["required"]) == {"source", "columns", "privacy"}
    assert SPEC["oneOf"] == [{"required": ["target"]}, {"required": ["recipients"]}]


def test_a_spec_that_loads_is_valid() -> None:
    spec_from_dict(GOOD)
    assert accepts(SPEC, GOOD)


def test_a_spec_with_recipients_is_valid() -> None:
    several = {key: value for key, value in GOOD.items() if key != "target"}
    several["recipients"] = {"lab": {"target": "lab.csv", "privacy": {"k": 3}}, "press": {"target": "press.csv"}}
    several["together"] = "warn"
    spec_from_dict(several)
    assert accepts(SPEC, several)
    assert not accepts(SPEC, {**several, "recipients": {"lab": {"privacy": {"k": 3}}}})
    assert not accepts(SPEC, {key: value for key, value in several.items() if key != "recipients"})


@pytest.mark.parametrize(
    "change",
    [
        {"serch": {}},
        {"columns": {"a": {"role": "secret"}}},
        {"columns": {"a": {"role": "quasi_identifier", "hierarchy": {"maks": {}}}}},
        {"columns": {"a": {"role": "quasi_identifier", "hierarchy": {"mask": {"lenght": 5}}}}},
        {"columns": {"a": {"role": "quasi_identifier", "hierarchy": {"date": ["fortnight"]}}}},
        {"columns": {"a": {"role": "quasi_identifier", "hierarchy": "mask"}}},
        {"privacy": {"k": 2, "suppression": {"limit": "2"}}},
        {"source": {"qurey": "select 1"}},
    ],
)
def test_a_wrong_spec_is_not(change: dict[str, Any]) -> None:
    assert not accepts(SPEC, {**GOOD, **change})


def test_every_key_is_described() -> None:
    for place in objects(SCHEMA):
        for key, below in place.get("properties", {}).items():
            if isinstance(below, dict) and key not in BUILDERS:
                assert below.get("description") or resolved(below).get("description"), key


def test_builders_and_choices_are_offered() -> None:
    text = json.dumps(SCHEMA)
    for choice in (*BUILDERS, *get_args(Algorithm), *get_args(Metric), *get_args(Preference)):
        assert f'"{choice}"' in text
    hierarchy = json.dumps(SCHEMA["$defs"]["Column"]["properties"]["hierarchy"])
    assert all(f'{{"{name}": ' in hierarchy for name in BUILDERS)


def test_thresholds_have_their_bounds() -> None:
    entries = {"TCloseness": "t", "DeltaPresence": "min", "Alpha": "alpha", "DeltaDisclosure": "delta"}
    numbers = [SCHEMA["$defs"][model]["properties"][key]["anyOf"][0] for model, key in entries.items()]
    assert numbers == [
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "number", "minimum": 0, "maximum": 1},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1},
        {"type": "number", "exclusiveMinimum": 0, "maximum": 1000000},
    ]
    assert SCHEMA["$defs"]["DeltaPresence"]["properties"]["min"]["default"] == 0


def test_the_reference_page_names_every_key_builder_and_choice() -> None:
    page = DOCS.read_text(encoding="utf-8")
    models = [SCHEMA, *SCHEMA["$defs"].values()]
    keys = {key for model in models for key in model.get("properties", {})}
    words = {*keys, *BUILDERS, *get_args(Algorithm), *get_args(Metric), *get_args(Preference)}
    assert not {word for word in words if f"`{word}`" not in page and f"{word}:" not in page}


def test_the_examples_of_the_reference_page_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PGPASSWORD", "secret")
    page = DOCS.read_text(encoding="utf-8")
    blocks = [yaml.safe_load(block) for block in re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)]
    base = {"source": "s", "target": "t", "privacy": {"k": 2}}
    assert len(blocks) > 8
    for block in blocks:
        needed = {"columns": {"q": {"role": "quasi_identifier"}}} | base
        if "recipients" in block:
            del needed["target"]
        spec_from_dict({**needed, **block})
