"""What the tests of the command line share: running commands, and small tables on both engines to run them on."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from sqlanon.cli.answers import ANSWERS, schema_of
from sqlanon.cli.main import run
from tests.kit.engine import execute, open_at, query

PATIENTS = [
    ("asian", "94138", 21, "flu"),
    ("asian", "94138", 24, "flu"),
    ("asian", "94139", 28, "gastritis"),
    ("black", "94138", 33, "flu"),
    ("black", "94139", 35, "cold"),
    ("black", "94139", 39, "cold"),
    ("white", "94141", 41, "asthma"),
    ("white", "94141", 44, "flu"),
    ("white", "94142", 47, "cold"),
    ("white", "94142", 49, "asthma"),
]

COLUMNS: dict[str, Any] = {
    "race": {"role": "quasi_identifier", "hierarchy": {"tree": {"person": ["asian", "black", "white"]}}},
    "zip": {"role": "quasi_identifier", "hierarchy": {"mask": {"length": 5, "steps": [1, 2, 5]}}},
    "age": {"role": "quasi_identifier", "hierarchy": {"interval": {"widths": [10, 20]}}},
    "disease": {"role": "sensitive"},
}


@dataclass
class Outcome:
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class CommandLine:
    """Runs commands in this process, with what they print captured."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str | Path) -> Outcome:
        self._capsys.readouterr()
        code = run([str(argument) for argument in arguments])
        printed = self._capsys.readouterr()
        if "--json" in arguments and arguments[0] in ANSWERS:
            # Whoever reads these answers may rely on their schema: every answer of every test is held to it.
            require_valid(str(arguments[0]), json.loads(printed.out))
        return Outcome(code, printed.out, printed.err)


@cache
def validator(name: str) -> Draft202012Validator:
    return Draft202012Validator(schema_of(name))


def require_valid(name: str, content: Any) -> None:
    """A command's answer, or a file, is of the schema of its name; the deepest place that is not is told."""
    errors = [leaf for error in validator(name).iter_errors(content) for leaf in leaves(error)]
    deepest = max(errors, key=lambda error: len(error.absolute_path), default=None)
    where = "" if deepest is None else "/".join(map(str, deepest.absolute_path))
    assert deepest is None, f"not of the schema of {name}, at '{where}': {deepest.message[:300]}"


def leaves(error: ValidationError) -> Iterator[ValidationError]:
    """What is wrong in the end, below the choices that do not fit."""
    if not error.context:
        yield error
    for inner in error.context or ():
        yield from leaves(inner)


def patients(url: str, rows: list[tuple[Any, ...]] | None = None) -> None:
    """The table `patients` in the default schema."""
    engine = open_at(url)
    execute(engine, "CREATE TABLE patients (race TEXT, zip TEXT, age INTEGER, disease TEXT)")
    given = PATIENTS if rows is None else rows
    if given:
        execute(engine, f"INSERT INTO patients VALUES {', '.join(map(repr, given))}")
    engine.close()


def tables(url: str) -> set[str]:
    """All tables of the default schema."""
    engine = open_at(url)
    found = query(engine, "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()")
    engine.close()
    return {name for (name,) in found}


def rows_of(url: str, table: str) -> list[tuple[Any, ...]]:
    engine = open_at(url)
    found = query(engine, f"SELECT * FROM {table}")
    engine.close()
    return found


def spec_values(url: str, **changes: Any) -> dict[str, Any]:
    """A spec for the table; `changes` replaces keys of the top level."""
    values: dict[str, Any] = {
        "version": 1,
        "connection": url,
        "source": "patients",
        "target": "patients_release",
        "columns": COLUMNS,
        "privacy": {"k": 2, "suppression": {"limit": 2}},
    }
    return {**values, **changes}


def write_spec(path: Path, values: Mapping[str, Any]) -> Path:
    path.write_text(yaml.safe_dump(dict(values), sort_keys=False), encoding="utf-8")
    return path
