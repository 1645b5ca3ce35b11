"""Recodings of classes, of cells and by schemes on Spark: the releases that DuckDB makes."""

from __future__ import annotations

from typing import Any

import pytest

from sqlanon import insight, pipeline
from sqlanon.insight.options import AttackOptions
from sqlanon.spec import spec_from_dict
from tests.engines.test_spark_cases import on_spark, quoted, read_back
from tests.kit.database import Database, changed
from tests.kit.papers import load_case
from tests.recoding import test_levels_of_recoders as levels
from tests.recoding import test_suppressed_values as suppressed
from tests.recoding.support import AGE, BORN, COLUMNS, TAG, TOWN, assert_true_and_coarse, people

pytestmark = [pytest.mark.spark, pytest.mark.no_cover]

NAME = "Sel. 'ect"
ROWS = [
    ("it's", 1), ("it's", 1), ("it's", 2), ("back\\slash", 2), ("back\\slash", 7), ("", 7), ("", 8), *[(None, 8)] * 2,
]  # fmt: skip
SPEC: dict[str, Any] = {
    "source": "people",
    "target": "released",
    "columns": {NAME: {"role": "quasi_identifier"}, "n": {"role": "quasi_identifier"}},
    "privacy": {"k": 2},
}
VALUES: dict[str, Any] = {"source": "people", "target": "released", "evidence": {"files": False}}
SEARCHES: dict[str, dict[str, Any]] = {
    "levels as cuts": {"algorithm": "bhs"},
    "mondrian": {"algorithm": "mondrian"},
    "relaxed": {"algorithm": "mondrian", "mondrian": {"kind": "relaxed"}},
    "schemes": {"algorithm": "ops", "metric": "hdm"},
    "local": {"algorithm": "local"},
}


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "levels as cuts" else pytest.mark.soak) for name in SEARCHES]
)
def test_spark_makes_the_classes_of_duckdb(spark_url: str, duckdb_url: str, name: str) -> None:
    Database(duckdb_url).create("people", {NAME: "text", "n": "integer"}, ROWS)
    on_spark(spark_url, "people", {NAME: "string", "n": "int"}, ROWS)
    results = [
        pipeline.run(spec_from_dict({**SPEC, "connection": url, "search": SEARCHES[name]}))
        for url in (spark_url, duckdb_url)
    ]
    released = read_back(spark_url, "released", f"{quoted(NAME)}, n")
    assert released == Database(duckdb_url).counted("released", f'"{NAME}", n')
    assert released.total() == len(ROWS) - results[0].publication.suppressed
    assert min(released.values()) >= 2
    assert len(released) > 1
    assert results[0].audit.satisfied
    assert results[0].recoding.to_dict() == results[1].recoding.to_dict()


@pytest.mark.soak
def test_spark_refuses_the_pinned_classes_and_attacks_as_duckdb(spark_url: str, duckdb_url: str) -> None:
    """Case V1 with slack, linking with the algorithm known, minimality of a model, and naive Bayes; the same
    statements are compared on DuckDB and PostgreSQL in the suite."""
    tree = {"a": ["a1", "it's", "a3"], "b": ["b1", "b2"]}
    rows = [("a1", "x"), ("it's", "y"), *[("a3", "x")] * 4, ("b1", "x"), *[("b1", "y")] * 3]
    Database(duckdb_url).create("people", {"x": "text", "s": "text"}, rows)
    on_spark(spark_url, "people", {"x": "string", "s": "string"}, rows)
    columns = {"x": {"role": "quasi_identifier", "hierarchy": {"tree": tree}}, "s": {"role": "sensitive"}}
    local = {"privacy": {"k": 2, "adversary": {"slack": 1}}, "search": {"algorithm": "local", "local": {"leave": 2}}}
    models = {
        "privacy": {"k": 2, "l_diversity": [{"column": "s", "l": 2}], "suppression": {"limit": 6}},
        "search": {"algorithm": "optimal"},
    }
    credible = {"privacy": {"k": 2, "l_diversity": [{"column": "s", "l": 2}]}, "search": {"algorithm": "samarati"}}
    for asked in (local, models, credible):
        found = []
        for url in (spark_url, duckdb_url):
            spec = spec_from_dict({**VALUES, "connection": url, "columns": columns, **asked})
            pipeline.run(spec)
            result = insight.attack(spec, asked=AttackOptions(external="people"))
            found.append({(item.name, item.column): item.after.figures for item in result.attacks if item.after})
        assert found[0] == found[1]
        assert ("linking_known" in {name for name, _ in found[0]}) == (asked is local)
        assert ("credibility" in {name for name, _ in found[0]}) == (asked is credible)
        assert read_back(spark_url, "released", "x, s") == Database(duckdb_url).counted("released", "x, s")
        if asked is local:
            spec = spec_from_dict({**VALUES, "connection": spark_url, "columns": columns, **asked})
            assert next(item for item in pipeline.audit_spec(spec).policy if item.name == "slack").satisfied
            assert {label for label, _ in Database(duckdb_url).rows("released", "x, s")} == {"a3", "b1", "*"}


@pytest.mark.soak
@pytest.mark.parametrize("privacy", [{"k": 2}, {"k": 2, "anonymity": "(k,k)"}], ids=["classic", "fitting"])
def test_spark_makes_the_cells_of_duckdb(spark_url: str, duckdb_url: str, privacy: dict[str, Any]) -> None:
    case = load_case("f2")
    Database(duckdb_url).create("original", case.types, case.rows)
    on_spark(spark_url, "original", dict.fromkeys(case.types, "string"), case.rows)
    values = {**case.spec, "source": "original", "target": "released", "search": {"model": "CG_"}, "privacy": privacy}
    results = [
        pipeline.run(spec_from_dict({**values, "connection": url}, case.directory)) for url in (spark_url, duckdb_url)
    ]
    assert results[0].audit.satisfied
    assert read_back(spark_url, "released") == Database(duckdb_url).counted("released")
    assert results[0].recoding.to_dict() == results[1].recoding.to_dict()


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[] if name == "mondrian" else pytest.mark.soak) for name in levels.SEARCHES]
)
def test_labels_on_spark_are_no_finer_than_the_least_levels(spark_url: str, name: str) -> None:
    rows = people(18)
    on_spark(spark_url, "people", {BORN: "timestamp", AGE: "int", TOWN: "string", TAG: "string"}, rows)
    limit = "0" if name == "forest" else "20%"
    privacy = {"k": 3, "suppression": {"limit": limit}}
    search = levels.SEARCHES[name]
    spec = changed({**VALUES, "columns": COLUMNS}, connection=spark_url, privacy=privacy, search=search)
    result = pipeline.run(spec)
    own = {row[3]: row for row in rows}
    released = read_back(spark_url, "released", ", ".join(map(quoted, (BORN, AGE, TOWN, TAG))))
    for *labels, tag in released:
        assert_true_and_coarse(own[tag], tuple(labels))
    assert released.total() == len(rows) - result.publication.suppressed
    assert pipeline.audit_spec(spec).satisfied


@pytest.mark.parametrize(
    "algorithm",
    [pytest.param(name, marks=[] if name == "sps" else pytest.mark.soak) for name in ("ops", "sps", "tds", "local")],
)
def test_labels_on_spark_show_values_of_released_rows_only(spark_url: str, algorithm: str) -> None:
    rows = suppressed.people(1)
    place, age, tag = suppressed.PLACE, suppressed.AGE, suppressed.TAG
    on_spark(spark_url, "people", {place: "string", age: "int", tag: "string"}, rows)
    spec = suppressed.spec_of(Database("duckdb://"), algorithm, connection=spark_url)
    result = pipeline.run(spec)
    released = list(read_back(spark_url, "released", ", ".join(map(quoted, (place, age, tag)))))
    assert result.publication.suppressed + len(released) == len(rows)
    kept = {str(row[2]) for row in released}
    for position, known in enumerate(suppressed.own_values(rows, kept)):
        gone = {str(row[position]) for row in rows} - known
        for label in {str(row[position]) for row in released}:
            assert not suppressed.shown_values(label) & gone, label
    suppressed.covered(rows, released)
