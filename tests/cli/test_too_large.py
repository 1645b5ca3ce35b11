"""Specs that no search could end with are refused when they are read: at once, in one line, by every command."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from sqlanon.errors import SqlanonError
from sqlanon.hierarchies.base import Family
from sqlanon.hierarchies.csv import Csv
from sqlanon.spec import spec_from_dict
from tests.kit.commands import CommandLine, Outcome

COMMANDS = (
    ("check",),
    ("check", "--offline"),
    ("hierarchies",),
    ("plan",),
    ("run",),
    ("sql",),
    ("status",),
    ("risk",),
    ("attack",),
    ("utility",),
    ("explore",),
    ("audit", "--spec"),
    ("grants",),
    ("cleanup",),
)


def is_one_line(outcome: Outcome, words: str) -> None:
    assert outcome.code == 2, outcome.err
    [line] = outcome.err.strip().splitlines()
    assert words in line


def wide(folder: Path) -> Path:
    names = [f"c{number}" for number in range(300)]
    columns = {name: {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 2}}} for name in names}
    values = {"source": "wide.csv", "target": "out.csv", "columns": columns, "privacy": {"k": 2}}
    path = folder / "wide.yaml"
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_hundreds_of_quasi_identifiers(folder: Path, sqlanon: CommandLine, command: tuple[str, ...]) -> None:
    """The source is not even looked for."""
    is_one_line(sqlanon(*command, wide(folder)), "columns: 300 columns are quasi-identifiers, at most 100")


def nested(depth: int) -> Any:
    tree: Any = ["a", "b"]
    for level in range(depth):
        tree = {f"n{level}": tree}
    return tree


def spec_with(hierarchy: dict[str, Any]) -> dict[str, Any]:
    return {
        "source": "patients.csv",
        "target": "out.csv",
        "columns": {"zip": {"role": "quasi_identifier", "hierarchy": hierarchy}},
        "privacy": {"k": 2},
    }


DEEP = {
    "tree": ({"tree": nested(400)}, "levels above its values, at most 64 are allowed"),
    "shallower tree": ({"tree": nested(65)}, "the tree has 65 levels above its values, at most 64"),
    "mask": ({"mask": {"length": 400}}, "makes more than 64 levels; give steps"),
    "steps": ({"mask": {"length": 400, "steps": list(range(1, 80))}}, "79 levels above its values"),
    "cuts": (
        {"interval": {"cuts": [list(range(number)) for number in range(80, 1, -1)]}},
        "79 levels above its values",
    ),
    "table": ({"table": {"name": "h", "levels": [f"l{number}" for number in range(80)]}}, "the table has 79 levels"),
    "sql": ({"sql": ["zip", *(f"substr(zip, 1, {number})" for number in range(80, 0, -1))]}, "80 levels above"),
}


@pytest.mark.parametrize("name", DEEP)
def test_hierarchies_of_many_levels(name: str) -> None:
    hierarchy, words = DEEP[name]
    with pytest.raises(SqlanonError) as caught:
        spec_from_dict(spec_with(hierarchy))
    [line] = str(caught.value).splitlines()
    assert line.startswith("columns.zip.hierarchy.")
    assert words in line


def test_a_file_of_many_levels(folder: Path) -> None:
    (folder / "h.csv").write_text(",".join(f"l{number}" for number in range(80)) + "\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"hierarchy file h\.csv has 79 levels above its values, at most 64"):
        Csv.model_validate({"path": "h.csv"}, context={"folder": folder}).rule(Family.TEXT)


def test_64_levels_are_none_too_many() -> None:
    spec = spec_from_dict(spec_with({"tree": nested(64)}))
    assert spec.quasi_identifiers == ("zip",)
