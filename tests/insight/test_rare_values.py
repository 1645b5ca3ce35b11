"""No value of a quasi-identifier or sensitive column with fewer than k rows behind it leaves the database.

Planted values are looked for in everything that commands print, log, write or say when they fail.
"""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.kit.commands import CommandLine, Outcome
from tests.kit.database import Database

K = 3
RARE = {
    "zip": "Qz7rarezip",
    "age": "86420975",
    "born": "1871-03-14",
    "disease": "Qz7raredisease",
    "salary": "48151623",
    "name": "Qz7rarename",
}
"""In one row each, and in k - 1 rows together with another."""

NEEDLES = ("Qz7", "86420975", r"(?<![0-9.])1871(?![0-9])", "48151623")
"""What every one of them, and every label of theirs below the top, contains; no count or hash does by accident."""

TYPES = {"name": "text", "zip": "text", "age": "integer", "born": "date", "disease": "text", "salary": "bigint"}
COLUMNS: dict[str, Any] = {
    "name": {"role": "identifier"},
    "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 10, "steps": [1, 10]}}},
    "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10]}}},
    "born": {"role": "quasi_identifier", "hierarchy": {"date": ["day", "year", "any"]}},
    "disease": {"role": "sensitive"},
    "salary": {"role": "sensitive"},
}


def ordinary(row: int) -> dict[str, Any]:
    return {
        "name": f"somebody {row}",
        "zip": f"941{row % 2}9",
        "age": 30 + row % 3,
        "born": date(1960, 1, 1) + timedelta(days=row % 2),
        "disease": ("flu", "cold", "asthma")[row % 3],
        "salary": 1000 * (row % 3),
    }


def rows() -> list[list[Any]]:
    """Forty common rows; then rows with one rare value, all rare values, and the same pair twice."""
    common = [ordinary(row) for row in range(40)]
    planted = [{**ordinary(place), column: value} for place, (column, value) in enumerate(RARE.items())]
    planted += [{**ordinary(7), **RARE}, {**ordinary(8), "zip": RARE["zip"], "disease": RARE["disease"]}]
    return [[row[name] for name in TYPES] for row in (*common, *planted)]


class Artifacts:
    """Everything that was printed or written."""

    def __init__(self, command: CommandLine, folder: Path) -> None:
        self.command, self.folder = command, folder
        self.checked = 0

    def __call__(self, *arguments: str, code: int = 0) -> Outcome:
        outcome = self.command(*arguments)
        assert outcome.code == code, (arguments, outcome.err)
        self.scan(f"{' '.join(arguments)}: stdout", outcome.out)
        self.scan(f"{' '.join(arguments)}: stderr", outcome.err)
        assert outcome.out or outcome.err
        return outcome

    def scan(self, where: str, text: str) -> None:
        found = [needle for needle in NEEDLES if re.search(needle, text)]
        assert not found, (where, found)
        self.checked += 1

    def files(self) -> None:
        for path in sorted(self.folder.rglob("*")):
            if path.is_file():
                self.scan(str(path), path.read_text(encoding="utf-8"))


@pytest.fixture
def artifacts(engine_url: str, sqlanon: CommandLine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Artifacts:
    """A folder with the spec, and the tables: the source, and everybody with their names."""
    database = Database(engine_url)
    database.create("patients", TYPES, rows())
    database.create("people", TYPES, rows())
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    write(folder, engine_url)
    return Artifacts(sqlanon, folder)


def write(folder: Path, url: str, **changes: Any) -> None:
    values = {
        "connection": url,
        "source": "patients",
        "target": "released",
        "columns": COLUMNS,
        "privacy": {"k": K, "suppression": {"limit": "40%"}},
        "evidence": {"tables": True},
        **changes,
    }
    (folder / "spec.yaml").write_text(yaml.safe_dump(values), encoding="utf-8")


@pytest.mark.one_engine
def test_nothing_rare_is_printed_logged_or_written(artifacts: Artifacts, engine_url: str) -> None:
    artifacts("check", "spec.yaml")
    artifacts("plan", "spec.yaml", "--minimal", "--log", "json")
    artifacts("run", "spec.yaml", "--json", "--log", "json")
    artifacts("audit", "--spec", "spec.yaml", "--json")
    artifacts("audit", "patients", "--connection", engine_url, "--qi", "zip,age,born", "--sensitive", "disease")
    artifacts("risk", "spec.yaml", "--uniques", "2", "--log", "json")
    artifacts("risk", "spec.yaml", "--uniques", "2", "--json", "--show-sql")
    artifacts("attack", "spec.yaml", "--external", "people", "--statements", "--log", "json")
    artifacts("attack", "spec.yaml", "--external", "people", "--release", "released", "--json", "--statements")
    artifacts("utility", "spec.yaml")
    artifacts("utility", "spec.yaml", "--json", "--predict", "disease", "--log", "json")
    artifacts("status", "spec.yaml", "--json")
    assert artifacts("evidence", "--list", "spec.yaml", "--json").json
    artifacts.files()
    tables = Database(engine_url).leftovers()
    assert "sqlanon_run" in tables
    for name in tables:
        artifacts.scan(name, str(Database(engine_url).rows(f'"{name}"')))
    assert artifacts.checked > 30
    # The scan would have seen them: they are in the source.
    assert all(needle in str(Database(engine_url).rows("patients")) for needle in ("Qz7", "86420975", "48151623"))


@pytest.mark.one_engine
def test_nothing_rare_is_in_the_message_of_an_error(artifacts: Artifacts, engine_url: str) -> None:
    """Values outside a hierarchy, requirements that nothing satisfies, tables that do not fit."""
    tree = {**COLUMNS, "disease": {"role": "sensitive", "hierarchy": {"tree": {"any": ["flu", "cold", "asthma"]}}}}
    closeness = {"k": K, "t_closeness": [{"column": "disease", "t": 0.9, "distance": "hierarchical"}]}
    write(artifacts.folder, engine_url, columns=tree, privacy=closeness)
    artifacts("plan", "spec.yaml", code=2)
    artifacts("run", "spec.yaml", "--json", code=2)
    write(artifacts.folder, engine_url, columns=tree, privacy={"k": K, "suppression": {"limit": "40%"}})
    artifacts("run", "spec.yaml")
    artifacts("attack", "spec.yaml", code=2)
    listed = {**COLUMNS, "zip": {"role": "quasi_identifier", "hierarchy": {"tree": {"any": ["94109", "94119"]}}}}
    write(artifacts.folder, engine_url, columns=listed)
    for command in ("check", "plan", "risk", "utility"):
        if command != "risk":
            artifacts(command, "spec.yaml", code=2)
        artifacts(command, "spec.yaml", "--json", code=0 if command == "risk" else 2)
    write(artifacts.folder, engine_url, privacy={"k": 60})
    artifacts("plan", "spec.yaml", code=3)
    write(artifacts.folder, engine_url)
    artifacts("attack", "spec.yaml", "--external", "people", "--map", "age=disease", code=2)
    broken = {**COLUMNS, "zip": {"role": "quasi_identifier", "hierarchy": {"sql": ["zip", "CAST(zip AS integer)"]}}}
    write(artifacts.folder, engine_url, columns=broken)
    artifacts("plan", "spec.yaml", code=4)
