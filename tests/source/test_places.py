"""Places that cannot be used are refused before any work, by their key and with exit code 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kit.commands import COLUMNS, CommandLine, write_spec
from tests.kit.engine import execute, open_at, query

QI = {"zip": COLUMNS["zip"], "disease": COLUMNS["disease"]}


@pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    kind = request.param
    where = (
        str(request.getfixturevalue("postgres_url")) if kind == "postgres" else f"{kind}:///{tmp_path}/people.{kind}"
    )
    engine = open_at(where)
    execute(engine, "CREATE TABLE people (zip TEXT, disease TEXT)")
    execute(engine, f"INSERT INTO people VALUES {', '.join(['(94138, 1)'] * 5)}".replace("94138, 1", "'94138', 'flu'"))
    engine.close()
    return where


def spec_of(url: str, folder: Path, **more: Any) -> Path:
    values = {"connection": url, "source": "people", "target": "released", "columns": QI, "privacy": {"k": 2}}
    return write_spec(folder / "spec.yaml", {**values, **more})


def refused(sqlanon: CommandLine, spec: Path) -> str:
    """What `check`, `plan` and `run` say, which is the same."""
    told = set()
    for command in ("check", "run"):
        ended = sqlanon(command, spec)
        assert ended.code == 2, (command, ended.err)
        told.add(ended.err)
    [text] = told
    return str(text)


def test_a_scratch_schema_is_honoured_or_refused(sqlanon: CommandLine, url: str, folder: Path) -> None:
    if url.startswith("postgres"):
        engine = open_at(url)
        execute(engine, "DROP SCHEMA IF EXISTS sqlanon_places CASCADE")
        execute(engine, "CREATE SCHEMA sqlanon_places")
        engine.close()
        spec = spec_of(url, folder, scratch="sqlanon_places")
        assert "sqlanon_places." in sqlanon("run", spec, "--show-sql").err.replace('"', "")
        return
    assert "scratch: on " in refused(sqlanon, spec_of(url, folder, scratch="main"))


def test_a_schema_for_tables_of_evidence_is_honoured(sqlanon: CommandLine, tmp_path: Path, folder: Path) -> None:
    where = f"duckdb:///{tmp_path}/base.duckdb"
    engine = open_at(where)
    execute(engine, "CREATE TABLE people AS SELECT '94138' AS zip, 'flu' AS disease FROM range(5)")
    execute(engine, "CREATE SCHEMA kept")
    engine.close()
    assert sqlanon("run", spec_of(where, folder, scratch="kept", evidence={"tables": True})).code == 0
    engine = open_at(where)
    assert query(engine, "SELECT count(*) FROM kept.sqlanon_run") == [(1,)]
    engine.close()


@pytest.mark.parametrize("regions", ["x.csv", "classes.parquet"])
def test_regions_in_a_file_are_refused(sqlanon: CommandLine, url: str, folder: Path, regions: str) -> None:
    assert "regions: a table is expected, not a file" in refused(sqlanon, spec_of(url, folder, regions=regions))


def test_regions_in_a_schema_that_is_not_there_are_refused(sqlanon: CommandLine, url: str, folder: Path) -> None:
    assert "regions: there is no schema nowhere" in refused(sqlanon, spec_of(url, folder, regions="nowhere.classes"))


RESERVED = {
    "duckdb": ("information_schema.released", "pg_catalog.released", "temp.released"),
    "postgresql": ("information_schema.released", "pg_catalog.released", "pg_toast.released", "pg_class"),
    "sqlite": ("sqlite_released",),
}


@pytest.mark.parametrize("key", ["target", "regions"])
def test_names_of_the_database_itself_are_refused(sqlanon: CommandLine, url: str, folder: Path, key: str) -> None:
    for name in RESERVED[url.partition(":")[0]]:
        text = refused(sqlanon, spec_of(url, folder, **{key: name}))
        assert f"{key}: {name} belongs to the database itself; name another " in text


def test_a_view_is_found_as_the_database_spells_names(sqlanon: CommandLine, tmp_path: Path, folder: Path) -> None:
    where = f"sqlite:///{tmp_path}/views.sqlite"
    engine = open_at(where)
    execute(engine, "CREATE TABLE people (zip TEXT, disease TEXT)")
    execute(engine, "INSERT INTO people VALUES ('94138', 'flu'), ('94138', 'flu')")
    execute(engine, "CREATE VIEW seen AS SELECT * FROM people")
    engine.close()
    assert sqlanon("run", spec_of(where, folder, source="SEEN")).code == 0
    assert "is the source" in refused(sqlanon, spec_of(where, folder, source="Seen", target="PEOPLE"))


def test_the_character_nul_is_refused_wherever_it_stands(sqlanon: CommandLine, url: str, folder: Path) -> None:
    for key, value in (
        ("target", "a\0b"),
        ("evidence", {"folder": "a\0b"}),
        ("columns", {**QI, "a\0b": QI["disease"]}),
    ):
        assert "a text with the character NUL" in refused(sqlanon, spec_of(url, folder, **{key: value}))


def test_another_database_is_refused(sqlanon: CommandLine, postgres_url: str, folder: Path) -> None:
    engine = open_at(postgres_url)
    execute(engine, "CREATE TABLE people (zip TEXT, disease TEXT)")
    engine.close()
    for key in ("target", "regions", "source"):
        text = refused(sqlanon, spec_of(postgres_url, folder, **{key: "other.public.people"}))
        assert "other.public.people lies in another database" in text


@pytest.mark.parametrize("name", ["broken.csv", "broken.parquet"])
def test_a_file_that_is_none_is_named(sqlanon: CommandLine, folder: Path, name: str) -> None:
    """What the engine says of it would quote the line."""
    (folder / name).write_bytes(b"zip,disease\n\xff\xfe94138,\0\n")
    text = refused(sqlanon, spec_of("duckdb:///:memory:", folder, source=name, target="released.parquet"))
    assert f"{name}': it is no {name[7:]} file" in text
    assert "94138" not in text
