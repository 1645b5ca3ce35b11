"""Roles that somebody has written down, in the comments of a table or in dbt: `init` takes them before any guess."""

from __future__ import annotations

import json
from pathlib import Path

from tests.draft.test_init import draft
from tests.kit.commands import CommandLine
from tests.kit.engine import execute, open_at
from tests.kit.fake_dbt import FakeProject

COLUMNS = ("zip", "visits", "te'xt", "job")


def made(url: str) -> None:
    engine = open_at(url)
    execute(engine, """CREATE TABLE staged (zip TEXT, visits INTEGER, "te'xt" TEXT, job TEXT)""")
    execute(engine, "INSERT INTO staged VALUES ('94139', 1, 'a', 'cook'), ('94138', 2, 'b', 'nurse')")
    execute(engine, "COMMENT ON COLUMN staged.zip IS 'Where they live. sqlanon: Sensitive'")
    execute(engine, """COMMENT ON COLUMN staged."te'xt" IS 'it''s 100%; sqlanon = quasi-identifier'""")
    execute(engine, "COMMENT ON COLUMN staged.job IS 'What they do, said by sqlanon.'")
    engine.close()


def test_comments_of_the_database_state_roles(sqlanon: CommandLine, engine_url: str, folder: Path) -> None:
    made(engine_url)
    columns = draft(sqlanon, engine_url, "staged")
    roles = {name: column["role"] for name, column in columns.items()}
    assert (roles["zip"], roles["te'xt"], roles["job"]) == ("sensitive", "quasi_identifier", "quasi_identifier")
    assert "its comment in the database says so" in (folder / "spec.yaml").read_text(encoding="utf-8")
    assert sqlanon("check", folder / "spec.yaml").code == 0


def test_a_stated_role_that_is_none_is_refused(sqlanon: CommandLine, engine_url: str, folder: Path) -> None:
    made(engine_url)
    engine = open_at(engine_url)
    execute(engine, "COMMENT ON COLUMN staged.visits IS 'sqlanon: secret'")
    engine.close()
    outcome = sqlanon("init", "staged", "--connection", engine_url)
    assert outcome.code == 2
    assert "column 'visits': its comment in the database says 'secret', which is no role" in outcome.err
    assert not (folder / "spec.yaml").exists()


def test_nothing_that_is_stated_becomes_a_quasi_identifier(sqlanon: CommandLine, engine_url: str, folder: Path) -> None:
    """Not even where a release would have none: `check` then says what is missing."""
    made(engine_url)
    engine = open_at(engine_url)
    for name in COLUMNS:
        quoted = '"' + name + '"'
        execute(engine, f"COMMENT ON COLUMN staged.{quoted} IS 'sqlanon: sensitive'")
    engine.close()
    columns = draft(sqlanon, engine_url, "staged")
    assert {column["role"] for column in columns.values()} == {"sensitive"}
    assert sqlanon("check", folder / "spec.yaml").code == 2


def test_dbt_states_roles(sqlanon: CommandLine, engine_url: str, folder: Path, tmp_path: Path) -> None:
    """Before comments too; a project that does not know the table is told."""
    made(engine_url)
    project = FakeProject(tmp_path / "project", "main")
    project.write(None, {})
    manifest = project.manifest(None, {}, "duckdb")
    stated = {"zip": {"config": {"meta": {"sqlanon": {"role": "identifier"}}}}, "job": {"meta": {"owner": "us"}}}
    manifest["nodes"]["model.fake.staged"]["columns"] = stated
    place = project.folder / "target" / "manifest.json"
    place.parent.mkdir()
    place.write_text(json.dumps(manifest), encoding="utf-8")
    asked = ("--connection", engine_url, "--dbt", project.folder, "--json")
    columns = sqlanon("init", "staged", *asked).json["columns"]
    assert (columns["zip"]["role"], columns["te'xt"]["role"]) == ("identifier", "quasi_identifier")
    assert "the dbt project says so" in (folder / "spec.yaml").read_text(encoding="utf-8")
    engine = open_at(engine_url)
    execute(engine, "CREATE TABLE unknown AS SELECT 1 AS a")
    engine.close()
    outcome = sqlanon("init", "unknown", *asked, "--force")
    assert (outcome.code, "no node of the project makes or reads the table 'unknown'" in outcome.err) == (2, True)


def test_a_file_is_nothing_that_dbt_knows(sqlanon: CommandLine, folder: Path, tmp_path: Path) -> None:
    (folder / "people.csv").write_text("zip\n1\n", encoding="utf-8")
    project = FakeProject(tmp_path / "project", "main")
    project.write(None, {})
    outcome = sqlanon("init", "people.csv", "--dbt", project.folder)
    assert (outcome.code, "--dbt: a project says nothing of files" in outcome.err) == (2, True)
