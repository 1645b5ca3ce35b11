"""The papers' worked examples through the whole pipeline, on both engines; every number is the fixtures'."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.auditor import audit
from sqlanon.engines import open_engine
from sqlanon.engines.base import Engine, Session
from sqlanon.evaluation.matrix import MatrixEvaluator
from sqlanon.evaluation.problem import problem_of
from sqlanon.source.frequency import FrequencySet
from sqlanon.source.run import DEFAULT, Run, running
from sqlanon.source.scratch import Scratch
from sqlanon.spec import load_spec, spec_from_dict
from sqlanon.sql.relations import Table
from tests.kit.database import Database, case_spec, create_case, prepared, solved
from tests.kit.papers import CASES, PAPERS, Case, Vector, load_case, read_csv

IN_MEMORY = "duckdb:///:memory:"
PAPER_TABLES = {name: load_case(name) for name in CASES}


LARGEST = "s3"
"""The largest lattice: on PostgreSQL `make soak` asks for all of its nodes, the other papers' are asked for always."""


@pytest.fixture(
    params=[pytest.param(name, marks=[pytest.mark.one_engine] if name == LARGEST else []) for name in CASES]
)
def case(request: pytest.FixtureRequest, engine_url: str) -> Case:
    """A paper's table, standing in the database as `source_table`."""
    found = PAPER_TABLES[request.param]
    create_case(Database(engine_url), found)
    return found


def vectors(listed: list[list[int]]) -> list[Vector]:
    return sorted(tuple(vector) for vector in listed)


@pytest.mark.no_cover
def test_counts_minimal_vectors_and_samarati(case: Case, engine_url: str) -> None:
    with prepared(case_spec(case, engine_url, 2, 0)) as (run, frequency):
        assert frequency.rows == case.expected["rows"]
        for entry in case.expected["minimal"]:
            _holds(case, run, frequency, entry)
        for k in sorted({entry["k"] for entry in case.expected["outliers"]}):
            _counts_outliers(case, run, frequency, k)
    if named := case.expected.get("samarati"):
        result = pipeline.plan(case_spec(case, engine_url, named["k"], named["limit"], algorithm="samarati"))
        assert result.chosen.node == tuple(named["vector"])


def _holds(case: Case, run: Run, frequency: FrequencySet, entry: dict[str, Any]) -> None:
    """All minimal vectors and samarati's choice, by counts and by the matrix."""
    k, limit, expected = entry["k"], entry["limit"], vectors(entry["vectors"])
    lowest = [vector for vector in expected if sum(vector) == min(map(sum, expected))]
    for satisfies in ("counts", "matrix"):
        spec = case_spec(case, IN_MEMORY, k, limit, algorithm="minimal", satisfies=satisfies)
        minimal = solved(run, frequency, spec)
        assert list(minimal.minimal) == expected, entry
        assert minimal.minimal_complete
        spec = case_spec(case, IN_MEMORY, k, limit, algorithm="samarati", satisfies=satisfies)
        samarati = solved(run, frequency, spec)
        assert list(samarati.ties) == lowest, entry
        assert samarati.chosen.node == lowest[0]
        assert samarati.chosen.suppressed == case.outliers(k, lowest[0])
        kept = [size for size in case.classes(lowest[0]).values() if size >= k]
        assert samarati.chosen.classes == len(kept)


def _counts_outliers(case: Case, run: Run, frequency: FrequencySet, k: int) -> None:
    """Every vector of the lattice, those of the paper among them, by counts and by the matrix."""
    nodes = list(case.vectors())
    by_hand = [case.outliers(k, node) for node in nodes]
    with Scratch(run.engine, run.binding.scratch) as scratch:
        spec = case_spec(case, IN_MEMORY, k, 0)
        problem = problem_of(replace(run, binding=replace(run.binding, spec=spec), scratch=scratch), frequency)
        counts = problem.evaluator()
        assert counts.heights == tuple(case.expected["heights"])
        assert [verdict.suppressed for verdict in counts.check(nodes)] == by_hand
        matrix = MatrixEvaluator(run.engine, frequency, counts, k, scratch)
        assert [verdict.suppressed for verdict in matrix.check(nodes)] == by_hand
    found = dict(zip(nodes, by_hand, strict=True))
    for entry in case.expected["outliers"]:
        assert entry["k"] != k or found[tuple(entry["vector"])] == entry["rows"], entry


@pytest.mark.parametrize("name", [name for name in CASES if "distance_vectors" in PAPER_TABLES[name].expected])
def test_bounds_of_the_matrix(name: str, engine_url: str) -> None:
    case = PAPER_TABLES[name]
    create_case(Database(engine_url), case)
    expected = case.expected["distance_vectors"]
    with running(case_spec(case, engine_url, expected["k"], 0), DEFAULT) as run:
        frequency = pipeline.prepare(run)
        counts = problem_of(run, frequency).evaluator()
        bounds = MatrixEvaluator(run.engine, frequency, counts, expected["k"], run.scratch).bounds
    assert bounds.least_upper_bound == tuple(expected["least_upper_bound"])
    assert bounds.lowest_height <= min(sum(vector) for vector in case.minimal(expected["k"], 0))
    if lowest := case.expected.get("lowest_height_keeping"):
        assert bounds.lowest_height == lowest["height"]


@pytest.mark.one_engine
def test_incognito_iterations(engine_url: str) -> None:
    case = PAPER_TABLES["c1"]
    create_case(Database(engine_url), case)
    expected = case.expected["incognito"]
    result = pipeline.plan(case_spec(case, engine_url, expected["k"], expected["limit"], algorithm="incognito"))
    assert list(result.search.acceptable or ()) == vectors(expected["satisfying"])
    steps: list[Any] = [step["subsets"] for step in result.search.trace]
    assert len(steps) == len(case.quasi_identifier)
    assert _named(case, steps[0], "survivors") == _sorted(expected["kept_first"])
    for dropped in expected["dropped_second"]:
        assert dropped in _named(case, steps[1], "false")
        assert dropped not in _named(case, steps[1], "survivors")
    asked = _named(case, steps[2], "true") + _named(case, steps[2], "false")
    for vector in expected["never_evaluated"]:
        assert dict(zip(case.quasi_identifier, vector, strict=True)) not in asked


def _named(case: Case, subsets: list[dict[str, Any]], key: str) -> list[dict[str, int]]:
    return _sorted(
        [
            {case.quasi_identifier[column]: level for column, level in zip(subset["columns"], levels, strict=True)}
            for subset in subsets
            for levels in subset[key]
        ]
    )


def _sorted(levels: list[dict[str, int]]) -> list[dict[str, int]]:
    return sorted(levels, key=lambda item: sorted(item.items()))


@pytest.mark.one_engine
def test_datafly_generalizes_more_than_needed(engine_url: str) -> None:
    case = PAPER_TABLES["s1"]
    create_case(Database(engine_url), case)
    expected = case.expected["datafly"]
    result = pipeline.plan(case_spec(case, engine_url, expected["k"], expected["limit"], algorithm="datafly"))
    assert result.chosen.node == tuple(expected["vector"])
    assert tuple(expected["vector"]) not in case.minimal(expected["k"], expected["limit"])


@pytest.mark.one_engine
def test_preferences_of_example_6_1(engine_url: str) -> None:
    case = PAPER_TABLES["s2"]
    create_case(Database(engine_url), case)
    with prepared(case_spec(case, engine_url, 2, 1)) as (run, frequency):
        for entry in case.expected["preferences"]:
            asked = {"algorithm": "minimal", "prefer": [entry["policy"]]}
            result = solved(run, frequency, case_spec(case, IN_MEMORY, entry["k"], entry["limit"], **asked))
            assert list(result.ties) == vectors(entry["vectors"]), entry
            assert result.chosen.node == vectors(entry["vectors"])[0]


@pytest.mark.parametrize("mask", [{"length": 5, "steps": [1, 2]}, {"steps": [1, 2], "top": False}])
def test_the_ties_of_example_6_1_with_a_mask(engine_url: str, mask: dict[str, Any]) -> None:
    """941** is what all ZIP codes share: [0, 2] lies as far up relatively as [1, 0], as the paper says."""
    case = PAPER_TABLES["s2"]
    create_case(Database(engine_url), case)
    columns = {**case.spec["columns"], "zip": {"role": "quasi_identifier", "hierarchy": {"mask": mask}}}
    masked = replace(case, spec={**case.spec, "columns": columns})
    with prepared(case_spec(masked, engine_url, 2, 1)) as (run, frequency):
        assert tuple(item.height for item in frequency.hierarchies) == case.heights == (1, 2)
        for entry in case.expected["preferences"]:
            asked = {"algorithm": "minimal", "prefer": [entry["policy"]]}
            result = solved(run, frequency, case_spec(masked, IN_MEMORY, entry["k"], entry["limit"], **asked))
            assert list(result.ties) == vectors(entry["vectors"]), entry


def test_the_row_that_is_suppressed(engine_url: str) -> None:
    case = PAPER_TABLES["s3"]
    database = Database(engine_url)
    create_case(database, case)
    expected = case.expected["suppressed"]
    result = pipeline.run(case_spec(case, engine_url, expected["k"], expected["limit"]))
    assert tuple(result.levels.values()) == tuple(expected["vector"])
    assert result.publication.suppressed == len(expected["rows"])
    kept = [row for number, row in enumerate(case.tuples, start=1) if number not in expected["rows"]]
    released = database.rows("release_table", "race, sex, zip, marital")
    assert sorted(released) == sorted((race, sex, zip_, marital) for race, _, sex, zip_, marital in kept)


def test_mu_argus_release_fails_its_audit(engine: Engine, engine_url: str) -> None:
    case = PAPER_TABLES["s4"]
    expected = case.expected["audit"]
    _, rows = read_csv(case.directory / expected["table"])
    engine.close()
    Database(engine_url).create("mu_argus", expected["types"], rows)
    sizes = [rows.count(row) for row in rows]
    fresh = open_engine(engine_url, Session(), Path())
    try:
        measured = audit(fresh, Table(("mu_argus",)), case.quasi_identifier, expected["requirement"])
    finally:
        fresh.close()
    assert not measured.satisfied
    assert measured.rows_at_risk == sizes.count(1) == expected["rows_at_risk"]
    assert tuple(expected["unique"]) in rows
    assert rows.count(tuple(expected["unique"])) == 1
    assert (measured.rows, measured.classes, measured.k) == (expected["rows"], expected["classes"], expected["k"])
    assert measured.violations


@pytest.mark.no_cover
@pytest.mark.parametrize("name", CASES)
def test_csv_source_directly(name: str, tmp_path: Path) -> None:
    case = PAPER_TABLES[name]
    values = {
        **case.spec,
        "source": str(case.table_path),
        "target": str(tmp_path / "release.csv"),
    }
    result = pipeline.run(spec_from_dict(values, case.directory))
    k, limit = case.spec["privacy"]["k"], case.spec["privacy"]["suppression"]["limit"]
    node = tuple(result.levels.values())
    assert sum(node) == min(sum(vector) for vector in case.minimal(k, limit))
    assert result.publication.suppressed == case.outliers(k, node)
    header, rows = read_csv(tmp_path / "release.csv")
    assert len(rows) == len(case.rows) - case.outliers(k, node)
    assert header == tuple(column for column in case.columns if column != "ssn")


@pytest.mark.parametrize("name", CASES)
def test_specs_of_the_repository_load(name: str) -> None:
    assert load_spec(PAPERS / name / "spec.yaml").quasi_identifiers == PAPER_TABLES[name].quasi_identifier
