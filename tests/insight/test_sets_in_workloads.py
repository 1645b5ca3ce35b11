"""Sets of a release in count queries: of neighbours they are answered exactly, others are refused, not misread."""

from __future__ import annotations

import pytest

from sqlanon.errors import SourceError
from sqlanon.insight import use as measuring
from sqlanon.source.run import DEFAULT
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database

TREE = {"any": {"lake": ["Genf", "Zug, town"], "river": ["Basel", "Bern"]}}
ROWS = [("Basel", "flu"), ("Bern", "cold"), ("Genf", "flu"), ("Zug, town", "gout")] * 3


def released(url: str, labels: dict[str, str]) -> Spec:
    """A table and a release of it, in which cities stand under given labels."""
    database = Database(url)
    types = {"city": "text", "disease": "text"}
    database.create("people", types, ROWS)
    database.create("released", types, [(labels.get(city, city), disease) for city, disease in ROWS])
    columns = {
        "city": {"role": "quasi_identifier", "hierarchy": {"tree": TREE}},
        "disease": {"role": "sensitive"},
    }
    values = {"connection": url, "source": "people", "target": "released", "columns": columns, "privacy": {"k": 3}}
    return spec_from_dict(values)


def test_a_set_of_neighbours(engine_url: str) -> None:
    spec = released(engine_url, {"Genf": '{Genf, "Zug, town"}', "Zug, town": '{Genf, "Zug, town"}'})
    found = measuring.workload(spec, [{"city": "lake"}, {"city": '{"Zug, town", river}'}, {"disease": "flu"}], DEFAULT)
    assert [(answer.actual, answer.estimate) for answer in found.answers] == [(6, 6), (9, 9), (6, 6)]


def test_a_set_of_others_is_no_interval(engine_url: str) -> None:
    spec = released(engine_url, dict.fromkeys(("Bern", "Zug, town", "Genf"), '{Bern, Genf, "Zug, town"}'))
    with pytest.raises(SourceError, match=r"column 'city': 1 labels .*a set has to hold neighbours"):
        measuring.workload(spec, [{"disease": "flu"}], DEFAULT)


def test_a_set_of_sensitive_values_is_its_members(duckdb_url: str) -> None:
    spec = released(duckdb_url, {})
    found = measuring.workload(spec, [{"disease": "{cold, gout}"}], DEFAULT)
    assert [(answer.actual, answer.estimate) for answer in found.answers] == [(6, 6)]
