"""Releases in orchestrators: lineage of a run, a task of Airflow, an asset of Dagster; by their own packages."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from openlineage.client.event_v2 import RunState

from sqlanon.api.openlineage import event_of
from tests.kit.commands import CommandLine, patients, rows_of, spec_values, write_spec

ROOT = Path(__file__).parents[2]
PYTHON = ROOT / ".venv-orchestrators" / "bin" / "python"


@pytest.fixture
def spec(duckdb_url: str, tmp_path: Path) -> Path:
    patients(duckdb_url)
    privacy = {"k": 2, "suppression": {"limit": 2}, "l_diversity": [{"column": "disease", "l": 1}]}
    return write_spec(tmp_path / "spec.yaml", spec_values(duckdb_url, privacy=privacy))


def test_a_run_is_sent_as_an_event(
    spec: Path, tmp_path: Path, sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = sqlanon("run", spec, "--json").json
    kept = tmp_path / "events.jsonl"
    config = tmp_path / "openlineage.yml"
    config.write_text(f"transport: {{type: file, log_file_path: {kept}, append: true}}\n", encoding="utf-8")
    monkeypatch.setenv("OPENLINEAGE_CONFIG", str(config))
    outcome = sqlanon("evidence", run["run"], "--spec", spec, "--openlineage")
    assert (outcome.code, f"sent run {run['run']} to OpenLineage" in outcome.err) == (0, True)
    [event] = [json.loads(line) for line in kept.read_text(encoding="utf-8").splitlines()]
    assert (event["eventType"], event["job"]["name"]) == ("COMPLETE", "release of patients_release")
    assert [item["name"] for item in event["inputs"]] == ["patients"]
    [output] = event["outputs"]
    assert (output["name"], output["outputFacets"]["outputStatistics"]["rowCount"]) == (
        "patients_release",
        run["released"],
    )
    assert facts(output["facets"]["columnLineage"]["fields"]) == {
        **{
            name: (name, f"level {level} of {run['hierarchies'][name]['height']}", level > 0)
            for name, level in run["levels"].items()
        },
        "disease": ("disease", "sensitive column", False),
    }
    assert "gastritis" not in kept.read_text(encoding="utf-8")


def facts(fields: dict[str, Any]) -> dict[str, tuple[str, str, bool]]:
    found = {}
    for name, field in fields.items():
        [read] = field["inputFields"]
        [how] = read["transformations"]
        found[name] = (read["field"], how["description"], how["masking"])
    return found


def test_a_run_that_failed(spec: Path, sqlanon: CommandLine) -> None:
    run = sqlanon("run", spec, "--json").json["run"]
    document = sqlanon("evidence", run, "--spec", spec, "--json").json
    failed = {"outcome": "failed", "rows": {}, "levels": {}, "audit": {"before": None, "after": None}}
    event = event_of({**document, **failed})
    assert (event.eventType, event.outputs) == (RunState.FAIL, [])


def test_where_it_cannot_be_sent(spec: Path, sqlanon: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    run = sqlanon("run", spec, "--json").json["run"]
    monkeypatch.setattr("sqlanon.api.openlineage.emit", lambda document: 1 / 0)
    outcome = sqlanon("evidence", run, "--spec", spec, "--openlineage")
    assert (outcome.code, "the event was not sent (ZeroDivisionError)" in outcome.err) == (2, True)
    outcome = sqlanon("evidence", "--list", spec, "--openlineage")
    assert (outcome.code, "--openlineage goes with RUN" in outcome.err) == (2, True)


AIRFLOW = """
import os, sys
from sqlanon.api.airflow import ReleaseOperator
found = ReleaseOperator(task_id="publish", release=sys.argv[1]).execute({})
assert (found["rows"], found["target"]) == (10, "patients_release"), found
"""

DAGSTER = """
import os, runpy, sys
os.environ["PATIENTS_SPEC"] = sys.argv[1]
from dagster import materialize
made = runpy.run_path(sys.argv[2])["patients"]
result = materialize([made])
[done] = result.asset_materializations_for_node("patients_release")
assert done.metadata["rows"].value == 10, done
[check] = result.get_asset_check_evaluations()
assert check.passed
"""


@pytest.mark.soak
@pytest.mark.process
@pytest.mark.reopened
@pytest.mark.parametrize(("script", "example"), [(AIRFLOW, "airflow_dag.py"), (DAGSTER, "dagster_assets.py")])
def test_a_release_in_an_orchestrator(script: str, example: str, duckdb_url: str, tmp_path: Path) -> None:
    """In an environment of its own, which `make soak` makes."""
    patients(duckdb_url)
    spec = write_spec(tmp_path / "spec.yaml", spec_values(duckdb_url))
    path = ROOT / "examples" / "orchestrators" / example
    given = {**os.environ, "PYTHONPATH": str(ROOT), "AIRFLOW_HOME": str(tmp_path), "DAGSTER_HOME": ""}
    for arguments in (["-c", script, spec, path], [path]):
        done = subprocess.run(
            [PYTHON, *arguments], env=given, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
    assert len(rows_of(duckdb_url, "patients_release")) >= 8


# -- audits of SQLMesh -------------------------------------------------------------------------------------------------

SQLMESH = ROOT / ".venv-sqlmesh" / "bin" / "sqlmesh"
PROJECT = """
gateways: {local: {connection: {type: duckdb, database: mesh.duckdb}}}
default_gateway: local
model_defaults: {dialect: duckdb, start: 2026-01-01}
"""
MODEL = """
MODEL (name main.released, kind FULL, audits (AUDITED));
SELECT * FROM (VALUES
  ('94*', 'f', 'flu', 'a'), ('94*', 'f', 'cold', 'b'), (NULL, 'm', 'flu', 'c'), (NULL, 'm', 'flu', 'c')
) AS t(zip, sex, disease, person) WHERE KEPT
"""


@pytest.mark.soak
@pytest.mark.process
@pytest.mark.parametrize(
    ("audited", "kept", "passes"),
    [
        ("k_anonymity(columns := (zip, sex), k := 2)", "TRUE", True),
        ("k_anonymity(columns := (zip, sex), k := 3)", "TRUE", False),
        ("k_anonymity(columns := (zip, sex), k := 2, respondent := person)", "TRUE", False),
        ("k_anonymity(columns := (zip, sex), k := 1, respondent := person)", "TRUE", True),
        ("k_anonymity(columns := (zip, sex), k := 1)", "FALSE", False),
        ("l_diversity(columns := (zip, sex), sensitive := disease, l := 1)", "TRUE", True),
        ("l_diversity(columns := (zip, sex), sensitive := disease, l := 2)", "TRUE", False),
    ],
)
def test_audits_of_sqlmesh(audited: str, kept: str, passes: bool, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(PROJECT, encoding="utf-8")
    (tmp_path / "models").mkdir()
    model = MODEL.replace("AUDITED", audited).replace("KEPT", kept)
    (tmp_path / "models" / "released.sql").write_text(model, encoding="utf-8")
    shutil.copytree(ROOT / "sql" / "sqlmesh", tmp_path / "audits")
    asked = [str(SQLMESH), "plan", "--auto-apply", "--no-prompts"]
    done = subprocess.run(asked, cwd=tmp_path, capture_output=True, text=True, check=False)
    name = audited.partition("(")[0]
    assert (done.returncode == 0, f"'{name}' audit error" in done.stdout) == (passes, not passes), done.stdout
