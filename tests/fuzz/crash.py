"""Releases killed at a random moment: afterwards the target is the old table or the new one, whole, and the next run
succeeds and leaves no scratch behind.

The target is reset before each kill, so that every one meets an old table that must survive it.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import psycopg

from tests.fuzz.release import accepts

ROOT = Path(__file__).parents[2]
Rows = list[tuple[object, ...]]


@dataclass
class Crash:
    """How a kill ended: when it came, what stood afterwards, and what the next run left."""

    after: float
    killed: bool
    stood: str
    code: int
    scratch: list[str]

    @property
    def problem(self) -> str | None:
        if self.stood not in ("old", "new"):
            return f"after a kill at {self.after:.2f} s the target is {self.stood}"
        if self.code:
            return f"the run after a kill at {self.after:.2f} s ended with exit code {self.code}"
        return f"{len(self.scratch)} scratch objects are left after the next run" if self.scratch else None


class Target(ABC):
    """A target that can be reset, read and looked through for scratch. No session stays open between two questions."""

    @abstractmethod
    def session(self) -> AbstractContextManager[Any]: ...

    def reset(self) -> None:
        with self.session() as session:
            session.execute("DROP TABLE IF EXISTS release")
            session.execute("CREATE TABLE release (old TEXT)")
            session.execute("INSERT INTO release VALUES ('old release'), ('second row')")

    def read(self) -> Rows | None:
        """The rows of the target; None where there is no such table."""
        with self.session() as session:
            if not session.execute(
                "SELECT 1 FROM information_schema.tables WHERE table_name = 'release' AND table_schema <> 'pg_catalog'"
            ).fetchall():
                return None
            return [tuple(row) for row in session.execute("SELECT * FROM release").fetchall()]

    def scratch(self) -> list[str]:
        with self.session() as session:
            names = session.execute("SELECT table_name FROM information_schema.tables").fetchall()
        return [str(row[0]) for row in names if str(row[0]).startswith("sqlanon_")]


class DuckDBFile(Target):
    """A table of a DuckDB file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.url = f"duckdb:///{path}"

    def session(self) -> AbstractContextManager[Any]:
        return duckdb.connect(str(self.path))


class PostgresSchema(Target):
    """A table of a schema of its own, which the URL makes the default."""

    def __init__(self, url: str) -> None:
        self.url = url

    def session(self) -> AbstractContextManager[Any]:
        return psycopg.connect(self.url, autocommit=True)


def prepare(target: DuckDBFile | PostgresSchema, folder: Path) -> Path:
    """A source that takes long enough to be killed within its stages, and the spec of its release."""
    drawn = random.Random(1)
    with target.session() as session:
        session.execute("CREATE TABLE source (id INTEGER, zip TEXT, age INTEGER, disease TEXT)")
        rows = ", ".join(
            f"({row}, '{94100 + drawn.randint(0, 60)}', {drawn.randint(18, 90)}, '{drawn.choice(['flu', 'gout'])}')"
            for row in range(2000)
        )
        session.execute(f"INSERT INTO source VALUES {rows}")
    spec = {
        "connection": target.url,
        "source": {"table": "source"},
        "target": {"table": "release"},
        "evidence": {"files": False},
        "columns": {
            "id": {"role": "insensitive", **({"accept": "a row number"} if accepts() else {})},
            "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5}}},
            "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [5, 10, 20]}}},
            "disease": {"role": "sensitive"},
        },
        "privacy": {"k": 5, "suppression": {"limit": "5%"}, "l_diversity": [{"column": "disease", "l": 2}]},
        "search": {"algorithm": "samarati"},
    }
    path = folder / "crash.yaml"
    path.write_text(json.dumps(spec), encoding="utf-8")
    return path


def crashes(target: DuckDBFile | PostgresSchema, folder: Path, kills: int, seed: int = 0) -> list[Crash]:
    """Kills at random moments of a release, the last ones near its end, where the target is replaced."""
    spec, drawn = prepare(target, folder), random.Random(seed)
    begun = time.monotonic()
    code = start(spec).wait(300)
    whole = time.monotonic() - begun
    assert code == 0
    return [crash(spec, target, whole * drawn.uniform(0.3, 1.05)) for _ in range(kills)]


def crash(spec: Path, target: Target, after: float) -> Crash:
    """One release of a spec, killed after some seconds, and one more that must succeed."""
    target.reset()
    old = target.read()
    process = start(spec)
    try:
        process.wait(after)
        killed = False
    except subprocess.TimeoutExpired:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        killed = True
    first = target.read()
    again = start(spec)
    code = again.wait(300)
    new = target.read()
    stood = (
        "old"
        if first == old
        else "new"
        if first is not None and same(first, new)
        else "missing"
        if first is None
        else "torn"
    )
    return Crash(after, killed, stood, code, target.scratch())


def same(one: Rows, other: Rows | None) -> bool:
    """Whether two releases are the same rows; their order is random."""
    return other is not None and sorted(map(repr, one)) == sorted(map(repr, other))


def start(spec: Path) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "sqlanon", "run", str(spec)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
