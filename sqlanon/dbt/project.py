"""A dbt project on disk: its files and folders, its manifest as of now, and the connection of its profile as a URL.

Reads the project's files, `profiles.yml` and the environment; runs `dbt parse` unless the manifest is known to be that
of the project as it stands.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import yaml

from sqlanon.dbt.manifest import Manifest, read_manifest
from sqlanon.dbt.model_file import ModelFile
from sqlanon.errors import UsageError

PROJECT_FILE = "dbt_project.yml"

READ_BY_DBT = (".sql", ".yml", ".yaml", ".md", ".py", ".csv")
"""Files that decide what a manifest says: by their text, seeds by their name alone."""
NEVER_READ = ("target", "logs", "node_modules", "__pycache__")
_NAMED_VARIABLE = re.compile(r"env_var\(\s*['\"]([^'\"]+)")


@dataclass(frozen=True)
class Invocation:
    """How dbt is called: for which target of which profile, with which variables."""

    command: str = "dbt"
    target: str | None = None
    profile: str | None = None
    profiles: Path | None = None
    """The folder of profiles.yml."""
    variables: str | None = None
    """YAML or JSON, as `--vars` of dbt takes it."""

    @property
    def flags(self) -> list[str]:
        given = {
            "--target": self.target,
            "--profile": self.profile,
            "--profiles-dir": None if self.profiles is None else str(self.profiles.resolve()),
            "--vars": self.variables,
        }
        return [part for flag, value in given.items() if value is not None for part in (flag, value)]

    @property
    def state(self) -> list[str | None]:
        """What decides the manifest: dbt's own variables of the environment too."""
        named = {"DBT_TARGET": self.target, "DBT_PROFILE": self.profile}
        chosen = [value or os.environ.get(name) for name, value in named.items()]
        return [*chosen, self.variables, os.environ.get("DBT_VARS")]

    def require_variables(self) -> None:
        """UsageError where the variables are no mapping."""
        if self.variables is None:
            return
        try:
            content = yaml.safe_load(self.variables)
        except yaml.YAMLError:
            content = None
        if not isinstance(content, dict):
            raise UsageError("--vars: a mapping in YAML or JSON is expected, as in --vars '{name: value}'")


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

    def manifest(self, invocation: Invocation, connection: Connection | None, *, parse: bool | None) -> Manifest:
        """The manifest of the project as it stands.

        A manifest is taken as it is only when an earlier call had dbt write it, for the same target, profile and
        variables, and no file of the project has changed since; otherwise dbt writes it anew. `parse` asks for that in
        any case, or never: UsageError then names what has changed.
        """
        invocation.require_variables()
        state = self._state(invocation, connection)
        stale = None if parse else self._stale(state)
        if stale is not None and parse is False:
            raise UsageError(f"{self.manifest_path}: {stale}; run without --no-parse")
        if parse or stale is not None:
            self._parse(invocation)
            self._remember(state)
        return read_manifest(self.manifest_path)

    @property
    def _memory(self) -> Path:
        return self.manifest_path.with_name("sqlanon.json")

    def _stale(self, state: Mapping[str, str]) -> str | None:
        """Why the manifest may not be that of the project as it stands; None where it is."""
        if not self.manifest_path.is_file():
            return "there is no manifest"
        try:
            known = json.loads(self._memory.read_text(encoding="utf-8"))
            written = known.pop("manifest")
        except (OSError, ValueError, KeyError, AttributeError, TypeError):
            return "nothing says for which target and which files it was written"
        if written != _digest(self.manifest_path.read_bytes()):
            return "somebody else has written it since"
        changed = [name for name in dict.fromkeys((*known, *state)) if known.get(name) != state.get(name)]
        return f"changed since it was written: {', '.join(changed)}" if changed else None

    def _remember(self, state: Mapping[str, str]) -> None:
        """Note what the manifest was written from. Where that cannot be kept, dbt parses again the next time."""
        try:
            content = {"manifest": _digest(self.manifest_path.read_bytes()), **state}
            self._memory.write_text(json.dumps(content, indent=1), encoding="utf-8")
        except OSError:
            self._memory.unlink(missing_ok=True)

    def _state(self, invocation: Invocation, connection: Connection | None) -> dict[str, str]:
        """Digests of everything that a manifest is made from, by what they are of."""
        texts, variables = self._files()
        named = [[name, os.environ.get(name)] for name in sorted(variables) if not name.startswith("DBT_ENV_SECRET")]
        profile = None if connection is None else [connection.target, connection.adapter, connection.schema]
        return {
            "target, profile and vars": _digest(json.dumps([invocation.state, profile]).encode()),
            "variables of the environment": _digest(json.dumps(named).encode()),
            "the project's files": _digest(json.dumps(texts).encode()),
        }

    def _files(self) -> tuple[list[list[str]], set[str]]:
        """The project's files with their digests, and the variables of the environment that they name."""
        found: list[list[str]] = []
        variables: set[str] = set()
        for place, path in self._read_by_dbt():
            text = "" if path.suffix == ".csv" else path.read_bytes().decode("utf-8", "replace")
            variables.update(_NAMED_VARIABLE.findall(text))
            file = ModelFile.of(text) if path.suffix == ".sql" else None
            # What this command writes of a model says nothing that it reads.
            kept = text if file is None or not file.part else f"{file.before}{file.after}"
            found.append([str(path.relative_to(place)), _digest(kept.encode())])
        return found, variables

    def _read_by_dbt(self) -> Iterator[tuple[Path, Path]]:
        """The files that decide what a manifest says, each with the folder that it was found below, in their order."""
        given = [str(place) for key, value in self.settings.items() if key.endswith("-paths") for place in value or ()]
        outside = [place for place in given if ".." in Path(place).parts or Path(place).is_absolute()]
        seen: set[Path] = set()
        for start in (self.folder, *(self.folder / place for place in outside)):
            # Packages that are folders of this machine are links.
            for folder, inner, names in os.walk(start, followlinks=True):
                place = Path(folder)
                if place.resolve() in seen or (place / "pyvenv.cfg").exists():
                    inner.clear()
                    continue
                seen.add(place.resolve())
                passed_over = (*NEVER_READ, self.manifest_path.parent.name)
                inner[:] = sorted(name for name in inner if name not in passed_over and not name.startswith("."))
                paths = (place / name for name in sorted(names))
                yield from ((start, path) for path in paths if path.suffix in READ_BY_DBT and path.is_file())

    def _parse(self, invocation: Invocation) -> None:
        """Have dbt write the manifest anew."""
        command = invocation.command
        try:
            ended = subprocess.run(
                [command, "parse", "--no-version-check", "--quiet", *invocation.flags],
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


def _digest(content: bytes) -> str:
    return sha256(content).hexdigest()


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
    target: str = ""
    schema: str | None = None


def connection_of(project: Project, invocation: Invocation) -> Connection:
    """The database that dbt would connect to.

    Of Jinja a profile may use only `env_var`; for more there is --connection.
    """
    path = _profiles_file(project, invocation.profiles)
    name = invocation.profile or os.environ.get("DBT_PROFILE") or project.profile
    profile = _mapping(read_yaml(path).get(name), f"{path}: there is no profile '{name}'")
    chosen = invocation.target or os.environ.get("DBT_TARGET")
    chosen = chosen or _rendered(str(profile.get("target") or "default"), f"{name}.target")
    where = f"{name}.outputs.{chosen}"
    outputs = _mapping(profile.get("outputs"), f"{path}: {name} has no outputs")
    given = _mapping(outputs.get(chosen), f"{path}: there is no {where}")
    settings = {key: _rendered(str(value), f"{where}.{key}") for key, value in given.items() if value is not None}
    adapter = settings.get("type", "")
    if adapter not in _URLS:
        raise UsageError(
            f"{where}: adapters of type {', '.join(sorted(_URLS))} are known; give --connection URL instead"
        )
    return Connection(adapter, _URLS[adapter](settings, project.folder), chosen, settings.get("schema"))


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
