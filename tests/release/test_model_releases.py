"""Releases under every model, rows or persons counted: what is published is exactly what the oracle keeps, audited."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from sqlglot import exp

from sqlanon import pipeline
from sqlanon.errors import InfeasibleError, RequirementError, SpecError
from sqlanon.privacy.distinct import DistinctDiversity
from sqlanon.privacy.k_anonymity import KAnonymity
from sqlanon.spec import spec_from_dict
from tests.kit.database import Database
from tests.kit.oracle import Problem
from tests.kit.random_tables import ASKINGS, EVERYTHING, QUASI_IDENTIFIER, Asking, load, random_table
from tests.kit.tables import at

RELEASED = ("zip", "age", "sex", "disease", "stage")
LIMIT = 8


def loaded(url: str, asking: Asking, seed: int = 1, limit: int = LIMIT) -> Problem:
    source, population = random_table(seed)
    with at(url) as engine:
        load(engine, source, population)
    Database(url).run("DROP TABLE IF EXISTS released")
    return asking.problem(source, population, limit)


def expected(problem: Problem, node: tuple[int, ...]) -> Counter[tuple[Any, ...]]:
    """The kept rows of a node as texts."""
    kept = problem.kept(node).rows
    return Counter(tuple(None if row[name] is None else str(row[name]) for name in RELEASED) for row in kept)


def published(url: str) -> Counter[tuple[Any, ...]]:
    columns = ", ".join(f"CAST({name} AS text)" for name in RELEASED)
    return Database(url).counted("released", columns)


ON_POSTGRES = ("entropy", "t declared", "t hierarchical", "k map", "two columns", "others known", "patient and doctor")
"""The statements are the same on every engine and verdicts are compared elsewhere: here one of each form is enough."""


PERSONS = ("distinct", "entropy", "t declared", "k map", "two columns", "others known", "patient and doctor")
"""Verdicts are compared under every model elsewhere. What a release adds for persons has these forms."""


def _release_of(asking: Asking) -> Any:
    rare = asking.respondent and asking.name.removesuffix(", persons") not in PERSONS
    return pytest.param(asking, marks=[pytest.mark.soak] if rare else [], id=asking.name)


@pytest.mark.parametrize("asking", [_release_of(asking) for asking in EVERYTHING])
def test_releases_are_what_the_oracle_keeps(duckdb_url: str, asking: Asking) -> None:
    _release_and_compare(duckdb_url, asking)


@pytest.mark.representative(3)
@pytest.mark.parametrize("name", ON_POSTGRES)
def test_releases_on_postgres(postgres_url: str, name: str) -> None:
    asking = next(item for item in ASKINGS if item.name == name)
    for persons in (False, True):
        _release_and_compare(postgres_url, replace(asking, respondent=persons))


def _release_and_compare(engine_url: str, asking: Asking) -> None:
    problem = loaded(engine_url, asking)
    spec = asking.spec(LIMIT, connection=engine_url, search={"algorithm": "optimal", "metric": "dm"})
    if not problem.minimal():
        with pytest.raises(InfeasibleError):
            pipeline.run(spec)
        return
    result = pipeline.run(spec)
    node = tuple(result.levels.values())
    assert published(engine_url) == expected(problem, node)
    assert set(Database(engine_url).types("released")) == set(RELEASED)
    assert result.audit.satisfied
    assert result.publication.suppressed == problem.suppressed(node)
    assert Database(engine_url).leftovers() == []


AS_VIEW = (
    "distinct",
    "entropy",
    "recursive",
    "alpha",
    "t equal",
    "t ordered",
    "t hierarchical",
    "beta",
    "two columns",
    "k map",
)


FORMS_OF_VIEWS = {
    False: ("distinct", "t ordered", "t hierarchical", "k map", "two columns"),
    True: ("entropy", "k map"),
}
"""One of each form of statement, for rows and for persons; the others are read under `make soak`."""


def _view_of(name: str, persons: bool) -> Any:
    marks = [] if name in FORMS_OF_VIEWS[persons] else [pytest.mark.soak]
    return pytest.param(name, persons, marks=marks, id=f"{'persons' if persons else 'rows'}-{name}")


@pytest.mark.representative(3, postgres=1)
@pytest.mark.parametrize(
    ("name", "persons"), [_view_of(name, persons) for name in AS_VIEW for persons in (False, True)]
)
def test_a_view_judges_the_source_as_it_is_read(engine_url: str, name: str, persons: bool) -> None:
    asking = replace(next(item for item in ASKINGS if item.name == name), respondent=persons)
    problem = loaded(engine_url, asking, limit=12)
    Database(engine_url).run("DROP VIEW IF EXISTS released")
    spec = asking.spec(12, connection=engine_url, target={"view": "released"})
    if not problem.minimal():
        with pytest.raises(InfeasibleError):
            pipeline.run(spec)
        return
    node = tuple(pipeline.run(spec).levels.values())
    assert published(engine_url) == expected(problem, node)
    Database(engine_url).run("DELETE FROM t WHERE stage = 2 AND disease = 'flu'")
    rows = [row for row in problem.table.rows if not (row["stage"] == 2 and row["disease"] == "flu")]
    later = replace(problem, table=replace(problem.table, rows=rows))
    assert published(engine_url) == expected(later, node)
    Database(engine_url).run("DROP VIEW released")


def test_the_respondent_is_in_no_file(duckdb_url: str, tmp_path: Path) -> None:
    asking = replace(ASKINGS[0], respondent=True)
    problem = loaded(duckdb_url, asking)
    target = tmp_path / "released.csv"
    result = pipeline.run(asking.spec(LIMIT, connection=duckdb_url, target=str(target)))
    lines = target.read_text().splitlines()
    assert lines[0] == "zip,age,sex,disease,stage"
    assert len(lines) - 1 == len(problem.kept(tuple(result.levels.values())).rows)
    assert result.audit.respondents is not None


def test_blanked_rows_are_a_class_that_must_satisfy_too(engine_url: str) -> None:
    """Ten rows fail on their own; together they have one disease only, so they are dropped, not blanked."""
    good: list[dict[str, Any]] = [
        {"zip": "n1", "age": 1, "sex": "f", "disease": ("flu", "ulcer")[i % 2], "stage": 1} for i in range(10)
    ]
    alike: list[dict[str, Any]] = [
        {"zip": "s1", "age": i % 3, "sex": "m", "disease": "flu", "stage": 1} for i in range(10)
    ]
    mixed = [{**row, "disease": ("flu", "asthma")[row["age"] % 2]} for row in alike]
    for failing, blanked in ((alike, 0), (mixed, 10)):
        rows = [{**row, "person": str(number)} for number, row in enumerate([*good, *failing])]
        with at(engine_url) as engine:
            load(engine, rows, [])
        Database(engine_url).run("DROP TABLE IF EXISTS released")
        asking = Asking("blank", {"l_diversity": [{"column": "disease", "l": 2}]}, ())
        spec = asking.spec(10, connection=engine_url)
        given = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
        given["connection"] = engine_url
        given["privacy"]["suppression"] = {"limit": 10, "mode": "blank"}
        for name in QUASI_IDENTIFIER:
            given["columns"][name]["levels"] = {"max": 0}
        result = pipeline.run(spec_from_dict(given))
        assert (result.publication.suppressed, result.publication.blanked) == (10, blanked)
        assert result.audit.rows == 10 + blanked
        assert result.audit.satisfied


def test_odd_names_and_values(engine_url: str) -> None:
    names = {"zip": 'se"lect', "age": "a.b", "disease": "Group By", "person": "it's"}
    values = ["it's", 'dou"ble', "back\\slash", "", " ", "NULL", "Zoë", "zoë", None]
    rows = [(f"z{i % 2}", i % 3, values[i % 9], f"p{i % 40}") for i in range(90)]
    database = Database(engine_url)
    database.run("DROP TABLE IF EXISTS odd", "DROP TABLE IF EXISTS released")
    quoted = {
        name.replace('"', '""'): kind
        for name, kind in zip(names.values(), ("text", "int", "text", "text"), strict=True)
    }
    database.create("odd", quoted, rows)
    spec = spec_from_dict(
        {
            "connection": engine_url,
            "source": "odd",
            "target": "released",
            "respondent": names["person"],
            "columns": {
                names["zip"]: {"role": "quasi_identifier"},
                names["age"]: {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [2]}}},
                names["disease"]: {
                    "role": "sensitive",
                    "hierarchy": {"tree": {'to"p': [v for v in values[:5] if v is not None], "o'ther": values[5:8]}},
                },
                names["person"]: {"role": "identifier"},
            },
            "privacy": {
                "k": 3,
                "suppression": {"limit": "50%"},
                "l_diversity": [
                    {"column": names["disease"], "l": 3},
                    {"column": names["disease"], "l": 2, "kind": "entropy"},
                ],
                "alpha": [
                    {"column": names["disease"], "value": "it's", "alpha": 0.4},
                    {"column": names["disease"], "value": "back\\slash", "alpha": 0.4},
                    {"column": names["disease"], "value": "not there", "alpha": 0.4},
                ],
                "t_closeness": [
                    {
                        "column": names["disease"],
                        "t": 0.5,
                        "distance": "ordered",
                        "order": [v for v in values if v is not None],
                    },
                    {"column": names["disease"], "t": 0.5, "distance": "hierarchical"},
                ],
                "beta_likeness": [{"column": names["disease"], "beta": 3}],
            },
        }
    )
    result = pipeline.run(spec)
    assert result.audit.satisfied
    assert result.plan is not None
    assert "1 of the 3 values named" in result.plan.warnings[0]
    assert Counter(row[2] for row in database.rows("released")) == Counter(row[2] for row in rows)


def test_an_order_must_name_every_value(engine_url: str) -> None:
    asking = next(item for item in ASKINGS if item.name == "t declared")
    loaded(engine_url, asking)
    spec = asking.spec(LIMIT, connection=engine_url)
    given = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    given["connection"] = engine_url
    given["privacy"]["t_closeness"][0]["order"] = ["gastritis", "cough"]
    with pytest.raises(SpecError, match=r"[1-3] values of column 'disease' are not in its order"):
        pipeline.run(spec_from_dict(given))


def test_a_release_that_fails_its_audit_is_not_published(engine_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The search is made to lie; the audit, which shares nothing with it, does not."""
    asking = next(item for item in ASKINGS if item.name == "distinct")
    loaded(engine_url, asking)
    monkeypatch.setattr(DistinctDiversity, "satisfied", lambda _: exp.true())
    monkeypatch.setattr(KAnonymity, "satisfied", lambda _: exp.true())
    with pytest.raises(RequirementError, match="was not published"):
        pipeline.run(asking.spec(0, connection=engine_url))
    assert "released" not in {
        name for (name,) in Database(engine_url).run("SELECT table_name FROM information_schema.tables")
    }
