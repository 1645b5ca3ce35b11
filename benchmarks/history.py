"""The history of measured ratios, benchmarks/history.jsonl: a line for each figure of a run of `make bench`.

Ratios are of one run (a search to the base GROUP BY of the same table, a publish to a copy of it), so smaller is better
and machines differ less than in seconds; still they are compared on machines of one class only.
"""

from __future__ import annotations

import json
import os
import platform
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

HISTORY = Path(__file__).with_name("history.jsonl")
WORSE = 1.3
"""A ratio so many times the last one on the same class of machine fails the run."""


@dataclass(frozen=True)
class Figure:
    """One measured ratio."""

    commit: str
    machine: str
    figure: str
    ratio: float


def machine_class() -> str:
    """What makes ratios comparable: architecture, cores, memory.

    >>> machine_class().count(",")
    2
    """
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return f"{platform.machine()}, {os.cpu_count()} cores, {round(memory)} GiB"


def commit() -> str:
    """The commit that is measured, marked where the tree differs from it."""
    try:
        answer = subprocess.run(
            ["git", "describe", "--always", "--dirty", "--exclude", "*"],
            cwd=HISTORY.parent,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    return answer.stdout.strip()


def read(path: Path = HISTORY) -> list[Figure]:
    """Everything that was measured, the oldest first."""
    if not path.exists():
        return []
    return [Figure(**json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def append(figures: Sequence[Figure], path: Path = HISTORY) -> None:
    """Add figures at the end."""
    with path.open("a", encoding="utf-8") as file:
        file.writelines(f"{json.dumps(asdict(figure))}\n" for figure in figures)


def figures_of(ratios: Mapping[str, float]) -> list[Figure]:
    """Ratios of this run by their names."""
    here, machine = commit(), machine_class()
    return [Figure(here, machine, name, round(ratio, 3)) for name, ratio in ratios.items()]


def worse(now: Sequence[Figure], before: Sequence[Figure]) -> list[str]:
    """A line for each figure that is much worse than the last one of its name on the same class of machine."""
    last = {(figure.machine, figure.figure): figure for figure in before}
    found = []
    for figure in now:
        old = last.get((figure.machine, figure.figure))
        if old is not None and figure.ratio > WORSE * old.ratio:
            found.append(f"{figure.figure}: {figure.ratio:g}x, and {old.ratio:g}x at {old.commit}")
    return found
