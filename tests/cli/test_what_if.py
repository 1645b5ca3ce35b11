"""`plan --k --limit`: what the command asks for where the spec has several quasi-identifiers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.kit.commands import CommandLine, patients, spec_values, write_spec

GROUPS: dict[str, Any] = {
    "patient": {"columns": ["race", "age"], "k": 3},
    "place": {"columns": ["zip"], "k": 2},
}


def test_without_a_k_each_quasi_identifier_is_asked_for_its_own(
    sqlanon: CommandLine, folder: Path, duckdb_url: str
) -> None:
    patients(duckdb_url)
    privacy = {"k": 1, "quasi_identifiers": GROUPS}
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url, privacy=privacy))
    planned = sqlanon("plan", spec, "--json").json
    [cell] = sqlanon("plan", spec, "--limit", "0", "--json").json["grid"]
    assert (cell["k"], cell["levels"]) == (None, planned["levels"])
    [one] = sqlanon("plan", spec, "--k", "1", "--limit", "0", "--json").json["grid"]
    assert (one["k"], set(one["levels"].values())) == (1, {0})
    assert set(cell["levels"].values()) != {0}
    shown = sqlanon("plan", spec, "--limit", "0").out
    assert "own" in shown.split()
