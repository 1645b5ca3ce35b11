"""Schemas of answers and files: every command has one, and they refuse what is not said in them."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from sqlanon.cli.answers import ANSWERS, FILES, schema_of
from sqlanon.cli.main import COMMANDS
from tests.kit.commands import CommandLine, patients, require_valid, spec_values, validator, write_spec

NAMES = (*ANSWERS, *FILES)


def test_every_command_has_a_schema() -> None:
    assert {*COMMANDS} - {"mcp", "schema"} == {*ANSWERS}


@pytest.mark.parametrize("name", NAMES)
def test_it_is_printed_and_is_a_schema(name: str, sqlanon: CommandLine) -> None:
    outcome = sqlanon("schema", name)
    assert (outcome.code, outcome.json) == (0, schema_of(name))
    Draft202012Validator.check_schema(outcome.json)
    assert outcome.json["$id"].endswith(":1")


def test_names_are_listed_and_others_refused(sqlanon: CommandLine) -> None:
    assert sqlanon("schema").out.split() == [*NAMES]
    assert sqlanon("schema", "--json").json == {"names": [*NAMES]}
    outcome = sqlanon("schema", "plans")
    assert (outcome.code, "There is no schema of 'plans'. Known: demo, init" in outcome.err) == (2, True)


def test_files_and_answers_of_a_release(duckdb_url: str, tmp_path: Path, sqlanon: CommandLine) -> None:
    patients(duckdb_url)
    spec = write_spec(tmp_path / "spec.yaml", spec_values(duckdb_url))
    assert sqlanon("run", spec, "--json").code == 0
    [evidence] = (tmp_path / "spec.evidence").glob("*.json")
    for name, path in (("lock", tmp_path / "spec.lock.json"), ("evidence-file", evidence)):
        require_valid(name, json.loads(path.read_text(encoding="utf-8")))
    assert sqlanon("sql", tmp_path / "spec.lock.json", "--json").code == 0
    assert sqlanon("grants", spec, "--role", "readers", "--json").code == 0
    assert sqlanon("cleanup", spec, "--json").code == 0
    assert sqlanon("check", tmp_path / "none.yaml", "--json").json["error"]["exit_code"] == 2


@pytest.mark.parametrize(
    ("place", "value"),
    [(("extra",), 1), (("audit", "extra"), 1), (("levels", "zip"), "two"), (("satisfied",), 1), (("rows",), -1)],
)
def test_what_is_not_said_is_refused(
    place: tuple[str, ...], value: Any, duckdb_url: str, tmp_path: Path, sqlanon: CommandLine
) -> None:
    patients(duckdb_url)
    answer = sqlanon("run", write_spec(tmp_path / "spec.yaml", spec_values(duckdb_url)), "--json").json
    changed = copy.deepcopy(answer)
    inner = changed
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    assert not validator("run").is_valid(changed)
    with pytest.raises(AssertionError, match="not of the schema of run"):
        require_valid("run", changed)
