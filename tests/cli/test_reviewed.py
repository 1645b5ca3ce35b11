"""Small things that a reader of the promise found: each ended in a wrong word or an internal error."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.kit.commands import COLUMNS, CommandLine, patients, spec_values, write_spec
from tests.kit.database import Database

pytestmark = pytest.mark.reopened


def test_a_report_passes_over_runs_that_failed(duckdb_url: str, folder: Path, sqlanon: CommandLine) -> None:
    patients(duckdb_url)
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url))
    assert sqlanon("run", spec).code == 0
    Database(duckdb_url).run("ALTER TABLE patients ADD COLUMN more INTEGER")
    assert sqlanon("apply", folder / "spec.lock.json").code == 2
    outcome = sqlanon("report", folder / "spec.lock.json", "--offline", "--format", "json", "--out", folder / "r.json")
    assert outcome.code == 0, outcome.err
    assert [run["command"] for run in json.loads((folder / "r.json").read_text(encoding="utf-8"))["evidence"]] == [
        "run"
    ]


def test_a_script_does_not_pass_over_regions(duckdb_url: str, folder: Path, sqlanon: CommandLine) -> None:
    patients(duckdb_url)
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url, regions="classes_of_release"))
    outcome = sqlanon("sql", spec)
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith("sqlanon: error: regions: ")


def test_a_token_behind_a_file_stays_out_of_errors(folder: Path, sqlanon: CommandLine) -> None:
    url = f"duckdb:///{folder / 'w.duckdb'}?motherduck_token=SEKRIT"
    outcome = sqlanon("plan", write_spec(folder / "spec.yaml", spec_values(url)))
    assert outcome.code != 0
    assert "SEKRIT" not in outcome.err


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"search": {"algorithm": "mondrian"}}, "search.algorithm"),
        (
            {
                "columns": {**COLUMNS, "pid": {"role": "identifier"}},
                "history": {"key": "pid", "ledger": "ledger", "secret": "${SECRET}"},
            },
            "history",
        ),
    ],
)
def test_explore_passes_over_no_key_that_a_grid_refuses(
    duckdb_url: str, folder: Path, sqlanon: CommandLine, keys: dict[str, object], named: str
) -> None:
    spec = write_spec(folder / "spec.yaml", spec_values(duckdb_url, **keys))
    outcome = sqlanon("explore", spec, "--idle", "0")
    assert (outcome.code, outcome.err.count("\n")) == (2, 1)
    assert outcome.err.startswith(f"sqlanon: error: {named}: ")
