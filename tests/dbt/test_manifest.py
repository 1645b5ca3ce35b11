"""`sqlanon dbt` never goes by a manifest of another project, target or time; and it finds what a source names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sqlanon.cli.main import run
from sqlanon.dbt.manifest import Manifest, read_manifest
from sqlanon.errors import UsageError
from tests.dbt.test_writing import GENERALIZED, QUASI_IDENTIFIERS, done, said, tuples
from tests.kit.fake_dbt import FakeProject

PARSE = "parse --no-version-check --quiet"


@pytest.fixture
def staged(duckdb_url: str, tmp_path: Path) -> FakeProject:
    """A project on DuckDB with two targets, which has been planned once."""
    for schema in ("main", "other"):
        done(
            duckdb_url,
            f"CREATE SCHEMA IF NOT EXISTS {schema}",
            f"CREATE TABLE {schema}.staged (area text, marital text)",
        )
        done(duckdb_url, f"INSERT INTO {schema}.staged VALUES {tuples([['ab1', 'single'], ['ab2', 'single']] * 3)}")
    project = FakeProject(tmp_path / "project", "main")
    project.write({"source": "staged", "k": 2}, GENERALIZED)
    outputs = {name: {"type": "duckdb", "path": "../test.duckdb", "schema": name} for name in ("main", "other")}
    content = {"fake": {"target": "main", "outputs": outputs}}
    (project.folder / "profiles.yml").write_text(json.dumps(content), encoding="utf-8")
    return project


def planned(project: FakeProject, *arguments: str) -> int:
    """How often dbt parsed for a call that succeeds."""
    before = len(project.parsed)
    assert run(["dbt", "--project", str(project.folder), "--dbt", str(project.parser()), *arguments]) == 0
    return len(project.parsed) - before


def settled(project: FakeProject) -> None:
    """Planned until the files that the command writes are in the manifest."""
    planned(project)
    planned(project)
    assert planned(project) == 0


def edit(path: str, text: str) -> Callable[[FakeProject], None]:
    def edited(project: FakeProject) -> None:
        place = project.folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("a", encoding="utf-8") as lines:
            lines.write(text)

    return edited


def replaced(path: str, text: str) -> Callable[[FakeProject], None]:
    def edited(project: FakeProject) -> None:
        (project.folder / path).write_text(text, encoding="utf-8")

    return edited


EDITS: dict[str, Callable[[FakeProject], None]] = {
    "properties": edit("models/schema.yml", "models: []\n"),
    "another model": edit("models/deep/er/x.sql", "select 1"),
    "a comment of the release": edit("models/release.sql", "-- mine\n"),
    "a macro": edit("macros/m.sql", "{% macro m() %}{% endmacro %}"),
    "the project": edit("dbt_project.yml", "\n# on-run-end is next\n"),
    "a package": edit("dbt_packages/p/models/y.sql", "select 2"),
    "a new seed": edit("seeds/new.csv", "a\n1\n"),
    "dbt itself": replaced("target/manifest.json", "{}"),
    "no memory": lambda project: (project.folder / "target" / "sqlanon.json").unlink(),
    "a broken memory": replaced("target/sqlanon.json", "[]"),
}


def test_what_changes_the_project_has_it_parsed_anew(staged: FakeProject, capsys: pytest.CaptureFixture[str]) -> None:
    settled(staged)
    for name, changed in EDITS.items():
        changed(staged)
        code, text = said(staged, capsys, "--no-parse")
        assert (code, "run without --no-parse" in text) == (2, True), name
        assert planned(staged) == 1, name
        assert planned(staged, "--no-parse") == 0, name


def test_the_target_the_vars_and_the_environment_count(
    staged: FakeProject, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    edit("models/schema.yml", "# {{ env_var('FAKE_NAME', '') }}\n")(staged)
    settled(staged)
    assert planned(staged, "--target", "main") == 1
    assert staged.parsed[-1] == f"{PARSE} --target main"
    assert planned(staged, "--target", "main") == 0
    assert planned(staged, "--vars", "{day: 1}") == 1
    assert staged.parsed[-1] == f"{PARSE} --vars {{day: 1}}"
    assert planned(staged, "--vars", "{day: 1}") == 0
    assert planned(staged, "--vars", "{day: 2}") == 1
    assert planned(staged) == 1
    monkeypatch.setenv("FAKE_NAME", "x")
    assert planned(staged) == 1
    monkeypatch.setenv("DBT_TARGET", "other")
    assert planned(staged) == 1
    assert planned(staged, "--profile", "fake") == 1
    assert planned(staged, "--parse", "--profile", "fake") == 1
    assert said(staged, capsys, "--profile", "nobody")[1].count("there is no profile 'nobody'") == 1
    assert said(staged, capsys, "--vars", "day")[1].count("--vars: a mapping in YAML or JSON is expected") == 1


def test_an_edit_of_a_seed_s_rows_is_no_news(staged: FakeProject) -> None:
    settled(staged)
    edit("seeds/release_marital_hierarchy.csv", "x,y\n")(staged)
    assert planned(staged) == 0


def test_a_dbt_that_is_missing_or_fails(staged: FakeProject, capsys: pytest.CaptureFixture[str]) -> None:
    code, text = said(staged, capsys, "--dbt", str(staged.folder / "no-such-command"))
    assert (code, "name that of dbt with --dbt" in text) == (2, True)
    (staged.folder / "prepared.json").unlink()
    code, text = said(staged, capsys)
    assert (code, "run it to see why" in text) == (2, True)


def test_check_writes_nothing_and_says_what_would_change(
    staged: FakeProject, capsys: pytest.CaptureFixture[str]
) -> None:
    before = staged.model.read_bytes()
    code, text = said(staged, capsys, "--check")
    assert code == 1
    assert "would change" in text
    assert "release.sql" in text
    assert said(staged, capsys, "--dry-run")[0] == 0
    assert staged.model.read_bytes() == before
    assert not (staged.folder / "seeds").exists()
    assert not (staged.folder / "models" / "release.lock.json").exists()
    settled(staged)
    capsys.readouterr()
    assert said(staged, capsys, "--check")[0] == 0
    lock = staged.folder / "models" / "release.lock.json"
    kept = lock.read_bytes()
    staged.write({"source": "staged", "k": 3}, GENERALIZED)
    edit("models/schema.yml", "# k is 3 now\n")(staged)
    code, text = said(staged, capsys, "--check", "--json")
    assert code == 1
    [model] = json.loads(text)["models"]
    assert str(lock) in model["changed"]
    assert model["diff"]["reasons"]
    assert lock.read_bytes() == kept
    seed = staged.folder / "seeds" / "release_marital_hierarchy.csv"
    staged.write({"source": "staged", "k": 2}, QUASI_IDENTIFIERS)
    edit("models/schema.yml", "# and 2 again\n")(staged)
    code, text = said(staged, capsys, "--check", "--json")
    [model] = json.loads(text)["models"]
    assert (code, str(seed) in model["changed"], seed.exists()) == (1, True, True)


def test_another_target_writes_the_same_files(staged: FakeProject) -> None:
    planned(staged)
    files = {path: path.read_bytes() for path in staged.folder.rglob("release*") if path.is_file()}
    elsewhere = FakeProject(staged.folder, "other")
    elsewhere.write({"source": "staged", "k": 2}, GENERALIZED)
    assert planned(elsewhere, "--target", "other") == 1
    assert {path: path.read_bytes() for path in files} == files
    assert len(files) == 5, "the model, its labels and their description, the lock, and the cache of the plan"


# -- what a source names -----------------------------------------------------------------------------------------------


def entry(name: str, package: str = "fake", **more: Any) -> dict[str, Any]:
    return {
        "name": name, "alias": f"{name}_{package}", "schema": "main", "resource_type": "model", "package_name": package,
        "original_file_path": f"models/{name}.sql", "config": {"materialized": "view"}, "columns": {}, **more,
    }  # fmt: skip


NODES = [
    entry("people"),
    entry("people", "clinic"),
    entry("wards", "clinic"),
    entry("beds", version=1, latest_version=2, alias="beds_v1"),
    entry("beds", version=2, latest_version=2, alias="beds_v2"),
    entry("beds", version="next", latest_version=2, alias="beds_next"),
    entry("passing", config={"materialized": "ephemeral"}),
    entry("history", resource_type="snapshot", config={"materialized": "snapshot"}),
]


@pytest.fixture
def manifest(tmp_path: Path) -> Manifest:
    content = {
        "metadata": {"project_name": "fake", "adapter_type": "duckdb"},
        "nodes": {str(number): node for number, node in enumerate(NODES)},
        "disabled": {"model.fake.old": [entry("old")]},
        "sources": {"s": {"name": "people", "source_name": "raw", "schema": "landing", "identifier": "p"}},
    }
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    return read_manifest(path)


@pytest.mark.parametrize(
    ("text", "relation", "jinja"),
    [
        ("people", "people_fake", "{{ ref('people') }}"),
        ("ref('people')", "people_fake", "{{ ref('people') }}"),
        ('ref("fake", "people")', "people_fake", "{{ ref('people') }}"),
        ("ref('clinic', 'people')", "people_clinic", "{{ ref('clinic', 'people') }}"),
        ("ref('wards')", "wards_clinic", "{{ ref('clinic', 'wards') }}"),
        ("ref('beds')", "beds_v2", "{{ ref('beds') }}"),
        ("ref('beds', v=1)", "beds_v1", "{{ ref('beds', v=1) }}"),
        ("ref('fake', 'beds', version=2)", "beds_v2", "{{ ref('beds') }}"),
        ("ref('beds', v='next')", "beds_next", "{{ ref('beds', v='next') }}"),
        ("ref('history')", "history_fake", "{{ ref('history') }}"),
        ("source('raw', 'people')", "p", "{{ source('raw', 'people') }}"),
    ],
)
def test_a_source_is_found_as_dbt_finds_it(manifest: Manifest, text: str, relation: str, jinja: str) -> None:
    found = manifest.referred(text, "release")
    assert (found.relation[1], found.jinja) == (relation, jinja)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("ref('passing')", "it is ephemeral, so the database has no table of it"),
        ("old", "it is disabled"),
        ("ref('beds', v=7)", "the project has no such node"),
        ("ref('clinic', 'beds')", "the project has no such node"),
        ("ref('people') or 1", "the project has no such node"),
    ],
)
def test_what_is_no_source_is_named_as_what_it_is(manifest: Manifest, text: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        manifest.referred(text, "release")
