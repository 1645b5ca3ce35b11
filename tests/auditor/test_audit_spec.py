"""Audits of a spec's target and audits by Python: what is read beside the table, and from where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

import sqlanon
from sqlanon import pipeline
from sqlanon.api.status import status
from sqlanon.errors import SourceError, UsageError
from sqlanon.release.lock import Lock, lock_path
from sqlanon.spec import Privacy, Spec, load_spec, spec_from_dict
from tests.kit.database import Database

DISEASES = {"lung": ["flu", "cold"], "stomach": ["ulcer", "gastritis"]}
ROWS = [
    ("p1", "94138", "flu"),
    ("p2", "94138", "ulcer"),
    ("p3", "94139", "cold"),
    ("p4", "94139", "gastritis"),
    ("p5", "94141", "flu"),
    ("p6", "94142", "gastritis"),
    ("p7", "94142", "cold"),
    ("p8", "94141", "ulcer"),
]


def database(url: str) -> Database:
    found = Database(url)
    found.create("patients", {"id": "text", "zip": "text", "disease": "text"}, ROWS)
    people = [
        ("voter", zipcode) for zipcode in ("94138", "94138", "94139", "94139", "94141", "94141", "94142", "94142")
    ]
    found.create("people", {"name": "text", "zip_code": "text"}, people * 2)
    return found


def values(url: str, **privacy: Any) -> dict[str, Any]:
    return {
        "connection": url,
        "source": "patients",
        "target": "release",
        "columns": {
            "id": {"role": "identifier"},
            "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 5]}}},
            "disease": {"role": "sensitive", "hierarchy": {"tree": DISEASES}},
        },
        "privacy": privacy,
    }


def spec(url: str, **privacy: Any) -> Spec:
    return spec_from_dict(values(url, **privacy))


HIERARCHICAL = {"t_closeness": [{"column": "disease", "t": "0.25", "distance": "hierarchical"}]}
POPULATION = {"population": {"source": "people", "columns": {"zip": "zip_code"}}}


@pytest.mark.one_engine
def test_the_hierarchy_of_the_sensitive_column(engine_url: str) -> None:
    found = database(engine_url)
    asked = spec(engine_url, k=2, **HIERARCHICAL)
    published = pipeline.run(asked).audit
    again = pipeline.audit_spec(asked)
    assert again.satisfied
    assert again.checks == published.checks
    # The classes hold one disease of each kind: half a level away from the whole.
    assert again.to_dict()["t"]["disease"] == {"equal": 0.5, "hierarchical": 0.25}
    found.run("UPDATE release SET disease = 'flu'")
    assert not pipeline.audit_spec(asked).satisfied
    found.run("UPDATE release SET disease = 'unheard of'")
    [line] = pipeline.audit_spec(asked).violations
    assert line == "t_closeness disease: not measured: 1 value is outside the hierarchy of the column"
    assert found.leftovers() == []


def test_every_sensitive_column_is_measured_without_a_requirement(engine_url: str) -> None:
    database(engine_url)
    asked = spec(engine_url, k=2)
    assert pipeline.run(asked).audit.figures == ()
    result = pipeline.audit_spec(asked)
    assert [figures.column for figures in result.figures] == ["disease"]
    assert result.figures[0].distinct == 2


@pytest.mark.one_engine
def test_the_population_is_generalized_as_the_lock_file_says(engine_url: str, tmp_path: Path) -> None:
    found = database(engine_url)
    path = tmp_path / "spec.yaml"
    given = values(engine_url, k=2, k_map=4, delta_presence={"max": "0.5"}, **POPULATION)
    path.write_text(yaml.safe_dump(given), encoding="utf-8")
    asked = load_spec(path)
    planned = pipeline.plan(asked)
    assert planned.levels == {"zip": 0}
    pipeline.run(asked)
    unknown = pipeline.audit_spec(asked)
    assert not unknown.satisfied
    assert [check.model for check in unknown.checks if not check.satisfied] == ["k_map", "delta_presence"]
    assert unknown.notes == (
        "the population was not compared: no lock file beside the spec says how the table was generalized",
    )
    Lock.of(asked, planned, "spec.yaml").write(lock_path(path))
    result = sqlanon.audit(path)
    assert result.satisfied
    assert (result.to_dict()["k_map"], result.to_dict()["delta_presence"]) == (4, {"min": 0.5, "max": 0.5})
    found.run("DELETE FROM people WHERE zip_code = '94138'")
    assert not sqlanon.audit(path).satisfied
    found.run("INSERT INTO people VALUES ('voter', 'beyond')")
    outside = sqlanon.audit(path)
    assert outside.notes[0].startswith("the population was not compared: column 'zip'")
    assert not outside.satisfied


@pytest.mark.one_engine
def test_a_lock_file_of_another_spec_says_nothing_of_the_population(engine_url: str) -> None:
    database(engine_url)
    asked = spec(engine_url, k=2, k_map=4, **POPULATION)
    lock = Lock.of(asked, pipeline.plan(asked), "spec.yaml")
    pipeline.run(asked)
    assert pipeline.audit_spec(asked, lock=lock).satisfied
    assert status(asked, lock).satisfied
    assert not status(asked, None).satisfied
    other = pipeline.audit_spec(spec(engine_url, k=2, k_map=3, **POPULATION), lock=lock)
    assert not other.satisfied
    assert "the spec has changed since this lock file was written" in other.notes[0]


def test_persons_of_a_published_table_cannot_be_counted_any_more(engine_url: str) -> None:
    database(engine_url)
    asked = spec_from_dict({**values(engine_url, k=2), "respondent": "id"})
    published = pipeline.run(asked).audit
    assert published.respondents == 8
    result = pipeline.audit_spec(asked)
    assert (result.satisfied, result.verdict, result.respondents) == (False, None, None)
    assert "column 'id'" in result.notes[0]


# -- by Python ---------------------------------------------------------------------------------------------------------


def test_audit_by_python(engine_url: str) -> None:
    found = database(engine_url)
    found.run("CREATE VIEW voters AS SELECT zip_code AS zip FROM people")
    result = sqlanon.audit(
        "patients",
        ["zip"],
        connection=engine_url,
        k=2,
        privacy={"l_diversity": [{"column": "disease", "l": 3}], "k_map": 2},
        respondent="id",
        reference="patients",
        population="voters",
    )
    assert (result.k, result.respondents, result.suppressed) == (2, 8, 0)
    assert [check.satisfied for check in result.checks] == [True, False, True]
    assert json.loads(json.dumps(result.to_dict()))["l"]["disease"]["distinct"] == 2
    typed = Privacy.model_validate({"l_diversity": [{"column": "disease", "l": 2}]})
    assert sqlanon.audit("patients", ["zip"], connection=engine_url, privacy=typed, sensitive=["id"]).satisfied


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"privacy": {"l_diversity": [{"column": "disease", "l": 0}]}},
            r"privacy.l_diversity\[0\].l: must be at least 1",
        ),
        ({"privacy": {"k_map": 2}}, "privacy.k_map: population is required with it"),
        ({"privacy": {"l_diversities": []}}, "privacy.l_diversities: unknown key; did you mean 'l_diversity'"),
        ({"sensitive": ["zip"]}, "column 'zip' cannot be both in the quasi-identifier and sensitive"),
        ({"respondent": "zip"}, "column 'zip' cannot both name the person and be measured"),
        ({"k": 0}, "k must be at least 1"),
    ],
)
def test_requirements_that_python_gets_wrong(duckdb_url: str, given: dict[str, Any], message: str) -> None:
    database(duckdb_url)
    with pytest.raises(UsageError, match=message):
        sqlanon.audit("patients", ["zip"], connection=duckdb_url, **given)


def test_tables_to_compare_with_must_be_there(engine_url: str) -> None:
    database(engine_url)
    with pytest.raises(SourceError, match="there is no table or view nowhere"):
        sqlanon.audit("patients", ["zip"], connection=engine_url, reference="nowhere")
    with pytest.raises(SourceError, match="there is no table or view nowhere"):
        sqlanon.audit("patients", ["zip"], connection=engine_url, population="nowhere")
    with pytest.raises(SourceError, match="people has no column 'zip'"):
        sqlanon.audit("patients", ["zip"], connection=engine_url, population="people")
    with pytest.raises(SourceError, match="patients has no column 'nobody'"):
        sqlanon.audit("patients", ["zip"], connection=engine_url, respondent="nobody")
