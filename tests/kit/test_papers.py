from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Callable
from typing import Any

import duckdb
import pytest

from sqlanon.errors import SpecError
from sqlanon.spec import load_spec
from tests.kit.papers import (
    CASES,
    FIXTURES,
    BadSpec,
    Case,
    Row,
    Vector,
    adversarial_names,
    adversarial_values,
    bad_specs,
    load_case,
    read_csv,
)

REFERENCE = FIXTURES.parent / "sql" / "reference" / "k_anonymity.sql"


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return load_case(request.param)


def vectors(listed: list[list[int]]) -> list[Vector]:
    return [tuple(vector) for vector in listed]


def test_table_and_heights(case: Case) -> None:
    assert len(case.rows) == case.expected["rows"]
    assert list(case.types) == list(case.columns)
    assert list(case.heights) == case.expected["heights"]


def test_quasi_identifier_follows_the_spec(case: Case) -> None:
    named = [name for name, column in case.spec["columns"].items() if column["role"] == "quasi_identifier"]
    assert tuple(named) == case.quasi_identifier
    assert list(case.spec["columns"]) == list(case.columns)


def test_outlier_counts(case: Case) -> None:
    for answer in case.expected["outliers"]:
        assert case.outliers(answer["k"], tuple(answer["vector"])) == answer["rows"], answer


def test_minimal_vectors(case: Case) -> None:
    for answer in case.expected["minimal"]:
        assert case.minimal(answer["k"], answer["limit"]) == vectors(answer["vectors"]), answer


@pytest.mark.parametrize("name", ["s3", "f1", "c1"])
def test_distance_vectors(name: str) -> None:
    case = load_case(name)
    matrix = case.expected["distance_vectors"]
    columns = [same_tuple(case, numbers) for numbers in matrix["columns"]]
    outliers = [row for row, size in Counter(case.tuples).items() if size < matrix["k"]]
    assert len(set(columns)) == len(columns) == len(set(case.tuples))
    assert [same_tuple(case, row["tuple"]) for row in matrix["rows"]] == outliers
    for outlier, row in zip(outliers, matrix["rows"], strict=True):
        assert [case.distance_vector(outlier, column) for column in columns] == vectors(row["vectors"])
    entries = [vector for row in matrix["rows"] for vector in row["vectors"]]
    assert [max(levels) for levels in zip(*entries, strict=True)] == matrix["least_upper_bound"]


def same_tuple(case: Case, numbers: list[int]) -> Row:
    (only,) = {case.tuples[number - 1] for number in numbers}
    return only


def test_s2_preferences() -> None:
    case = load_case("s2")
    measures: dict[str, Callable[[Vector], float]] = {
        "minimum_absolute_distance": sum,
        "minimum_relative_distance": lambda vector: sum(d / h for d, h in zip(vector, case.heights, strict=True)),
        "maximum_distribution": lambda vector: -sum(size >= 2 for size in case.classes(vector).values()),
        "minimum_suppression": lambda vector: case.outliers(2, vector),
    }
    for answer in case.expected["preferences"]:
        candidates = case.minimal(answer["k"], answer["limit"])
        scores = {vector: measures[answer["policy"]](vector) for vector in candidates}
        preferred = [vector for vector in candidates if scores[vector] == min(scores.values())]
        assert preferred == vectors(answer["vectors"]), answer


def test_s3_suppresses_the_last_row() -> None:
    case = load_case("s3")
    suppressed = case.expected["suppressed"]
    assert case.outlier_rows(suppressed["k"], tuple(suppressed["vector"])) == suppressed["rows"]
    keeping = case.expected["lowest_height_keeping"]
    heights = [sum(v) for v in case.vectors() if keeping["row"] not in case.outlier_rows(keeping["k"], v)]
    assert min(heights) == keeping["height"]


def test_c1_incognito_subsets() -> None:
    case = load_case("c1")
    answer = case.expected["incognito"]
    limit: int = answer["limit"]

    def passes(subset: dict[str, int]) -> bool:
        levels = [subset.get(name, top) for name, top in zip(case.quasi_identifier, case.heights, strict=True)]
        return case.outliers(answer["k"], tuple(levels)) <= limit

    assert [subset for subset in subsets(case, 1) if passes(subset)] == answer["kept_first"]
    pairs = [
        pair
        for pair in subsets(case, 2)
        if all({name: level} in answer["kept_first"] for name, level in pair.items()) and not passes(pair)
    ]
    assert pairs == answer["dropped_second"]
    assert case.acceptable(answer["k"], answer["limit"]) == vectors(answer["satisfying"])
    for vector in answer["never_evaluated"]:
        levels = dict(zip(case.quasi_identifier, vector, strict=True))
        assert any(pair.items() <= levels.items() for pair in answer["dropped_second"])


def subsets(case: Case, size: int) -> list[dict[str, int]]:
    levels = [
        (name, level) for name, top in zip(case.quasi_identifier, case.heights, strict=True) for level in range(top + 1)
    ]
    if size == 1:
        return [{name: level} for name, level in levels]
    return [
        {name: level, other: above} for name, level in levels for other, above in levels if precedes(case, name, other)
    ]


def precedes(case: Case, name: str, other: str) -> bool:
    return case.quasi_identifier.index(name) < case.quasi_identifier.index(other)


def test_c1_samarati_and_s1_datafly() -> None:
    chapter, figure = load_case("c1"), load_case("s1")
    samarati, datafly = chapter.expected["samarati"], figure.expected["datafly"]
    assert tuple(samarati["vector"]) in chapter.minimal(samarati["k"], samarati["limit"])
    assert tuple(datafly["vector"]) in figure.acceptable(datafly["k"], datafly["limit"])
    assert tuple(datafly["vector"]) not in figure.minimal(datafly["k"], datafly["limit"])


def test_s4_release_of_mu_argus_fails() -> None:
    case = load_case("s4")
    audit = case.expected["audit"]
    header, rows = read_csv(case.directory / audit["table"])
    classes = Counter(rows)
    assert list(header) == list(audit["types"]) == list(case.quasi_identifier)
    assert (len(rows), len(classes), min(classes.values())) == (audit["rows"], audit["classes"], audit["k"])
    assert Counter(classes.values()) == audit["sizes"]
    assert sum(size for size in classes.values() if size < audit["requirement"]) == audit["rows_at_risk"]
    assert classes[tuple(audit["unique"])] == 1
    assert audit["satisfied"] is (min(classes.values()) >= audit["requirement"])


def reference(rows: list[Row]) -> list[tuple[Any, ...]]:
    """What the hand-written SQL says of a release of three columns."""
    with duckdb.connect() as connection:
        connection.execute("create table release (q1 text, q2 text, q3 text)")
        if rows:
            connection.executemany("insert into release values (?, ?, ?)", rows)
        return connection.execute(REFERENCE.read_text(encoding="utf-8")).fetchall()


@pytest.mark.parametrize("vector", [(0, 0, 0), (1, 1, 0), (2, 2, 0), (2, 2, 1)])
def test_reference_sql_counts_as_brute_force(vector: Vector) -> None:
    case = load_case("c1")
    classes = case.classes(vector)
    sizes = Counter(classes.values())
    assert reference([case.generalize(row, vector) for row in case.tuples]) == [
        (10, len(classes), min(sizes), size, count, size * count) for size, count in sorted(sizes.items())
    ]


def test_reference_sql_takes_null_for_a_value_and_says_nothing_of_an_empty_table() -> None:
    assert reference([(None, "", "a"), (None, "", "a"), ("", None, "a")]) == [(3, 2, 1, 1, 1, 1), (3, 2, 1, 2, 1, 2)]
    assert reference([]) == [(0, 0, None, None, None, None)]


def test_adversarial_names_fit_every_engine() -> None:
    names = adversarial_names()
    assert len({name.casefold() for name in names}) == len(names), "engines that fold case must tell them apart"
    assert all(name and len(name.encode()) <= 60 for name in names), "PostgreSQL cuts names after 63 bytes"
    for needed in (" ", ".", '"', "`", "'", "%", ":", ";", "--", "/*", "select", "user", "\N{PILE OF POO}"):
        assert any(needed in name for name in names), needed


def test_adversarial_values_are_distinct() -> None:
    values = adversarial_values()
    assert len(set(values)) == len(values)
    assert all("\0" not in value for value in values if value is not None), "PostgreSQL stores no NUL"
    for needed in (None, "", " ", "'", '"', "\\", "\t", "\n", "NULL", "\\N", "%s", "$1", ":name", "{x}"):
        assert needed in values, needed
    composed = {unicodedata.normalize("NFC", value) for value in values if value is not None}
    assert len(composed) < len(values) - 1, "a composed and a decomposed spelling of one text"


def test_bad_specs_say_what_they_expect() -> None:
    specs = bad_specs()
    assert len(specs) >= 15
    for spec in specs:
        assert spec.fragments, spec.path.name
        assert spec.exit_code in {2, 3}, spec.path.name
        assert spec.stage in {"spec", "bind", "hierarchy", "search"}, spec.path.name


@pytest.mark.parametrize("spec", bad_specs(), ids=lambda spec: spec.path.stem)
def test_only_specs_that_are_wrong_by_themselves_are_refused_when_read(spec: BadSpec) -> None:
    if spec.stage != "spec":
        load_spec(spec.path)
        return
    with pytest.raises(SpecError) as refusal:
        load_spec(spec.path)
    message = str(refusal.value)
    assert all(fragment in message for fragment in spec.fragments), message
    assert spec.path.name in message
    assert refusal.value.exit_code == spec.exit_code


def test_specs_of_the_papers_are_accepted(case: Case) -> None:
    spec = load_spec(case.spec_path)
    assert list(spec.columns) == list(case.columns)
