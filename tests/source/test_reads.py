"""Nothing that is read is ever written: a target within what a spec reads is refused before anything starts."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from sqlanon import pipeline
from sqlanon.errors import SpecError
from sqlanon.spec import Spec, load_spec, spec_from_dict
from tests.kit.commands import CommandLine
from tests.kit.database import Database
from tests.kit.engine import execute, open_at

LEVELS = '"Le""vels"'
"""A name with a quote in it."""
CSV = "zip,name\n" + "94138,a\n94139,b\n" * 4


def values(url: str, source: Any, target: Any, **keys: Any) -> dict[str, Any]:
    return {
        "connection": url,
        "source": source,
        "target": target,
        "columns": {"zip": {"role": "quasi_identifier"}, "name": {"role": "identifier"}},
        "privacy": {"k": 2},
        **keys,
    }


def refused(spec: Spec, key: str, path: Path | None = None) -> str:
    """The refusal, by every command that would write; the file is as it was, and nothing lies beside it."""
    before = None if path is None else (path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir()))
    message = ""
    for command in (pipeline.run, pipeline.plan, lambda spec: pipeline.script(spec, None)):
        with pytest.raises(SpecError) as error:
            command(spec)
        message = str(error.value)
        assert key in message
        assert "\n" not in message
    if path is not None:
        assert before == (path.read_bytes(), path.stat().st_mtime_ns, sorted(path.parent.iterdir()))
    return message


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text(CSV)
    return tmp_path


def url_of(folder: Path, *statements: str) -> str:
    with duckdb.connect(str(folder / "base.duckdb")) as connection:
        for statement in statements:
            connection.execute(statement)
    return f"duckdb:///{folder / 'base.duckdb'}"


class TestFilesOnDuckDB:
    @pytest.mark.representative(4)
    @pytest.mark.parametrize(
        "definition",
        [
            "create view v as from 'people.csv'",
            "create view v as select * from read_csv('people.csv', all_varchar = true)",
            "create view v as from read_csv(['/no/such.csv', 'people.csv'])",
            "create view v as from read_csv('peop*.csv')",
            "create view v as from read_csv('./**/p?ople.csv')",
            "create view w as from 'people.csv'; create view v as with x as (from w) select * from x where zip <> 1",
            "create macro files(f) as table select * from read_csv(f); create view v as from files('people.csv')",
            "create macro fixed() as table select * from read_csv('people.csv'); create view v as from fixed()",
            "create view v as select * from read_csv('peo' || 'ple.csv')",
            "create view v as select zip, name from query('from ''people.csv''')",
        ],
    )
    def test_the_file_under_a_view_is_no_target(self, folder: Path, definition: str) -> None:
        url = url_of(folder, *definition.replace("/no/such.csv", str(folder / "people.csv")).split("; "))
        message = refused(spec_from_dict(values(url, "v", "people.csv"), folder), "source", folder / "people.csv")
        assert message.startswith("target: ")

    @pytest.mark.parametrize(
        "query",
        [
            "select * from 'people.csv'",
            "select * from read_csv('{folder}/people.csv')",
            "select * from (select * from read_csv('*.csv'))",
            "select zip, (select max(name) from 'people.csv') as name from (values (1), (1)) t(zip)",
        ],
    )
    def test_the_file_under_a_query_is_no_target(self, folder: Path, query: str) -> None:
        spec = spec_from_dict(
            values("duckdb:///:memory:", {"query": query.replace("{folder}", str(folder))}, "people.csv"), folder
        )
        refused(spec, "source", folder / "people.csv")

    @pytest.mark.parametrize("how", ["symlink", "hard link", "folder", "dots"])
    def test_a_file_is_known_by_any_of_its_names(self, folder: Path, how: str) -> None:
        target = "other.csv"
        if how == "symlink":
            (folder / target).symlink_to(folder / "people.csv")
        elif how == "hard link":
            os.link(folder / "people.csv", folder / target)
        elif how == "folder":
            (folder / "link").symlink_to(folder)
            target = "link/people.csv"
        else:
            target = f"../{folder.name}/./people.csv"
        url = url_of(folder, "create view v as from 'people.csv'")
        refused(spec_from_dict(values(url, "v", target), folder), "source", folder / "people.csv")

    @pytest.mark.parametrize("given", ["h.csv", {"path": "./h.csv", "delimiter": ";"}])
    def test_the_csv_file_of_a_hierarchy_is_no_target(self, folder: Path, given: Any) -> None:
        (folder / "h.csv").write_text("94138;*\n94139;*\n")
        columns = {"zip": {"role": "quasi_identifier", "hierarchy": {"csv": given}}, "name": {"role": "identifier"}}
        spec = spec_from_dict(values("duckdb:///:memory:", "people.csv", "h.csv", columns=columns), folder)
        assert "target" in refused(spec, "columns.zip.hierarchy", folder / "h.csv")

    def test_the_csv_file_of_a_sensitive_columns_hierarchy_is_no_target(self, folder: Path) -> None:
        (folder / "h.csv").write_text("a,*\nb,*\n")
        hostile = "na.me"
        columns = {
            "zip": {"role": "quasi_identifier"},
            hostile: {"role": "sensitive", "hierarchy": {"csv": "h.csv"}},
        }
        (folder / "people.csv").write_text(CSV.replace("name", hostile))
        spec = spec_from_dict(values("duckdb:///:memory:", "people.csv", "h.csv", columns=columns), folder)
        refused(spec, 'columns."na.me".hierarchy', folder / "h.csv")

    def test_the_population_under_a_view_is_no_target(self, folder: Path) -> None:
        url = url_of(folder, "create view p as from 'all.csv'") if (folder / "all.csv").write_text(CSV) else ""
        privacy = {"k": 2, "k_map": 2, "population": {"source": "p"}}
        spec = spec_from_dict(values(url, "people.csv", "all.csv", privacy=privacy), folder)
        refused(spec, "population", folder / "all.csv")

    def test_the_spec_its_lock_and_its_evidence_are_no_targets(self, folder: Path) -> None:
        spec = folder / "spec.csv"
        lock = folder / "spec.lock.json"
        lock.write_text("{}")
        (folder / "lock.csv").symlink_to(lock)
        (folder / "spec.evidence").mkdir()
        for target, key in (("spec.csv", "spec"), ("lock.csv", "apply"), ("spec.evidence/x.csv", "evidence")):
            spec.write_text(yaml.safe_dump(values("duckdb:///:memory:", "people.csv", target)))
            with pytest.raises(SpecError, match=f"target: .*{key}"):
                pipeline.run(load_spec(spec))
        assert lock.read_text() == "{}"

    def test_the_database_is_no_target(self, folder: Path) -> None:
        with duckdb.connect(str(folder / "base.csv")) as connection:
            connection.execute(f"create table people as from '{folder / 'people.csv'}'")
        spec = spec_from_dict(values(f"duckdb:///{folder / 'base.csv'}", "people", "base.csv"), folder)
        refused(spec, "connection", folder / "base.csv")

    @pytest.mark.parametrize("pattern", ["*.csv", "link/*.csv"])
    def test_a_target_that_the_next_run_would_read_is_refused(self, folder: Path, pattern: str) -> None:
        (folder / "link").symlink_to(folder)
        query = {"query": f"from read_csv('{pattern}')"}
        spec = spec_from_dict(values("duckdb:///:memory:", query, "new.csv"), folder)
        refused(spec, "source")
        assert not (folder / "new.csv").exists()

    def test_a_pattern_is_no_target(self, folder: Path) -> None:
        refused(spec_from_dict(values("duckdb:///:memory:", "people.csv", "out[1].csv"), folder), "target")

    def test_the_command_line_says_so_in_one_line(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        url = url_of(folder, "create view v as from 'people.csv'")
        (folder / "spec.yaml").write_text(yaml.safe_dump(values(url, "v", "people.csv")))
        for command in ("run", "plan", "sql", "check"):
            found = CommandLine(capsys)(command, folder / "spec.yaml")
            assert found.code == 2, command
            assert "target: the target is the source" in found.err
        assert (folder / "people.csv").read_text() == CSV

    @pytest.mark.parametrize(
        "query", ["select * from read_csv('people.csv') where zip::text <> '*' and name <> 'out'", "from 'people.csv'"]
    )
    def test_other_files_are_targets(self, folder: Path, query: str) -> None:
        (folder / "out").mkdir()
        spec = spec_from_dict(values("duckdb:///:memory:", {"query": query}, "out/new.csv"), folder)
        assert pipeline.run(spec).publication.rows == 8
        assert pipeline.run(spec).publication.rows == 8, "a release may be published again"


class TestTables:
    """A table that a hierarchy, a view or the population reads is no target, on any engine."""

    @pytest.fixture(params=["duckdb", pytest.param("postgres", marks=pytest.mark.postgres), "sqlite"])
    def make(self, request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., str]:
        def of_duckdb(*statements: str) -> str:
            return url_of(tmp_path, *statements)

        def of_postgres(*statements: str) -> str:
            url = str(request.getfixturevalue("postgres_url"))
            Database(url).run(*statements)
            return url

        def of_sqlite(*statements: str) -> str:
            with sqlite3.connect(tmp_path / "base.sqlite") as connection:
                for statement in statements:
                    connection.execute(statement)
            connection.close()
            return f"sqlite:///{tmp_path / 'base.sqlite'}"

        return {"duckdb": of_duckdb, "postgres": of_postgres, "sqlite": of_sqlite}[request.param]

    PEOPLE = (
        "create table people (zip varchar(9), name varchar(9))",
        "insert into people values ('94138', 'a'), ('94138', 'b'), ('94139', 'c'), ('94139', 'd')",
    )
    LEVELS = (
        'create table "Le""vels" (zip varchar(9), city varchar(9))',
        "insert into \"Le\"\"vels\" values ('94138', 'x'), ('94139', 'x')",
    )

    def hierarchy(self, name: str) -> dict[str, Any]:
        named = {"table": {"name": name, "levels": ["zip", "city"]}}
        return {"zip": {"role": "quasi_identifier", "hierarchy": named}, "name": {"role": "identifier"}}

    def test_the_table_of_a_hierarchy_is_no_target(self, make: Callable[..., str]) -> None:
        url = make(*self.PEOPLE, *self.LEVELS)
        keys = {"columns": self.hierarchy(LEVELS)}
        spec = spec_from_dict(values(url, "people", {"table": LEVELS}, **keys))
        refused(spec, "columns.zip.hierarchy")

    def test_the_table_under_the_view_of_a_hierarchy_is_no_target(self, make: Callable[..., str]) -> None:
        url = make(*self.PEOPLE, *self.LEVELS, 'create view lv as select * from "Le""vels"')
        spec = spec_from_dict(values(url, "people", {"table": LEVELS}, columns=self.hierarchy("lv")))
        refused(spec, "columns.zip.hierarchy")

    def test_the_table_under_views_of_views_is_no_target(self, make: Callable[..., str]) -> None:
        views = "create view v as select zip, name from people", "create view w as select * from v where zip <> 'x'"
        url = make(*self.PEOPLE, *views)
        refused(spec_from_dict(values(url, "w", "people")), "source")
        query = {"query": "with x as (select * from w) select * from x"}
        refused(spec_from_dict(values(url, query, "people")), "source")

    def test_regions_are_written_too(self, make: Callable[..., str]) -> None:
        url = make(*self.PEOPLE, *self.LEVELS)
        keys = {"columns": self.hierarchy(LEVELS), "regions": LEVELS, "search": {"algorithm": "mondrian"}}
        with pytest.raises(SpecError, match=r"regions: .*columns\.zip\.hierarchy"):
            pipeline.run(spec_from_dict(values(url, "people", "out", **keys)))

    def test_tables_of_evidence_are_no_targets(self, make: Callable[..., str]) -> None:
        url = make(*self.PEOPLE)
        for name in ("sqlanon_run", "SQLANON_run_check", "Sqlanon_differential", "sqlanon_0123456789ab_staging"):
            with pytest.raises(SpecError, match="target: names like"):
                pipeline.run(spec_from_dict(values(url, "people", name)))

    def test_a_release_may_be_published_again(self, make: Callable[..., str]) -> None:
        url = make(*self.PEOPLE, *self.LEVELS, "create view v as select * from people")
        spec = spec_from_dict(values(url, "v", "out", columns=self.hierarchy(LEVELS)))
        for _ in range(2):
            assert json.loads(json.dumps(pipeline.run(spec).to_dict()))["rows"] == 4


@pytest.mark.postgres
def test_partitions_of_the_source_are_no_targets(postgres_url: str) -> None:
    Database(postgres_url).run(
        "create table people (zip text, name text) partition by list (zip)",
        "create table part partition of people for values in ('94138')",
        "insert into people values ('94138', 'a'), ('94138', 'b')",
    )
    refused(spec_from_dict(values(postgres_url, "people", "part")), "source")


@pytest.mark.spark
class TestOnSpark:
    def test_what_is_read_is_no_target(self, spark_url: str, folder: Path) -> None:
        engine = open_at(spark_url)
        place = folder / "data.parquet"
        execute(
            engine,
            "create table people as select '9413' || id % 2 as zip, 'a' as name from range(8)",
            "create view v as select * from people",
            "create table levels as select '94130' as zip, 'x' as city union all select '94131', 'x'",
        )
        engine.close()
        duckdb.sql(f"copy (select '94130' as zip, 'a' as name from range(4)) to '{place}' (format parquet)")
        refused(spec_from_dict(values(spark_url, "v", "people"), folder), "source")
        columns = TestTables().hierarchy("levels")
        refused(spec_from_dict(values(spark_url, "people", "levels", columns=columns), folder), "columns.zip.hierarchy")
        query = {"query": f"select * from parquet.`file:{place}`"}
        refused(spec_from_dict(values(spark_url, query, "data.parquet"), folder), "source", place)
        os.link(place, folder / "other.parquet")
        refused(spec_from_dict(values(spark_url, query, "other.parquet"), folder), "source", place)
