"""The files and folders of a dbt project, and the dbt command.

Reads `dbt_project.yml`; runs `dbt parse` where a manifest is missing or of another target.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
