"""From `profiles.yml` to the URL of a database."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from sqlanon.dbt.manifest import read_manifest
from sqlanon.dbt.project import Invocation, Project, connection_of
from sqlanon.errors import UsageError
from tests.kit.fake_dbt import FakeProject

SERVER = {
    "type": "postgres",
    "host": "{{ env_var('FAKE_HOST') }}",
    "port": '{{ env_var("FAKE_PORT", "5433") | int }}',
    "user": "reader",
    "password": "{{ env_var('FAKE_PASSWORD', '') }}",
    "dbname": "clinic",
}


@pytest.fixture
def project(tmp_path: Path) -> FakeProject:
    made = FakeProject(tmp_path, "main")
    made.write({"source": "staged", "k": 2}, {})
    return made


def url(project: FakeProject, target: str | None = None, profiles: Path | None = None) -> str:
    return connection_of(Project.at(project.folder), Invocation(target=target, profiles=profiles)).url


def test_a_server_with_variables_of_the_environment(project: FakeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    project.profile(SERVER)
    monkeypatch.setenv("FAKE_HOST", "/run/postgresql")
    assert url(project) == "postgresql://reader@/clinic?host=%2Frun%2Fpostgresql&port=5433"
    monkeypatch.setenv("FAKE_PASSWORD", "a@b/c")
    assert url(project, "there") == "postgresql://reader:a%40b%2Fc@/clinic?host=%2Frun%2Fpostgresql&port=5433"


def test_a_file_is_relative_to_the_project(project: FakeProject) -> None:
    project.profile({"type": "duckdb", "path": "data/x.duckdb"}, target="{{ env_var('FAKE_TARGET', 'there') }}")
    assert url(project) == f"duckdb:///{project.folder.resolve()}/data/x.duckdb"


def test_the_folder_of_profiles_can_be_named(
    project: FakeProject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project.profile({"type": "duckdb", "path": "/data/x.duckdb"})
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (tmp_path / "profiles.yml").rename(elsewhere / "profiles.yml")
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError, match=r"there is no profiles\.yml"):
        url(project)
    assert url(project, profiles=elsewhere) == "duckdb:////data/x.duckdb"
    monkeypatch.setenv("DBT_PROFILES_DIR", str(elsewhere))
    assert url(project) == "duckdb:////data/x.duckdb"


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({**SERVER, "host": "{{ env_var('NO_SUCH_VARIABLE') }}"}, "NO_SUCH_VARIABLE is not set"),
        ({**SERVER, "host": "{{ var('host') }}"}, "only env_var"),
        ({"type": "snowflake"}, "duckdb, postgres are known"),
        ({"type": "duckdb"}, "in memory"),
        ({"type": "duckdb", "path": "md:cloud"}, "no file of this machine"),
    ],
)
def test_what_has_no_url_is_refused(project: FakeProject, output: Mapping[str, Any], message: str) -> None:
    project.profile(output)
    with pytest.raises(UsageError, match=message) as raised:
        url(project)
    assert "reader" not in str(raised.value)


def test_a_target_or_profile_that_is_not_there(project: FakeProject) -> None:
    project.profile({"type": "duckdb", "path": "x.duckdb"})
    with pytest.raises(UsageError, match=r"there is no fake\.outputs\.elsewhere"):
        url(project, "elsewhere")
    (project.folder / "profiles.yml").write_text("other: {}", encoding="utf-8")
    with pytest.raises(UsageError, match="no profile 'fake'"):
        url(project)
    (project.folder / "dbt_project.yml").write_text("{name: fake}", encoding="utf-8")
    with pytest.raises(UsageError, match="names no profile"):
        url(project)


@pytest.mark.parametrize("text", ["[]", "{a: ", "\0"])
def test_a_project_file_that_is_none(project: FakeProject, text: str) -> None:
    (project.folder / "dbt_project.yml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"dbt_project\.yml"):
        Project.at(project.folder)


@pytest.mark.parametrize("text", ["{}", "[]", "no JSON", '{"metadata": {"project_name": "a"}, "nodes": {}}'])
def test_a_manifest_that_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match="is not a manifest of dbt"):
        read_manifest(path)
    with pytest.raises(UsageError, match="cannot be read"):
        read_manifest(tmp_path / "missing.json")


def test_settings_of_a_project(project: FakeProject, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Project.at(project.folder).seeds == project.folder / "seeds"
    settings = "{name: fake, profile: fake, target-path: out, seed-paths: [data, more]}"
    (project.folder / "dbt_project.yml").write_text(settings, encoding="utf-8")
    assert Project.at(project.folder).seeds == project.folder / "data"
    assert Project.at(project.folder).manifest_path == project.folder / "out" / "manifest.json"
    monkeypatch.setenv("DBT_TARGET_PATH", "there")
    assert Project.at(project.folder).manifest_path == project.folder / "there" / "manifest.json"
