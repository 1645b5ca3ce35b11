"""Sources as people have them: compressed files, folders, lists, patterns, partitions, JSON lines; what is refused."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sqlanon import pipeline
from sqlanon.engines.dialects import DUCKDB
from sqlanon.engines.duckdb import catalog
from sqlanon.engines.duckdb.engine import DuckDBEngine
from sqlanon.errors import SourceError, SpecError, SqlanonError, UsageError
from sqlanon.spec import Spec, spec_from_dict
from tests.kit.commands import CommandLine

COLUMNS: dict[str, Any] = {
    "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 5]}}},
    "year": {"role": "quasi_identifier"},
    "illness": {"role": "sensitive"},
}
PEOPLE = "select '9413' || (i % 3) as zip, 2024 + i % 2 as year, 'it''s; ' || i % 4 as illness from range(24) t(i)"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def spec_of(source: Any, target: str = "released.csv", **keys: Any) -> Spec:
    return spec_from_dict({"source": source, "target": target, "columns": COLUMNS, "privacy": {"k": 4}, **keys})


def write(path: str, options: str = "", rows: str = PEOPLE) -> None:
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    with duckdb.connect() as connection:
        connection.execute(f"copy ({rows}) to '{path}' ({options or 'header true'})")


def released() -> list[tuple[Any, ...]]:
    """Every class has its four rows as they are."""
    with duckdb.connect() as connection:
        read = "read_csv('released.csv', types = {zip: 'text'})"
        return connection.execute(f"select zip, year, illness from {read} order by all").fetchall()


HALVES = (f"select * from ({PEOPLE}) where year = 2024", f"select * from ({PEOPLE}) where year = 2025")

KINDS: dict[str, tuple[Any, tuple[tuple[str, str, str], ...]]] = {
    "gzip": ("p.csv.gz", (("p.csv.gz", "header true", PEOPLE),)),
    "zstd": ("p.tsv.zst", (("p.tsv.zst", "header true, delimiter '\t', compression zstd, format csv", PEOPLE),)),
    "json lines": ("p.jsonl", (("p.jsonl", "format json", PEOPLE),)),
    "json": ("p.json", (("p.json", "format json, array true", PEOPLE),)),
    "json, zipped": ("p.ndjson.gz", (("p.ndjson.gz", "format json, compression gzip", PEOPLE),)),
    "list": (
        ["a.csv", "it's b.csv"],
        (("a.csv", "header true", HALVES[0]), ("it''s b.csv", "header true", HALVES[1])),
    ),
    "pattern": ("d/*.csv", (("d/a.csv", "header true", HALVES[0]), ("d/b.csv", "header true", HALVES[1]))),
    "folder": ("d/", (("d/a.csv.gz", "header true", HALVES[0]), ("d/x/b.csv.gz", "header true", HALVES[1]))),
    "partitions": (
        "d/",
        tuple(
            (f"d/year={year}/part-0.parquet", "format parquet", f"select zip, illness from ({rows})")
            for year, rows in zip((2024, 2025), HALVES, strict=True)
        ),
    ),
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_people_have_is_released_like_one_plain_file(folder: Path, kind: str) -> None:
    source, files = KINDS[kind]
    for name, options, rows in files:
        write(name, options, rows)
    assert pipeline.run(spec_of(source)).to_dict()["rows"] == 24
    with duckdb.connect() as connection:
        assert released() == connection.execute(f"from ({PEOPLE}) order by all").fetchall()


def test_hidden_files_of_a_folder_are_no_data(folder: Path) -> None:
    write("d/a.csv")
    write("d/_started.csv", rows="select 'x' as strange")
    (folder / "d" / "README.txt").write_text("about it")
    assert pipeline.run(spec_of("d/")).to_dict()["rows"] == 24


def test_a_column_that_one_file_alone_has_is_seen(folder: Path) -> None:
    write("d/a.csv")
    write("d/b.csv", rows=f"select *, 'me' as name from ({PEOPLE})")
    with pytest.raises(SourceError, match="column 'name' of the source is not listed"):
        pipeline.plan(spec_of("d/*.csv"))


def test_a_file_is_not_read_twice(folder: Path) -> None:
    write("d/a.csv")
    os.link("d/a.csv", "d/b.csv")
    for source in (["d/a.csv", "d/../d/a.csv"], "d/", "d/*.csv", ["d/*.csv", "d/a.csv"]):
        with pytest.raises(SpecError, match=r"source: .* are one file: its rows would be read twice"):
            pipeline.plan(spec_of(source))


@pytest.mark.parametrize(
    ("files", "told"),
    [
        (("d/a.csv", "d/b.parquet"), r"holds .csv, .parquet files; name the ones to read by a pattern"),
        (("d/a.csv", "d/_temporary/b.csv"), "holds 1 data files, which other readers leave out"),
        (("d/README",), "holds no csv, tsv, json or parquet file"),
        ((), "there is no folder 'd/'"),
    ],
)
def test_a_folder_of_more_than_one_table_is_refused(folder: Path, files: tuple[str, ...], told: str) -> None:
    for name in files:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("zip\n1\n")
    with pytest.raises(UsageError, match=told):
        pipeline.plan(spec_of("d/"))


@pytest.mark.parametrize(
    ("source", "told"),
    [
        (["a.csv", "b.parquet"], "files of one format are expected"),
        (["a.csv", "d/"], "files of one format are expected"),
        (["d/", "e/"], "one folder, or a list of files, is expected"),
        ("*.xlsx", "one Excel file is expected"),
        ({"file": "a.txt"}, r"a path that ends in .csv, .tsv, .json, .jsonl \(also with .gz or .zst\)"),
        ([], "source"),
    ],
)
def test_sources_that_are_no_table_are_refused(source: Any, told: str) -> None:
    with pytest.raises(SpecError, match=told):
        spec_of(source)


@pytest.mark.parametrize("target", ["out.csv.gz", "out.jsonl", "out.xlsx", "out/", ["a.csv", "b.csv"]])
def test_a_target_is_one_plain_file(target: Any) -> None:
    with pytest.raises(SpecError, match="target"):
        spec_of("a.csv", target)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("d/", "d/released.csv"),
        ("d/", "d/x/released.csv"),
        ("d/*.csv", "d/released.csv"),
        (["d/a.csv", "d/b.csv"], "d/b.csv"),
        ({"query": "select * from read_csv('d/**/*.csv')"}, "d/x/released.csv"),
    ],
)
def test_nothing_among_the_files_that_are_read_is_written(folder: Path, source: Any, target: str) -> None:
    write("d/a.csv", rows=HALVES[0])
    write("d/b.csv", rows=HALVES[1])
    (folder / "d" / "x").mkdir()
    before = sorted(folder.rglob("*"))
    with pytest.raises(SpecError, match="is only ever read, name another target"):
        pipeline.run(spec_of(source, target))
    assert sorted(folder.rglob("*")) == before


def test_a_plan_is_not_written_into_a_folder_that_is_read(sqlanon: CommandLine, folder: Path) -> None:
    write("d/a.csv")
    write("l/a.csv.gz")
    for source, out in (("d", "d/spec.yaml"), ("l/a.csv.gz", "l/a.csv.gz")):
        ended = sqlanon("init", source, "--out", out, "--force")
        assert ended.code == 2, ended.err
        assert "is the source, which is never written over" in ended.err


@pytest.mark.parametrize(
    ("source", "extension"),
    [
        ("people.xlsx", "DuckDB reads Excel files with its extension excel"),
        ("https://user:pass@127.0.0.1:1/people.csv.gz", "DuckDB reads https:// files with its extension httpfs"),
        ("s3://bucket/**/*.parquet", "DuckDB reads s3:// files with its extension httpfs"),
        (["abfss://a/b.csv", "abfss://a/c.csv"], "DuckDB reads abfss:// files with its extension azure"),
    ],
)
def test_an_extension_that_is_missing_is_named(
    folder: Path, source: Any, extension: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "has_extension", lambda engine, name: False)
    with pytest.raises(SourceError, match=extension) as error:
        pipeline.plan(spec_of(source))
    assert "pass" not in str(error.value)
    assert "is not installed; run the statement INSTALL" in str(error.value)


def test_engines_that_read_plain_files_alone_say_so(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write("p.csv.gz")
    write("d/year=2024/p.parquet", "format parquet", HALVES[0])
    plain = replace(DUCKDB, reads_unusual=False)
    for source, unread in {"p.csv.gz": "csv files", "d/": "folders"}.items():
        spec = spec_of(source, "released")
        levels = pipeline.plan(spec).recoding
        with pytest.raises(UsageError, match=f"source: a script for spark does not read {unread}; load it"):
            pipeline.scripted(spec, levels, dialect="spark")
    monkeypatch.setattr(DuckDBEngine, "traits", plain)
    with pytest.raises(UsageError, match="source: duckdb reads plain csv and parquet files, no compressed files"):
        pipeline.plan(spec_of("p.csv.gz"))


def test_a_draft_names_what_was_named(sqlanon: CommandLine, folder: Path) -> None:
    write("d/year=2024/a.parquet", "format parquet", HALVES[0])
    write("d/year=2025/a.parquet", "format parquet", HALVES[1])
    write("p.csv.gz")
    for given, source, target in (
        ("d", "d/", "d_release.parquet"),
        ("d/*/*.parquet", "d/*/*.parquet", "d/all_release.csv"),
        ("p.csv.gz", "p.csv.gz", "p_release.csv"),
    ):
        assert sqlanon("init", given, "--force", "--k", "2").code == 0
        text = Path("spec.yaml").read_text()
        assert f"source: {source}\n" in text.replace('"', "").replace("'", "")
        assert f"target: {target}\n" in text
        assert sqlanon("check", "spec.yaml").code == 0


def test_the_script_of_a_folder_reads_what_is_there_then(folder: Path) -> None:
    write("d/a.csv")
    text = pipeline.script(spec_of("d/", "released"), None)
    assert "READ_CSV('d/**/[!._]*.csv'" in text
    assert "union_by_name" in text


def test_errors_are_of_the_project(folder: Path) -> None:
    (folder / "p.jsonl").write_text('{"zip": 1}\nnot json: secret value\n')
    with pytest.raises(SqlanonError) as error:
        pipeline.plan(spec_of("p.jsonl"))
    assert "secret" not in str(error.value)
