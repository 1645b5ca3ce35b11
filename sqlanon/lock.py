"""The lock file: what a plan decided, as stable JSON that people review and `apply` carries out.

Sorted, without timestamps; no data values beyond hierarchy labels. It also keeps what the database said of each node,
so that planning again on the same data asks nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlanon.errors import UsageError
from sqlanon.metrics.base import Verdict

VERSION = 1


@dataclass(frozen=True)
class Lock:
    """A plan as it is written down."""

    spec: str
    """The spec's file name, relative to the lock file."""
    spec_hash: str
    levels: dict[str, int]
    hierarchies: dict[str, dict[str, Any]]
    """Height, top label and fingerprint of each column's hierarchy, as they were when the plan was made."""
    requirement: dict[str, Any]
    result: dict[str, Any]
    """Figures of the plan, for the reader."""
    fingerprint: str = ""
    """Of the frequency set that the verdicts were found on."""
    verdicts: Sequence[Verdict] = field(default_factory=tuple)

    def knows(self, fingerprint: str, requirement: Mapping[str, Any]) -> bool:
        """Whether the verdicts hold for this frequency set and requirement."""
        return self.fingerprint == fingerprint and self.requirement == requirement

    def to_json(self) -> str:
        content = {
            "version": VERSION,
            "spec": self.spec,
            "spec_hash": self.spec_hash,
            "recoding": {"kind": "full_domain", "levels": self.levels},
            "hierarchies": self.hierarchies,
            "requirement": self.requirement,
            "result": self.result,
            "frequency_set": {"fingerprint": self.fingerprint, "verdicts": _written(self.verdicts)},
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
                raise UsageError(f"{path}: is a lock file of another version, this is version {VERSION}")
            return cls(
                content["spec"],
                content["spec_hash"],
                {str(name): int(level) for name, level in content["recoding"]["levels"].items()},
                {
                    str(name): {**known, "height": int(known["height"])}
                    for name, known in content["hierarchies"].items()
                },
                content["requirement"],
                content["result"],
                content["frequency_set"]["fingerprint"],
                tuple(_verdict(node, entry) for node, entry in content["frequency_set"]["verdicts"].items()),
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            raise UsageError(f"{path}: is not a lock file: a part is missing or not of its form") from error

    def write(self, path: Path) -> None:
        """Write the file whole or not at all."""
        temporary = path.with_name(path.name + ".tmp")
        temporary.write_text(self.to_json(), encoding="utf-8")
        temporary.replace(path)


def lock_path(spec: Path) -> Path:
    """Where the lock of a spec lies: `patients.yaml` has `patients.lock.json`."""
    return spec.with_name(f"{spec.stem}.lock.json")


def _written(verdicts: Sequence[Verdict]) -> dict[str, str]:
    """One line per node: the vector, then suppressed rows, classes and figures."""
    return {
        " ".join(map(str, verdict.node)): " ".join(
            [
                str(verdict.suppressed),
                str(verdict.classes),
                *(f"{name}={value!r}" for name, value in verdict.figures.items()),
            ]
        )
        for verdict in verdicts
    }


def _verdict(node: str, entry: str) -> Verdict:
    suppressed, classes, *figures = entry.split(" ")
    named = dict(figure.split("=") for figure in figures)
    return Verdict(
        tuple(int(level) for level in node.split(" ")),
        int(suppressed),
        int(classes),
        {name: float(value) for name, value in named.items()},
    )
