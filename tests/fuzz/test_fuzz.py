"""Random releases, and proof that the checker sees faults: a good release with one planted in it."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from itertools import permutations
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.fuzz.__main__ import Tally, one
from tests.fuzz.case import Case, Column, Table
from tests.fuzz.check import findings, reassigned
from tests.fuzz.crash import DuckDBFile, PostgresSchema, crashes
from tests.fuzz.database import ClickHouse, Database, DuckDB, Postgres, Release, Spark, SQLite, csv_records
from tests.fuzz.generate import ALGORITHMS, MODELS, generate
from tests.fuzz.labels import read
from tests.fuzz.ladders import Ladder
from tests.fuzz.release import Outcome, released
from tests.fuzz.shrink import shrink
from tests.kit.examples import share

LEAST_RELEASED = 0.4
"""Share of the cases of a test that end in a release; fewer would test refusals only."""


SHARE = max(10, share(20))
"""Cases of each block of twenty that this run tries."""


def run_cases(database: Database, seeds: range) -> None:
    tally = Tally()
    for seed in seeds:
        case = generate(seed, database.engine)
        outcome, found = one(case, database)
        tally.count(case, outcome)
        again = f"python -m tests.fuzz --engine {case.engine} --seed {seed} --cases 1: {case.algorithm}"
        assert not found, f"{again} {found}"
    assert tally.released >= max(1, LEAST_RELEASED * tally.cases), tally


@pytest.fixture(scope="module")
def duckdb_database() -> Iterator[Database]:
    database = DuckDB()
    yield database
    database.close()


@pytest.mark.representative(1)
@pytest.mark.parametrize("first", range(0, 100, 20))
def test_random_releases_on_duckdb(duckdb_database: Database, first: int) -> None:
    run_cases(duckdb_database, range(first, first + SHARE))


@pytest.mark.representative(1)
@pytest.mark.postgres
@pytest.mark.parametrize("first", range(0, 40, 20))
def test_random_releases_on_postgres(postgres_server: str, first: int) -> None:
    database = Postgres(postgres_server)
    try:
        run_cases(database, range(first, first + SHARE))
    finally:
        database.close()


@pytest.mark.representative(1)
@pytest.mark.parametrize("first", range(0, 40, 20))
def test_random_releases_on_sqlite(first: int) -> None:
    database = SQLite()
    try:
        run_cases(database, range(first, first + SHARE))
    finally:
        database.close()


@pytest.mark.spark
@pytest.mark.soak
def test_random_releases_on_spark(spark_base: str) -> None:
    database = Spark(spark_base)
    try:
        run_cases(database, range(2, 4))
    finally:
        database.close()


@pytest.mark.soak
@pytest.mark.parametrize("first", range(0, 40, 20))
def test_random_releases_on_clickhouse(clickhouse_folder: tuple[Path, Any], first: int) -> None:
    database = ClickHouse(clickhouse_folder[0])
    try:
        run_cases(database, range(first, first + SHARE))
    finally:
        database.close()


def test_every_algorithm_and_model_is_among_the_cases() -> None:
    cases = [generate(seed, "duckdb") for seed in range(400)]
    assert {case.algorithm for case in cases} == set(ALGORITHMS)
    asked = {key for case in cases for key in case.spec["privacy"]}
    assert asked >= {*MODELS, "k", "k_map", "delta_presence", "quasi_identifiers", "personalized", "anonymity"}
    builders = {
        column["hierarchy"] if isinstance(column["hierarchy"], str) else next(iter(column["hierarchy"]))
        for case in cases
        for column in case.spec["columns"].values()
        if "hierarchy" in column
    }
    assert builders == {"mask", "interval", "date", "tree", "csv", "table", "sql", "suppression"}
    assert {case.target for case in cases} == {"table", "view", "csv", "parquet"}


def test_a_case_is_the_same_from_its_number_and_from_its_file() -> None:
    for seed in range(30):
        case = generate(seed, "duckdb")
        assert case == generate(seed, "duckdb") == Case.from_json(case.to_json())


# -- a good release, and what the checker says once something is wrong with it ----------------------------------------

GOOD = Case(
    0,
    "duckdb",
    Table(
        [
            Column("id", "integer"),
            Column("name", "text"),
            Column("zip", "text"),
            Column("age", "integer"),
            Column("disease", "text"),
        ],
        [
            ["0", "Ann Marie", "94138", "31", "flu"],
            ["1", "Bob Martin", "94139", "34", "gout"],
            ["2", "Cem Yilmaz", "94138", "33", "flu"],
            ["3", "Dora Quist", "94141", "47", "gout"],
            ["4", "Eve Larsen", "94142", "42", "flu"],
            ["5", "Finn Olsen", "94142", "44", "flu"],
            ["6", "Gil Thomas", "10115", "81", "burn"],
        ],
    ),
    {
        "columns": {
            "id": {"role": "insensitive"},
            "name": {"role": "identifier"},
            "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2, 5]}}},
            "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 20]}}},
            "disease": {"role": "sensitive"},
        },
        "privacy": {
            "k": 3,
            "suppression": {"limit": 1},
            "l_diversity": [{"column": "disease", "l": 2}],
        },
        "search": {"algorithm": "exhaustive", "metric": "dm"},
    },
    "id",
)


@pytest.fixture(scope="module")
def good(duckdb_database: Database) -> Outcome:
    outcome = released(GOOD, duckdb_database)
    assert findings(GOOD, outcome) == []
    assert outcome.release is not None
    assert len(outcome.release.rows) == 6
    return outcome


def planted(good: Outcome, change: Callable[[Release], None], told: dict[str, Any] | None = None) -> set[str]:
    """Kinds of findings once the release, or what was told of it, is changed."""
    outcome = copy.deepcopy(good)
    assert outcome.release is not None
    change(outcome.release)
    outcome.out = json.dumps(outcome.told | (told or {}))
    return {finding.kind for finding in findings(GOOD, outcome)}


def at(release: Release, row: str, column: str, value: str | None) -> None:
    place = release.columns.index("id")
    (found,) = (own for own in release.rows if own[place] == row)
    found[release.columns.index(column)] = value


def without(release: Release, *rows: str) -> None:
    place = release.columns.index("id")
    release.rows = [own for own in release.rows if own[place] not in rows]


def extended(release: Release, name: str) -> None:
    release.columns.append(name)
    for own in release.rows:
        own.append("Ann Marie")


def nothing(release: Release) -> None:
    """The release stays as it is."""


def suppressed_row(release: Release) -> None:
    release.rows.append([{"id": "6", "zip": "1011*", "age": "[80, 90)", "disease": "burn"}[c] for c in release.columns])


PLANTED: list[tuple[str, Callable[[Release], None], str]] = [
    ("a class below k", lambda release: without(release, "0", "1"), "class"),
    ("a row of a class that fails", suppressed_row, "kept"),
    ("too many suppressed", lambda release: without(release, "0"), "limit"),
    ("a label of another value", lambda release: at(release, "0", "age", "[40, 50)"), "label"),
    ("a raw value", lambda release: at(release, "0", "zip", "94138"), "label"),
    ("a value that is gone", lambda release: at(release, "0", "zip", None), "label"),
    ("a sensitive value of somebody else", lambda release: at(release, "1", "disease", "flu"), "changed"),
    ("a column nobody asked for", lambda release: extended(release, "extra"), "columns"),
    ("an identifier", lambda release: extended(release, "name"), "columns"),
    ("a row twice", lambda release: release.rows.append(list(release.rows[0])), "rows"),
    ("a row of nowhere", lambda release: at(release, "0", "id", "77"), "rows"),
    ("no rows", lambda release: release.rows.clear(), "rows"),
]


@pytest.mark.parametrize(
    ("change", "kind"), [(c, kind) for _, c, kind in PLANTED], ids=[name for name, _, _ in PLANTED]
)
def test_a_planted_fault_is_found(good: Outcome, change: Callable[[Release], None], kind: str) -> None:
    assert kind in planted(good, change)


@pytest.mark.parametrize(
    ("told", "kind"),
    [
        ({"suppressed": 0}, "told"),
        ({"minimal": [[3, 2]]}, "minimal"),
        ({"acceptable_nodes": [], "acceptable": 0}, "acceptable"),
        ({"score": {"dm": 1}}, "score"),
        ({"levels": {"zip": 3, "age": 3}}, "optimum"),
        ({"levels": {"zip": 3, "age": 3}}, "label"),
    ],
)
def test_a_false_answer_is_found(good: Outcome, told: dict[str, Any], kind: str) -> None:
    assert kind in planted(good, nothing, told) | planted(good, nothing, told | scored(good, told))


def scored(good: Outcome, told: dict[str, Any]) -> dict[str, Any]:
    """The true score of the node that is told, so that only its rank is wrong: all seven rows are one class."""
    return {"score": {"dm": 49}, "suppressed": 0} if "levels" in told else {}


def test_levels_and_constraints_are_asked_of_the_node(good: Outcome) -> None:
    for change in (
        {"columns": {"zip": {"levels": {"min": 2}}}},
        {"search": {"constraints": {"forbidden": [{"age": 1}]}}},
    ):
        case = copy.deepcopy(GOOD)
        for section, keys in change.items():
            for key, value in keys.items():
                case.spec[section].setdefault(key, {}).update(value)
        assert "levels" in {finding.kind for finding in findings(case, good)}


def regional(labels: dict[str, str], **search: Any) -> set[str]:
    """Findings of a release by a scheme: rows 0 to 5 with these labels of their age, row 6 suppressed."""
    case = copy.deepcopy(GOOD)
    case.spec["search"] = {"algorithm": "ops", "metric": "dm", **search}
    case.spec["columns"]["zip"]["hierarchy"] = "suppression"
    case.spec["columns"]["age"]["levels"] = {"min": 1} if "low" in labels else {}
    rows: list[list[str | None]] = [
        [row[0], "*", labels["young"] if int(str(row[0])) < 3 else labels["old"], row[4]] for row in GOOD.table.rows[:6]
    ]
    outcome = Outcome(0, "{}", "", Release(["id", "zip", "age", "disease"], rows))
    return {finding.kind for finding in findings(case, outcome)}


def test_labels_of_regions_are_read() -> None:
    assert regional({"young": "[31-34]", "old": "[42-47]"}) == set()
    assert regional({"young": "{31, 33, 34}", "old": "{42, 44, 47}"}) == set()
    assert regional({"young": "[30, 40)", "old": "[40, 50)"}) == set()
    assert "label" in regional({"young": "[31-33]", "old": "[42-47]"})
    assert "label" in regional({"young": "{31, 33}", "old": "[42-47]"})
    assert "suppressed value" in regional({"young": "[31-34]", "old": "{42, 44, 47, 81}"})
    assert "suppressed value" in regional({"young": "[31-34]", "old": "[42-81]"})
    assert "range ends" in regional({"young": "[31-34]", "old": "[42-47]", "low": "1"})
    assert regional({"young": "[30-39]", "old": "[40-49]", "low": "1"}) == set()
    assert "levels" in regional({"young": "{31, 33, 34}", "old": "[40-49]", "low": "1"})
    assert "constraints" in regional({"young": "[31-34]", "old": "[42-47]"}, constraints={"forbidden": [{"age": 0}]})


def test_ranges_between_labels_that_are_no_numbers_are_read() -> None:
    def tens(value: str, _: int) -> str:
        return f"{value[:-1]}*"

    ladder = Ladder("n", "integer", "mask", 2, tens, "*", ["-22", "43", "57"])
    for label, value in {"[-2*, 4*]": "43", "[4*-5*]": "57", "[-2*, 5*]": "-22", "[-2* - 4*]": "43"}.items():
        assert read(label, value, ladder)
    assert not read("[-2*, 4*]", "57", ladder)
    assert read("{[4*-5*], NULL}", "57", ladder)
    assert not read("{[-2*-4*], NULL}", "57", ladder)


def test_a_guarding_node_that_can_be_inferred_is_found() -> None:
    case = copy.deepcopy(GOOD)
    tree = {"viral": ["flu"], "other": ["gout", "burn"]}
    personal = {"column": "disease", "guarding": "name", "p_breach": 0.5, "taxonomy": {"tree": tree}}
    case.spec["privacy"] = {"personalized": personal}
    case.spec["search"] = {"algorithm": "personalized"}
    case.spec["columns"]["zip"]["hierarchy"] = "suppression"
    for row in case.table.rows:
        row[1] = "viral" if row[4] == "flu" else None
    outcome = Outcome(0, "{}", "", Release(["id", "zip", "age", "disease"], []))
    assert outcome.release is not None
    outcome.release.rows = [[row[0], "*", "*", "*" if row[4] == "flu" else row[4]] for row in case.table.rows]
    assert findings(case, outcome) == []
    outcome.release.rows = [[row[0], "*", "*", row[4]] for row in case.table.rows]
    assert {finding.kind for finding in findings(case, outcome)} == {"class"}
    outcome.release.rows = [[row[0], "*", "*", "other"] for row in case.table.rows]
    assert {finding.kind for finding in findings(case, outcome)} == {"label"}


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [
        (Outcome(None, "", ""), "hang"),
        (Outcome(1, "", "Traceback: KeyError"), "traceback"),
        (Outcome(1, "", "sqlanon: error: x"), "exit code"),
        (Outcome(4, "", "sqlanon: error: internal error (KeyError)"), "internal error"),
        (Outcome(4, "", "sqlanon: error: step 'x' failed"), "engine failed"),
        (Outcome(2, "", ""), "message"),
        (Outcome(3, "", "sqlanon: error: one\nsqlanon: error: two"), "message"),
        (Outcome(2, "", "sqlanon: error: Dora Quist is no number"), "value in message"),
        (Outcome(3, "", "sqlanon: error: no generalization"), "infeasible"),
        (Outcome(2, "", "sqlanon: error: x", leftovers=["sqlanon_1_x"]), "scratch"),
    ],
)
def test_a_wrong_refusal_is_found(outcome: Outcome, kind: str) -> None:
    assert kind in {finding.kind for finding in findings(GOOD, outcome)}


def test_a_right_refusal_is_none() -> None:
    assert findings(GOOD, Outcome(2, "", "sqlanon: error: search.metric: unknown")) == []


def test_a_failing_case_is_shrunk_as_long_as_it_fails() -> None:
    """A case in which any row of disease `burn` fails shrinks to that row, and to the columns that are asked for."""

    def judge(case: Case) -> list[Any]:
        burnt = any("burn" in row for row in case.table.rows)
        return findings(case, Outcome(None, "", "")) if burnt else []

    small = shrink(GOOD, "hang", judge)
    assert [row[-1] for row in small.table.rows] == ["burn"]
    assert small.table.names == ["id", "disease"]
    assert "suppression" not in small.spec["privacy"]


def test_rows_that_may_be_reassigned_are_those_of_all_assignments() -> None:
    draw = Random(1)
    for _ in range(60):
        rows = range(draw.randint(1, 5))
        pairs = {row: {row, *(other for other in rows if draw.random() < 0.3)} for row in rows}
        whole = [one for one in permutations(rows) if all(one[row] in pairs[row] for row in rows)]
        for row in rows:
            assert reassigned(pairs, row) == {one[row] for one in whole}


def test_csv_tells_empty_texts_from_null() -> None:
    assert csv_records('a,b\n"",\n"x ""y""\nz",1\n') == [["a", "b"], ["", None], ['x "y"\nz', "1"]]


# -- releases that are killed ------------------------------------------------------------------------------------------


def test_a_killed_release_leaves_the_old_table_or_the_new_one_on_duckdb(tmp_path: Path) -> None:
    for crash in crashes(DuckDBFile(tmp_path / "crash.duckdb"), tmp_path, 1):
        assert crash.problem is None


@pytest.mark.soak
@pytest.mark.postgres
def test_a_killed_release_leaves_the_old_table_or_the_new_one_on_postgres(postgres_url: str, tmp_path: Path) -> None:
    for crash in crashes(PostgresSchema(postgres_url), tmp_path, 2):
        assert crash.problem is None
