"""The lock file: what a plan decided, as stable JSON that people review and `apply` carries out.

Sorted, without timestamps; no data values beyond hierarchy labels.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlanon.errors import UsageError

VERSION = 1


@dataclass(frozen=True)
class Lock:
    """A plan as it is written down."""

    spec: str
    """The spec's file name, relative to the lock file."""
    spec_hash: str
    levels: dict[str, int]
    hierarchies: dict[str, dict[str, Any]]
    """Height and top label of each column's hierarchy, as they were when the plan was made."""
    requirement: dict[str, Any]
    result: dict[str, Any]
    """Figures of the plan, for the reader."""

    def to_json(self) -> str:
        content = {
            "version": VERSION,
            "spec": self.spec,
            "spec_hash": self.spec_hash,
            "recoding": {"kind": "full_domain", "levels": self.levels},
            "hierarchies": self.hierarchies,
            "requirement": self.requirement,
            "result": self.result,
        }
        return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"

    @classmethod
    def read(cls, path: Path) -> Lock:
        """The lock in a file; UsageError when it is none."""
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except OSError as error:
            raise UsageError(f"{path}: cannot be read: {error.strerror}") from error
        except ValueError as error:
            raise UsageError(f"{path}: is not a lock file: it is not JSON") from error
        try:
            if content["version"] != VERSION:
                raise UsageError(f"{path}: is a lock file of version {content['version']}, this is version {VERSION}")
            return cls(
                content["spec"],
                content["spec_hash"],
                {str(name): int(level) for name, level in content["recoding"]["levels"].items()},
                content["hierarchies"],
                content["requirement"],
                content["result"],
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}: is not a lock file: 'version', 'spec' or 'recoding' is missing") from error

    def write(self, path: Path) -> None:
        """Write the file whole or not at all."""
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(self.to_json(), encoding="utf-8")
        temporary.replace(path)


def lock_path(spec: Path) -> Path:
    """Where the lock of a spec lies: `patients.yaml` has `patients.lock.json`."""
    return spec.with_name(f"{spec.stem}.lock.json")
