"""Runs the dbt command on a copy of the example project, and keeps what it said of each model and test."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import psycopg
import pytest
from psycopg import conninfo, sql

from sqlanon.dbt.model_file import END, MARK, UNSIGNED, signed

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples" / "dbt"
PACKAGE = ROOT / "sql" / "dbt"
RUNNER = ROOT / "tests" / "dbt" / "runner.py"
TRIALS = ROOT / "tests" / "dbt" / "trials"
TEAM = ROOT / "tests" / "dbt" / "team"
RELEASE = "release_patients"
FOR_TEAM = "release_for_team"
WRITTEN = (
    f"models/{RELEASE}.sql",
    f"seeds/{RELEASE}_marital_hierarchy.csv",
    f"seeds/{RELEASE}_hierarchies.yml",
)
"""The files of the example that `sqlanon dbt` writes, beside the lock."""
LOCK = f"models/{RELEASE}.lock.json"

Rows = list[list[Any]]


def dbt_command() -> str:
    """The dbt of `make test`, or the one that SQLANON_TEST_DBT names. In CI it has to be there."""
    command = Path(os.environ.get("SQLANON_TEST_DBT", ROOT / ".venv-dbt" / "bin" / "dbt"))
    if command.exists():
        return str(command)
    reason = "dbt is missing: `make .venv-dbt/.dbt` installs it, SQLANON_TEST_DBT names another"
    if os.environ.get("CI"):
        pytest.fail(reason)
    pytest.skip(reason)


def stamped(levels: Sequence[Sequence[Any]], model: str) -> str:
    """A model whose query somebody else made, as if the command had written it."""
    start = re.search("^select ", model, re.MULTILINE)
    assert start is not None
    config, query = model[: start.start()], model[start.start() :]
    part = f"{MARK}\n-- Levels: {json.dumps(levels)}\n-- Signature: {UNSIGNED}\n{query}{END}"
    return f"{config}{signed(part)}\n"


@dataclass(frozen=True)
class DuckDB:
    path: Path
    schema: str = "main"

    def environment(self) -> dict[str, str]:
        return {"CLINIC_TARGET": "duckdb", "CLINIC_DUCKDB": str(self.path)}

    def query(self, statement: str) -> Rows:
        with duckdb.connect(str(self.path), read_only=True) as connection:
            return [list(row) for row in connection.execute(statement).fetchall()]


@dataclass(frozen=True)
class Postgres:
    url: str
    schema: str

    def environment(self) -> dict[str, str]:
        known = conninfo.conninfo_to_dict(self.url)
        names = {"host": "PGHOST", "port": "PGPORT", "user": "PGUSER", "password": "PGPASSWORD", "dbname": "PGDATABASE"}
        given = {names[key]: str(value) for key, value in known.items() if key in names and value}
        return {"CLINIC_TARGET": "postgres", "CLINIC_SCHEMA": self.schema, **given}

    def query(self, statement: str) -> Rows:
        with psycopg.connect(self.url, autocommit=True) as connection:
            return [list(row) for row in connection.execute(statement.encode()).fetchall()]

    def grant_by_default(self) -> None:
        """From now on everybody may read each table that is made in the schema, and a role of its own too."""
        schema, role = sql.Identifier(self.schema), sql.Identifier(f"reader of {self.schema}")
        with psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE SCHEMA IF NOT EXISTS {}").format(schema))
            connection.execute(sql.SQL("CREATE ROLE {}").format(role))
            for reader in (role, sql.SQL("PUBLIC")):
                granted = sql.SQL("ALTER DEFAULT PRIVILEGES IN SCHEMA {} GRANT SELECT ON TABLES TO {}")
                connection.execute(granted.format(schema, reader))

    def drop(self) -> None:
        with psycopg.connect(self.url, autocommit=True) as connection:
            for name in (self.schema, f"{self.schema}_dbt_test__audit", f"{self.schema}_research"):
                connection.execute(sql.SQL("DROP SCHEMA IF EXISTS {} CASCADE").format(sql.Identifier(name)))
            connection.execute(sql.SQL("DROP ROLE IF EXISTS {}").format(sql.Identifier(f"reader of {self.schema}")))


Warehouse = DuckDB | Postgres
"""A database that dbt builds in."""


@dataclass(frozen=True)
class Outcome:
    """What one call of dbt printed, and what it says of each node: its status, its message, its number of failures."""

    code: int
    output: str
    nodes: Mapping[str, tuple[str, str, int | None]]
    responses: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What the adapter answered for each node."""

    @property
    def failed(self) -> set[str]:
        return {name for name, (status, _, _) in self.nodes.items() if status not in ("success", "pass")}


@dataclass
class Project:
    """A copy of the example, beside a copy of the package as in the repository."""

    directory: Path
    environment: Mapping[str, str]
    command: str = field(default_factory=dbt_command)
    runner: subprocess.Popen[str] | None = None

    @classmethod
    def copied(cls, directory: Path, environment: Mapping[str, str]) -> Project:
        ignored = shutil.ignore_patterns("target", "dbt_packages", "logs", "*.duckdb*", "package-lock.yml")
        shutil.copytree(EXAMPLE, directory / "examples" / "dbt", ignore=ignored)
        shutil.copytree(PACKAGE, directory / "sql" / "dbt", ignore=ignored)
        return cls(directory / "examples" / "dbt", environment)

    def take_package_from_git(self) -> None:
        """As people install it who have no checkout: a repository, and the directory of the package in it."""
        repository = self.directory.parents[1]
        author = ("-c", "user.name=sqlanon", "-c", "user.email=sqlanon@localhost", "-c", "commit.gpgsign=false")
        for arguments in (("init", "-q"), ("add", "sql"), (*author, "commit", "-q", "-m", "package")):
            subprocess.run(["git", *arguments], cwd=repository, check=True, capture_output=True)
        revision = subprocess.run(
            ["git", "rev-parse", "HEAD"], cwd=repository, check=True, capture_output=True, text=True
        ).stdout.strip()
        place = {"git": repository.as_uri(), "subdirectory": "sql/dbt", "revision": revision}
        (self.directory / "packages.yml").write_text(json.dumps({"packages": [place]}), encoding="utf-8")

    @contextmanager
    def started(self) -> Iterator[None]:
        """dbt, imported once for all calls of the block; each call is a process of its own."""
        settings = {
            "DBT_SEND_ANONYMOUS_USAGE_STATS": "false",
            "DBT_VERSION_CHECK": "false",
            "DBT_USE_COLORS": "false",
            "DBT_LOG_LEVEL_FILE": "none",
            "DBT_PROFILES_DIR": str(self.directory),
            **self.environment,
        }
        # Nothing of ours is in reach of dbt: what it builds needs no sqlanon.
        outside = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        with subprocess.Popen(
            [str(Path(self.command).with_name("python")), str(RUNNER)],
            cwd=self.directory,
            env={**outside, **settings},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        ) as self.runner:
            yield
            self.runner.communicate()

    def dbt(self, *arguments: str) -> Outcome:
        """Call dbt; partial parsing keeps every call after the first short."""
        results = self.directory / "target" / "run_results.json"
        results.unlink(missing_ok=True)
        output = self.directory.parent / "output.txt"
        assert self.runner is not None
        assert self.runner.stdin is not None
        assert self.runner.stdout is not None
        self.runner.stdin.write(json.dumps({"arguments": arguments, "output": str(output)}) + "\n")
        self.runner.stdin.flush()
        code = int(self.runner.stdout.readline())
        return Outcome(code, output.read_text(encoding="utf-8"), _nodes(results), _responses(results))

    def sqlanon(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Call `sqlanon dbt` on the project."""
        given = ["--project", str(self.directory), "--dbt", self.command, *arguments]
        return subprocess.run(
            [sys.executable, "-m", "sqlanon", "dbt", *given],
            cwd=ROOT,
            env={**os.environ, **self.environment},
            capture_output=True,
            text=True,
            check=False,
        )

    @property
    def seed(self) -> Path:
        return self.directory / "seeds" / "raw_patients.csv"


def _nodes(results: Path) -> dict[str, tuple[str, str, int | None]]:
    if not results.exists():
        return {}
    content = json.loads(results.read_text(encoding="utf-8"))["results"]
    return {
        entry["unique_id"].split(".")[2]: (entry["status"], entry["message"], entry["failures"]) for entry in content
    }


def _responses(results: Path) -> dict[str, dict[str, Any]]:
    if not results.exists():
        return {}
    content = json.loads(results.read_text(encoding="utf-8"))["results"]
    return {entry["unique_id"].split(".")[2]: entry["adapter_response"] for entry in content}


def add_homogeneous_patients(seed: Path, count: int = 40) -> None:
    """New data that no release of the old kind can take: a town where everybody has the same illness."""
    new = [f"Q{number:04d},Zebulon Planted,10001,1981-04-05,male,single,kuru,77.77" for number in range(count)]
    with seed.open("a", encoding="utf-8") as lines:
        lines.write("\n".join(new) + "\n")


def values_of(seed: Path, columns: Sequence[int]) -> set[str]:
    rows = [line.split(",") for line in seed.read_text(encoding="utf-8").splitlines()[1:]]
    return {row[column] for row in rows for column in columns}


@contextmanager
def watched(look: Callable[[], Any], seen: list[Any]) -> Iterator[None]:
    """Look again and again while the block runs, from another connection."""
    finished = threading.Event()

    def watch() -> None:
        while not finished.is_set():
            found = look()
            if found not in seen:
                seen.append(found)
            finished.wait(0.02)

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield
    finally:
        finished.set()
        thread.join()
