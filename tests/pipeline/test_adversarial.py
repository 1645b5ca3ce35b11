"""Names and values that engines like to fold, trim, order or execute: whole runs, alike on both engines."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest

from sqlanon import pipeline
from sqlanon.engines.base import Engine
from sqlanon.errors import EngineError
from sqlanon.hierarchies.definition import join_name
from sqlanon.release.results import RunResult
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.papers import adversarial_names, adversarial_values
from tests.kit.tables import at, create, literal, quoted, rows, run

NAMES = adversarial_names()
VALUES = adversarial_values()
CHUNK = 5

pytestmark = [pytest.mark.postgres, pytest.mark.no_cover]


@pytest.fixture
def urls(duckdb_url: str, postgres_url: str) -> tuple[str, str]:
    """Both engines: these tests compare what they say."""
    return duckdb_url, postgres_url


def spec_at(
    url: str, columns: Mapping[str, Any], *, k: int = 2, limit: object = "100%", mode: str = "drop", **places: Any
) -> Spec:
    search = {"algorithm": "samarati"}
    privacy = {"k": k, "suppression": {"limit": limit, "mode": mode}}
    given: dict[str, Any] = {"source": "t", "target": "released"} | places
    return spec_from_dict({"connection": url, "columns": columns, "privacy": privacy, "search": search, **given})


def quasi(hierarchy: Any = None, **more: Any) -> dict[str, Any]:
    return {"role": "quasi_identifier"} | ({} if hierarchy is None else {"hierarchy": hierarchy}) | more


def figures(result: RunResult) -> tuple[object, ...]:
    publication = result.publication
    audit = publication.audit
    return (result.levels, publication.rows, publication.suppressed, audit.rows, audit.classes, audit.k, audit.largest)


def released(engine: Engine, name: Sequence[str], columns: Sequence[str]) -> Counter[tuple[Any, ...]]:
    items = ", ".join(f"CAST({quoted(column)} AS text)" for column in columns)
    return Counter(rows(engine, f"SELECT {items} FROM {quoted(*name)}"))


def run_on_both(
    urls: tuple[str, str],
    types: Mapping[str, str],
    table: Sequence[Sequence[object]],
    columns: Mapping[str, Any],
    **settings: Any,
) -> Counter[tuple[Any, ...]]:
    """Load and run on both engines: equal figures and equal releases, or the test fails. The release."""
    answers = []
    for url in urls:
        with at(url) as engine:
            create(engine, ["t"], types, table)
        result = pipeline.run(spec_at(url, columns, **settings))
        with at(url) as engine:
            answers.append((figures(result), released(engine, ["released"], list(types))))
    assert answers[0][0] == answers[1][0]
    assert answers[0][1] == answers[1][1]
    return answers[0][1]


# -- names -----------------------------------------------------------------------------------------------------------


def chunks() -> Iterator[list[str]]:
    for start in range(0, len(NAMES), CHUNK):
        yield (NAMES + NAMES)[start : start + CHUNK]


@pytest.mark.representative(8)
@pytest.mark.parametrize("names", list(chunks()), ids=lambda names: ascii(names[0]))
def test_names_of_schemas_tables_and_columns(urls: tuple[str, str], names: list[str]) -> None:
    table = [[f"{letter}{column}" for column in range(CHUNK)] for letter in "aab"]
    schema, source, target, scratch, _ = names
    answers = []
    for url in urls:
        with at(url) as engine:
            for name in dict.fromkeys((schema, scratch)):
                run(engine, f"DROP SCHEMA IF EXISTS {quoted(name)} CASCADE")
                run(engine, f"CREATE SCHEMA {quoted(name)}")
            create(engine, [schema, source], dict.fromkeys(names, "text"), table)
        places: dict[str, Any] = {
            "source": {"table": join_name((schema, source))},
            "target": {"table": join_name((schema, target))},
        }
        if not url.startswith("duckdb"):
            # Scratch tables of DuckDB are temporary and lie in no schema.
            places["scratch"] = join_name((scratch,))
        columns: dict[str, Any] = {
            name: quasi({"tree": {"letter": [f"a{i}", f"b{i}"]}}) for i, name in enumerate(names)
        }
        columns[names[1]] = quasi({"mask": {"length": 2}})
        columns[names[2]] = quasi({"sql": [quoted(names[2]), f"substr({quoted(names[2])}, 1, 1)"]})
        result = pipeline.run(spec_at(url, columns, limit=1, **places))
        with at(url) as engine:
            answers.append((figures(result), released(engine, [schema, target], names)))
            left = rows(engine, "SELECT table_name FROM information_schema.tables WHERE table_name LIKE 'sqlanon%'")
            assert left == []
            for name in dict.fromkeys((schema, scratch)):
                run(engine, f"DROP SCHEMA {quoted(name)} CASCADE")
    assert answers[0] == answers[1]
    assert answers[0][0][1:] == (3, 1, 2, 1, 2, 2)
    assert answers[0][1] == Counter({tuple(table[0]): 2})


def test_all_names_in_one_table(urls: tuple[str, str]) -> None:
    columns: dict[str, Any] = {name: {"role": "insensitive", "accept": "a name as any other"} for name in NAMES}
    columns["plain"] = quasi()
    row = [f"of {name}" for name in NAMES]
    found = run_on_both(urls, dict.fromkeys(NAMES, "text"), [row, row], columns)
    assert found == Counter({tuple(row): 2})


# -- values ----------------------------------------------------------------------------------------------------------


def repeated() -> list[list[object]]:
    """Every value as quasi-identifier, sensitive value and insensitive one; once, twice or three times."""
    return [[value, value, number] for number, value in enumerate(VALUES) for _ in range(number % 3 + 1)]


VALUE_TYPES = {"q": "text", "s": "text", "i": "int"}


def value_columns(hierarchy: Any, **more: Any) -> dict[str, Any]:
    return {"q": quasi(hierarchy, **more), "s": {"role": "sensitive"}, "i": {"role": "insensitive"}}


def csv_of(path: Path, lines: Sequence[Sequence[str]]) -> dict[str, Any]:
    with path.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream).writerows(lines)
    return {"csv": {"path": str(path), "delimiter": ","}}


def test_values_stay_apart_at_level_0(urls: tuple[str, str]) -> None:
    found = run_on_both(urls, VALUE_TYPES, repeated(), value_columns(None, levels={"max": 0}))
    kept = [row for row in repeated() if int(str(row[2])) % 3 > 0]
    assert found == Counter((value, other, str(number)) for value, other, number in kept)


@pytest.mark.parametrize("mode", ["drop", "blank"])
def test_values_under_a_mask(urls: tuple[str, str], mode: str) -> None:
    hierarchy = {"mask": {"steps": [1, 2], "character": "'"}}
    run_on_both(urls, VALUE_TYPES, repeated(), value_columns(hierarchy, levels={"min": 1, "max": 1}), mode=mode)


def test_values_and_labels_of_a_csv(urls: tuple[str, str], tmp_path: Path) -> None:
    values = [value for value in VALUES if value is not None and "\r" not in value]
    lines = [[value, values[position // 2 * 2], "top"] for position, value in enumerate(values)]
    table = [row for row in repeated() if row[0] is None or "\r" not in str(row[0])]
    columns = value_columns(csv_of(tmp_path / "a.csv", lines), levels={"min": 1, "max": 1})
    found = run_on_both(urls, VALUE_TYPES, table, columns, k=4)
    assert {row[0] for row in found} <= {line[1] for line in lines}
    assert sum(found.values()) > 20


def test_values_and_labels_of_a_tree(urls: tuple[str, str]) -> None:
    values = [value for value in VALUES if value is not None]
    branches: dict[str, list[str]] = {}
    for position, value in enumerate(values):
        branches.setdefault(f"{values[position // 2 * 2]}'", []).append(value.replace("${", "$${"))
    columns = value_columns({"tree": branches}, levels={"min": 1, "max": 1})
    found = run_on_both(urls, VALUE_TYPES, repeated(), columns, k=4)
    assert sum(found.values()) > 20


@pytest.mark.parametrize("target", [{"view": "released"}, {"table": "released"}], ids=["view", "table"])
def test_values_in_what_stands_written_out(urls: tuple[str, str], tmp_path: Path, target: dict[str, str]) -> None:
    """A view has its labels in its text; a script inserts them."""
    values = [value for value in VALUES if value is not None and "\r" not in value]
    hierarchy = csv_of(tmp_path / "a.csv", [[value, f"{value[:1]}.", "top"] for value in values])
    table = [row for row in repeated() if row[0] is None or "\r" not in str(row[0])]
    columns = value_columns(hierarchy, levels={"min": 1, "max": 1})
    found = run_on_both(urls, VALUE_TYPES, table, columns, target=target)
    if "view" in target:
        return
    for url in urls:
        spec = spec_at(url, columns, target="scripted")
        run_script(url, pipeline.script(spec, None))
        with at(url) as engine:
            assert released(engine, ["scripted"], list(VALUE_TYPES)) == found


def run_script(url: str, script: str) -> None:
    """As a person would: with the engine's own client, sqlanon nowhere near."""
    if url.startswith("duckdb"):
        with duckdb.connect(url.removeprefix("duckdb:///")) as connection:
            connection.execute(script)
        return
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(script.encode())


# -- types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["double precision", "real"])
def test_floats(urls: tuple[str, str], kind: str) -> None:
    texts = ["NaN", "NaN", "0.0", "-0.0", "0.0", "Infinity", "-Infinity", "Infinity", "0.1", "0.1", None, None, "1e20"]
    table = [[text, "x"] for text in texts]
    columns = {"q": quasi({"interval": {"widths": ["0.1"], "max": 5}}, levels={"max": 0}), "s": {"role": "sensitive"}}
    answers = []
    for url in urls:
        with at(url) as engine:
            create(engine, ["t"], {"q": kind, "s": "text"}, table)
        answers.append(figures(pipeline.run(spec_at(url, columns))))
        with at(url) as engine:
            assert rows(engine, "SELECT count(*) FROM released WHERE q = 0") == [(3,)]
            assert rows(engine, "SELECT count(*) FROM released WHERE q = 'NaN'") == [(2,)]
            assert rows(engine, "SELECT count(*) FROM released WHERE q IS NULL") == [(2,)]
    assert answers[0] == answers[1] == ({"q": 0}, 13, 2, 11, 5, 2, 3)


def test_labels_of_floats(urls: tuple[str, str], tmp_path: Path) -> None:
    texts = ["NaN", "-0.0", "0.0", "1e20", "1e-7", "123456.5", "1e15", "1e16", "Infinity", "0.30000000000000004"]
    listed = ["NaN", "0", "1e+20", "1e-07", "123456.5", "1e+15", "1e+16", "Infinity", "0.30000000000000004"]
    hierarchy = csv_of(tmp_path / "a.csv", [[text, f"of {text}"] for text in listed])
    table = [[text] for text in texts * 2]
    found = run_on_both(urls, {"q": "double precision"}, table, {"q": quasi(hierarchy, levels={"min": 1, "max": 1})})
    assert {row[0] for row in found} == {f"of {text}" for text in listed}


def test_fixed_length_text(urls: tuple[str, str], tmp_path: Path) -> None:
    hierarchy = csv_of(tmp_path / "a.csv", [["a", "x"], ["ab", "x"], ["abc", "y"]])
    table: list[list[object]] = [["a"], ["a"], ["ab"], ["abc"], [None]]
    found = run_on_both(urls, {"q": "char(3)"}, table, {"q": quasi(hierarchy, levels={"min": 1, "max": 1})})
    assert found == Counter({("x",): 3})


@pytest.mark.parametrize("mode", ["drop", "blank"])
def test_enumerations(urls: tuple[str, str], mode: str) -> None:
    answers = []
    for url in urls:
        with at(url) as engine:
            run(engine, "CREATE TYPE mood AS ENUM ('sad', 'Sad', 'it''s ok', '')")
            create(engine, ["t"], {"q": "mood"}, [["sad"], ["Sad"], ["sad"], ["it's ok"], [""], [None], [None]])
        result = pipeline.run(spec_at(url, {"q": quasi(levels={"max": 0})}, mode=mode))
        with at(url) as engine:
            answers.append((figures(result), released(engine, ["released"], ["q"])))
    assert answers[0] == answers[1]
    assert answers[0][1] == Counter({("sad",): 2, (None,): 2 if mode == "drop" else 5})


def test_columns_that_ignore_case(urls: tuple[str, str]) -> None:
    """On PostgreSQL where the server has what it takes; on DuckDB always."""
    answers = []
    for url, kinds in zip(urls, (["text COLLATE NOCASE"], ["citext", "text COLLATE blind", "text"]), strict=True):
        with at(url) as engine:
            kind = next(kind for kind in kinds if makes(engine, kind))
            run(engine, f"CREATE TABLE t (q {kind}, r {kind})")
            run(engine, "INSERT INTO t VALUES ('a', 'x'), ('A', 'x'), ('a', 'x'), ('b', 'X'), ('B', 'X '), ('B', 'X ')")
        columns = {"q": quasi(levels={"max": 0}), "r": quasi(levels={"max": 0})}
        result = pipeline.run(spec_at(url, columns))
        with at(url) as engine:
            answers.append((figures(result), released(engine, ["released"], ["q", "r"])))
            result_of_audit = pipeline.audit_spec(spec_at(url, columns))
            assert (result_of_audit.classes, result_of_audit.k) == (2, 2)
    assert answers[0] == answers[1]
    assert answers[0][1] == Counter({("a", "x"): 2, ("B", "X "): 2})


def makes(engine: Engine, kind: str) -> bool:
    """Whether the engine knows a type or collation, after an attempt to give it."""
    helps = {
        "citext": "CREATE EXTENSION IF NOT EXISTS citext",
        "text COLLATE blind": "CREATE COLLATION blind"
        " (provider = icu, locale = 'und-u-ks-level2', deterministic = false)",
    }
    try:
        if kind in helps:
            run(engine, helps[kind])
        rows(engine, f"SELECT CAST('a' AS {kind.partition(' ')[0]})")
    except EngineError:
        return False
    return True


def test_time_zones_of_sessions(urls: tuple[str, str]) -> None:
    moments = ["2020-01-01 00:30:00+00", "2019-12-31 19:30:00-05", "2020-01-01 23:30:00+14", "2020-06-01 00:00:00+00"]
    table = [[moment] for moment in moments for _ in range(2)]
    columns = {"q": quasi({"date": ["day", "month"]}, levels={"min": 1, "max": 1})}
    duckdb_url, postgres_url = urls
    separator = "%20" if "options=" in postgres_url else "&options="
    tokyo = f"{postgres_url}{separator}-cTimeZone%3DAsia/Tokyo%20-cDateStyle%3DGerman"
    found = run_on_both((duckdb_url, tokyo), {"q": "timestamptz"}, table, columns)
    assert found == Counter({("2020-01-01",): 6, ("2020-06-01",): 2})


def test_text_that_looks_like_numbers_is_text(urls: tuple[str, str]) -> None:
    table = [[text] for text in ["1", "01", "1.0", "1 ", "1e0", "+1"] for _ in range(2)]
    found = run_on_both(urls, {"q": "text"}, table, {"q": quasi(levels={"max": 0})})
    assert len(found) == 6


def test_literals_of_the_test_itself() -> None:
    assert literal("it's") == "'it''s'"
