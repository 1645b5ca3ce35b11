"""A dbt project on disk: its files and folders, the dbt command, and the connection of its profile as a URL.

Reads `dbt_project.yml`, `profiles.yml` and the environment; runs `dbt parse` where a manifest is missing or of another
target.
"""

from __future__ import annotations

import os
import re
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import yaml

from sqlanon.dbt.manifest import Manifest, read_manifest
from sqlanon.errors import UsageError

PROJECT_FILE = "dbt_project.yml"


@dataclass(frozen=True)
class Project:
    """A dbt project on disk."""

    folder: Path
    settings: Mapping[str, Any]

    @classmethod
    def at(cls, folder: Path) -> Project:
        """The project in a folder; UsageError when there is none."""
        if not (folder / PROJECT_FILE).is_file():
            raise UsageError(f"there is no {PROJECT_FILE} in '{folder}': name the folder of the project with --project")
        return cls(folder, read_yaml(folder / PROJECT_FILE))

    @property
    def profile(self) -> str:
        """The profile that the project connects by."""
        name = self.settings.get("profile")
        if not isinstance(name, str):
            raise UsageError(f"{PROJECT_FILE} names no profile: give the database as --connection URL")
        return name

    @property
    def manifest_path(self) -> Path:
        target = os.environ.get("DBT_TARGET_PATH") or self.settings.get("target-path") or "target"
        return self.folder / str(target) / "manifest.json"

    @property
    def seeds(self) -> Path:
        """The folder for seeds: the first that the project names."""
        given = self.settings.get("seed-paths")
        return self.folder / str(given[0] if isinstance(given, list) and given else "seeds")

    def manifest(self) -> Manifest:
        return read_manifest(self.manifest_path)

    def parse(self, command: str, target: str | None, profiles: Path | None) -> None:
        """Have dbt write the manifest anew."""
        chosen = ["--target", target] if target is not None else []
        chosen += ["--profiles-dir", str(profiles.resolve())] if profiles is not None else []
        try:
            ended = subprocess.run(
                [command, "parse", "--no-version-check", "--quiet", *chosen],
                cwd=self.folder,
                env={**os.environ, "DBT_SEND_ANONYMOUS_USAGE_STATS": "false"},
                capture_output=True,
                check=False,
            )
        except OSError:
            raise UsageError(f"the command '{command}' cannot be run: name that of dbt with --dbt") from None
        if ended.returncode != 0:
            # What dbt prints may quote the project's files, not this command's business.
            raise UsageError(f"`{command} parse` failed in {self.folder}: run it to see why")


def read_yaml(path: Path) -> Mapping[str, Any]:
    """A mapping in a YAML file of dbt's."""
    try:
        content = yaml.safe_load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UsageError(f"{path}: cannot be read: {error.strerror}") from None
    except (yaml.YAMLError, UnicodeDecodeError):
        raise UsageError(f"{path}: is not valid YAML") from None
    if not isinstance(content, dict):
        raise UsageError(f"{path}: a mapping of keys is expected")
    return content


_VARIABLE = re.compile(
    r"\{\{\s*env_var\(\s*'(?P<name>[^']+)'\s*(?:,\s*'(?P<default>[^']*)'\s*)?\)\s*(?:\|\s*\w+\s*)*\}\}"
    r'|\{\{\s*env_var\(\s*"(?P<other>[^"]+)"\s*(?:,\s*"(?P<fallback>[^"]*)"\s*)?\)\s*(?:\|\s*\w+\s*)*\}\}'
)


@dataclass(frozen=True)
class Connection:
    """A target of a profile."""

    adapter: str
    url: str


def connection_of(project: Project, target: str | None, profiles: Path | None) -> Connection:
    """The database that dbt would connect to.

    Of Jinja a profile may use only `env_var`; for more there is --connection.
    """
    path = _profiles_file(project, profiles)
    profile = _mapping(read_yaml(path).get(project.profile), f"{path}: there is no profile '{project.profile}'")
    chosen = target or _rendered(str(profile.get("target") or "default"), f"{project.profile}.target")
    where = f"{project.profile}.outputs.{chosen}"
    outputs = _mapping(profile.get("outputs"), f"{path}: {project.profile} has no outputs")
    given = _mapping(outputs.get(chosen), f"{path}: there is no {where}")
    settings = {key: _rendered(str(value), f"{where}.{key}") for key, value in given.items() if value is not None}
    adapter = settings.get("type", "")
    if adapter not in _URLS:
        raise UsageError(
            f"{where}: adapters of type {', '.join(sorted(_URLS))} are known; give --connection URL instead"
        )
    return Connection(adapter, _URLS[adapter](settings, project.folder))


def _profiles_file(project: Project, profiles: Path | None) -> Path:
    """Where dbt looks, in its order."""
    named = profiles or (Path(named) if (named := os.environ.get("DBT_PROFILES_DIR")) else None)
    folders = [named] if named is not None else [project.folder, Path.home() / ".dbt"]
    for folder in folders:
        if (folder / "profiles.yml").is_file():
            return folder / "profiles.yml"
    raise UsageError("there is no profiles.yml: name its folder with --profiles-dir, or give --connection URL")


def _rendered(text: str, where: str) -> str:
    """The text with variables of the environment filled in."""

    def value(match: re.Match[str]) -> str:
        name = match["name"] or match["other"]
        found = os.environ.get(name, match["default"] if match["name"] else match["fallback"])
        if found is None:
            raise UsageError(f"{where}: environment variable {name} is not set")
        return found

    filled = _VARIABLE.sub(value, text)
    if "{{" in filled or "{%" in filled:
        raise UsageError(f"{where}: only env_var() is understood here; give --connection URL instead")
    return filled


def _mapping(value: object, problem: str) -> Mapping[str, Any]:
    if not isinstance(value, dict):
        raise UsageError(problem)
    return value


def _file_url(settings: Mapping[str, str], folder: Path) -> str:
    path = settings.get("path", ":memory:")
    if path == ":memory:":
        raise UsageError("the profile's database is in memory, where nothing of dbt's stays: name a path")
    if "://" in path or path.startswith("md:"):
        raise UsageError("the profile's database is no file of this machine: give --connection URL")
    return f"duckdb:///{(folder / Path(path).expanduser()).resolve()}"


def _server_url(settings: Mapping[str, str], folder: Path) -> str:
    """
    >>> _server_url({"host": "db", "user": "u", "password": "p@ss", "dbname": "d"}, Path())
    'postgresql://u:p%40ss@/d?host=db'
    """
    password = settings.get("password") or settings.get("pass")
    credentials = quote(settings.get("user", ""), safe="")
    credentials += f":{quote(password, safe='')}" if password else ""
    options = {key: settings[key] for key in ("host", "port", "sslmode") if settings.get(key)}
    database = quote(settings.get("dbname") or settings.get("database") or "", safe="")
    return f"postgresql://{credentials}@/{database}?{urlencode(options)}"


_URLS: Mapping[str, Callable[[Mapping[str, str], Path], str]] = {"duckdb": _file_url, "postgres": _server_url}
