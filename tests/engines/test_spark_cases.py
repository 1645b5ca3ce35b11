"""The papers' examples and the adversarial fixtures through the whole pipeline: Spark says what DuckDB says."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from sqlanon import pipeline
from sqlanon.errors import HierarchyError, SourceError
from sqlanon.release.lock import Lock
from sqlanon.release.results import PlanResult
from sqlanon.source.run import Options
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.database import Database, case_spec
from tests.kit.engine import execute, open_at, query
from tests.kit.papers import Case, adversarial_names, adversarial_values, load_case, read_csv

pytestmark = [pytest.mark.spark, pytest.mark.no_cover]

NAMES = adversarial_names()
VALUES = adversarial_values()
DUCKDB_TYPES = {"string": "varchar", "timestamp": "timestamptz"}


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def literal(value: object) -> str:
    if value is None:
        return "NULL"
    return "'" + str(value).replace("\\", "\\\\").replace("'", "\\'") + "'"


def on_spark(url: str, name: str, types: Mapping[str, str], rows: Sequence[Sequence[object]]) -> None:
    """A table of these columns and rows."""
    columns = ", ".join(f"{quoted(column)} {kind}" for column, kind in types.items())
    lines = ", ".join("(" + ", ".join(map(literal, row)) + ")" for row in rows)
    engine = open_at(url)
    execute(engine, f"CREATE TABLE {name} ({columns})", f"INSERT INTO {name} VALUES {lines}")
    engine.close()


def read_back(url: str, name: str, seen: str = "*") -> Counter[tuple[Any, ...]]:
    engine = open_at(url)
    try:
        return Counter(query(engine, f"SELECT {seen} FROM {name}"))
    finally:
        engine.close()


def figures(result: PlanResult) -> tuple[object, ...]:
    verdicts = sorted((verdict.node, verdict.suppressed, verdict.classes) for verdict in result.verdicts)
    return result.levels, result.rows, result.combinations, result.heights, result.fingerprint, verdicts


# -- the papers --------------------------------------------------------------------------------------------------------


def loaded(name: str, spark_url: str, duckdb_url: str) -> Case:
    case = load_case(name)
    Database(duckdb_url).create("source_table", case.types, case.rows)
    types = {name: kind.replace("text", "string") for name, kind in case.types.items()}
    on_spark(spark_url, "source_table", types, case.rows)
    return case


def test_plan_of_s2(spark_url: str, duckdb_url: str) -> None:
    """Every node of the lattice, and the metric that needs most of the database."""
    case = loaded("s2", spark_url, duckdb_url)
    asked = {"algorithm": "exhaustive", "metric": "loss"}
    result = pipeline.plan(case_spec(case, spark_url, 2, 1, **asked))
    assert figures(result) == figures(pipeline.plan(case_spec(case, duckdb_url, 2, 1, **asked)))
    assert {verdict.node: verdict.suppressed for verdict in result.verdicts} == {
        node: case.outliers(2, node) for node in case.vectors()
    }
    assert sorted(result.search.minimal) == case.minimal(2, 1)


@pytest.mark.parametrize(
    ("name", "k", "limit", "vector"),
    [("s1", 2, 0, (0, 1)), pytest.param("s3", 2, 1, (0, 1, 0, 0, 0), marks=pytest.mark.soak)],
)
def test_releases_of_s1_and_s3(
    name: str, k: int, limit: int, vector: tuple[int, ...], spark_url: str, duckdb_url: str
) -> None:
    """The lock of a plan on DuckDB is applied on Spark: a table that stands there is replaced, nothing else remains."""
    case = loaded(name, spark_url, duckdb_url)
    on_spark(spark_url, "release_table", {"a": "string"}, [["old"]])
    there = case_spec(case, duckdb_url, k, limit, algorithm="samarati")
    planned = pipeline.plan(there)
    pipeline.apply(there, Lock.of(there, planned, "spec.yaml"))
    here = case_spec(case, spark_url, k, limit, algorithm="samarati")
    statements: list[str] = []
    found = pipeline.plan(here, Options(hooks=(lambda event: statements.append(event.sql),)))
    assert tuple(found.levels.values()) == vector
    assert figures(found) == figures(planned)
    assert readings(statements, "source_table") == 1
    released = pipeline.apply(here, Lock.of(there, planned, "spec.yaml"))
    assert released.publication.suppressed == case.outliers(k, vector)
    assert released.publication.swap == "by two renames: for a moment the target had no table"
    assert read_back(spark_url, "release_table") == Database(duckdb_url).counted("release_table")
    engine = open_at(spark_url)
    assert [name for _, name, _ in query(engine, "SHOW TABLES")] == ["release_table", "source_table"]
    engine.close()


def readings(statements: Sequence[str], table: str) -> int:
    """How many statements of a trace read a table's rows; each statement is in it twice."""
    found = [sql for sql in statements if f"`{table}`" in sql and "LIMIT 0" not in sql and "REFRESH" not in sql]
    return len([sql for sql in found if "-- " not in sql]) // 2


@pytest.mark.soak
def test_release_of_c1_from_file_to_file(spark_base: str, tmp_path: Path) -> None:
    case = load_case("c1")
    named = case.expected["samarati"]
    places = {"source": str(case.table_path), "target": str(tmp_path / "release.csv"), "connection": spark_base}
    privacy = {"k": named["k"], "suppression": {"limit": named["limit"]}}
    search = {"algorithm": "samarati"}
    values = {**case.spec, **places, "privacy": privacy, "search": search}
    result = pipeline.run(spec_from_dict(values, case.directory))
    assert tuple(result.levels.values()) == tuple(named["vector"])
    header, rows = read_csv(tmp_path / "release.csv")
    assert header == case.columns
    assert len(rows) == len(case.rows) - case.outliers(named["k"], named["vector"])


# -- names, values and types that engines like to fold, trim, order or execute -----------------------------------------


def quasi(hierarchy: Any = None, **levels: int) -> dict[str, Any]:
    return {"role": "quasi_identifier", "levels": levels} | ({} if hierarchy is None else {"hierarchy": hierarchy})


def spec_at(url: str, columns: Mapping[str, Any], **places: Any) -> Spec:
    privacy = {"k": 2, "suppression": {"limit": "100%"}}
    given: dict[str, Any] = {"source": "t", "target": "released", **places}
    search = {"algorithm": "samarati"}
    return spec_from_dict({"connection": url, "columns": columns, "privacy": privacy, "search": search, **given})


def csv_of(path: Path, lines: Sequence[Sequence[str]]) -> dict[str, Any]:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(lines)
    return {"csv": {"path": str(path), "delimiter": ","}}


def run_on_both(
    urls: tuple[str, str],
    types: Mapping[str, str],
    rows: Sequence[Sequence[object]],
    columns: Mapping[str, Any],
    seen: str = "*",
) -> Counter[tuple[Any, ...]]:
    """Load and run on both engines: equal counts and equal releases, or the test fails. What `seen` asks of it."""
    spark_url, duckdb_url = urls
    there = {name.replace('"', '""'): DUCKDB_TYPES.get(kind, kind) for name, kind in types.items()}
    Database(duckdb_url).create("t", there, rows)
    on_spark(spark_url, "t", types, rows)
    here, other = (pipeline.run(spec_at(url, columns)) for url in urls)
    assert here.plan is not None
    assert other.plan is not None
    assert figures(here.plan) == figures(other.plan)
    assert here.publication.audit.to_dict() == other.publication.audit.to_dict()
    released = read_back(spark_url, "released", seen.format(text="string"))
    assert released == Database(duckdb_url).counted("released", seen.format(text="varchar"))
    return released


@pytest.fixture
def urls(spark_url: str, duckdb_url: str) -> tuple[str, str]:
    return spark_url, duckdb_url


def test_names_values_and_labels(urls: tuple[str, str], tmp_path: Path) -> None:
    """Every value once, twice or three times: as it is, under a mask, as a label of a file, sensitive. Every name."""
    values = [value for value in VALUES if value is not None and "\r" not in value]
    hierarchy = csv_of(tmp_path / "a.csv", [[value, values[n // 2 * 2], "top"] for n, value in enumerate(values)])
    accepted = {"role": "insensitive", "accept": "the names are the test, not the values"}
    columns: dict[str, Any] = dict.fromkeys(NAMES, accepted)
    columns |= {
        "*/ end of comment": quasi(max=0),
        "``": quasi({"mask": {"steps": [1, 2], "character": "'"}}, min=1, max=1),
        NAMES[0]: quasi(hierarchy, min=1, max=1),
        NAMES[1]: {"role": "sensitive"},
    }
    given = [name for name in NAMES if columns[name]["role"] != "insensitive"]
    rows = [
        [value if name in given else f"of {name}" for name in NAMES]
        for number, value in enumerate([None, *values])
        for _ in range(number % 3 + 1)
    ]
    released = run_on_both(urls, dict.fromkeys(NAMES, "string"), rows, columns)
    kept = {value for number, value in enumerate([None, *values]) if number % 3 > 0}
    for name in ("*/ end of comment", NAMES[1]):
        assert {row[NAMES.index(name)] for row in released} == kept


@pytest.mark.soak
def test_types(urls: tuple[str, str], tmp_path: Path) -> None:
    """Zeros, NaN, padding, time zones and text that looks like numbers; each value of the floats twice."""
    floats = ["NaN", "0.0", "1e20", "1e-7", "123456.5", "1e15", "Infinity", "0.30000000000000004", None]
    listed = ["NaN", "0", "1e+20", "1e-07", "123456.5", "1e+15", "Infinity", "0.30000000000000004"]
    moments = ["2020-01-01 00:30:00+00", "2019-12-31 19:30:00-05", "2020-01-01 23:30:00+14"]
    texts, fixed = ["1", "01", "1.0", "1 ", "1e0"], ["a", "abc"]
    rows = [
        [number, number, fixed[position % 2], moments[position % 3], texts[position % 5]]
        for position, given in enumerate(floats)
        for number in (given, "-0.0" if given == "0.0" else given)
    ]
    columns = {
        "f": quasi({"interval": {"widths": ["0.1"], "max": 5}}, max=0),
        "g": quasi(csv_of(tmp_path / "g.csv", [[text, f"of {text}"] for text in listed]), min=1, max=1),
        "c": quasi(csv_of(tmp_path / "c.csv", [["a", "one"], ["abc", "three"]]), min=1, max=1),
        "z": quasi({"date": ["hour", "day", "week"]}, min=2, max=2),
        "t": quasi(max=0),
    }
    types = {"f": "double", "g": "double", "c": "char(3)", "z": "timestamp", "t": "string"}
    released = run_on_both(urls, types, rows, columns, "f = CAST('NaN' AS double), g, c, z, t")
    assert sum(released.values()) == len(rows)
    assert {row[1] for row in released} == {None, *(f"of {text}" for text in listed)}
    assert {row[3] for row in released} == {"2020-01-01"}


@pytest.mark.soak
def test_a_hierarchy_that_goes_round_is_refused(spark_url: str) -> None:
    on_spark(spark_url, "t", {"q": "string"}, [["a"], ["b"]])
    engine = open_at(spark_url)
    execute(engine, "CREATE TABLE ref AS SELECT * FROM VALUES ('a', 'b', 'x'), ('b', 'a', 'x') AS v(q, p, g)")
    engine.close()
    columns = {"q": quasi({"table": {"name": "ref", "levels": ["q", "p", "g"]}})}
    with pytest.raises(HierarchyError, match="2 labels of its hierarchy are their own ancestors"):
        pipeline.plan(spec_at(spark_url, columns))


def test_what_is_missing_is_named(spark_url: str) -> None:
    with pytest.raises(SourceError, match="there is no table or view t"):
        pipeline.plan(spec_at(spark_url, {"q": quasi()}))
