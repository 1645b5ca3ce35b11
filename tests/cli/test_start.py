"""What a command imports before it works: modules are counted, not seconds, as `python -X importtime` lists them."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = """
source: people.csv
target: released.csv
columns: {zip: {role: quasi_identifier}, age: {role: quasi_identifier, hierarchy: {interval: {widths: [10]}}}}
privacy: {k: 2, suppression: {limit: 50%}}
"""
ROWS = "zip,age\n" + "1,23\n1,27\n2,31\n2,34\n" * 3
IMPORTED = re.compile(r"import time: +\d+ \| +\d+ \| +(\S+)")

DRIVERS = {"duckdb", "psycopg", "pyspark", "sqlalchemy"}
DRAWN = {"jinja2", "matplotlib", "networkx", "numpy", "pandas", "polars", "pyarrow"}
NOTHING = {*DRIVERS, *DRAWN, "pydantic", "rich", "sqlglot", "yaml"}
OTHERS = {*DRIVERS - {"duckdb"}, *DRAWN}
UNUSED_BY_PLANS = {
    "sqlanon.api",
    "sqlanon.auditor.measure",
    "sqlanon.draft.drafting",
    "sqlanon.engines.generated_dialects",
    "sqlanon.insight",
    "sqlanon.planning.frontier",
    "sqlanon.recoding.cells",
    "sqlanon.recoding.mondrian",
    "sqlanon.recoding.personalized",
    "sqlanon.recoding.schemes",
    "sqlanon.release.publication",
    "sqlanon.release.script",
    "sqlanon.reports",
    "sqlanon.search.samarati",
}


def imported(folder: Path, arguments: Sequence[str]) -> set[str]:
    """The modules that a command imports; it has to succeed."""
    (folder / "people.csv").write_text(ROWS, encoding="utf-8")
    (folder / "spec.yaml").write_text(SPEC, encoding="utf-8")
    program = f"import sys; sys.path.insert(0, {str(ROOT)!r}); from sqlanon.cli.main import main; main()"
    command = [sys.executable, "-X", "importtime", "-c", program, *arguments]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-2000:]
    return set(IMPORTED.findall(ended.stderr))


def within(modules: set[str], packages: set[str]) -> set[str]:
    return {module for module in modules for name in packages if module == name or module.startswith(f"{name}.")}


def dialects(modules: set[str]) -> set[str]:
    found = {module.removeprefix("sqlglot.dialects.") for module in modules if module.startswith("sqlglot.dialects.")}
    return found - {"dialect"}


@pytest.mark.representative(4)
@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "most", "unneeded"),
    [
        ("--version", 8, NOTHING),
        ("--help", 32, NOTHING),
        ("plan --help", 12, NOTHING),
        ("check spec.yaml --offline", 42, {*DRIVERS, *DRAWN, "sqlglot"}),
        ("check spec.yaml", 115, {*OTHERS, *UNUSED_BY_PLANS}),
        ("plan spec.yaml", 120, {*OTHERS, *UNUSED_BY_PLANS}),
        (
            "run spec.yaml",
            148,
            {*OTHERS, *UNUSED_BY_PLANS} - {"sqlanon.auditor.measure", "sqlanon.release.publication"},
        ),
        (
            "audit people.csv --qi zip,age",
            90,
            {*OTHERS, "sqlanon.evaluation", "sqlanon.planning", "sqlanon.release.publication", "sqlanon.search"},
        ),
    ],
)
def test_a_command_imports_what_it_needs(tmp_path: Path, command: str, most: int, unneeded: set[str]) -> None:
    """A number that has to rise says that a command got slower to start: import the module where it is used."""
    modules = imported(tmp_path, command.split())
    assert within(modules, unneeded) == set()
    own = within(modules, {"sqlanon"})
    assert len(own) <= most, sorted(own)
    assert dialects(modules) <= {"duckdb"}


def test_the_lists_name_modules_that_exist() -> None:
    """A module that moved would be unneeded by everybody."""
    names = [name.replace(".", "/") for name in UNUSED_BY_PLANS]
    assert all((ROOT / f"{name}.py").is_file() or (ROOT / name).is_dir() for name in names)
